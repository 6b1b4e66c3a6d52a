"""`normviz design --census --trained`: counts by set, exit codes, and the sentence on an answer that differs."""

import json

import pytest

from normviz.cli.design import DEFAULT_SAMPLES, parse_sample
from normviz.cli.main import main
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.theory import Prediction
from normviz.jobs import run as job_run
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.topics.design.search import take_census
from normviz.topics.design.training import FIRST_SAMPLE_SIZE, TwinTraining
from normviz.topics.table1 import table

BATCH = SchemeSpec("custom", "full,full,full,own", "full,full,full,own")


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """In a thread of this process, and with results of its own."""
    monkeypatch.setenv("NORMVIZ_RESULTS", str(tmp_path / "results.sqlite"))
    with create_thread_pool(1) as pool:
        monkeypatch.setattr(
            job_run,
            "create_default_queue",
            lambda workers, most, done: JobQueue(pool, jobs_per_request=most),
        )
        yield


def run(capsys, *words):
    code = main(["design", "--census", "--trained", *words])
    return code, *capsys.readouterr()


def test_all_of_a_dense_layer_as_json_and_not_twice(capsys, monkeypatch):
    code, out, err = run(capsys, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [tuple(kind["invariances"]) for kind in found] == [kind.invariances for kind in take_census("dense")]
    for kind in found:
        trained = kind["trained"]
        assert trained["of"] == trained["done"] == kind["schemes"] == trained["agree"] + trained["unanswered"]
    assert sum(kind["trained"]["agree"] for kind in found) >= 80
    monkeypatch.setattr(TwinTraining, "steps", lambda self: pytest.fail("was run again"))
    assert run(capsys, "--json") == (0, out, "")


def test_the_default_of_a_convolution_is_the_sample_that_is_trained_first():
    assert [parse_sample(DEFAULT_SAMPLES[layer]) for layer in ("dense", "conv")] == [None, FIRST_SAMPLE_SIZE]


def test_the_device_is_that_of_every_job(capsys, monkeypatch):
    real, devices = TwinTraining.steps, []
    monkeypatch.setattr(TwinTraining, "steps", lambda self: devices.append(self.setting.device) or real(self))
    run(capsys, "--sample", "1")
    assert run(capsys, "--sample", "1", "--device", "cpu")[0] == 0
    assert devices == ["auto", "cpu"]


def test_a_sample_for_people(capsys):
    code, out, err = run(capsys, "--layer", "conv", "--sample", "1", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.count("1 of 1 as predicted") + out.count("1 without an answer") == len(take_census("conv"))


def test_an_answer_that_differs_is_said_and_is_an_error(capsys, monkeypatch):
    real = table.predict

    def predict(scheme, change, *rest):
        verdict = real(scheme, change, *rest)
        lies = SchemeSpec.of(scheme) == BATCH and change.key == "case-rescaling"
        return Prediction(not verdict.invariant, "by a false rule") if lies else verdict

    monkeypatch.setattr(table, "predict", predict)
    code, out, err = run(capsys, "--json")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("normviz: mean over N; root mean square over N  = batch normalization; single training case")
    assert sum(kind["trained"]["disagree"] for kind in json.loads(out)) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--sample", "0"],
        ["--sample", "some"],
        ["--sample", "9" * 5000],
        ["--seed", "-1"],
        ["--device", "abacus"],
        ["--layer", "deep"],
        ["--weights", "x"],
        ["--need", "case-rescaling"],
    ],
)
def test_bad_input_is_one_line(capsys, words):
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "words",
    [
        ["--trained", "--need", "case-rescaling"],
        ["--census", "--sample", "2"],
        ["--census", "--seed", "0"],
        ["--census", "--device", "cpu"],
    ],
)
def test_what_goes_with_another_option_says_so(capsys, words):
    assert main(["design", *words]) == 2
    assert "goes with" in capsys.readouterr().err
