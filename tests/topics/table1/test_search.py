"""The random search over settings, at its smallest size, and that it would see what is wrong."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from browsing import ROOT

from normviz.core.kinds.whitening import whiten
from normviz.core.registry import get_scheme
from normviz.topics.table1.fade import compute_eps_effects
from normviz.topics.table1.table import measure_cells
from normviz.train.setting import Setting

sys.path.insert(0, str(ROOT / "benchmarks"))
import exact
import search
from exact import exact_gaps


def test_no_answer_contradicts_independent_arithmetic(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["search.py", "--smallest"])
    code = search.main()
    printed = capsys.readouterr().out
    assert code == 0, printed
    rows = [line for line in printed.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 4
    assert sum(int(row.split("|")[2]) for row in rows) >= 300


@pytest.fixture(scope="module")
def cell():
    return measure_cells([get_scheme("batch")], Setting(steps=3, batch=8, width=4, device="cpu"))[0]


@pytest.mark.parametrize(
    ("wrong", "exact", "told"),
    [
        ({}, 0.0, set()),
        ({}, 0.1, {"predicted", "forward", "trained"}),
        ({"predicted": False}, 0.0, {"predicted", "disagree"}),
        ({"forward": False}, 0.0, {"forward", "disagree"}),
        ({"trained": False}, 0.0, {"trained", "disagree"}),
        ({"trained": None, "forward": None}, 0.1, {"predicted"}),
        ({"unchanged": True}, 0.0, {"an answer where nothing was changed"}),
        ({"fades": True, "predicted": False, "fade": 0.2, "forward": False, "trained": False}, 0.1, {"fade"}),
    ],
)
def test_the_search_sees_what_is_wrong(cell, wrong, exact, told):
    assert set(search.contradictions(replace(cell, **wrong), exact)) == told


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("key", ["batch", "group", "divisive", "layer-weight"])
def test_both_arithmetics_of_a_fade_agree(key, layer):
    setting = Setting(layer=layer, batch=8, width=4, delta=0.1, eps=1e-2)
    scheme = get_scheme(key)
    assert exact_gaps(scheme, setting)["dataset-rescaling"] == pytest.approx(
        compute_eps_effects(scheme, setting)["dataset-rescaling"].largest, rel=1e-9
    )


@pytest.mark.parametrize(
    ("seed", "delta", "width", "groups"), [(5298, 0.003913289546970482, 6, 2), (3610, 0.9, 4, 1), (7, 0.3, 16, 1)]
)
def test_the_exact_gap_of_a_scheme_that_whitens_has_the_digits_of_long_double(seed, delta, width, groups):
    """1568 vectors are whitened; singular vectors in double precision are off by 1e-13 of x̂ there."""
    setting = Setting(layer="conv", depth=4, width=width, delta=delta, seed=seed)
    gaps = exact_gaps(get_scheme("whitening", groups=groups), setting)
    assert max(gaps["weight-matrix-rescaling"], gaps["dataset-rescaling"]) < search.EQUAL / 100


@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_both_arithmetics_whiten_alike(eps):
    v = np.random.default_rng(0).standard_normal((40, 1, 1, 5)) @ np.random.default_rng(1).standard_normal((5, 5))
    v = (v - v.mean(0)).astype(np.longdouble)
    assert np.abs(exact._whitened(v, eps) - whiten(v.astype(float), 1, eps)).max() < 1e-13
