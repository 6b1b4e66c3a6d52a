"""Weight norm under SGD, against torch's autograd and optimizer; and its pictures."""

from urllib.parse import quote

import numpy as np
import pytest
import torch
from checked import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import noise, seeds
from torch import nn
from torch.nn.utils.parametrizations import weight_norm as torch_weight_norm

from normviz.core.errors import InvalidInput
from normviz.data.digits import load_digits
from normviz.ui.palette import THEMES
from normviz.weights.descent import (
    DIGITS,
    INPUTS,
    PAIR,
    PARAMETRIZATIONS,
    Regression,
    Setting,
    angles,
    descend,
    gradient,
    growth_gap,
    loss,
    regression,
)
from normviz.weights.descent_figures import FAINT, by_step, extent, plane
from normviz.weights.things import PLAIN, THINGS, V, W, key_html

EVERY_THEME = pytest.mark.parametrize("theme", THEMES)


def tensor(array):
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("inputs", INPUTS)
def test_the_regression_is_on_two_digits(inputs):
    x, target = regression(inputs)
    assert x.shape == (DIGITS, INPUTS[inputs].size)
    labels = load_digits()[1]
    assert [int((target == sign).sum()) for sign in (-1, 1)] == [int((labels == digit).sum()) for digit in PAIR]
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-14)
    assert loss(regression(inputs), np.zeros(x.shape[1])) == pytest.approx(np.log(2))


def test_the_components_hold_the_most_variance():
    (pixels, _), (plane_, _) = regression("pixels"), regression("plane")
    found = np.linalg.eigvalsh(pixels.T @ pixels)[::-1][:2]
    np.testing.assert_allclose(plane_.T @ plane_, np.diag(found), atol=1e-9)


@given(seeds, st.sampled_from(list(INPUTS)), st.floats(0.1, 100))
def test_the_gradient_of_the_loss_is_that_of_autograd(seed, inputs, size):
    problem = regression(inputs)
    w = noise(seed, problem.x.shape[1]) * size
    there = tensor(w)
    margin = torch.from_numpy(problem.target) * (torch.from_numpy(problem.x) @ there)
    value = nn.functional.softplus(-margin, threshold=1e9).mean()
    value.backward()
    assert loss(problem, w) == pytest.approx(value.item(), rel=1e-12)
    np.testing.assert_allclose(gradient(problem, w), there.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("form", PARAMETRIZATIONS.values(), ids=PARAMETRIZATIONS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_a_run_is_that_of_torch(form, inputs):
    rate, start, batch, steps = 2.0, 0.5, 40, 12
    ours = descend(form, Setting(inputs, rate, batch, start, 7), steps)
    problem = regression(inputs)
    rng = np.random.default_rng(7)
    layer = nn.Linear(problem.x.shape[1], 1, bias=False, dtype=torch.float64)
    first = rng.standard_normal(problem.x.shape[1])
    first /= np.linalg.norm(first)
    layer.weight.data = torch.from_numpy(first[None].copy())
    if form.normalized:
        layer = torch_weight_norm(layer)
        layer.parametrizations.weight.original1.data *= start
        layer.parametrizations.weight.original0.requires_grad_(form.learns_length)
    optimizer = torch.optim.SGD([p for p in layer.parameters() if p.requires_grad], lr=rate)
    for step in range(steps + 1):
        np.testing.assert_allclose(ours.w[step], layer.weight.detach()[0], rtol=1e-9, atol=1e-12)
        chosen = rng.permutation(len(problem.x))[:batch]
        optimizer.zero_grad()
        margin = torch.from_numpy(problem.target[chosen]) * layer(torch.from_numpy(problem.x[chosen]))[:, 0]
        nn.functional.softplus(-margin).mean().backward()
        optimizer.step()
    assert ours.losses[-1] < ours.losses[0]


@settings(max_examples=30)
@given(
    st.sampled_from([key for key, form in PARAMETRIZATIONS.items() if form.normalized]),
    st.builds(
        Setting,
        st.sampled_from(list(INPUTS)),
        st.floats(0.01, 1000.0),
        st.integers(1, DIGITS),
        st.floats(0.1, 10.0),
        st.integers(0, 9999),
    ),
)
def test_the_length_of_v_never_shrinks_and_grows_as_it_should(form, setting):
    run = descend(PARAMETRIZATIONS[form], setting, 30)
    lengths = run.lengths
    assert lengths[0] == pytest.approx(setting.start)
    assert np.all(lengths[1:] >= lengths[:-1] * (1 - 1e-14))
    assert growth_gap(run, setting.rate) < 1e-12
    turned = np.degrees(np.arctan(setting.rate * np.linalg.norm(run.dv, axis=1) / lengths[:-1]))
    np.testing.assert_allclose(run.turned, turned, rtol=1e-7, atol=1e-9)


def test_plain_sgd_does_not_follow_that_law():
    assert growth_gap(descend(PARAMETRIZATIONS["plain"], Setting()), 3.0) > 0.1


@pytest.mark.parametrize("inputs", INPUTS)
def test_g_is_learned_and_without_it_the_loss_stays_high(inputs):
    learned, kept = (descend(PARAMETRIZATIONS[key], Setting(inputs)) for key in ("weight", "direction"))
    assert np.all(kept.g == 1)
    assert learned.g[-1] > 3
    assert learned.losses[-1] < 0.5 * kept.losses[-1]
    assert learned.turned[0] > 5 * learned.turned[-20:].mean()


def test_every_parametrization_starts_from_the_same_weights():
    runs = [descend(form, Setting("pixels", 1.0, 32, 4.0, 2), 1) for form in PARAMETRIZATIONS.values()]
    for run in runs:
        np.testing.assert_allclose(run.w[0], runs[0].w[0])
        assert np.linalg.norm(run.w[0]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rate": 0.0}, "rate = 0; a number from 0.01 to 1000 would do."),
        ({"rate": np.nan}, "rate = nan; a number from 0.01 to 1000 would do."),
        ({"start": 1e9}, "start = 1000000000; a number from 0.1 to 10 would do."),
        ({"batch": 0}, "batch = 0; a whole number from 1 to 357 would do."),
        ({"inputs": "words"}, "inputs = 'words'; plane or pixels would do."),
    ],
)
def test_a_setting_out_of_its_limits_is_refused(given_, message):
    with pytest.raises(InvalidInput) as refused:
        Setting(**given_)
    assert str(refused.value) == message


@given(st.floats(1e-9, np.pi - 1e-6))
def test_angles_are_exact_for_small_ones_too(angle):
    a, b = np.array([3.0, 0.0]), 7 * np.array([np.cos(angle), np.sin(angle)])
    assert angles(a, b) == pytest.approx(angle, rel=1e-9)


def test_a_batch_of_all_digits_is_the_whole_problem():
    run = descend(PARAMETRIZATIONS["plain"], Setting(rate=1.0, batch=DIGITS, seed=0), 1)
    np.testing.assert_allclose(run.dw[0], gradient(regression("plane"), run.w[0]), rtol=1e-12)
    half = Regression(*(part[:10] for part in regression("plane")))
    assert not np.allclose(run.dw[0], gradient(half, run.w[0]))


# --- the figures --------------------------------------------------------------------------------------------------


@EVERY_THEME
def test_the_plane(theme):
    tracks = {thing: noise(k, 4, 2) for k, thing in enumerate((V, W, PLAIN))}
    x, y = extent(list(tracks.values()))
    points = np.concatenate([*tracks.values(), [[0, 0]]])
    assert np.all((x[0] < points[:, 0]) & (points[:, 0] < x[-1]) & (y[0] < points[:, 1]) & (points[:, 1] < y[-1]))
    assert x[-1] - x[0] == pytest.approx(y[-1] - y[0])
    grid = loss(regression("plane"), np.stack(np.meshgrid(x, y), axis=-1))
    assert grid[3, 7] == pytest.approx(loss(regression("plane"), np.array([x[7], y[3]])))
    figure = checked(plane(x, y, grid, tracks, 2, {"step": (tracks[V][2], np.zeros(2))}, 0.5, theme))
    traces = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_allclose(np.hypot(traces["length g"].x, traces["length g"].y), 0.5)
    np.testing.assert_array_equal(traces[W.name].x, tracks[W][:3, 0])
    faint = [trace for trace in figure.data if trace.opacity == FAINT]
    np.testing.assert_array_equal(faint[1].x, tracks[W][:, 0])
    shown = [traces[thing.name] for thing in tracks]
    assert len({trace.line.dash for trace in shown}) == len({trace.marker.symbol for trace in shown}) == 3
    assert figure.layout.yaxis.scaleanchor == "x"


@EVERY_THEME
def test_curves_grow_on_axes_of_the_whole_run(theme):
    curves = {V: np.geomspace(1, 300, 5), W: np.arange(1.0, 5.0)}
    early, late = (checked(by_step("title", curves, step, 4, theme)) for step in (1, 4))
    assert (early.layout.xaxis, early.layout.yaxis) == (late.layout.xaxis, late.layout.yaxis)
    assert early.layout.yaxis.type == "log"
    for figure, v, w in ((early, 2, 1), (late, 5, 4)):
        grown = {trace.name: trace for trace in figure.data if trace.name}
        assert list(grown[V.name].x) == [0, 1, 2, 3, 4][:v]
        assert list(grown[W.name].x) == [1, 2, 3, 4][:w]  # what has no number at the start begins later
        assert [trace.marker.size[-1] > 0 for trace in grown.values()] == [True, True]


@pytest.mark.parametrize(
    ("values", "kind"), [([1.0, 2.0], None), ([-1.0, 1e3], None), ([0.0, 0.0], None), ([0.0, 5.0], "log")]
)
def test_an_axis_holds_what_is_drawn_on_it(values, kind):
    figure = checked(by_step("title", {V: np.array(values)}, 1, 1))
    low, high = figure.layout.yaxis.range
    assert figure.layout.yaxis.type == kind
    drawn = np.asarray(figure.data[1].y)
    assert np.all((low < (shown := np.log10(drawn) if kind else drawn)) & (shown < high))


@EVERY_THEME
def test_each_thing_has_a_look_of_its_own(theme):
    colours = THEMES[theme]
    assert len({thing.colour(colours) for thing in THINGS}) == len(THINGS)
    assert len({thing.dash for thing in THINGS}) == len({thing.symbol for thing in THINGS}) == len(THINGS)
    html = key_html(THINGS, theme)
    assert all(thing.name in html and quote(thing.colour(colours)) in html for thing in THINGS)
