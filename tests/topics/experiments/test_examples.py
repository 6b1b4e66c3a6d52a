"""The results that come with the package: of the code as it is, small, and what a report needs of them."""

import re
from dataclasses import replace

import numpy as np
import pytest

import normviz
from normviz.jobs.failures import JobsFailed
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments import batch_size, examples, speed, write_examples
from normviz.topics.experiments.catalogue import EXPERIMENTS
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.examples import (
    EXAMPLES_FOLDER,
    MAX_EXAMPLE_BYTES,
    find_example,
    get_example_path,
    pack_results,
    unpack_results,
)
from normviz.topics.experiments.reports import VERDICT_TEXTS, Report, Verdict

PENDING: set[str] = set()
"""Experiments without a shipped result. `make results KEYS="…"` computes one; then its key leaves this set."""

SHIPPED = [key for key in EXPERIMENTS if key not in PENDING]

MAX_TOTAL_BYTES = 1_000_000


def find_outdated(experiment):
    """Return in a sentence why the file of an experiment does not fit its default setting, "" where it does."""
    names = {examples._shorten_job_digest(part) for part in experiment.list_jobs(experiment.setting())}
    _, results = examples._read_example_file(experiment.key)
    command = f'`make results KEYS="{experiment.key}"` computes it.'
    if missing := len(names - results.keys()):
        return f"{experiment.key}: {missing} of {len(names)} parts have no shipped result. {command}"
    if left := len(results.keys() - names):
        return f"{experiment.key}: {left} shipped results belong to no part. {command}"
    return ""


@pytest.mark.parametrize("key", SHIPPED)
def test_every_part_of_the_default_has_its_result(key):
    assert find_outdated(EXPERIMENTS[key]) == ""


def test_times_measured_on_one_machine_are_shown_on_every_other_one(monkeypatch):
    monkeypatch.setattr(speed, "describe_machine", lambda: "another processor, 64 cores, PyTorch 9.9")
    assert find_outdated(EXPERIMENTS["speed"]) == ""


def test_the_files_are_those_of_the_experiments_that_are_not_pending():
    assert {path.name for path in EXAMPLES_FOLDER.iterdir()} == {get_example_path(key).name for key in SHIPPED}


def test_the_files_are_small():
    sizes = [path.stat().st_size for path in EXAMPLES_FOLDER.iterdir()]
    assert max(sizes) <= MAX_EXAMPLE_BYTES
    assert sum(sizes) <= MAX_TOTAL_BYTES


@pytest.mark.parametrize("key", SHIPPED)
def test_a_report_of_the_shipped_results_has_a_verdict(key):
    experiment = EXPERIMENTS[key]
    version, results = find_example(key, experiment.list_jobs(experiment.setting()))
    report = experiment.report(experiment.setting(), results)
    assert report.verdict != experiment.report(experiment.setting(), {}).verdict
    assert VERDICT_TEXTS["holds-if"] not in {each.text for each in (report.verdict, *report.verdicts.values())}
    assert report.figures
    assert len(report.headline.split()) <= 14, report.headline  # 12, and two words of a condition
    stated = re.sub(r"(learning rate|strength) \S+|L1|≤ −2γ", "", report.headline)  # a condition is no result
    assert len(re.findall(r"\d+(?:\.\d+)?", stated)) <= 2, report.headline
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)


@pytest.mark.heavy
@pytest.mark.parametrize("key", SHIPPED)
def test_the_code_still_computes_what_is_shipped(key):
    """Of the quickest part: a change of the code without a new version of the part would leave its digest as it is."""
    experiment = EXPERIMENTS[key]
    part = min(experiment.list_jobs(experiment.setting()), key=lambda each: each.seconds)
    _, results = find_example(key, [part])
    computed = run_to_end(part)
    for name, array in results[part].items():
        if array.dtype.kind == "f":
            assert np.allclose(array, computed[name], rtol=0.05, atol=0.05, equal_nan=True)


def test_what_has_changed_is_said_with_the_command(monkeypatch):
    monkeypatch.setattr(DenseGrid, "version", 99)
    assert find_example("batch-size", batch_size.list_jobs(batch_size.Setting())) is None
    assert find_outdated(batch_size.EXPERIMENT) == (
        'batch-size: 14 of 15 parts have no shipped result. `make results KEYS="batch-size"` computes it.'
    )


def test_another_setting_has_a_result_only_if_all_its_parts_have_one():
    setting = batch_size.Setting()
    assert find_example("batch-size", batch_size.list_jobs(replace(setting, schemes=("batch",))))
    assert find_example("batch-size", batch_size.list_jobs(replace(setting, schemes=("batch", "rms")))) is None
    assert find_example("batch-size", batch_size.list_jobs(replace(setting, seed=1))) is None


def test_only_what_the_report_reads_is_packed():
    _, results = find_example("batch-size", batch_size.list_jobs(batch_size.Setting()))
    grids = [arrays for part, arrays in results.items() if isinstance(part, DenseGrid)]
    assert all(set(arrays) == {"validation", "test", "measured", "share", "device"} for arrays in grids)


def test_a_report_that_would_change_is_refused(monkeypatch):
    parts = batch_size.list_jobs(batch_size.Setting())
    _, results = find_example("batch-size", parts)
    read = examples.unpack_results
    monkeypatch.setattr(examples, "unpack_results", lambda content: read(get_example_path("batch-size").read_bytes()))
    results = {
        part: arrays | {"test": arrays["test"] / 2} if "test" in arrays else arrays for part, arrays in results.items()
    }
    with pytest.raises(ValueError, match="batch-size: the report of what is packed is another one"):
        pack_results(batch_size.EXPERIMENT, results)


def test_a_report_that_needs_double_precision_has_it():
    part = batch_size.BatchStatisticsNoise((0, 1))
    said = 1.0 + 1e-12
    experiment = replace(
        batch_size.EXPERIMENT,
        list_jobs=lambda setting: [part],
        report=lambda setting, results: Report(str(results[part]["mean"]), [], Verdict("holds", ""), {}),
    )
    for number in (0.5, said):
        arrays = {"mean": np.array(number), "share": np.array(1.0), "device": np.array("CPU")}
        _, found = unpack_results(pack_results(experiment, {part: arrays}))
        assert found[examples._shorten_job_digest(part)]["mean"] == number


def test_a_file_that_is_too_large_is_refused(monkeypatch):
    _, results = find_example("batch-size", batch_size.list_jobs(batch_size.Setting()))
    monkeypatch.setattr(examples, "MAX_EXAMPLE_BYTES", 100)
    with pytest.raises(ValueError, match="at most 100 would do"):
        pack_results(batch_size.EXPERIMENT, results)


def test_packed_results_are_read_as_they_were():
    parts = batch_size.list_jobs(batch_size.Setting())
    version, results = find_example("batch-size", parts)
    again, found = unpack_results(pack_results(batch_size.EXPERIMENT, results))
    assert again == version == normviz.__version__
    for part in parts:
        for name, array in results[part].items():
            assert np.array_equal(found[examples._shorten_job_digest(part)][name], array)


def test_objects_are_not_read(tmp_path):
    out = tmp_path / "objects.npz"
    np.savez(out, version=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        unpack_results(examples.lzma.compress(out.read_bytes()))


def test_the_command_ends_with_1_where_it_cannot_write(monkeypatch, capsys):
    def fail(key):
        raise JobsFailed("a part has failed")

    assert write_examples.main(["nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
    monkeypatch.setattr(write_examples, "write_example", fail)
    assert write_examples.main(["speed"]) == 1
    assert capsys.readouterr().err == "a part has failed\n"
