"""What has been trained is kept by what it depends on, and a run that stops being finite is explained."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.core.schemes import SCHEMES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.networks.problem import NETWORKS, make_problem, position
from normviz.networks.setting import Setting
from normviz.networks.twins import Failure, diagnose, train
from normviz.table1.results import Results
from normviz.table1.table import table

SETTING = Setting(steps=6, batch=8, width=8)
SCHEMES_3 = [SCHEMES[key] for key in ("batch", "weight", "layer")]
ALL = list(range(len(NETWORKS)))
RESCALED = [
    n for n, network in enumerate(NETWORKS) if network.transformation and network.transformation.factor is not None
]


@pytest.fixture(scope="module")
def results():
    results = Results()
    results.fill(SCHEMES_3, SETTING)
    return results


def keys(blocks):
    return [([scheme.key for scheme in schemes], networks) for schemes, networks in blocks]


def test_what_is_trained_is_not_missing(results):
    assert results.missing(SCHEMES_3, SETTING) == []
    assert Results().missing(SCHEMES_3, SETTING) == [(SCHEMES_3, ALL)]
    for row, scheme in enumerate(SCHEMES_3):
        assert np.array_equal(results.losses(scheme, SETTING), train(SCHEMES_3, SETTING).losses[:, row])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"delta": 2.0}, [(["batch", "weight", "layer"], RESCALED)]),
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
    assert keys(results.missing(SCHEMES_3, replace(SETTING, **change))) == expected


def test_a_new_row_trains_alone_and_one_computation_once(results):
    rows = [*SCHEMES_3, SCHEMES["group"]]
    assert keys(results.missing(rows, SETTING)) == [(["group"], ALL)]
    conv = replace(SETTING, layer="conv")
    twins = [SCHEMES["instance"], SCHEMES["layer-spatial"]]
    assert len(Results().missing(twins, conv)[0][0]) == 1


def test_what_was_kept_equals_what_is_trained_anew():
    results, moved = Results(), replace(SETTING, delta=5.0)
    results.fill(SCHEMES_3, SETTING)
    results.fill(SCHEMES_3, moved)
    assert table(SCHEMES_3, moved, results) == table(SCHEMES_3, moved, filled(moved))
    for row, scheme in enumerate(SCHEMES_3):
        assert np.allclose(results.losses(scheme, moved), train(SCHEMES_3, moved).losses[:, row], rtol=1e-12)


def filled(setting):
    results = Results()
    results.fill(SCHEMES_3, setting)
    return results


def test_fewer_steps_are_the_first_of_more():
    long, short = replace(SETTING, steps=300, batch=8), replace(SETTING, steps=5)
    assert np.array_equal(make_problem(long).order[:5], make_problem(short).order)
    assert np.array_equal(make_problem(long).weights[0], make_problem(short).weights[0])
    assert np.array_equal(make_problem(long).classifier, make_problem(short).classifier)


def test_a_cancelled_run_leaves_a_beginning_and_open_answers():
    results, asked = Results(), []
    results.fill(SCHEMES_3, SETTING, cancelled=lambda: asked.append(0) or len(asked) > 3)
    assert results.losses(SCHEMES_3[0], SETTING).shape == (3, len(NETWORKS))
    cells = table(SCHEMES_3, SETTING, results)
    assert {cell.unanswered for cell in cells if cell.predicted} == {"Together so far; training is not over."}
    assert all(
        cell.trained is False for cell in cells if not cell.predicted and cell.transformation == "dataset-rescaling"
    )
    assert results.missing(SCHEMES_3, SETTING) == [(SCHEMES_3, ALL)]


def test_nothing_trained_is_no_answer():
    cells = table(SCHEMES_3, SETTING, Results())
    assert {cell.unanswered for cell in cells} == {"Not trained yet."}
    assert all(cell.agrees for cell in cells)


def test_the_store_is_bounded():
    results = Results(limit=len(NETWORKS))
    results.fill(SCHEMES_3, SETTING)
    assert len(results._losses) == len(NETWORKS)
    assert results.losses(SCHEMES_3[-1], SETTING).shape == (6, len(NETWORKS))
    assert results.losses(SCHEMES_3[0], SETTING).shape == (0, len(NETWORKS))


def test_a_run_that_is_not_finite_is_explained():
    setting, results = replace(SETTING, rate=1e6, steps=20), Results()
    scheme = SCHEMES["none"]
    results.fill([scheme, SCHEMES["layer"]], setting)
    losses = results.losses(scheme, setting)
    for network in ALL:
        failure = results.failure(scheme, setting, network)
        first = int(np.argmin(np.isfinite(losses[:, network])))
        assert failure.step in (first, first + 1)  # counted from 1; a gradient spoils the loss of the next step
        assert failure.tensor.startswith("the ")
    assert results.failure(SCHEMES["layer"], setting, 0) is None
    (cell, *_) = table([scheme], setting, results)
    assert "did not stay finite" in cell.unanswered


def test_the_tensor_that_overflows_first_is_named():
    half = replace(SETTING, dtype="float16", rate=1000.0)  # float16 ends at 65,504
    found = diagnose([SCHEMES["batch"], SCHEMES["rms"]], half, [position(TRANSFORMATIONS["dataset-rescaling"])])
    assert found[0, 0] == Failure(3, "the normalized summed inputs of layer 1")
    assert diagnose([SCHEMES["batch"], SCHEMES["rms"]], replace(half, dtype="float32"), [0]) == {}
