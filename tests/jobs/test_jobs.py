"""Jobs: one per owner, replaced, cancelled, and ended when nobody looks any more."""

import time
from threading import Event

import pytest

from normviz.jobs.desk import LEASE, Desk

SOON = 5.0  # seconds that a test waits at most for what should come at once


def until_stopped(job):
    while not job.stopped():
        time.sleep(0.005)


@pytest.fixture
def desk():
    return Desk(workers=2, lease=60.0)


def test_a_job_does_its_work_and_reports(desk):
    def work(job):
        job.progress = 0.5

    job = desk.submit("me", 1, work)
    assert job.wait(SOON)
    assert (job.over, job.progress, job.error) == (True, 0.5, None)


def test_the_same_work_is_not_started_twice(desk):
    first = desk.submit("me", 1, until_stopped)
    assert desk.submit("me", 1, until_stopped) is first
    first.cancel()
    assert first.wait(SOON)
    assert desk.submit("me", 1, lambda job: None) is not first


def test_a_new_job_takes_the_old_ones_place(desk):
    old = desk.submit("me", 1, until_stopped)
    other = desk.submit("you", 1, until_stopped)
    new = desk.submit("me", 2, lambda job: None)
    assert old.wait(SOON)
    assert new.wait(SOON)
    assert not other.over
    other.cancel()
    assert other.wait(SOON)


def test_a_job_that_nobody_looks_at_ends():
    desk = Desk(lease=0.2)
    job = desk.submit("closed tab", 1, until_stopped)
    started = time.monotonic()
    assert job.wait(SOON)
    assert time.monotonic() - started < SOON
    assert LEASE < 15


def test_a_job_that_is_looked_at_goes_on():
    desk = Desk(lease=0.3)
    job = desk.submit("open tab", 1, until_stopped)
    for _ in range(10):
        assert not job.wait(0.1)
        desk.submit("open tab", 1, until_stopped)
    assert not job.over
    job.cancel()
    assert job.wait(SOON)


def test_no_more_jobs_run_than_there_are_workers():
    desk, running = Desk(workers=1, lease=60.0), []

    def work(job):
        running.append(job.key)
        until_stopped(job)

    first, second = (desk.submit(owner, owner, work) for owner in "ab")
    assert not second.wait(0.1)
    assert running == ["a"]
    second.cancel()  # while it waits
    first.cancel()
    assert second.wait(SOON)
    assert running == ["a"]


def test_an_error_is_kept_to_be_shown(desk):
    def work(job):
        raise ValueError("no such device")

    job = desk.submit("me", 1, work)
    assert job.wait(SOON)
    assert str(job.error) == "no such device"


def test_what_is_over_is_forgotten(desk):
    started = Event()
    job = desk.submit("me", 1, lambda job: started.set())
    assert job.wait(SOON)
    deadline = time.monotonic() + SOON
    while desk._jobs and time.monotonic() < deadline:
        time.sleep(0.005)
    assert desk._jobs == {}
