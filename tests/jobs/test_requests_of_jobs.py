"""What a request tells and can be asked for: its place in the queue, the time that is left, a pause; many at once."""

from concurrent.futures import Executor

import pytest
from pretend import Kept
from work import Count, Fails

from normviz.jobs.job_queue import JobQueue


def test_a_request_tells_how_many_jobs_of_others_stand_before_its_last(slow, later):
    requests = [slow.submit([Count(n), Count(10 + n)], Kept()) for n in (1, 2, 3)]
    assert [request.jobs_ahead for request in requests] == [2, 3, 4]
    assert [request.is_waiting for request in requests] == [True, True, True]
    later.work()  # that of the first, whose next job goes to the end of the queue
    assert [request.jobs_ahead for request in requests] == [2, 2, 3]
    later.take()
    assert [request.is_waiting for request in requests] == [True, False, True]
    assert [request.jobs_ahead for request in requests] == [2, 2, 3]


def test_those_who_have_gone_do_not_stand_before_anybody(slow):
    first, second = (slow.submit([Count(n)], Kept()) for n in (1, 2))
    assert second.jobs_ahead == 1
    first.cancel()
    assert second.jobs_ahead == 0


def test_who_joins_a_job_has_its_place(slow, later):
    slow.submit([Count(1)], Kept())
    slow.submit([Count(2)], Kept())
    assert slow.submit([Count(1)], Kept()).jobs_ahead == 0
    assert slow.submit([Count(2)], Kept()).jobs_ahead == 1


def test_who_asks_again_for_a_job_that_was_told_to_stop_has_a_place_at_the_end(slow):
    old = slow.submit([Count(1)], Kept())
    slow.submit([Count(2)], Kept())
    old.cancel()
    assert slow.submit([Count(1)], Kept()).jobs_ahead == 1


def test_requests_with_many_jobs_and_with_few_take_turns(slow, later):
    slow.submit([Count(n) for n in (10, 11, 12, 13)], Kept())
    slow.submit([Count(20)], Kept())
    slow.submit([Count(n) for n in (30, 31)], Kept())
    while later.waiting:
        later.work()
    assert [job.n for job in later.jobs] == [10, 20, 30, 11, 31, 12, 13]


def test_the_queue_knows_what_somebody_has_at_work(slow, later, clock):
    assert not slow.is_in_progress([Count(1)])
    request = slow.submit([Count(1), Count(2)], Kept())
    assert slow.is_in_progress([Count(1)])
    assert slow.is_in_progress([Count(2), Count(1)])
    assert not slow.is_in_progress([Count(1), Count(3)])  # of which nobody has asked for one
    assert not slow.is_in_progress([Count(2)])
    later.work()
    assert not slow.is_in_progress([Count(1)])
    assert slow.is_in_progress([Count(2)])
    clock.now = request.lease + 1
    assert not slow.is_in_progress([Count(2)])  # nobody wants it, and it ends


def test_what_others_have_done_meanwhile_is_not_done_again(later):
    kept = Kept()
    queue = JobQueue(later, has_result=lambda job: job in dict(kept))
    requests = [queue.submit(jobs, kept) for jobs in ([Count(1), Count(2), Count(3)], [Count(2), Count(1)])]
    while later.waiting:
        later.work()
    assert [job.n for job in later.jobs] == [1, 2, 3]
    assert [request.is_over for request in requests] == [True, True]
    assert [request.progress for request in requests] == [1, 1]


def test_where_one_job_cannot_be_handed_in_no_other_is_tried():
    class Dead(Executor):
        asked = 0

        def submit(self, function, /, *arguments):
            self.asked += 1
            raise RuntimeError("has gone")

    dead = Dead()
    request = JobQueue(dead, jobs_per_request=8).submit([Count(n) for n in range(8)], Kept())
    assert request.is_over
    assert str(request.error) == "has gone"
    assert dead.asked == 1


def test_a_run_that_is_over_holds_nobody(slow, later):
    request = slow.submit([Count(1)], Kept())
    run = request.runs[0]
    later.work()
    assert run.requests == []
    assert not run.begun()


def test_a_pause_lets_the_job_at_work_end_and_starts_no_other(slow, later):
    request = slow.submit([Count(1), Count(2), Count(3)], kept := Kept())
    request.pause()
    later.work()
    assert (later.waiting, request.done_count, request.is_over, request.is_waiting) == ([], 1, False, False)
    request.resume()
    later.work()
    later.work()
    assert request.is_over
    assert list(dict(kept)) == [Count(1), Count(2), Count(3)]


def test_a_pause_that_ends_before_the_job_does_changes_nothing(slow, later):
    request = slow.submit([Count(1), Count(2)], Kept())
    request.pause()
    request.resume()
    assert later.jobs == [Count(1)]
    later.work()
    later.work()
    assert request.is_over
    assert later.jobs == [Count(1), Count(2)]


@pytest.mark.parametrize("gone", ["cancelled", "lapsed"])
def test_who_does_not_come_back_from_a_pause_starts_nothing(slow, later, clock, gone):
    request = slow.submit([Count(1), Count(2)], Kept())
    request.pause()
    later.work()
    if gone == "cancelled":
        request.cancel()
    clock.now += 11 * (gone == "lapsed")
    request.resume()
    assert request.is_over
    assert later.jobs == [Count(1)]


def test_a_request_that_lapses_between_two_jobs_is_over_for_good(slow, later, clock):
    request = slow.submit([Count(1), Count(2)], Kept())
    clock.now = 11.0
    future, *_ = later.waiting.pop(0)
    future.set_result(None)
    request.renew()
    assert request.is_over
    assert not request.is_wanted
    assert later.jobs == [Count(1)]


@pytest.fixture
def wide(later, clock):
    """A queue that lets three jobs of a request be at work."""
    return JobQueue(later, clock=clock, jobs_per_request=3)


def test_many_jobs_of_a_request_may_be_at_work_at_once(wide, later):
    request = wide.submit([Count(n) for n in range(1, 6)], kept := Kept())
    assert [job.n for job in later.jobs] == [1, 2, 3]
    later.waiting.insert(0, later.waiting.pop(2))  # the third ends first
    later.work()
    assert [job.n for job in later.jobs] == [1, 2, 3, 4]
    assert request.progress == pytest.approx(1 / 5)
    while later.waiting:
        later.work()
    assert request.is_over
    assert request.progress == 1.0
    assert [job.n for job in dict(kept)] == [3, 1, 2, 4, 5]


def test_an_error_ends_the_request_once_its_other_jobs_have_ended(wide, later):
    request = wide.submit([Fails("full"), Count(5), Fails("also full"), Count(1)], kept := Kept())
    later.work()
    assert str(request.error) == "full"
    assert not request.is_over
    later.work()  # stops before its first step
    later.work()
    assert request.is_over
    assert kept == [(Fails("full"), None)]
    assert str(request.error) == "full"
    assert Count(1) not in later.jobs


def test_the_same_job_twice_in_a_request_is_done_once(wide, later):
    request = wide.submit([Count(2), Count(2)], kept := Kept())
    later.work()
    assert request.is_over
    assert (request.done_count, len(later.jobs), len(kept)) == (2, 1, 2)
