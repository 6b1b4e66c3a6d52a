"""Workers in processes of their own: whatever becomes of one, its job's request says so and the next job works."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pretend import Kept
from work import Count, Does, Endless, Fails, leaves, prepares, process, raises_awkwardly

from normviz.core.errors import InvalidInput
from normviz.jobs import process_executor
from normviz.jobs.executors import perform_job
from normviz.jobs.failures import locate_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import JobLimits, LimitExceeded
from normviz.jobs.process_executor import ProcessExecutor, SpareWorker, WorkerLost
from normviz.jobs.worker import NICENESS

STARTED = 60.0  # seconds that a process may take on a busy machine to import what it needs
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def pool():
    with ProcessExecutor(1, initializer=process) as pool:
        yield pool


@pytest.fixture
def queue(pool):
    return JobQueue(pool, lease=STARTED)


class Stopped:
    """The control of a job that nobody wants."""

    def should_stop(self):
        return True


def until(check):
    deadline = time.monotonic() + STARTED
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def result(queue, what):
    request = queue.submit([Does(what)], kept := Kept())
    assert request.wait(STARTED)
    if request.error is not None:
        raise request.error
    return kept[-1][1]


def gone(process):
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True


def test_one_worker_does_one_job_after_the_other(queue):
    assert result(queue, "process") == result(queue, "process") != os.getpid()


@pytest.mark.parametrize("niceness", [0, NICENESS])
def test_a_worker_has_one_core_stands_back_and_knows_nothing_of_the_page(niceness):
    with ProcessExecutor(1, niceness=niceness) as pool:
        found = result(JobQueue(pool, lease=STARTED), "surroundings")
    assert found == (1, min(os.nice(0) + niceness, 19), "normviz.jobs.worker")


def test_a_worker_that_cannot_start_is_an_error_of_the_job():
    with ProcessExecutor(1, initializer=leaves) as pool:
        request = JobQueue(pool, lease=STARTED).submit([Count(1)], Kept())
        assert request.wait(STARTED)
    assert "exit code 3" in str(request.error)


@pytest.mark.parametrize(
    ("what", "words"),
    [("killed", "by signal 9, as when memory runs out"), ("leaves", "with exit code 3")],
)
def test_a_worker_that_dies_is_an_error_of_its_job_alone(queue, what, words):
    request = queue.submit([Does(what), Count(1)], Kept())
    waiting = queue.submit([Count(2)], kept := Kept())
    assert request.wait(STARTED)
    assert isinstance(request.error, WorkerLost)
    assert words in str(request.error)
    assert waiting.wait(STARTED)
    assert waiting.error is None
    assert kept[-1][1][0] == (0, 1)


def test_a_job_whose_worker_dies_once_is_done_by_another(tmp_path, monkeypatch):
    monkeypatch.setenv("KILLED_ONCE", str(tmp_path / "first"))
    with ProcessExecutor(1, initializer=process) as pool:
        request = JobQueue(pool, lease=STARTED).submit([Does("killed_once")], kept := Kept())
        assert request.wait(STARTED)
    assert request.error is None
    dead = int((tmp_path / "first").read_text())
    first, *_, last = [told for _, told in kept]
    assert first == dead != last
    assert gone(dead)
    assert request.progress == 1.0


def test_a_job_whose_worker_dies_twice_is_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("KILLED_ONCE", str(tmp_path / "first"))
    with ProcessExecutor(1, initializer=process) as pool:
        request = JobQueue(pool, lease=STARTED).submit([Does("killed")], kept := Kept())
        assert request.wait(STARTED)
    assert isinstance(request.error, WorkerLost)
    assert len({told for _, told in kept}) == 2


def test_a_worker_that_died_while_it_had_nothing_to_do_is_not_missed(queue):
    process = result(queue, "process")
    os.kill(process, 9)
    until(lambda: gone(process))
    assert result(queue, "process") != process


def test_nor_where_its_end_was_not_known_yet_when_it_was_chosen(queue, monkeypatch):
    process = result(queue, "process")
    really, believed = process_executor.WorkerProcess.is_ready.fget, iter([True])
    os.kill(process, 9)
    until(lambda: gone(process))
    monkeypatch.setattr(
        process_executor.WorkerProcess, "is_ready", property(lambda worker: next(believed, False) or really(worker))
    )
    assert result(queue, "process") != process


def test_a_job_that_does_not_stop_in_its_step_is_ended_after_a_while(queue, monkeypatch):
    monkeypatch.setattr(process_executor, "GRACE_SECONDS", 0.0)
    request = queue.submit([Does("hangs"), Count(1)], kept := Kept())
    until(lambda: kept)  # its first step, which tells the process
    request.cancel()
    assert request.wait(STARTED)
    assert request.error is None
    assert gone(kept[0][1])
    assert len(kept) == 1
    assert result(queue, "process") != kept[0][1]


@pytest.mark.parametrize(
    ("what", "limits", "words"),
    [
        ("hangs", JobLimits(seconds=0.0), "after 0 s"),
        ("holds", JobLimits(memory=2**27), "128 MB is the most here"),
    ],
)
def test_a_job_over_its_limits_in_one_step_is_ended_after_a_while(pool, monkeypatch, what, limits, words):
    monkeypatch.setattr(process_executor, "GRACE_SECONDS", 0.0)
    request = JobQueue(pool, lease=STARTED, limits=limits).submit([Does(what)], kept := Kept())
    assert request.wait(STARTED)
    assert isinstance(request.error, LimitExceeded)
    assert words in str(request.error)
    assert len(kept) <= 1  # it is not begun again


def test_a_job_over_its_limits_ends_by_itself_and_its_worker_goes_on(queue, pool):
    process = result(queue, "process")
    for job, limits, words in (
        (Endless(), JobLimits(seconds=0.0), "after 0 s"),
        (Does("holds_on"), JobLimits(memory=2**27), "128 MB is the most here"),
    ):
        request = JobQueue(pool, lease=STARTED, limits=limits).submit([job], Kept())
        assert request.wait(STARTED)
        assert isinstance(request.error, LimitExceeded)
        assert words in str(request.error)
    assert result(queue, "process") == process


def test_numbers_that_are_not_finite_come_through(queue):
    assert np.array_equal(result(queue, "not_finite")["losses"], [np.nan, np.inf, -np.inf, -0.0], equal_nan=True)


def test_what_a_job_prints_is_no_message(queue):
    assert result(queue, "talks") == ""
    assert result(queue, "process") > 0


def test_a_result_that_cannot_travel_is_an_error_in_words(queue):
    with pytest.raises(Exception, match="pickle"):
        result(queue, "cannot_be_pickled")
    assert result(queue, "process") > 0


def test_an_error_that_cannot_travel_comes_in_its_words(queue):
    with pytest.raises(RuntimeError, match="AwkwardError: one and two"):
        result(queue, "raises_awkwardly")


def test_an_error_says_where_it_was_in_the_other_process(queue):
    with pytest.raises(InvalidInput) as raised:
        result(queue, "refuses")
    assert re.fullmatch(r"normviz/core/fields\.py, line \d+, in \w+", locate_error(raised.value))


def test_a_job_that_nobody_wants_any_more_when_its_turn_comes_takes_no_worker():
    with ProcessExecutor(1, initializer=process) as pool:
        assert pool.submit(perform_job, Fails("was started"), Stopped()).result(STARTED) is None
        assert pool._free == []


def test_a_job_stops_when_nobody_looks_at_it_any_more(queue):
    request = queue.submit([Endless("closed tab")], kept := Kept())
    until(lambda: kept)
    request.lease = 0.0
    request.renew()
    assert request.wait(STARTED)
    assert request.error is None


def test_a_job_that_stops_leaves_its_worker_to_the_next(queue):
    before = result(queue, "process")
    request = queue.submit([Endless("cancelled")], kept := Kept())
    until(lambda: kept)
    request.cancel()
    assert request.wait(STARTED)
    assert result(queue, "process") == before


def test_an_error_in_keeping_a_report_is_an_error_of_the_job_and_ends_it(queue):
    def full(job, process):
        told.append(process)
        raise OSError("no space left")

    told = []
    request = queue.submit([Does("hangs")], full)
    assert request.wait(STARTED)
    assert str(request.error) == "no space left"
    until(lambda: gone(told[0]))
    assert result(queue, "process") > 0


@pytest.fixture
def spare(monkeypatch):
    """A spare worker with two preparations, of which the first one fails; it imports no torch."""
    monkeypatch.setattr(process_executor, "limit_to_one_core", process)
    spare = SpareWorker((raises_awkwardly, prepares))
    yield spare
    spare._worker.kill()


def test_the_spare_worker_takes_the_next_job_of_any_executor_and_another_one_follows(spare):
    for niceness in (0, NICENESS):
        ready = spare._worker
        with ProcessExecutor(1, spare=spare, niceness=niceness) as pool:
            queue = JobQueue(pool, lease=STARTED)
            assert result(queue, "process") == ready.number
            assert result(queue, "niceness") == min(os.nice(0) + niceness, 19)
            until(lambda queue=queue: result(queue, "prepared"))
            assert result(queue, "prepared") == [min(os.nice(0) + NICENESS, 19)]  # once
        assert spare._worker is not ready
        assert spare._worker.is_ready


def test_a_spare_worker_that_has_died_is_replaced(spare):
    dead = spare._worker.number
    os.kill(dead, 9)
    until(lambda: gone(dead))
    with ProcessExecutor(1, spare=spare) as pool:
        assert result(JobQueue(pool, lease=STARTED), "process") != dead


def test_two_jobs_are_at_work_at_once():
    with ProcessExecutor(2, initializer=process) as pool:
        queue, kept = JobQueue(pool, lease=STARTED), [Kept(), Kept()]
        requests = [queue.submit([Endless(name)], place) for name, place in zip("ab", kept, strict=True)]
        until(lambda: all(kept))
        for request in requests:
            request.cancel()
        assert all(request.wait(STARTED) for request in requests)


def test_a_worker_with_nothing_to_do_goes_after_a_while():
    with ProcessExecutor(1, idle_seconds=0.01, initializer=process) as pool:
        queue = JobQueue(pool, lease=STARTED)
        first = result(queue, "process")
        until(lambda: gone(first))
        assert result(queue, "process") != first


def test_after_shutdown_no_job_is_taken_and_those_that_wait_may_be_cancelled():
    pool = ProcessExecutor(1, initializer=process)
    queue = JobQueue(pool, lease=STARTED)
    kept = Kept()
    first, second = (queue.submit([job], kept) for job in (Does("waits"), Count(1)))
    until(lambda: kept)
    pool.shutdown(wait=False, cancel_futures=True)
    assert second.is_over
    first.cancel()
    assert first.wait(STARTED)
    assert "shutdown" in str(queue.submit([Count(2)], Kept()).error)
    pool.shutdown()
    assert gone(kept[0][1])


LEFT = """
import os, signal
from work import Does, process
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.process_executor import ProcessExecutor
def keep(job, process):
    print(process, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
JobQueue(ProcessExecutor(1, initializer=process), lease=60.0).submit([Does("hangs")], keep).wait(60.0)
"""


def test_a_worker_ends_with_its_parent_also_in_the_middle_of_a_step():
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    found = subprocess.run(
        [sys.executable, "-c", LEFT], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert found.returncode == -9
    until(lambda: gone(int(found.stdout)))
