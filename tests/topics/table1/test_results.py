"""What has been trained is kept by what it depends on, and a run that stops being finite is explained."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated
from trained import train_losses

from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.transformations import TRANSFORMATIONS
from normviz.jobs.executors import perform_job
from normviz.jobs.spec import run_to_end
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.table import build_cells
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import twins
from normviz.train.problem import NETWORKS, find_network_index, make_problem
from normviz.train.setting import Setting
from normviz.train.twins import NonFiniteTensor, iterate_failures

SETTING = Setting(steps=6, batch=8, width=8)
SCHEMES_3 = [SCHEMES[key] for key in ("batch", "weight", "layer")]
ALL = list(range(len(NETWORKS)))
RESCALED = [
    n for n, network in enumerate(NETWORKS) if network.transformation and network.transformation.factor is not None
]
RECENTRED = [
    n for n, network in enumerate(NETWORKS) if network.transformation and network.transformation.factor is None
]


@pytest.fixture(scope="module")
def results():
    results = TableResultCache()
    results.compute_missing(SCHEMES_3, SETTING)
    return results


class Until:
    """A control that stops after so many steps, and collects what it is told."""

    def __init__(self, steps):
        self.steps, self.told = steps, []

    def should_stop(self):
        self.steps -= 1
        return self.steps < 0

    def report_progress(self, share, result):
        self.told.append((share, result))


def keys(jobs):
    return [([row.key for row in job.rows], list(job.networks)) for job in jobs]


def fill_until(results, steps, schemes, setting):
    """What a run leaves that is stopped after so many steps of every job."""
    for job in results.list_missing_trainings(schemes, setting):
        trained = perform_job(job, Until(steps))
        if trained is not None:
            results.store_outcome(job, trained)


def test_what_is_trained_is_not_missing(results):
    assert results.list_missing_trainings(SCHEMES_3, SETTING) == []
    assert TableResultCache().list_missing_trainings(SCHEMES_3, SETTING) == [
        TableTrainingJob.of(SCHEMES_3, SETTING, ALL)
    ]
    for row, scheme in enumerate(SCHEMES_3):
        trained = train_losses(SCHEMES_3, SETTING)[:, row]
        assert_repeated({"losses": results.get_losses(scheme, SETTING)}, {"losses": trained})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"delta": 2.0}, [(["batch", "weight", "layer"], RESCALED)]),
        ({"shift": 1.0}, [(["batch", "weight", "layer"], RECENTRED)]),
        ({"eps": 1e-3}, [(["batch", "layer"], ALL)]),
        ({"steps": 3}, []),
        ({"steps": 7}, [(["batch", "weight", "layer"], ALL)]),
        *(
            ({name: value}, [(["batch", "weight", "layer"], ALL)])
            for name, value in {"rate": 0.2, "seed": 1, "optimizer": "adam", "dtype": "float32", "batch": 9}.items()
        ),
    ],
    ids=str,
)
def test_a_setting_retrains_what_it_affects_and_nothing_else(results, change, expected):
    assert keys(results.list_missing_trainings(SCHEMES_3, replace(SETTING, **change))) == expected


def test_a_new_row_trains_alone_and_one_computation_once(results):
    rows = [*SCHEMES_3, SCHEMES["group"]]
    assert keys(results.list_missing_trainings(rows, SETTING)) == [(["group"], ALL)]
    conv = replace(SETTING, layer="conv")
    alike = [SCHEMES["instance"], SCHEMES["layer-spatial"]]
    assert [len(job.rows) for job in TableResultCache().list_missing_trainings(alike, conv)] == [1]


def test_what_was_kept_equals_what_is_trained_anew():
    results, moved = TableResultCache(), replace(SETTING, delta=5.0)
    results.compute_missing(SCHEMES_3, SETTING)
    results.compute_missing(SCHEMES_3, moved)
    assert build_cells(SCHEMES_3, moved, results) == build_cells(SCHEMES_3, moved, filled(moved))
    for row, scheme in enumerate(SCHEMES_3):
        assert np.allclose(results.get_losses(scheme, moved), train_losses(SCHEMES_3, moved)[:, row], rtol=1e-12)


def filled(setting):
    results = TableResultCache()
    results.compute_missing(SCHEMES_3, setting)
    return results


def test_fewer_steps_are_the_first_of_more():
    long, short = replace(SETTING, steps=300, batch=8), replace(SETTING, steps=5)
    assert np.array_equal(make_problem(long).order[:5], make_problem(short).order)
    assert np.array_equal(make_problem(long).weights[0], make_problem(short).weights[0])
    assert np.array_equal(make_problem(long).classifier, make_problem(short).classifier)


def test_a_stopped_run_leaves_a_beginning_and_open_answers():
    results = TableResultCache()
    fill_until(results, 3, SCHEMES_3, SETTING)
    assert results.get_losses(SCHEMES_3[0], SETTING).shape == (3, len(NETWORKS))
    cells = build_cells(SCHEMES_3, SETTING, results)
    assert {cell.unanswered for cell in cells if cell.predicted} == {"Together so far; training is not over."}
    assert all(
        cell.trained is False for cell in cells if not cell.predicted and cell.transformation == "dataset-rescaling"
    )
    assert results.list_missing_trainings(SCHEMES_3, SETTING) == [TableTrainingJob.of(SCHEMES_3, SETTING, ALL)]


def test_a_run_that_is_stopped_before_its_first_step_leaves_nothing():
    results = TableResultCache()
    fill_until(results, 0, SCHEMES_3, SETTING)
    assert len(results._records) == 0
    assert results.describe_devices(SCHEMES_3, SETTING) == ""


def test_a_longer_run_is_not_lost_to_a_shorter_one():
    """As when another session's run of the same networks is cancelled, or starts again from its first step."""
    results = TableResultCache()
    results.compute_missing(SCHEMES_3, SETTING)
    whole = results.get_losses(SCHEMES_3[0], SETTING)
    for steps in (1, 3):
        job = TableTrainingJob.of(SCHEMES_3, SETTING, ALL)
        results.store_outcome(job, perform_job(job, Until(steps)))
    assert results.list_missing_trainings(SCHEMES_3, SETTING) == []
    assert np.array_equal(results.get_losses(SCHEMES_3[0], SETTING), whole)


def test_nothing_trained_is_no_answer():
    cells = build_cells(SCHEMES_3, SETTING, TableResultCache())
    assert {cell.unanswered for cell in cells} == {"Not trained yet."}
    assert all(cell.agrees for cell in cells)


def test_what_is_kept_is_bounded():
    results = TableResultCache(limit=len(NETWORKS))
    results.compute_missing(SCHEMES_3, SETTING)
    assert len(results._records) == len(NETWORKS)
    assert results.get_losses(SCHEMES_3[-1], SETTING).shape == (6, len(NETWORKS))
    assert results.get_losses(SCHEMES_3[0], SETTING).shape == (0, len(NETWORKS))


@pytest.mark.parametrize(
    "read",
    [
        lambda results, scheme: results.get_losses(scheme, SETTING),
        lambda results, scheme: results.list_missing_trainings([scheme], SETTING),
        lambda results, scheme: [results.get_failure(scheme, SETTING, network) for network in ALL],
    ],
    ids=["losses", "missing", "failure"],
)
def test_what_was_read_last_stays(read):
    results = TableResultCache(limit=3 * len(NETWORKS))
    results.compute_missing(SCHEMES_3, SETTING)
    read(results, SCHEMES_3[0])
    results.compute_missing([SCHEMES["rms"]], SETTING)
    there = {scheme.key: len(results.get_losses(scheme, SETTING)) for scheme in (*SCHEMES_3, SCHEMES["rms"])}
    assert there == {"batch": 6, "weight": 0, "layer": 6, "rms": 6}


EXPLODING = replace(SETTING, rate=1e6, steps=20)


def test_a_run_that_is_not_finite_is_explained():
    setting, results = EXPLODING, TableResultCache()
    scheme = SCHEMES["none"]
    results.compute_missing([scheme, SCHEMES["layer"]], setting)
    losses = results.get_losses(scheme, setting)
    for network in ALL:
        failure = results.get_failure(scheme, setting, network)
        first = int(np.argmin(np.isfinite(losses[:, network])))
        assert failure.step in (first, first + 1)  # counted from 1; a gradient spoils the loss of the next step
        assert failure.tensor.startswith("the ")
    assert results.get_failure(SCHEMES["layer"], setting, 0) is None
    (cell, *_) = build_cells([scheme], setting, results)
    assert "did not stay finite" in cell.unanswered


def test_a_failure_is_that_of_its_own_scheme_and_network():
    rescaling = find_network_index(TRANSFORMATIONS["dataset-rescaling"])
    setting = replace(EXPLODING, delta=1000.0)
    failures = run_to_end(TableTrainingJob.of([SCHEMES["layer"], SCHEMES["none"]], setting, [0, rescaling])).failures
    *_, alone = iterate_failures([SCHEMES["none"]], setting, [0, rescaling])
    assert failures == {(1, 0): alone[0, 0], (1, 1): alone[0, 1]}
    assert alone[0, 0] != alone[0, 1]


def test_reasons_go_with_their_losses():
    results = TableResultCache(limit=len(NETWORKS))
    results.compute_missing([SCHEMES["none"]], EXPLODING)
    results.compute_missing([SCHEMES["layer"]], EXPLODING)
    assert [results.get_failure(SCHEMES["none"], EXPLODING, network) for network in ALL] == [None] * len(ALL)
    assert len(results._records) == len(NETWORKS)


@pytest.fixture
def diagnosed(monkeypatch):
    """How many steps have been looked at for the tensor that was not finite."""
    steps, real = [], twins.iterate_failures

    def spy(*arguments):
        for found in real(*arguments):
            steps.append(dict(found))
            yield found

    monkeypatch.setattr(twins, "iterate_failures", spy)
    return steps


def test_a_stopped_run_is_not_explained(diagnosed):
    """Its losses are not finite already, but who has stopped it does not wait for the reason."""
    results = TableResultCache()
    fill_until(results, 10, [SCHEMES["none"]], EXPLODING)
    losses = results.get_losses(SCHEMES["none"], EXPLODING)
    assert losses.shape == (10, len(NETWORKS))
    assert not np.isfinite(losses).all()
    assert diagnosed == []
    assert results.get_failure(SCHEMES["none"], EXPLODING, 0) is None


def test_a_run_that_is_stopped_while_it_is_explained_ends_there_and_is_not_whole(diagnosed):
    results = TableResultCache()
    fill_until(results, EXPLODING.steps + 1, [SCHEMES["none"]], EXPLODING)
    assert len(diagnosed) == 2
    assert len(results.get_losses(SCHEMES["none"], EXPLODING)) == EXPLODING.steps - 1
    assert (
        len(results.list_missing_trainings([SCHEMES["none"]], EXPLODING)) == 1
    )  # whole losses come with their reasons


@pytest.mark.parametrize(
    "scheme",
    [
        *SCHEMES.values(),
        get_scheme("group", groups=4),
        get_scheme("divisive", radius=3),
        SCHEMES["custom"].with_fields(Field.parse("full,own,window(2),groups(2)"), None),
        SCHEMES["custom"].with_fields(None, None),
    ],
    ids=lambda scheme: str(SchemeSpec.of(scheme)),
)
def test_a_scheme_is_found_again_from_its_row(scheme):
    assert SchemeSpec.of(scheme).scheme == scheme


def test_the_tensor_that_overflows_first_is_named():
    half = replace(SETTING, dtype="float16", rate=1000.0)  # float16 ends at 65,504
    rows = [SCHEMES["batch"], SCHEMES["rms"]]
    *_, found = iterate_failures(rows, half, [find_network_index(TRANSFORMATIONS["dataset-rescaling"])])
    assert found[0, 0] == NonFiniteTensor(3, "the normalized summed inputs of layer 1")
    *_, found = iterate_failures(rows, replace(half, dtype="float32"), [0])
    assert found == {}
