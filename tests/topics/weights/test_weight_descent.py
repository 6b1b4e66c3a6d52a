"""Weight norm under SGD, against torch's autograd and optimizer; and its pictures."""

import numpy as np
import pytest
import torch
from checked import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import noise, seeds
from torch import nn
from torch.nn.utils.parametrizations import weight_norm as torch_weight_norm

from normviz.charts.palette import THEMES
from normviz.core.errors import InvalidInput
from normviz.data.digits import load_digits
from normviz.topics.weights.descent import (
    DIGIT_COUNT,
    DIGIT_PAIR,
    EARLY_STEPS,
    INPUT_SIZES,
    PARAMETRIZATIONS,
    Regression,
    Setting,
    compare_losses,
    compute_angles,
    compute_mean_gradient,
    compute_mean_loss,
    find_lowest_loss_weights,
    load_regression,
    measure_growth_gap,
    run_sgd,
)
from normviz.topics.weights.descent_figures import draw_descent_paths, draw_values_by_step, make_square_grid

EVERY_THEME = pytest.mark.parametrize("theme", THEMES)


def tensor(array):
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("inputs", INPUT_SIZES)
def test_the_regression_is_on_two_digits(inputs):
    x, target = load_regression(inputs)
    assert x.shape == (DIGIT_COUNT, INPUT_SIZES[inputs])
    labels = load_digits()[1]
    assert [int((target == sign).sum()) for sign in (-1, 1)] == [int((labels == digit).sum()) for digit in DIGIT_PAIR]
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-14)
    assert compute_mean_loss(load_regression(inputs), np.zeros(x.shape[1])) == pytest.approx(np.log(2))


def test_the_components_hold_the_most_variance():
    (pixels, _), (plane_, _) = load_regression("pixels"), load_regression("plane")
    found = np.linalg.eigvalsh(pixels.T @ pixels)[::-1][:2]
    np.testing.assert_allclose(plane_.T @ plane_, np.diag(found), atol=1e-9)


@given(seeds, st.sampled_from(list(INPUT_SIZES)), st.floats(0.1, 100))
def test_the_gradient_of_the_loss_is_that_of_autograd(seed, inputs, size):
    problem = load_regression(inputs)
    w = noise(seed, problem.x.shape[1]) * size
    there = tensor(w)
    margin = torch.from_numpy(problem.target) * (torch.from_numpy(problem.x) @ there)
    value = nn.functional.softplus(-margin, threshold=1e9).mean()
    value.backward()
    assert compute_mean_loss(problem, w) == pytest.approx(value.item(), rel=1e-12)
    np.testing.assert_allclose(compute_mean_gradient(problem, w), there.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("form", PARAMETRIZATIONS.values(), ids=PARAMETRIZATIONS)
@pytest.mark.parametrize("inputs", INPUT_SIZES)
def test_a_run_is_that_of_torch(form, inputs):
    rate, start, batch, steps = 2.0, 0.5, 40, 12
    ours = run_sgd(form, Setting(rate, batch, 1.0, start, 7), inputs, steps)
    problem = load_regression(inputs)
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
    st.sampled_from(["weight", "direction"]),
    st.builds(
        Setting,
        st.floats(0.01, 1000.0),
        st.integers(1, DIGIT_COUNT),
        st.floats(0.1, 10.0),
        st.floats(0.1, 10.0),
        st.integers(0, 9999),
    ),
    st.sampled_from(list(INPUT_SIZES)),
)
def test_the_length_of_v_never_shrinks_and_grows_as_it_should(form, setting, inputs):
    run = run_sgd(PARAMETRIZATIONS[form], setting, inputs, 30)
    lengths = run.lengths
    assert lengths[0] == pytest.approx(setting.start)
    assert np.all(lengths[1:] >= lengths[:-1] * (1 - 1e-14))
    assert measure_growth_gap(run, setting.rate) < 1e-12
    turned = np.degrees(np.arctan(setting.rate * np.linalg.norm(run.dv, axis=1) / lengths[:-1]))
    np.testing.assert_allclose(run.turn_angles, turned, rtol=1e-7, atol=1e-9)


@given(st.integers(0, 99), st.floats(0.2, 8), st.floats(0.2, 8))
def test_weight_norm_multiplies_the_learning_rate_of_the_direction(seed, length, start):
    setting = Setting(rate=0.01, length=length, start=start, seed=seed)
    weight, plain = (run_sgd(PARAMETRIZATIONS[key], setting, steps=1) for key in ("weight", "plain"))
    across = plain.dw[0] - (plain.dw[0] @ plain.w[0]) * plain.w[0] / length**2
    turned = setting.rate * np.linalg.norm(across) / length
    assert np.tan(np.radians(weight.turn_angles[0])) == pytest.approx(weight.rate_factors[0] * turned, rel=1e-6)


def test_runs_that_are_equal_in_part_compare_as_such():
    run = run_sgd(PARAMETRIZATIONS["plain"], Setting())
    worse = run._replace(losses=run.losses * np.where(np.arange(len(run.losses)) <= EARLY_STEPS, 2, 1))
    late = run._replace(losses=run.losses * np.where(np.arange(len(run.losses)) <= EARLY_STEPS, 1, 2))
    assert [compare_losses(*pair) for pair in ((run, run), (run, worse), (late, run))] == [(0, 0), (-1, 0), (0, 1)]


def test_plain_sgd_does_not_follow_that_law():
    assert measure_growth_gap(run_sgd(PARAMETRIZATIONS["plain"], Setting(rate=1.0)), 3.0) > 0.1


@pytest.mark.parametrize("inputs", INPUT_SIZES)
def test_g_is_learned_and_without_it_the_loss_stays_high(inputs):
    setting = Setting(rate=1.0, length=1.0, start=1.0, seed=5)
    learned, kept = (run_sgd(PARAMETRIZATIONS[key], setting, inputs) for key in ("weight", "direction"))
    assert np.all(kept.g == 1)
    assert learned.g[-1] > 3
    assert learned.losses[-1] < 0.5 * kept.losses[-1]
    assert learned.turn_angles[0] > 5 * learned.turn_angles[-20:].mean()


@pytest.mark.parametrize("seed", range(4))
def test_with_a_fixed_g_w_stays_on_the_circle(seed):
    circle = run_sgd(PARAMETRIZATIONS["direction"], Setting(seed=seed)).w
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), np.linalg.norm(circle[0]))
    assert np.ptp(circle, axis=0).max() > 0.5


def test_every_parametrization_starts_from_the_same_weights():
    runs = [run_sgd(form, Setting(1.0, 32, 1.0, 4.0, 2), "pixels", 1) for form in PARAMETRIZATIONS.values()]
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
    ],
)
def test_a_setting_out_of_its_limits_is_refused(given_, message):
    with pytest.raises(InvalidInput) as refused:
        Setting(**given_)
    assert str(refused.value) == message


@given(st.floats(1e-9, np.pi - 1e-6))
def test_angles_are_exact_for_small_ones_too(angle):
    a, b = np.array([3.0, 0.0]), 7 * np.array([np.cos(angle), np.sin(angle)])
    assert compute_angles(a, b) == pytest.approx(angle, rel=1e-9)


def test_a_batch_of_all_digits_is_the_whole_problem():
    run = run_sgd(PARAMETRIZATIONS["plain"], Setting(rate=1.0, batch=DIGIT_COUNT, seed=0), steps=1)
    np.testing.assert_allclose(run.dw[0], compute_mean_gradient(load_regression("plane"), run.w[0]), rtol=1e-12)
    half = Regression(*(part[:10] for part in load_regression("plane")))
    assert not np.allclose(run.dw[0], compute_mean_gradient(half, run.w[0]))


# --- the figures --------------------------------------------------------------------------------------------------


GRID = np.linspace(-3, 3, 7), np.linspace(-2, 4, 7)


def test_the_grid_holds_the_origin_and_all_points():
    points = noise(1, 9, 2) + 3
    x, y = make_square_grid(points)
    everything = np.concatenate([points, [[0, 0]]])
    assert np.all((x[0] < everything[:, 0]) & (everything[:, 0] < x[-1]))
    assert np.all((y[0] < everything[:, 1]) & (everything[:, 1] < y[-1]))
    assert x[-1] - x[0] == pytest.approx(y[-1] - y[0])


@pytest.mark.parametrize("step", [0, 2, 3])
@EVERY_THEME
def test_the_plane_names_all_that_it_shows(theme, step):
    paths = {name: np.concatenate([[[1.0, 2.0]], noise(k, 3, 2)]) for k, name in enumerate(("both", "g", "last"))}
    figure = checked(
        draw_descent_paths(GRID, np.exp(noise(3, 7, 7)), np.array([1.0, 0.5]), paths, np.array([2.0, 4.0]), step, theme)
    )
    *shown, start, lowest = (trace for trace in figure.data if trace.name)
    for trace, (name, points) in zip(shown, paths.items(), strict=True):
        assert trace.name == name
        np.testing.assert_array_equal(trace.x, points[: step + 1, 0])
    assert [(each.text, each.y[0]) for each in (start, lowest)] == [(("w at start",), 2), (("lowest loss",), 0.5)]
    assert [each.textposition for each in (start, lowest)] == ["top left", "bottom left"]  # away from each other
    *arrows, name = figure.layout.annotations
    ends = [tuple(points[step]) for points in paths.values()] if step else []
    assert [(each.ax, each.ay, each.x, each.y) for each in arrows] == [(0, 0, *end) for end in [*ends, (1, 2)]]
    assert (name.text, name.x, name.y) == ("<b>v</b>", 2, 4)
    axes = figure.layout.xaxis, figure.layout.yaxis
    assert [axis.title.text for axis in axes] == ["first weight", "second weight"]
    assert axes[1].scaleanchor == "x"


@EVERY_THEME
def test_curves_grow_on_axes_of_the_whole_run(theme):
    curves = {"v": np.geomspace(1, 300, 5), "g": np.arange(1.0, 6.0)}
    early, late = (checked(draw_values_by_step(curves, step, "length", theme)) for step in (1, 4))
    assert (early.layout.xaxis, early.layout.yaxis) == (late.layout.xaxis, late.layout.yaxis)
    assert early.layout.yaxis.type == "log"
    for figure, count in ((early, 2), (late, 5)):
        grown = {trace.name: trace for trace in figure.data if trace.name}
        assert {name: len(trace.x) for name, trace in grown.items()} == {"v": count, "g": count}
        assert [trace.marker.size[-1] > 0 for trace in grown.values()] == [True, True]


@pytest.mark.parametrize(
    ("values", "kind"), [([1.0, 2.0], None), ([-1.0, 1e3], None), ([0.0, 0.0], None), ([0.0, 5.0], "log")]
)
def test_an_axis_holds_what_is_drawn_on_it(values, kind):
    figure = checked(draw_values_by_step({"v": np.array(values)}, 1, "length"))
    low, high = figure.layout.yaxis.range
    assert figure.layout.yaxis.type == kind
    drawn = np.asarray(figure.data[0].y)
    shown = np.log10(drawn) if kind else drawn
    assert np.all((low <= shown) & (shown < high))
    assert kind or low <= 0


def test_the_lowest_loss_is_where_the_gradient_is_0():
    problem = load_regression("plane")
    best = find_lowest_loss_weights(problem)
    np.testing.assert_allclose(compute_mean_gradient(problem, best), 0, atol=1e-12)
    around = best + 0.1 * noise(0, 20, 2)
    assert compute_mean_loss(problem, around).min() > compute_mean_loss(problem, best)
