"""Experiments on the command line: what is read, what is printed, what is kept, and how it ends."""

import json
import shlex
import sys
from subprocess import PIPE, Popen

import pytest
from browsing import ROOT

from normviz.cli import experiment
from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.settings import get_declarations
from normviz.jobs import run as job_run
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest
from normviz.topics.experiments.catalogue import EXPERIMENTS
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.experiment import format_run_command as command_of

SMALL = ("batch-size", "--steps", "20", "--equal", "steps", "--seeds", "2", "--schemes", "layer")


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


def run(*words):
    return main([*words])


def test_without_a_name_all_are_listed(capsys):
    assert run("experiment") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    for line, each in zip(lines, EXPERIMENTS.values(), strict=True):
        assert each.question in line


def test_a_record_says_what_was_run_and_what_came_out(capsys):
    assert run("experiment", *SMALL, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"experiment", "configuration", "digest", "result", "verdict", "condition"} <= found.keys()
    assert found["configuration"]["steps"] == 20
    assert found["configuration"]["schemes"] == ["layer"]
    assert len({len(column) for column in found["result"].values()}) == 1
    assert run("experiment", *SMALL) == 0
    assert found["headline"] in capsys.readouterr().out


def test_nothing_is_started_for_what_is_kept(monkeypatch, capsys):
    assert run("experiment", *SMALL, "--json") == 0
    before = capsys.readouterr().out
    monkeypatch.setattr(job_run, "create_default_queue", lambda *_: pytest.fail("a queue was made"))
    assert run("experiment", *SMALL, "--json") == 0
    assert capsys.readouterr().out == before


def test_a_sweep_runs_every_combination(capsys):
    words = ["batch-size", "--schemes", "none,layer", "--seeds", "2,3", "--seed", "0,1"]
    settings = experiment.parse_words(words, is_sweep=True).settings
    assert [(each.seeds, each.seed) for each in settings] == [(2, 0), (2, 1), (3, 0), (3, 1)]
    assert {tuple(each.schemes) for each in settings} == {("none", "layer")}
    assert run("sweep", *SMALL, "--seed", "0,1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["configuration"]["seed"] for each in found] == [0, 1]
    assert found[0]["digest"] != found[1]["digest"]


def test_a_run_that_is_interrupted_keeps_what_is_done(monkeypatch, capsys):
    begun, real = [], DenseGrid.steps
    parts = EXPERIMENTS["batch-size"].list_jobs(EXPERIMENTS["batch-size"].setting(schemes=("layer",)))

    def steps(self):
        begun.append(self)
        if len(begun) == 3:
            raise MemoryError("there is no room")
        yield from real(self)

    monkeypatch.setattr(job_run, "create_default_queue", lambda workers, jobs_per_request, done: JobQueue(pool))
    monkeypatch.setattr(DenseGrid, "steps", steps)
    with create_thread_pool(1) as pool:
        assert run("experiment", *SMALL) == 1
        assert "there is no room" in capsys.readouterr().err
        assert run("experiment", *SMALL) == 0
    assert len(begun) == sum(isinstance(part, DenseGrid) for part in parts) + 1


def test_its_options_are_told(capsys):
    with pytest.raises(SystemExit) as ended:
        run("experiment", "batch-size", "--help")
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')}" in said for name in get_declarations(EXPERIMENTS["batch-size"].setting))


def test_a_reader_that_has_gone_is_no_traceback():
    words = [sys.executable, "-m", "normviz", "experiment"]
    with Popen(words, stdout=PIPE, stderr=PIPE, cwd=ROOT) as process:
        process.stdout.close()
        error = process.stderr.read().decode()
    assert process.returncode == 1
    assert "Traceback" not in error


def test_an_interrupt_is_told_in_a_line(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(JobRequest, "wait", interrupted)
    assert run("experiment", *SMALL) == 130
    assert "the same command continues" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "experiment 'nothing' is unknown"),
        (("batch-size", "--steps", "1"), "steps = 1"),
        (("batch-size", "--steps", "many"), "--steps many"),
        (("batch-size", "--colour", "red"), "--colour"),
        (("batch-size", "--schemes", "bach"), "'bach'"),
        (("batch-size", "--own", "full"), "own = 'full'"),
        (("batch-size", "--rate", "nan"), "rate"),
        (("batch-size", "--own", "full,own,own,own|full,own,own,own|wieght"), "'wieght' is not a scheme of weights"),
        (("speed", "--schemes", "custom", "--own", "full,own,own,own||weight"), "no weights stand in front"),
        (("placement", "--scheme", "custom", "--own", "own,own,own,full||weight"), "no weights stand in front"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, said, capsys):
    assert run("experiment", *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_the_page_s_command_asks_for_the_same(key):
    least = get_declarations(EXPERIMENTS[key].setting)["seeds"].least
    setting = EXPERIMENTS[key].setting(seeds=least + 1, seed=7)
    words = command_of(EXPERIMENTS[key], setting).split()[2:]
    assert experiment.parse_words(words).settings == [setting]


def test_a_scheme_of_one_s_own_goes_both_ways():
    own = "own,full,full,full|own,own,own,full|spectral"
    setting = EXPERIMENTS["batch-size"].setting(schemes=("layer", "custom"), own=own)
    words = shlex.split(command_of(EXPERIMENTS["batch-size"], setting))[2:]
    assert experiment.parse_words(words).settings == [setting]
    assert setting.labels == ("layer norm", "custom + spectral")
    assert setting.names[1] == "a scheme of your own behind spectral norm"
    with pytest.raises(InvalidInput):
        experiment.parse_words(["batch-size", "--own", "a|b"])


def test_a_command_for_an_experiment_that_is_part_of_another_runs_that_one():
    found = experiment.parse_words(["sparsity", "--first", "0.3", "--seeds", "2"])
    assert found.experiment is EXPERIMENTS["smoothing"]
    assert (found.settings[0].eps, found.settings[0].seeds) == (0.3, 2)
    with pytest.raises(InvalidInput, match="--penalty"):
        experiment.parse_words(["sparsity", "--penalty", "0.1"])
