"""The same jobs in threads and in other processes: the same results, reports on the way, and an end when asked."""

import os
import time

import numpy as np
import pytest
from work import Count, Endless, Fails

from normviz.core.registry import SCHEMES
from normviz.jobs import executors
from normviz.jobs.executors import create_thread_pool, limit_to_one_core, perform_job
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.process_executor import ProcessExecutor
from normviz.jobs.spec import compute_digest
from normviz.topics.table1.training import TableTrainingJob
from normviz.train.setting import Setting

STARTED = 60.0  # seconds that a process may take on a busy machine to import what it needs


class Counted:
    """A control that says stop after so many questions, and collects what it is told."""

    def __init__(self, steps):
        self.steps, self.told = steps, []

    def should_stop(self):
        self.steps -= 1
        return self.steps < 0

    def report_progress(self, share, result):
        self.told.append((share, result[0]))


@pytest.fixture(scope="module")
def processes():
    """A queue whose jobs run in another process, which knows nothing of this one."""
    with ProcessExecutor(1) as pool:
        yield JobQueue(pool, lease=STARTED)


class Kept:
    """The results so far, by the digest of their job."""

    def __init__(self):
        self.results = {}

    def __call__(self, job, result):
        self.results.setdefault(compute_digest(job), []).append(result)


def until(check):
    deadline = time.monotonic() + STARTED
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_is_asked_before_every_step_and_tells_at_intervals(monkeypatch):
    control = Counted(3)
    assert perform_job(Count(5), control)[0] == (0, 1, 2)
    assert control.told == [(1 / 5, (0,))]  # the first at once
    monkeypatch.setattr(executors, "REPORT_SECONDS", 0.0)
    control = Counted(9)
    assert perform_job(Count(3), control)[0] == (0, 1, 2)
    assert control.told == [(1 / 3, (0,)), (2 / 3, (0, 1))]  # and not what is the result


def test_a_job_that_is_stopped_before_it_starts_does_nothing():
    assert perform_job(Fails("was started"), Counted(0)) is None


def test_a_training_in_another_process_gives_the_same(processes):
    job, kept = (
        TableTrainingJob.of([SCHEMES["none"], SCHEMES["layer"]], Setting(rate=1e6, steps=20, device="cpu"), [0, 3]),
        {},
    )
    with create_thread_pool(
        1, initializer=limit_to_one_core
    ) as pool:  # as each worker is: sums of several cores may differ
        for name, queue in (("threads", JobQueue(pool)), ("processes", processes)):
            kept[name] = Kept()
            request = queue.submit([job], kept[name])
            assert request.wait(STARTED)
            assert request.error is None
    (here,), (there,) = (kept[name].results.items() for name in ("threads", "processes"))
    assert here[0] == there[0]
    here, there = here[1][-1], there[1][-1]
    assert np.array_equal(here.losses, there.losses, equal_nan=True)
    assert here.losses.shape == (20, 2, 2)
    assert here.failures == there.failures != {}
    assert here.device == there.device == "CPU"


def test_another_process_tells_how_far_it_is_and_stops_when_it_is_cancelled(processes):
    kept = Kept()
    request = processes.submit([Endless()], kept)
    ((name, _),) = request.jobs
    until(lambda: len(kept.results.get(name, ())) >= 2)
    assert request.progress == 0.5
    steps = kept.results[name]
    assert 0 < steps[0] < steps[1]
    request.cancel()
    assert request.wait(STARTED)
    assert request.error is None
    assert steps == sorted(steps)


def test_another_process_stops_when_nobody_looks(processes):
    request = processes.submit([Endless("closed tab")], Kept())
    until(lambda: request.progress > 0)
    request.lease = 0.0
    request.renew()
    assert request.wait(STARTED)


def test_an_error_in_another_process_is_shown_here(processes):
    request = processes.submit([Count(1), Fails("no such device")], kept := Kept())
    assert request.wait(STARTED)
    assert str(request.error) == "no such device"
    ((_, process),) = kept.results[compute_digest(Count(1))]
    assert process != os.getpid()
