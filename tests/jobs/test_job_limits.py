"""What a job may take at most: it is ended between two of its steps, and says why and what would do."""

import os

import numpy as np
import pytest
from pretend import SOON, Kept
from work import CONTEXT, Count, Endless, Trains, set_up_a_gpu

from normviz.jobs import executors, limits
from normviz.jobs.executors import create_thread_pool, perform_job
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import NO_LIMITS, JobLimits, LimitExceeded, read_resident_memory
from normviz.jobs.process_executor import ProcessExecutor


class Heard:
    """A control that goes on for long enough, and collects what it is told."""

    def __init__(self):
        self.told, self.left = [], 100

    def should_stop(self):
        self.left -= 1
        return self.left < 0

    def report_progress(self, share, result):
        self.told.append(result)


def test_a_job_that_takes_too_long_is_ended_with_what_it_has_so_far():
    control = Heard()
    with pytest.raises(LimitExceeded, match=r"ended after 0 s, the most that one may take here; fewer steps"):
        perform_job(Endless(), control, JobLimits(seconds=0.0))
    assert control.told == [1]


def test_a_job_that_takes_too_much_memory_is_ended(monkeypatch):
    held = iter([5 * 2**30, 5 * 2**30 + 2**20, 5 * 2**30 + 200 * 2**20, 6 * 2**30])
    monkeypatch.setattr(executors, "read_resident_memory", lambda: next(held))
    control = Heard()
    with pytest.raises(
        LimitExceeded, match=r"had taken 200 MB of main memory; 100 MB is the most here\. A smaller batch"
    ):
        perform_job(Endless(), control, JobLimits(memory=100 * 2**20))
    assert next(held) == 6 * 2**30  # after the second step


def test_a_job_that_takes_too_much_of_a_gpu_is_ended(monkeypatch):
    held = iter([0.1, 0.63])
    monkeypatch.setattr(executors, "get_peak_gpu_share", lambda: next(held))
    with pytest.raises(
        LimitExceeded, match=r"had taken 63% of the GPU's memory; 50% is the most here\. A smaller batch"
    ):
        perform_job(Endless(), Heard(), JobLimits(device=0.5))


def test_what_a_gpu_takes_of_main_memory_to_set_itself_up_is_not_the_jobs():
    with ProcessExecutor(1, initializer=set_up_a_gpu) as pool:
        request = JobQueue(pool, limits=JobLimits(memory=CONTEXT // 2), lease=60.0).submit([Trains()], kept := Kept())
        assert request.wait(60.0)
    assert request.error is None
    assert kept[-1][1] == CONTEXT


def test_a_job_within_its_limits_comes_to_its_end():
    assert perform_job(Count(3), Heard(), JobLimits(seconds=SOON, memory=2**30))[0] == (0, 1, 2)


def test_limits_that_are_nowhere_set_are_never_met():
    NO_LIMITS.check(1e300, 10**30)


def test_the_limits_of_a_queue_hold_for_its_jobs():
    with create_thread_pool(1) as pool:
        request = JobQueue(pool, limits=JobLimits(seconds=0.0)).submit([Endless(), Count(1)], Kept())
        assert request.wait(SOON)
        assert isinstance(request.error, LimitExceeded)


def test_the_memory_of_a_process_is_what_it_holds():
    before = read_resident_memory()
    assert before > 2**20
    held = np.ones(2**23)
    assert read_resident_memory() - before > 2**25
    assert read_resident_memory(os.getpid()) > 2**25
    del held


def test_where_the_system_does_not_tell_nothing_is_limited(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(limits, "open", missing, raising=False)
    assert read_resident_memory() == 0
