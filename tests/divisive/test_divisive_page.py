"""The divisive page as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import latex, open_lab, plots, said, sound, texts, traces

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.limits import gaps_to_limit, reach
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.divisive import panels as divisive_panels
from normviz.divisive.contrast import contrast_ratio, in_fading_light
from normviz.divisive.state import LIMIT_SCHEMES, LIMITS_SHAPE, PARAMS, PREFIX, RADII, SHAPES, has
from normviz.ui.palette import THEMES
from normviz.ui.panels import CONTRASTS

SCRIPT = "pages/divisive.py"
FIGURES = {"before", "divisor", "after", "response", "limits"}
DATA = pytest.mark.parametrize("data", SHAPES)


def open_page(**link):
    return open_lab(SCRIPT, **link)


def value(at, name):
    return at.session_state[PREFIX + name]


def windows(radius_a, radius_b, axes="HW"):
    """Divisive norm, written out."""
    fields = (Field(tuple(Rule("window", r) if a in axes else OWN for a in "NHWC")) for r in (radius_a, radius_b))
    return SCHEMES["divisive"].with_fields(*fields)


def picture(data="photo", seed=0, light=0.03):
    return in_fading_light(SAMPLES[data].make(SHAPES[data], seed), light)


# --- it opens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@DATA
def test_every_picture(data, theme):
    at = open_lab(SCRIPT, theme, data=data)
    about = SCHEMES["divisive"].about
    assert texts(at.markdown)[0].startswith(f"# What does divisive normalization do to contrast?\n{about}")
    assert set(plots(at)) == FIGURES
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert plots(at)["after"]["figure"]["layout"]["font"]["color"] == THEMES[theme].ink
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert at.query_params == ({} if data == "photo" else {"data": data})


@DATA
def test_every_control_that_means_something_is_offered(data):
    at = open_page(data=data)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.selectbox]
    view = {"data": data}
    assert {each.key.removeprefix(PREFIX) for each in widgets} == {p.name for p in PARAMS if has(view, p.name)}


def test_the_formulas_are_those_of_the_scheme():
    lines = notation.formulas(windows(2, 3))
    assert latex(open_page(radius="3", radius_a="2")) == [f.latex for f in lines if f.name not in ("output", "where")]


# --- contrast -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", ["0", "1e-7", "1e-5", "0.1"])
def test_the_pictures_and_the_ratios_are_those_of_the_core(eps):
    at = open_page(eps=eps, radius="3", radius_a="2", light="0.1", seed="1")
    x, scheme = picture(seed=1, light=0.1), windows(2, 3)
    result = normalize(x, scheme, float(eps))
    for key, shown in (("before", x), ("divisor", result.deviation), ("after", result.xhat)):
        np.testing.assert_allclose(np.asarray(traces(at, key)[0]["z"]), shown[0, :, :, 0], atol=1e-12)
    even = normalize(picture(seed=1, light=1.0), scheme, float(eps)).xhat
    before, after, best = (f"{contrast_ratio(values):.2g}" for values in (x, result.xhat, even))
    assert f"is **{before}** of the left half's in x and **{after}** in x̂; with even light, x̂ has {best}." in said(at)
    square = normalize(x, scheme, 0.0).deviation[:, :, 64:] ** 2
    share = np.median(float(eps) / (float(eps) + square)) if float(eps) else 0
    told = float(re.search(r"in that half (\d+)%", said(at))[1]) / 100
    assert told == pytest.approx(share, abs=0.0051)
    assert "up to 7 of 128 columns" in said(at)


def test_contrast_comes_back_for_a_small_eps_only():
    found = [float(re.search(r"\*\*([\d.]+)\*\* in x̂", said(open_page(eps=eps)))[1]) for eps in ("0", "1e-5", "1")]
    assert found == sorted(found, reverse=True)
    assert contrast_ratio(picture()) < 0.2
    assert found[0] > 0.9
    assert found[2] < 0.2


@pytest.mark.parametrize("link", [{"radius": "0"}, {"radius_a": "0"}])
def test_an_element_that_is_its_own_mean_leaves_nothing(link):
    at = open_page(**link)
    assert "v = 0, and nothing is left" in said(at)
    assert "x̂ is 0 at every contrast" in said(at)
    assert (np.asarray(traces(at, "after")[0]["z"]) == 0).all()


def test_windows_across_channels():
    at = open_page(data="features", over="HC", radius="1", eps="0.01", row="2", column="5", channel="3")
    x = picture("features")
    result = normalize(x, windows(1, 1, "HC"), 0.01)
    np.testing.assert_allclose(np.asarray(traces(at, "after")[0]["z"]), result.xhat[0, :, :, 3], atol=1e-12)


# --- one pixel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [{}, {"row": "50", "column": "30"}, {"row": "50"}])
def test_the_response_of_the_pixel_in_the_ring(link):
    at = open_page(**link, eps="0.001", light="0.1")
    x, scheme = picture(light=0.1), windows(4, 4)
    v = normalize(x, scheme, 0.0).v[0, :, :, 0]
    ring = traces(at, "after")[1]
    row, column = ring["y"][0], ring["x"][0]
    assert all(str(found) == link.get(name, str(found)) for name, found in (("row", row), ("column", column)))
    of_row = v[int(link["row"])] if "row" in link else v
    assert v[row, column] == (v[50, 30] if "column" in link else of_row.max())
    shown = traces(at, "response")[0]
    assert shown["name"] == "ε = 0.001"
    for k in (0, 20, 24, 28, 48):
        exact = normalize(CONTRASTS[k] * x, scheme, 0.001).xhat[0, row, column, 0]
        assert np.asarray(shown["y"])[k] == pytest.approx(exact, rel=1e-9)
    root = normalize(x, scheme, 0.0).deviation[0, row, column, 0]
    told = said(at).replace("−", "-")
    assert f"= **{0.001**0.5 / root:.3g}**, x̂ grows" in told
    assert f"slope v/√ε = {v[row, column] / 0.001**0.5:.3g};" in told
    assert f"= {v[row, column]:.3g} / {root:.3g} = **{v[row, column] / root:.3g}**" in told


def test_without_eps_all_is_saturated():
    at = open_page(eps="0")
    assert "there is no linear part" in said(at)
    curve = np.asarray(traces(at, "response")[0]["y"])
    np.testing.assert_allclose(curve, curve[0])


def test_a_number_chooses_the_pixel_and_an_empty_one_the_largest():
    at = open_page()
    largest = at.number_input(key=PREFIX + "row").placeholder
    at = sound(at.number_input(key=PREFIX + "row").set_value(7).run())
    assert at.query_params == {"row": "7"}
    assert traces(at, "before")[1]["y"] == [7]
    at = sound(at.number_input(key=PREFIX + "row").set_value(None).run())
    assert at.query_params == {}
    assert largest == f"{traces(at, 'before')[1]['y'][0]} (the largest v)"


# --- limits -------------------------------------------------------------------------------------------------------


@settings(max_examples=5)
@given(seed=st.integers(0, 9999), eps=st.sampled_from(["0", "1e-9", "1e-5", "1"]))
def test_each_curve_reaches_rounding_where_its_windows_reach(seed, eps):
    at = open_page(seed=str(seed), eps=eps, data="digits")
    x = SAMPLES["features"].make(LIMITS_SHAPE, seed)
    curves = {trace["name"]: np.asarray(trace["y"]) for trace in traces(at, "limits")}
    assert list(curves) == [scheme.label for scheme in LIMIT_SCHEMES.values()]
    for scheme in LIMIT_SCHEMES.values():
        exact = gaps_to_limit(x, scheme, RADII, float(eps))
        np.testing.assert_allclose(curves[scheme.label], np.maximum(exact, 1e-17))
        first = reach(scheme, LIMITS_SHAPE)
        assert exact[first:].max() < 1e-12 < 1e-4 < exact[:first].min()
        axes = ", ".join(a for a, rule in zip("NHWC", scheme.field.rules, strict=True) if rule == FULL)
        assert f"**{scheme.label}** ({axes}) at R = {first}, where the gap falls from" in said(at)


# --- the link -----------------------------------------------------------------------------------------------------


def test_the_link_holds_what_differs_and_no_other_pages_values():
    at = open_page(data="features", over="HWC", eps="0.5", channel="2", light="1")
    assert at.query_params == {"data": "features", "over": "HWC", "eps": "0.5", "channel": "2", "light": "1"}
    assert "radius" not in at.session_state
    assert (value(at, "over"), value(at, "channel")) == (["H", "W", "C"], 2)
    at = sound(at.selectbox(key=PREFIX + "data").set_value("photo").run())
    assert value(at, "over") == ["H", "W"]
    assert at.query_params == {"eps": "0.5", "light": "1"}


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(radius="99", eps="-1", data="foo", row="500", over="C", light="0")
    notes = ("radius = 99 became 16", "eps = -1 became 0", "data = foo became photo", "row = 500 became 95")
    for part in (*notes, "over = C became HW", "light = 0 became 0.001"):
        assert part in at.info[0].value


def test_what_the_core_refuses_is_told_and_the_choices_stay(monkeypatch):
    def refuse(*arguments):
        raise InvalidInput("not so")

    at = open_page(radius="2")
    monkeypatch.setattr(divisive_panels, "saturation", refuse)
    at = sound(at.run())
    assert texts(at.error) == ["not so"]
    assert value(at, "radius") == 2


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "same", "features", "digits", "HC", "1e-3"]),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_contrast_response_and_limits(link):
    at = open_page(**link)
    assert not at.error
    assert plots(at).keys() == {"before", "divisor", "after", "response", "limits"}
