"""How long a request waits and what stands before it: estimates in seconds, measured speed, an order that is stable."""

from itertools import pairwise
from random import Random

import pytest
from pretend import Kept
from work import Count, Endless

from normviz.jobs import speed
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.speed import MAX_FACTOR, SpeedEstimator

CLASS = 30


def submit(queue, jobs):
    """A request of somebody who stays."""
    return queue.submit(jobs, Kept(), lambda: True)


@pytest.fixture
def server(later, clock):
    """A queue of two workers, as of a server with two cores."""
    return JobQueue(later, clock=clock, jobs_per_request=2, workers=2)


def finish_next(later, clock, random=None):
    """Let the job end that has the least seconds left, or any of those at work, after the time that it takes."""
    for future, *_ in later.waiting:
        if not future.running():
            future.set_running_or_notify_cancel()
            future.ends = clock.now + future.job.seconds
    chosen = random.choice(later.waiting) if random else min(later.waiting, key=lambda each: each[0].ends)
    later.waiting.remove(chosen)
    future, _, (_, run, _) = chosen
    clock.now = max(clock.now, future.ends) if random is None else clock.now + random.random()
    for other, _, (job, control, _) in later.waiting if random is None else ():
        control.report_progress(1 - (other.ends - clock.now) / job.seconds, None)  # as far as all have come by then
    future.set_result("done")
    return run


@pytest.fixture
def class_of_thirty(server):
    """Thirty requests of one to nine jobs, of one to nine seconds each."""
    random = Random(0)
    jobs = [[Count(random.randint(1, 9), pause=100 * k + n) for n in range(random.randint(1, 9))] for k in range(CLASS)]
    return [submit(server, each) for each in jobs]


def test_the_last_of_thirty_is_told_the_wait_for_all_that_comes_before(server):
    requests = [submit(server, [Count(4, pause=k), Count(4, pause=-1 - k)]) for k in range(CLASS)]
    assert requests[-1].jobs_ahead == 2 * (CLASS - 1)
    assert requests[-1].displayed_seconds_left == pytest.approx(2 * CLASS * 4 / 2, rel=0.05)
    assert requests[0].jobs_ahead == 0  # both are at work
    assert requests[1].jobs_ahead == 2 + CLASS - 2  # those, and one of each before its second


def test_position_and_wait_never_grow_while_a_class_waits(class_of_thirty, later, clock):
    before = [(request.jobs_ahead, request.displayed_seconds_left) for request in class_of_thirty]
    ended = {}
    while later.waiting:
        finish_next(later, clock)
        now = [(request.jobs_ahead, request.displayed_seconds_left) for request in class_of_thirty]
        for (position, left), (position_before, left_before) in zip(now, before, strict=True):
            assert position <= position_before
            assert left <= left_before + 1e-9
        before = now
        ended |= {k: clock.now for k, request in enumerate(class_of_thirty) if request.is_over and k not in ended}
    assert before == [(0, 0)] * CLASS
    assert len(ended) == CLASS


def test_the_wait_that_is_told_comes_true(class_of_thirty, later, clock):
    told = [request.displayed_seconds_left for request in class_of_thirty]
    took = {}
    while later.waiting:
        finish_next(later, clock)
        took = {k: clock.now for k, request in enumerate(class_of_thirty) if request.is_over} | took
    for k, seconds in enumerate(told):
        assert took[k] == pytest.approx(seconds, rel=0.15, abs=9)  # no better than the longest job


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_stable_however_long_each_job_takes(class_of_thirty, later, clock, seed):
    random, before = Random(seed), [request.jobs_ahead for request in class_of_thirty]
    while later.waiting:
        finish_next(later, clock, random)
        now = [request.jobs_ahead for request in class_of_thirty]
        assert all(place <= old for place, old in zip(now, before, strict=True))
        before = now


def test_who_comes_later_is_put_behind_all_that_was_next(server, later):
    many = submit(server, [Count(n) for n in range(10, 20)])  # two of them at work
    few = submit(server, [Count(1)])
    assert few.jobs_ahead == 2
    one = submit(server, [Count(2)])
    assert (few.jobs_ahead, one.jobs_ahead) == (2, 3)
    later.work()
    later.work()
    assert [job.n for job in later.jobs] == [10, 11, 1, 2]
    assert many.jobs_ahead == 2


def test_a_job_that_others_ask_for_earlier_has_the_earlier_turn(server, later):
    submit(server, [Count(n) for n in (10, 11, 12, 13)])
    later.work()  # at work: 11, 12
    submit(server, [Count(20), Count(21)])
    submit(server, [Count(13)])
    later.work()
    later.work()
    assert [job.n for job in later.jobs] == [10, 11, 12, 20, 13]


def test_a_request_that_goes_on_after_a_pause_comes_after_those_of_the_latest_round(server, later):
    pausing = submit(server, [Count(n) for n in (10, 11, 12)])
    pausing.pause()
    others = [submit(server, [Count(n), Count(n + 1)]) for n in (20, 30)]
    assert [request.jobs_ahead for request in others] == [3, 4]  # two at work, and not the one that does not begin
    for _ in range(3):
        later.work()
    places = [request.jobs_ahead for request in others]
    pausing.resume()
    assert [request.jobs_ahead for request in others] == places


def test_the_time_that_is_left_is_modelled_before_anything_is_measured(slow):
    assert submit(slow, [Count(5), Count(15)]).displayed_seconds_left == 20.0


def test_jobs_of_one_request_share_the_workers(server):
    assert server.estimate_seconds([Count(4)]) == 4.0
    assert server.estimate_seconds([Count(4, pause=k) for k in range(8)]) == 18.0  # 16 where all end at once
    assert submit(server, [Count(4, pause=k) for k in range(8)]).displayed_seconds_left == 18.0


def test_who_joins_a_job_waits_for_it_once(server):
    requests = [submit(server, [Count(4), Count(8)]) for _ in range(CLASS)]
    assert {request.jobs_ahead for request in requests} == {0}
    assert {request.displayed_seconds_left for request in requests} == {10.0}


def test_the_estimate_follows_the_machine_while_a_job_runs(slow, later, clock):
    request = submit(slow, [Count(20)])
    waits = submit(slow, [Count(10)])
    control = later.take()
    clock.now = 7.0  # a worker that imports first
    control.report_progress(0.05, None)
    assert request.displayed_seconds_left == pytest.approx(19.0)
    clock.now = 27.0
    control.report_progress(0.3, None)  # five modelled seconds took twenty
    assert request.displayed_seconds_left == pytest.approx(14 * 4, rel=0.15)
    assert waits.displayed_seconds_left == pytest.approx((14 + 10) * 4, rel=0.15)


def test_the_next_job_of_a_kind_is_expected_to_take_as_long_as_the_last_ones(slow, later, clock):
    submit(slow, [Count(20)])
    control = later.take()
    control.report_progress(0.05, None)
    clock.now = 72.2
    later.waiting.pop(0)[0].set_result("all")
    assert slow.estimate_seconds([Count(20, pause=1.0)]) == pytest.approx(76.0, rel=0.1)
    assert slow.estimate_seconds([Endless()]) == 1.0  # of another kind: the model of this one was off, not the machine


def test_one_short_job_decides_little_and_no_factor_is_beyond_bounds():
    told = SpeedEstimator()
    assert told.estimate_slowdown("training") == 1.0
    told.add_measurement("training", 0.3, 0.1)
    assert told.estimate_slowdown("training") == pytest.approx(1.2, abs=0.05)
    told.add_measurement("training", 600.0, 200.0)
    assert told.estimate_slowdown("training") == pytest.approx(3.0, abs=0.2)
    told.add_measurement("stuck", 1e6, 1.0)
    assert told.estimate_slowdown("stuck") == MAX_FACTOR
    told.add_measurement("instant", 0.0, 1e6)
    assert told.estimate_slowdown("instant") == pytest.approx(1 / 11)


def test_a_machine_that_is_free_again_is_soon_known_to_be():
    told = SpeedEstimator()
    for _ in range(10):
        told.add_measurement("training", 80.0, 20.0)
    assert told.estimate_slowdown("training") > 3.5
    told.add_measurement("training", 20.0, 20.0)
    assert 1.0 < told.estimate_slowdown("training") < 2.1


def test_a_run_that_starts_anew_has_come_nowhere(slow, later, clock):
    request = submit(slow, [Count(10)])
    control = later.take()
    control.report_progress(0.2, None)
    clock.now = 6.0
    control.report_progress(0.8, None)
    assert request.progress == 0.8
    control.restart()
    assert (request.progress, request.displayed_seconds_left) == (0.0, 10.0)
    clock.now = 20.0
    control.report_progress(0.1, None)
    clock.now = 21.0
    control.report_progress(0.2, None)
    assert request.progress == 0.2
    assert request.displayed_seconds_left == pytest.approx(8.0)  # the time before it started anew is no measure


def test_a_machine_is_guessed_before_its_first_job(monkeypatch):
    monkeypatch.setattr(speed, "measure_slowdown", lambda: 1.5)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for load, factor in ((0.3, 1.5), (8.0, 6.0)):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, 0, 0), raising=False)
        assert speed.estimate_slowdown() == factor
    told = SpeedEstimator(speed.estimate_slowdown)
    assert told.estimate_slowdown("training") == 6.0
    told.add_measurement("training", 100.0, 100.0)
    assert told.estimate_slowdown("training") < 1.5  # what is measured counts more


def test_this_machine_is_measured():
    assert 0.05 < speed.measure_slowdown() < 20


def run_slowly(slow, later, clock, rate):
    """What is shown twice a second of a job of seven seconds, with what is true; `rate`: of its work, by the time."""
    request = submit(slow, [Count(7)])
    shown, control, done, past = [request.displayed_seconds_left], later.take(), 0.0, []
    while done < 7:
        clock.now += 0.5
        done += 0.5 * rate(clock.now)
        control.report_progress(min(done / 7, 1.0), None)
        shown.append(request.displayed_seconds_left)
        past.append(clock.now)
    return shown, past[-1]


def test_the_time_that_is_shown_counts_down_with_the_clock(slow, later, clock):
    shown, end = run_slowly(slow, later, clock, lambda now: 1.0)
    assert shown == pytest.approx([end - now / 2 for now in range(len(shown))], abs=0.5)


def test_a_stall_at_the_start_does_not_swing_what_is_shown(slow, later, clock):
    """Of the kind that read 7, 70, 50, 10: nearly nothing is done in the first seconds, then all of it at once."""
    shown, end = run_slowly(slow, later, clock, lambda now: 0.01 if now < 6 else 1.0)
    assert max(shown) < 2 * end
    changes = [after / before for before, after in pairwise(shown) if before > 5]
    assert max(changes) < 1.25
    assert min(changes) > 0.7
    assert shown[-3] < 6


def test_a_machine_that_is_slow_is_known_to_be_after_some_seconds(slow, later, clock):
    shown, end = run_slowly(slow, later, clock, lambda now: 0.1)
    left = [end - now / 2 for now in range(len(shown))]
    assert shown[0] == 7
    assert all(each > 0.6 * true - 1 for each, true in zip(shown[60:], left[60:], strict=True))
    assert all(after < 1.2 * before for before, after in pairwise(shown))
