"""Without statistics: what saturates beside what normalizes, and the panel that shows it."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_page import ROOT
from strategies import examples
from streamlit.testing.v1 import AppTest

from normviz.core.normalize import normalize
from normviz.core.tolerances import INVARIANT
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.design import pointwise
from normviz.design.panels.pointwise import headline, saturation_words, table
from normviz.design.pointwise import DELTAS, EDGE, PLAIN, SHARED, at_alpha
from normviz.networks.setting import Setting
from normviz.table1.table import measure

EVERY = pytest.mark.parametrize("key", pointwise.POINTWISE)
factors = st.floats(1e-3, 1e3)
alphas = st.floats(0.01, 100.0)


@examples(30)
@given(delta=factors)
def test_a_factor_comes_through_all_but_what_shares(delta):
    assert pointwise.gap(SHARED, delta) < 1e-12
    assert pointwise.gap(PLAIN, delta) == pytest.approx(abs(delta - 1), rel=1e-9, abs=1e-12)


@EVERY
@examples(30)
@given(delta=factors, alpha=alphas)
def test_the_gap_is_the_direct_formula(key, delta, alpha):
    scheme, x = at_alpha(key, alpha), pointwise.sample()
    function = np.vectorize(getattr(math, scheme.pointwise))
    before = function(alpha * x)
    wanted = np.abs(function(alpha * delta * x) - before).max() / np.abs(before).max()
    assert pointwise.gap(scheme, delta) == pytest.approx(wanted, rel=1e-9, abs=1e-14)


@EVERY
def test_towards_a_small_alpha_it_is_as_without_normalization(key):
    np.testing.assert_allclose(pointwise.gaps(at_alpha(key, 1e-9)), pointwise.gaps(PLAIN), rtol=1e-9, atol=1e-12)
    assert pointwise.gaps(SHARED).max() < 1e-12


@EVERY
def test_towards_a_large_alpha_only_signs_are_left_and_no_slope(key):
    signs = at_alpha(key, pointwise.ALPHAS[-1])
    np.testing.assert_array_equal(pointwise.xhat(pointwise.sample(), signs), np.sign(pointwise.sample()))
    assert pointwise.gaps(signs).max() == 0
    assert pointwise.saturated(signs) == (pointwise.sample().size, 1.0, 0.0)


@EVERY
@examples(20)
@given(alpha=alphas, times=factors)
def test_saturation_counts_bounds_and_slopes(key, alpha, times):
    scheme, inside = at_alpha(key, alpha), alpha * times * pointwise.sample()
    found = pointwise.saturated(scheme, times)
    assert found.beyond == (np.abs(inside) > EDGE).sum()
    assert found.largest <= 1
    slopes = {"tanh": lambda u: 1 - np.tanh(u) ** 2, "erf": lambda u: np.exp(-(u**2))}
    with np.errstate(over="ignore"):
        assert found.slope == pytest.approx(slopes[scheme.pointwise](inside).mean(), abs=1e-12)
        assert pointwise.edge_slope(scheme) == pytest.approx(slopes[scheme.pointwise](EDGE), rel=1e-9)


@EVERY
@examples(20)
@given(delta=factors, alpha=alphas)
def test_every_element_lies_on_the_curve_that_is_drawn(key, delta, alpha):
    for scheme in (at_alpha(key, alpha), SHARED):
        found = pointwise.field(scheme, delta)
        assert np.abs(found.x).max() < found.across[-1]
        np.testing.assert_allclose(found.xhat, normalize(delta * pointwise.sample(), scheme, 0.0).xhat[0].ravel())
    curve = normalize(found.across.reshape(-1, 1, 1, 1), at_alpha(key, alpha)).xhat.ravel()
    np.testing.assert_array_equal(pointwise.field(at_alpha(key, alpha), delta).curve, curve)
    np.testing.assert_allclose(found.curve[-1] / found.across[-1], found.xhat[0] / found.x[0])
    heights = pointwise.field(SHARED, 1.0).xhat
    np.testing.assert_allclose(pointwise.field(SHARED, delta).xhat, heights, rtol=1e-9)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("delta", [0.01, 3.0, 100.0])
def test_the_six_changes_are_measured_as_the_rule_has_them(layer, delta):
    for scheme in (*(at_alpha(key, 0.5) for key in pointwise.POINTWISE), SHARED, PLAIN):
        for found in pointwise.changes(scheme, layer, delta):
            assert found.verdict.invariant == (found.gap <= INVARIANT["float64"]), (scheme.key, found)


@pytest.mark.parametrize("layer", LAYERS)
def test_table_1_predicts_measures_and_trains_the_same(layer):
    setting = Setting(layer=layer, steps=40, batch=16, width=16 if layer == "dense" else 6)
    schemes = [at_alpha(key, 0.5) for key in pointwise.POINTWISE]
    behind = [scheme.behind("weight") for scheme in schemes]
    cells = measure([*schemes, *behind], setting)
    assert len(cells) == len(TRANSFORMATIONS) * 2 * len(schemes)
    for cell in cells:
        assert cell.agrees, cell
        assert cell.predicted == cell.forward == cell.trained == cell.invariant, cell
    for number in range(len(schemes)):
        own = cells[number * len(TRANSFORMATIONS) :][: len(TRANSFORMATIONS)]
        assert not any(cell.invariant for cell in own)
    assert sum(cell.invariant for cell in cells) == 2 * len(behind)


@EVERY
def test_the_words_hold_their_numbers(key):
    scheme = at_alpha(key, 0.5)
    assert "by 0 to rounding with RMS norm, by 2 without normalization" in headline(scheme, 3.0)
    found = table(scheme, "dense", 3.0)
    assert all(text.startswith("✘ changes (") for text in found[scheme.label])
    assert [text[0] for text in found["RMS"]] == ["✔", "✘", "✘", "✔", "✘", "✔"]
    assert "– nothing is changed" in table(scheme, "dense", 1.0)["RMS"]
    assert "changes nothing" in headline(scheme, 1.0)
    said = saturation_words(scheme, 3.0)
    assert "x̂ changes by 0. " in said
    assert "the mean slope is 0, so no gradient" in said


def page(**given):
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120).switch_page("pages/design.py")
    app.query_params.update({"show": "pointwise", **given})
    return app.run()


@EVERY
def test_the_panel_follows_its_link_and_its_sliders(key):
    app = page(function=key, alpha="2", delta="10", layer="conv")
    assert not app.exception
    (told,) = [each.value for each in app.markdown if each.value.startswith("### As all x")]
    assert "δ = 10" in told
    assert any(re.search(r"α = 2(;| and s = 0;)", each.value) for each in app.markdown)
    app.select_slider("design alpha").set_value(0.1).run()
    assert not app.exception
    assert any(re.search(r"α = 0\.1(;| and s = 0;)", each.value) for each in app.markdown)
    assert app.query_params["alpha"] == "0.1"


def test_a_link_out_of_bounds_is_clamped():
    app = page(alpha="1e9", delta="0")
    assert not app.exception
    assert any("α = 100;" in each.value for each in app.markdown)
    assert not any(re.search(r"nan|inf\b", each.value) for each in app.markdown)


def test_the_deltas_reach_as_far_as_the_pages():
    assert (DELTAS[0], DELTAS[-1]) == (pytest.approx(1e-3), pytest.approx(1e3))
