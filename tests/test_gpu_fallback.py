"""Whatever fails on a GPU, the CPU gives the result, and the page, the command and the result say so."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from fake_gpu import FAULT, FakeGpu
from lab_page import open_lab, sound, texts
from trained import train_losses

from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.jobs import fallback
from normviz.jobs.executors import create_thread_pool, perform_job
from normviz.jobs.gpu import move_to_cpu
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import LimitExceeded
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.spec import run_to_end
from normviz.topics.design.training import list_training_jobs
from normviz.topics.experiments import batch_size, experiment_runs
from normviz.topics.table1 import training_panels
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import twins
from normviz.train.setting import Setting

FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79 GiB.")
FAILURES = {
    "start": ("start", None),
    "capture": ("capture", None),
    "middle": ("middle", None),
    "out of memory at the start": ("start", FULL),
    "out of memory in a capture": ("capture", FULL),
    "out of memory in the middle": ("middle", FULL),
}
TABLE = TableTrainingJob.of([SCHEMES["batch"], SCHEMES["none"]], Setting(steps=6, batch=8, width=8, rate=0.01), [0, 3])
SETTING = batch_size.Setting(steps=20, equal="steps", seeds=2, schemes=("layer",))  # all sizes reach the middle
EXPERIMENT = batch_size.EXPERIMENT.list_jobs(SETTING)[0]
TWINS = list_training_jobs("dense", sample=1)[0]
JOBS = {"Table 1": TABLE, "experiment": EXPERIMENT, "twins": TWINS}
SOON = 60  # seconds that a test waits at most


@pytest.fixture
def gpu(monkeypatch):
    return FakeGpu(monkeypatch)


def plain(result):
    """A result as arrays, without its device and time."""
    found = result if isinstance(result, dict) else {"losses": result.losses}
    return {name: array for name, array in found.items() if name != "device"}


def device_of(result):
    return str(result["device"] if isinstance(result, dict) else result.device)


CASES = [
    (name, failure) for name in JOBS for failure in FAILURES if (name, "capture" in failure) != ("experiment", True)
]
"""Experiments capture nothing."""


@pytest.mark.parametrize(("name", "failure"), CASES)
def test_the_result_is_that_of_the_cpu_and_says_so(name, failure, gpu, capsys):
    job, (place, error) = JOBS[name], FAILURES[failure]
    expected = run_to_end(move_to_cpu(job))
    gpu.fail_at(place, error)
    found = run_to_end(job)
    assert [*dict.fromkeys(gpu.opened)] == ["cpu", "cuda"]
    assert gpu.opened[-1] == "cpu"
    why = "out of memory" if error is FULL else "CUDA error: an illegal memory access was encountered"
    assert device_of(found) == f"CPU: the GPU failed ({why})"
    assert device_of(expected) == "CPU"
    for key, array in plain(expected).items():
        np.testing.assert_array_equal(plain(found)[key], array)
    assert capsys.readouterr().err == f"normviz: Trained on the CPU: the GPU failed ({why}).\n"


def test_without_a_failure_the_gpu_trains(gpu, capsys):
    assert device_of(run_to_end(TABLE)) == "CPU"  # as the fake's tensors are
    assert gpu.opened == ["cuda"]
    assert capsys.readouterr().err == ""


def test_a_gpu_that_was_full_is_used_again_and_one_that_failed_is_not(gpu):
    gpu.fail_at("middle", FULL)
    for _ in range(2):
        run_to_end(TABLE)
    assert gpu.opened == ["cuda", "cpu", "cuda", "cpu"]
    gpu.fail_at("start")
    gpu.opened.clear()
    for _ in range(3):
        assert "illegal memory access" in device_of(run_to_end(TABLE))
    assert gpu.opened == ["cuda", "cpu", "cpu", "cpu"]


class JobControl:
    """Says stop after so many questions, or raises an error of its own."""

    def __init__(self, questions, error=None):
        self.left, self.error, self.told = questions, error, []

    def should_stop(self):
        self.left -= 1
        if self.left < 0 and self.error:
            raise self.error
        return self.left < 0

    def report_progress(self, share, result):
        self.told.append(result)


def test_a_job_that_is_stopped_or_over_a_limit_or_refused_has_not_failed(gpu, monkeypatch):
    perform_job(TABLE, JobControl(3))
    with pytest.raises(RuntimeError, match="closes"):  # as a worker of a cluster that takes its job away
        perform_job(TABLE, JobControl(3, RuntimeError("closes")))
    assert fallback.GPU_FAILURES.reason == ""
    for error in (LimitExceeded("too much"), InvalidInput("no such device")):
        with pytest.MonkeyPatch.context() as patch:
            again = FakeGpu(patch)
            again.fail_at("start", error)
            with pytest.raises(type(error), match=str(error)):
                run_to_end(TABLE)
            assert again.opened == ["cuda"]
    assert gpu.opened == ["cuda", "cuda"]


def test_what_is_told_on_the_way_says_so_too(gpu, monkeypatch):
    monkeypatch.setattr("normviz.jobs.executors.REPORT_SECONDS", 0.0)
    gpu.fail_at("middle")
    control = JobControl(1000)
    found = perform_job(TABLE, control)
    assert control.told[0].device == "CPU"
    assert {device_of(each) for each in control.told[-3:]} == {device_of(found)}
    assert "the GPU failed" in device_of(found)


def test_an_error_that_the_cpu_has_as_well_is_the_jobs(gpu, monkeypatch, capsys):
    def wrong(*given):
        raise ValueError("a mistake of the job")

    monkeypatch.setattr(twins, "make_problem", wrong)
    with pytest.raises(ValueError, match="a mistake of the job"):
        run_to_end(TABLE)
    assert gpu.opened == ["cuda", "cpu"]
    assert capsys.readouterr().err == ""
    assert fallback.GPU_FAILURES.reason == ""


def test_the_first_error_of_a_capture_is_the_one_that_counts(gpu, monkeypatch):
    """The exit of a capture that a step broke off raises an error of its own."""

    class Broken(torch.cuda.graph):
        def __exit__(self, kind, *error):
            super().__exit__(kind, *error)
            if kind is not None:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    monkeypatch.setattr(torch.cuda, "graph", Broken)
    real, calls = twins.NetworkStack.step, []

    def full(self, *batch):
        calls.append(None)
        if len(calls) == 2:  # the first one warms up
            raise FULL
        return real(self, *batch)

    monkeypatch.setattr(twins.NetworkStack, "step", full)
    with pytest.raises(torch.OutOfMemoryError):
        train_losses([SCHEMES["layer"]], replace(TABLE.setting, device="cuda"))
    calls.clear()
    assert device_of(run_to_end(TABLE)) == "CPU: the GPU failed (out of memory)"


def test_a_capture_that_ends_badly_by_itself_raises_that(gpu, monkeypatch):
    class Broken(torch.cuda.graph):
        def __exit__(self, *error):
            super().__exit__(*error)
            raise RuntimeError("CUDA error: cannot instantiate")

    monkeypatch.setattr(torch.cuda, "graph", Broken)
    with pytest.raises(RuntimeError, match="cannot instantiate"):
        train_losses([SCHEMES["layer"]], replace(TABLE.setting, device="cuda"))


# --- on pages and commands -----------------------------------------------------------------------------------------


def settled(at, cancel):
    """The page once its work is over, and with it the button that cancels it."""
    deadline = time.monotonic() + SOON
    while cancel in {button.key for button in at.button}:
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


COMMAND = ["table1", "--schemes", "batch", "--steps", "5", "--batch", "8", "--width", "8", "--seed", "77", "--json"]


def cells(capsys, *options):
    code = main([*COMMAND, *options])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


def test_the_command_says_so_on_stderr(gpu, capsys):
    code, expected, said = cells(capsys, "--device", "cpu")
    assert said == ""
    gpu.fail_at("middle", FULL)
    assert cells(capsys, "--device", "auto") == (
        code, expected, "normviz: Trained on the CPU: the GPU failed (out of memory).\n"
    )  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_gpu_that_is_asked_for_and_not_there_is_an_error(capsys):
    code, printed, said = cells(capsys, "--device", "cuda")
    assert (code, printed) == (2, None)
    assert "there is no cuda device here; auto or cpu would do." in said


@pytest.mark.parametrize("failure", ["start", "capture", "middle", "out of memory in the middle"])
def test_the_page_of_table_1_says_so(failure, gpu, monkeypatch):
    gpu.fail_at(*FAILURES[failure])
    seed = str(7000 + [*FAILURES].index(failure))
    link = {"schemes": "rms", "steps": "5", "batch": "8", "width": "8", "seed": seed}
    with create_thread_pool(1) as pool:
        queue = JobQueue(pool)
        monkeypatch.setattr(training_panels, "get_table_queue", lambda: queue)
        at = settled(open_lab("pages/invariance.py", reveal="1", **link), "cancel")  # a covered table has no button
    assert not at.error
    said = [text for text in texts(at.caption) if text.startswith("Trained on the CPU: the GPU failed (")]
    assert len(said) == 1


@pytest.mark.heavy
def test_the_page_of_an_experiment_says_so(gpu, monkeypatch, tmp_path):
    archive = ResultArchive(ResultCache(tmp_path / "results.sqlite"))
    monkeypatch.setattr(experiment_runs, "get_archive", lambda: archive)
    gpu.fail_at("middle", FULL)
    with create_thread_pool(1) as pool:
        queue = JobQueue(pool)
        monkeypatch.setattr(experiment_runs, "get_experiment_queue", lambda: queue)
        link = {"batch_size_steps": "20", "batch_size_seeds": "2", "batch_size_schemes": "layer"}
        at = open_lab("pages/experiments.py", show="batch-size", **link)
        at = sound(at.button(key="start run").click().run())
        at = settled(at, "cancel run")
    assert any("on the CPU: the GPU failed (out of memory)" in text for text in texts(at.caption))


def test_words_of_an_error():
    assert fallback.summarize_error(RuntimeError(FAULT)) == "CUDA error: an illegal memory access was encountered"
    assert (
        fallback.summarize_error(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling …"))
        == "out of memory"
    )
    assert fallback.summarize_error(AssertionError()) == "AssertionError"
    assert len(fallback.summarize_error(RuntimeError("x" * 500))) == fallback.MAX_REASON_LENGTH
