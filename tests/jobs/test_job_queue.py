"""The queue: jobs that are shared, cancelled, and ended when nobody looks any more; one at a time for every request."""

import time
from dataclasses import dataclass
from typing import ClassVar
from weakref import ref

import pytest
from pretend import SOON, Kept
from work import Count, Endless, Fails

from normviz.jobs import executors
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import JobStep


def ended(*requests):
    for request in requests:
        request.cancel()
    assert all(request.wait(SOON) for request in requests)


def test_a_job_does_its_work_and_its_result_is_kept(queue):
    kept = Kept()
    request = queue.submit([Count(3)], kept)
    assert request.wait(SOON)
    assert (request.is_over, request.progress, request.error) == (True, 1.0, None)
    assert [job for job, _ in kept] == [Count(3), Count(3)]
    assert [numbers for _, (numbers, _) in kept] == [(0,), (0, 1, 2)]  # the first step at once, and the whole


def test_what_there_is_so_far_is_kept_and_told(queue, monkeypatch):
    monkeypatch.setattr(executors, "REPORT_SECONDS", 0.0)
    kept = Kept()
    request = queue.submit([Endless()], kept)
    deadline = time.monotonic() + SOON
    while len(kept) < 3 and time.monotonic() < deadline:
        time.sleep(0.002)
    assert request.progress == 0.5
    assert not request.is_over
    ended(request)
    steps = [step for _, step in kept]
    assert steps == sorted(steps)
    assert len(steps) >= 3
    assert steps[-1] >= steps[-2]  # and all that was done when it was stopped


def test_the_jobs_of_a_request_go_one_after_the_other(slow, later):
    request = slow.submit([Count(1), Count(2), Count(3)], kept := Kept())
    for done in range(3):
        assert request.progress == pytest.approx(done / 3)
        assert [function for _, function, _ in later.waiting] == [executors.perform_job]
        later.work()
    assert later.waiting == []
    assert request.is_over
    assert [job.n for job in dict(kept)] == [1, 2, 3]


def test_requests_take_turns(slow, later):
    for first in (10, 20):
        slow.submit([Count(first), Count(first + 1)], Kept())
    while later.waiting:
        later.work()
    assert [job.n for job in later.jobs] == [10, 20, 11, 21]


def test_the_same_job_runs_once_for_all_who_ask_for_it(slow, later):
    places = [Kept(), Kept()]
    requests = [slow.submit([Count(3)], places[n]) for n in (0, 1, 1)]
    requests.append(slow.submit([Count(2), Count(3)], places[0]))
    later.work()
    assert [request.is_over for request in requests] == [True, True, True, False]
    assert [len(place) for place in places] == [2, 2]  # once in each place
    later.work()
    later.work()
    assert requests[-1].is_over
    assert [job.n for job in later.jobs] == [3, 2, 3]  # what is over is not kept at the queue


def test_a_job_that_one_of_two_cancels_goes_on_for_the_other(queue):
    first, second = (queue.submit([Endless()], Kept()) for _ in range(2))
    assert first.runs[0] is second.runs[0]
    first.cancel()
    assert not second.wait(0.1)
    second.cancel()
    assert first.wait(SOON)
    assert second.wait(SOON)


def test_a_job_that_nobody_looks_at_ends(slow, later, clock):
    request = slow.submit([Endless(), Count(1)], Kept())
    clock.now = 10.0
    assert not request.runs[0].should_stop()
    clock.now = 10.1
    assert request.runs[0].should_stop()
    later.work()
    assert request.is_over
    assert later.jobs == [Endless()]
    assert request.error is None


def test_who_is_there_need_not_look(slow, clock):
    """A tab in the background looks once a minute, and a busy server lets every look come late."""
    there = [True]
    request = slow.submit([Endless()], Kept(), is_present=lambda: there[0])
    for clock.now in range(0, 300, 60):
        assert not request.runs[0].should_stop()
    there[0] = False
    clock.now += 9.0
    assert not request.runs[0].should_stop()
    clock.now += 2.0
    assert request.runs[0].should_stop()


def test_who_comes_back_within_the_lease_is_not_missed(slow, clock):
    there = [True]
    request = slow.submit([Endless()], Kept(), is_present=lambda: there[0])
    for clock.now in range(0, 60, 6):
        there[0] = not there[0]
        assert not request.runs[0].should_stop()


def test_a_job_that_is_looked_at_goes_on(slow, clock):
    request = slow.submit([Endless()], Kept())
    for clock.now in range(0, 60, 6):
        assert not request.runs[0].should_stop()
        request.renew()


def test_a_request_that_comes_back_before_its_job_has_noticed_saves_it(slow, clock):
    request = slow.submit([Endless()], Kept())
    clock.now = 11.0
    assert not request.is_wanted
    request.renew()
    assert not request.runs[0].should_stop()


def test_a_job_that_was_told_to_stop_is_not_revived(slow, later, clock):
    """It may have heard it, and would end unfinished while its page waits for the rest."""
    kept = Kept()
    request = slow.submit([Count(3), Count(4)], kept)
    clock.now = 11.0
    assert request.runs[0].should_stop()
    request.renew()
    assert request.runs[0].should_stop()
    again = slow.submit([Count(3)], kept)  # does not join the run that ends
    later.work()
    assert request.is_over
    assert kept == []
    assert not again.is_over
    later.work()
    assert again.is_over
    assert kept[-1][1][0] == (0, 1, 2)
    assert slow._runs == {}


def test_the_end_of_a_stopped_run_leaves_its_successor_to_be_shared(slow, later, clock):
    old = slow.submit([Count(3)], Kept())
    old.cancel()
    new = slow.submit([Count(3)], Kept())
    later.work()
    assert (old.is_over, new.is_over) == (True, False)
    assert slow.submit([Count(3)], Kept()).runs[0] is new.runs[0]


def test_no_more_jobs_run_than_there_are_workers():
    with create_thread_pool(1) as pool:
        queue, kept = JobQueue(pool), Kept()
        first, second = (queue.submit([Endless(name)], kept) for name in "ab")
        assert not second.wait(0.1)
        assert (first.is_waiting, second.is_waiting) == (False, True)
        second.cancel()  # while it waits
        ended(first, second)
    assert {job.name for job, _ in kept} == {"a"}


def test_an_error_is_kept_to_be_shown_and_ends_the_request(slow, later):
    request, other = (slow.submit([Fails("no such device"), Count(1)], Kept()) for _ in range(2))
    later.work()
    assert request.is_over
    assert other.is_over
    assert str(request.error) == str(other.error) == "no such device"
    assert later.waiting == []


class Tensor:
    """Stands for what takes memory."""


@dataclass(frozen=True)
class Overflows:
    """Fails with all that it has at hand, and once more while that is put away, as a capture does on a full GPU."""

    kind: ClassVar[str] = "overflows"
    version: ClassVar[int] = 1

    def steps(self):
        tensor = Tensor()
        yield JobStep(0.5, lambda: None)
        HELD.append(ref(tensor))
        try:
            self.allocate(tensor)
        finally:
            raise RuntimeError("the capture failed as well")

    def allocate(self, tensor):
        other = Tensor()
        HELD.append(ref(other))
        raise MemoryError("the GPU is full")


HELD = []


def test_an_error_that_is_kept_keeps_nothing_of_what_the_job_held():
    HELD.clear()
    with create_thread_pool(1) as pool:
        request = JobQueue(pool).submit([Overflows()], Kept())
        assert request.wait(SOON)
    assert str(request.error) == "the capture failed as well"
    assert [tensor() for tensor in HELD] == [None, None]


def test_an_error_in_keeping_is_kept_as_well(slow, later):
    def full(job, result):
        raise OSError("no space left")

    request = slow.submit([Count(1)], full)
    later.work()
    assert request.is_over
    assert str(request.error) == "no space left"


def test_an_executor_that_takes_no_more_is_an_error_to_be_shown():
    pool = create_thread_pool(1)
    pool.shutdown()
    request = JobQueue(pool).submit([Count(1)], Kept())
    assert request.is_over
    assert "shutdown" in str(request.error)


def test_a_future_that_is_cancelled_ends_its_request(slow, later):
    request = slow.submit([Count(1)], Kept())
    future, *_ = later.waiting.pop()
    assert future.cancel()
    assert request.is_over
    assert request.error is not None


def test_what_is_over_is_forgotten(slow, later):
    for job in (Count(1), Fails("x")):
        slow.submit([job], Kept())
        later.work()
    assert slow._runs == {}


def test_a_job_whose_result_is_being_kept_is_not_joined(slow, later):
    """Its result may be another place's: who comes too late would go without."""
    late = Kept()

    def keep(job, result):
        requests.append(slow.submit([Count(1)], late))

    requests = [slow.submit([Count(1)], keep)]
    later.work()
    later.work()
    assert all(request.is_over for request in requests)
    assert len(late) == 1


def test_a_job_that_is_not_plain_data_is_refused_at_once(slow, later):
    with pytest.raises(TypeError, match="is not plain data"):
        slow.submit([Count(1), Count([2])], Kept())
    assert later.jobs == []


def test_a_report_that_the_whole_result_has_overtaken_is_dropped(slow, later):
    request = slow.submit([Count(3)], kept := Kept())
    run = request.runs[0]
    later.work()
    run.report_progress(0.3, "on its way since long ago")
    assert len(kept) == 2
    assert request.progress == 1.0
