"""The setting NORMVIZ_WORKERS: how many jobs run at a time, checked before anything is served."""

import os
import subprocess
import sys

import numpy as np
import pytest
from browsing import ROOT

from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.jobs.executors import MAX_SHORT_JOBS, MAX_WORKERS, WORKERS_VARIABLE, count_workers
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments import experiment_runs
from normviz.topics.running.panels import accuracy
from normviz.topics.table1 import training_panels
from normviz.topics.table1.training import TableTrainingJob
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting

WRONG = ["0", "-1", "two", "1.5", "²", f"{MAX_WORKERS + 1}", "9" * 5000]


def test_by_default_there_is_a_worker_for_each_core_that_the_process_may_use(monkeypatch):
    monkeypatch.delenv(WORKERS_VARIABLE, raising=False)
    assert 1 <= count_workers() <= os.cpu_count()
    if sys.platform == "linux":
        code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        code += "from normviz.jobs.executors import count_workers; print(count_workers())"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "1"


@pytest.mark.parametrize(("given", "found"), [("1", 1), (" 7 ", 7), (f"{MAX_WORKERS}", MAX_WORKERS)])
def test_the_setting_is_their_number(monkeypatch, given, found):
    monkeypatch.setenv(WORKERS_VARIABLE, given)
    assert count_workers() == found


@pytest.mark.parametrize("given", WRONG)
def test_any_other_setting_is_refused_in_words(monkeypatch, given):
    monkeypatch.setenv(WORKERS_VARIABLE, given)
    with pytest.raises(
        InvalidInput, match=rf"^{WORKERS_VARIABLE} is .*; a whole number from 1 to {MAX_WORKERS} would do.$"
    ) as raised:
        count_workers()
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("number", [1, MAX_SHORT_JOBS, MAX_SHORT_JOBS + 1])
@pytest.mark.parametrize(
    ("create_queue", "most"),
    [
        (experiment_runs.get_experiment_queue, MAX_WORKERS),
        (accuracy.get_training_queue, MAX_SHORT_JOBS),
        (training_panels.get_table_queue, MAX_SHORT_JOBS),
    ],
    ids=["experiments", "running", "table1"],
)
def test_the_queue_of_a_server_have_as_many_workers(monkeypatch, create_queue, most, number):
    """Short jobs have a bound of their own: threads share the server's interpreter, and a process takes memory."""
    monkeypatch.setenv(WORKERS_VARIABLE, str(number))
    monkeypatch.delenv("NORMVIZ_DASK", raising=False)
    queue = create_queue.__wrapped__()
    assert queue.workers == min(number, most)
    queue._executor.shutdown()


def test_a_worker_process_trains_table_1_as_this_one_does():
    job = TableTrainingJob.of([SCHEMES["batch"]], Setting(steps=3), range(len(NETWORKS)))
    queue, found = training_panels.get_table_queue.__wrapped__(), []
    request = queue.submit([job], lambda job, outcome: found.append(outcome), lambda: True)
    assert request.wait(60.0)
    queue._executor.shutdown()
    assert np.allclose(found[-1].losses, run_to_end(job).losses, rtol=1e-12, atol=0)  # by kernels there, once loaded


@pytest.mark.parametrize(
    "command", [["normviz", "serve"], ["streamlit", "run", "app.py"]], ids=["normviz", "streamlit"]
)
def test_a_server_does_not_start_with_a_setting_that_cannot_be(command):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=os.environ | {WORKERS_VARIABLE: "0"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    assert f"normviz: {WORKERS_VARIABLE} is '0'; a whole number from 1 to {MAX_WORKERS} would do." in done.stderr
    assert "Traceback" not in done.stderr
