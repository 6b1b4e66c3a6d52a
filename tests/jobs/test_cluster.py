"""The same jobs on a Dask cluster of processes: the same results, and a word for whatever goes wrong on the way."""

import os
import re
import signal
import socket
import sys
import time
from functools import partial
from importlib import metadata
from types import SimpleNamespace

import clusters
import numpy as np
import pytest
from work import Count, Does, Endless, Fails

import normviz
from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.jobs import cluster as jobs_cluster
from normviz.jobs import versions
from normviz.jobs.cluster import Cluster, create_configured_cluster
from normviz.jobs.executors import create_thread_pool, limit_to_one_core
from normviz.jobs.failures import locate_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.table1.training import TableTrainingJob
from normviz.train.setting import Setting

STARTED = 60.0  # seconds that a process may take on a busy machine to import what it needs
LEASE = 600.0  # nobody is there in a test, and a busy machine takes its time


class Kept:
    """The results so far, by the digest of their job."""

    def __init__(self):
        self.results = {}

    def __call__(self, job, result):
        self.results.setdefault(compute_digest(job), []).append(result)

    def of(self, job):
        return self.results.get(compute_digest(job), [])


def until(check):
    deadline = time.monotonic() + STARTED
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(*requests):
    return all(queued.wait(STARTED) for queued in requests)


def refusal(cluster):
    """What is said of a job that is not taken."""
    queued = JobQueue(cluster).submit([Count(1)], Kept())
    assert queued.is_over
    return str(queued.error)


def port_of(address):
    return int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def address():
    """Of a cluster with two workers."""
    with clusters.cluster(2) as address:
        yield address


@pytest.fixture(scope="module")
def queue(address):
    with Cluster(address) as cluster:
        yield JobQueue(cluster, lease=LEASE, jobs_per_request=2)


@pytest.mark.heavy
def test_a_training_on_a_cluster_gives_the_same(queue):
    job, kept = (
        TableTrainingJob.of([SCHEMES["none"], SCHEMES["layer"]], Setting(rate=1e6, steps=20, device="cpu"), [0, 3]),
        Kept(),
    )
    queued = queue.submit([job], kept)
    assert ended(queued)
    assert queued.error is None
    with create_thread_pool(
        1, initializer=limit_to_one_core
    ) as pool:  # as each worker is: sums of several cores may differ
        here = pool.submit(run_to_end, job).result()
    there = kept.of(job)[-1]
    assert np.array_equal(here.losses, there.losses, equal_nan=True)
    assert there.losses.shape == (20, 2, 2)
    assert here.failures == there.failures != {}


@pytest.mark.heavy
def test_the_jobs_of_a_request_fan_out_and_others_wait(queue):
    both = queue.submit([Endless("one"), Endless("two")], kept := Kept())
    until(lambda: kept.of(Endless("one")) and kept.of(Endless("two")))  # each worker has one thread
    third = queue.submit([Endless("three")], kept)
    assert (both.is_waiting, third.is_waiting) == (False, True)
    assert third.jobs_ahead == 2
    both.cancel()
    until(lambda: kept.of(Endless("three")))
    assert not third.is_waiting
    third.cancel()
    assert ended(both, third)
    assert both.error is third.error is None
    assert not queue._executor._connection._sent


@pytest.mark.heavy
def test_cancelling_stops_the_task_that_runs(queue):
    """Two that never end take both workers; were they not stopped, nothing would come after them."""
    for _ in range(2):
        queued = queue.submit([Endless("one"), Endless("two")], kept := Kept())
        until(lambda kept=kept: kept.of(Endless("one")) and kept.of(Endless("two")))
        assert queued.progress == 0.5
        steps = kept.of(Endless("one"))
        assert steps == sorted(steps)
        queued.cancel()
        assert ended(queued)
    queued = queue.submit([Count(n) for n in range(1, 9)], kept := Kept())
    assert ended(queued)
    assert [kept.of(Count(n))[-1][0] for n in range(1, 9)] == [tuple(range(n)) for n in range(1, 9)]


@pytest.mark.heavy
def test_an_error_on_a_worker_is_shown_here(queue):
    queued = queue.submit([Fails("no such device")], Kept())
    assert ended(queued)
    assert repr(queued.error) == "ValueError('no such device')"
    queued = queue.submit([Does("refuses")], Kept())
    assert ended(queued)
    assert isinstance(queued.error, InvalidInput)
    assert re.fullmatch(r"normviz/core/\w+\.py, line \d+, in \w+", locate_error(queued.error))


@pytest.mark.heavy
def test_a_cluster_that_is_given_up_ends_its_jobs(address):
    cluster = Cluster(address)
    queue, kept = JobQueue(cluster, lease=LEASE), Kept()
    queued = queue.submit([Endless(), Count(1)], kept)
    until(lambda: kept.of(Endless()))
    cluster.shutdown(wait=False)
    assert queued.is_over
    assert "no job is taken after shutdown" in refusal(cluster)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("version", lambda name: "0.1" if name == "numpy" else metadata.version(name), "; here is numpy 0.1."),
        ("normviz", SimpleNamespace(__version__="9"), f"has normviz {normviz.__version__}; here is normviz 9."),
        ("sys", SimpleNamespace(version_info=(3, 99)), "here is Python 3.99."),
    ],
)
def test_other_versions_are_refused(address, monkeypatch, name, value, said):
    monkeypatch.setattr(versions, name, value)
    with Cluster(address) as cluster:
        told = refusal(cluster)
        assert told.startswith(f"The Dask scheduler at {address} has ")
        assert said in told
        assert not cluster._connection._sent  # nothing was made ready to be sent


@pytest.mark.heavy
def test_a_worker_that_comes_later_with_other_versions_is_refused(address, monkeypatch):
    with Cluster(address) as cluster:
        queue = JobQueue(cluster, lease=LEASE)
        assert ended(queue.submit([Count(1)], Kept()))
        gone = cluster._connection._checked.pop()
        monkeypatch.setattr(versions, "sys", SimpleNamespace(version_info=(3, 99)))
        assert refusal(cluster).startswith(f"The Dask worker at {gone} has Python")


@pytest.mark.heavy
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked to end"])
def test_a_worker_that_ends_loses_no_result(queue, how):
    job, kept = Count(40, pause=0.05), Kept()
    queued = queue.submit([job], kept)
    until(lambda: kept.of(job))
    _, process = kept.of(job)[0]
    os.kill(process, how)
    assert ended(queued)
    assert queued.error is None
    numbers, other = kept.of(job)[-1]
    assert numbers == tuple(range(40))
    assert other not in (process, os.getpid())


@pytest.mark.heavy
def test_a_job_that_kills_its_workers_is_given_up(queue):
    queued = queue.submit([Does("killed")], Kept())
    assert ended(queued)
    assert "2 workers of the Dask cluster died while they ran this job" in str(queued.error)


@pytest.mark.heavy
def test_a_scheduler_that_has_gone_is_told_and_the_job_can_be_started_again(tmp_path, monkeypatch, request):
    with clusters.scheduler(tmp_path) as (address, process), clusters.workers(tmp_path, address, 1) as workers:
        cluster = Cluster(address)
        request.addfinalizer(partial(cluster.shutdown, wait=False))  # also after a failed assertion
        queue, kept = JobQueue(cluster, lease=LEASE), Kept()
        first, waiting = queue.submit([Endless()], kept), queue.submit([Count(1)], kept)
        until(lambda: kept.of(Endless()))
        process.kill()
        assert ended(first, waiting)
        assert f"The Dask scheduler at {address} has gone" in str(first.error)
        assert str(waiting.error) == str(first.error)
        process.wait()
        assert f"No Dask scheduler listens at {address}" in refusal(cluster)
        workers.wait(STARTED)  # the job has ended there, too
    with clusters.scheduler(tmp_path, port_of(address)) as (same, _), cluster:
        with monkeypatch.context() as hurried:
            hurried.setattr(jobs_cluster, "ANSWER_TIMEOUT", 0.5)
            assert f"The Dask cluster at {same} has no worker" in refusal(cluster)
        with clusters.workers(tmp_path, same, 1):
            again = queue.submit([Count(2)], kept)
            assert ended(again)
            assert again.error is None
            assert kept.of(Count(2))[-1][0] == (0, 1)


def test_a_torch_for_a_gpu_is_torch(monkeypatch):
    monkeypatch.setattr(versions, "version", lambda name: "2.13.0+cu130")
    assert versions.get_installed_versions()["torch"] == "2.13.0"


@pytest.mark.heavy
def test_a_machine_without_normviz_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(clusters.ENVIRONMENT, "PYTHONPATH", "")
    with clusters.scheduler(tmp_path) as (address, _), Cluster(address) as cluster:
        assert f"The Dask scheduler at {address} cannot run normviz" in refusal(cluster)


def test_an_address_where_nobody_listens_is_told():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        assert f"No Dask scheduler listens at {address}" in refusal(Cluster(address))


def test_an_address_where_something_else_listens_is_told(monkeypatch):
    monkeypatch.setattr(jobs_cluster, "ANSWER_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as other:  # takes every connection, and never says a word
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        assert f"What listens at {address} does not answer" in refusal(Cluster(address))


@pytest.mark.parametrize("address", ["localhost", "host:8786", "http://host:8786", "tcp://host", "tcp://host:99999"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InvalidInput, match="is no address of a Dask scheduler; tcp://host:8786 would be one"):
        Cluster(address)


def test_the_environment_names_the_cluster(monkeypatch):
    monkeypatch.delenv("NORMVIZ_DASK", raising=False)
    assert create_configured_cluster() is None
    monkeypatch.setenv("NORMVIZ_DASK", "tcp://host:8786")
    assert create_configured_cluster().address == "tcp://host:8786"


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setenv("NORMVIZ_DASK", "tcp://host:8786")
    with pytest.raises(InvalidInput, match=r"Dask is not installed: pip install 'normviz\[cluster\]'"):
        create_configured_cluster()
