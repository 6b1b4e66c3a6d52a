"""Weight norm, power iteration and the Lipschitz bound, against torch's autograd and parametrizations."""

import numpy as np
import pytest
import torch
from checked import checked
from hypothesis import given
from hypothesis import strategies as st
from strategies import noise, seeds
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrizations import weight_norm as torch_weight_norm

from normviz.charts.palette import THEMES
from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.digits import cut_patches, load_digits
from normviz.topics.weights import weights as core
from normviz.topics.weights.figures import draw_ellipses, draw_stretch_histograms
from normviz.topics.weights.weights import (
    FIRST_LAYERS,
    apply_weight_norm,
    backpropagate_weight_norm,
    build_operator_matrix,
    compute_lipschitz_ratios,
    flatten_to_matrix,
    make_singular_pairs,
    measure_critic_gradients,
    run_power_iteration,
    sample_digit_pairs,
    train_first_layer,
)

EVERY_LAYER = pytest.mark.parametrize("layer", FIRST_LAYERS.values(), ids=FIRST_LAYERS)
EVERY_THEME = pytest.mark.parametrize("theme", THEMES)
sizes = st.integers(1, 9)


def random_matrix(seed, rows, columns):
    return noise(seed, rows, columns) * np.exp(noise(seed + 1, columns))


def tensor(array):
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


# --- the layers ---------------------------------------------------------------------------------------------------


@EVERY_LAYER
def test_training_is_that_of_autograd(layer):
    images, labels = load_digits()
    rng = np.random.default_rng(3)
    m = tensor(rng.normal(0, (2 / layer.fan_in) ** 0.5, (layer.fan_in, layer.units)))
    features = cut_patches(images[:1], layer.side).shape[1] * layer.units
    classifier = tensor(rng.normal(0, features**-0.5, (features, 10)))
    for _ in range(6):
        chosen = rng.integers(0, len(images), core.BATCH)
        x = torch.tensor(cut_patches(images[chosen], layer.side))
        scores = torch.relu(x @ m).reshape(core.BATCH, -1) @ classifier
        nn.functional.cross_entropy(scores, torch.from_numpy(labels[chosen])).backward()
        with torch.no_grad():
            for each in (m, classifier):
                each -= core.RATE * each.grad
                each.grad = None
    found = train_first_layer(layer, 6, 3)
    assert found.shape == layer.shape
    np.testing.assert_allclose(flatten_to_matrix(found), m.detach().numpy(), rtol=1e-12, atol=1e-14)


@EVERY_LAYER
def test_training_learns_the_digits_and_changes_the_singular_values(layer):
    before, after = (
        np.linalg.svd(flatten_to_matrix(train_first_layer(layer, steps, 0)), compute_uv=False) for steps in (0, 200)
    )
    assert after[0] > 1.2 * before[0]


@pytest.mark.parametrize("steps", [-1, core.MAX_TRAINING + 1])
def test_training_that_is_too_long_is_refused(steps):
    with pytest.raises(InvalidInput, match=f"{steps} were asked for"):
        train_first_layer(FIRST_LAYERS["dense"], steps, 0)


@EVERY_LAYER
def test_the_operator_is_the_whole_layer(layer):
    w = train_first_layer(layer, 3, 1)
    x = load_digits()[0][:5]
    kernel = torch.from_numpy(w.transpose(3, 2, 0, 1).reshape(layer.units, 1, layer.side, layer.side).copy())
    theirs = nn.functional.conv2d(torch.from_numpy(x[:, None].copy()), kernel).permute(0, 2, 3, 1).reshape(5, -1)
    np.testing.assert_allclose(x.reshape(5, -1) @ build_operator_matrix(w, layer), theirs, rtol=1e-12, atol=1e-13)


@EVERY_LAYER
def test_a_layer_stretches_up_to_the_root_of_the_overlap_more_than_its_matrix(layer):
    w = train_first_layer(layer, 50, 2)
    sigma, whole = (np.linalg.norm(m, 2) for m in (flatten_to_matrix(w), build_operator_matrix(w, layer)))
    assert whole <= sigma * layer.overlap**0.5 * (1 + 1e-12)
    assert (layer.overlap == 1) == (layer.key != "conv")
    assert (whole > 1.5 * sigma) == (layer.key == "conv")


# --- weight norm --------------------------------------------------------------------------------------------------


@given(seeds, sizes, sizes)
def test_weight_norm_and_its_gradients_are_those_of_torch(seed, rows, columns):
    v, g, dw = noise(seed, rows, columns), noise(seed + 1, columns), noise(seed + 2, rows, columns)
    layer = torch_weight_norm(nn.Linear(rows, columns, bias=False, dtype=torch.float64))
    parts = layer.parametrizations.weight
    parts.original0.data, parts.original1.data = torch.from_numpy(g[:, None].copy()), torch.from_numpy(v.T.copy())
    np.testing.assert_allclose(apply_weight_norm(v, g), layer.weight.detach().T, rtol=1e-12, atol=1e-14)
    layer.weight.backward(torch.from_numpy(dw.T.copy()))
    dv, dg = backpropagate_weight_norm(v, g, dw)
    np.testing.assert_allclose(dg, parts.original0.grad[:, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dv, parts.original1.grad.T, rtol=1e-9, atol=1e-10)


@given(seeds, st.integers(2, 9), sizes)
def test_the_gradient_of_v_is_at_right_angles_to_v(seed, rows, columns):
    v, g, dw = noise(seed, rows, columns), noise(seed + 1, columns), noise(seed + 2, rows, columns)
    dv, _ = backpropagate_weight_norm(v, g, dw)
    size = np.abs(g) * np.linalg.norm(dw, axis=0)
    assert np.all(np.abs(np.sum(v * dv, axis=0)) <= 1e-13 * size)
    np.testing.assert_allclose(np.linalg.norm(apply_weight_norm(v, g), axis=0), np.abs(g), rtol=1e-12)


@given(seeds, st.integers(-9, 9))
def test_weight_norm_is_the_scheme_of_that_name(seed, power):
    v, g = noise(seed, 3, 3, 2, 4), noise(seed + 1, 4)
    ours = apply_weight_norm(flatten_to_matrix(v) * 10.0**power, g).reshape(v.shape)
    np.testing.assert_allclose(ours, normalize(v, SCHEMES["weight"], gain=g).y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("v", [np.zeros(3), np.array([1.0, np.inf]), np.array([[1.0, 0.0], [1.0, 0.0]])])
def test_a_vector_without_direction_is_refused(v):
    for call in (lambda: apply_weight_norm(v, 1.0), lambda: backpropagate_weight_norm(v, 1.0, v)):
        with pytest.raises(InvalidInput, match="has no direction"):
            call()


# --- power iteration ----------------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 9), st.integers(2, 9))
def test_every_step_is_that_of_torch(seed, rows, columns):
    m = random_matrix(seed, rows, columns)
    run = run_power_iteration(m, 4, seed)
    for step in range(4):
        layer = nn.Linear(columns, rows, bias=False, dtype=torch.float64)
        layer.weight.data = torch.from_numpy(m.copy())
        layer = spectral_norm(layer, n_power_iterations=1).train()
        parts = layer.parametrizations.weight[0]
        parts._v.copy_(torch.from_numpy(run.u[step]))
        made = layer.weight.detach().numpy()  # runs a step, from v to u to v: torch's names, for our u to v to u
        np.testing.assert_allclose(parts._u, run.v[step + 1], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(parts._v, run.u[step + 1], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(made * run.sigma[step + 1], m, rtol=1e-9, atol=1e-10)


@given(seeds, st.integers(2, 9), st.integers(1, 9))
def test_the_estimates_grow_towards_the_largest_singular_value(seed, rows, columns):
    m = random_matrix(seed, rows, columns)
    run = run_power_iteration(m, 30, seed)
    left, values, _ = np.linalg.svd(m, full_matrices=False)
    assert np.all(np.diff(run.sigma) >= -1e-13 * values[0])
    assert run.sigma[-1] <= values[0] * (1 + 1e-13)
    parts = (left.T @ run.v[0]) ** 2  # v has parts a σ^2t after t steps; each is scaled by the first, against overflow
    for t in (1, 2, 5, 30):
        shares = parts * (values / values[0]) ** (4 * t)
        assert run.sigma[t] == pytest.approx(np.sqrt(np.sum(shares * values**2) / np.sum(shares)), rel=1e-9)


def test_a_matrix_of_one_column_is_done_at_once():
    run = run_power_iteration(noise(0, 5, 1), 3)
    np.testing.assert_allclose(run.sigma, run.values[0])


@pytest.mark.parametrize("m", [np.zeros((2, 2)), np.array([[np.nan]]), np.ones(3), np.array([[np.inf, 1.0]])])
def test_a_matrix_that_has_no_largest_singular_value_is_refused(m):
    with pytest.raises(InvalidInput, match="power iteration needs a matrix"):
        run_power_iteration(m, 1)


# --- the Lipschitz bound ------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 20))
def test_no_ratio_and_no_slope_is_above_the_largest_singular_value(seed, columns):
    k = random_matrix(seed, 64, columns)
    most = np.linalg.norm(k, 2) * (1 + 1e-12)
    for pairs in (sample_digit_pairs(20, seed), make_singular_pairs(k, seed)):
        assert compute_lipschitz_ratios(k, *pairs).max() <= most
        assert measure_critic_gradients(k, pairs[0], seed).max() <= most


@given(seeds, st.integers(1, 80))
def test_along_the_singular_directions_the_ratios_are_the_singular_values(seed, columns):
    k = random_matrix(seed, 64, columns)
    values = np.zeros(64)
    values[: min(64, columns)] = np.linalg.svd(k, compute_uv=False)
    np.testing.assert_allclose(
        compute_lipschitz_ratios(k, *make_singular_pairs(k, seed)), values, atol=1e-10 * values[0]
    )


def test_the_slope_is_the_gradient_of_autograd():
    k, x = random_matrix(4, 64, 12), noise(4, 9, 64)
    a = np.random.default_rng([4, 3]).standard_normal(12)
    there = tensor(x)
    (torch.relu(there @ torch.from_numpy(k)) @ torch.from_numpy(a / np.linalg.norm(a))).sum().backward()
    np.testing.assert_allclose(measure_critic_gradients(k, x, 4), np.linalg.norm(there.grad, axis=1), rtol=1e-12)


def test_the_pairs_are_of_different_points():
    x, y = sample_digit_pairs(500, 1)
    assert x.shape == y.shape == (500, 64)
    assert np.linalg.norm(x - y, axis=1).min() > 0.1
    with pytest.raises(InvalidInput, match="must differ"):
        compute_lipschitz_ratios(np.eye(64), x, x)


@EVERY_LAYER
def test_spectral_norm_bounds_a_dense_layer_and_a_convolution_only_by_square(layer):
    w = normalize(train_first_layer(layer, 200, 5), SCHEMES["spectral"]).xhat
    ratios = compute_lipschitz_ratios(build_operator_matrix(w, layer), *sample_digit_pairs(500, 5))
    assert (ratios.max() > 1) == (layer.key == "conv")
    square, _ = (cut_patches(z.reshape(-1, 8, 8), layer.side) for z in sample_digit_pairs(500, 5))
    out = np.linalg.norm(square[1:] @ flatten_to_matrix(w) - square[:-1] @ flatten_to_matrix(w), axis=-1)
    assert np.all(out <= np.linalg.norm(square[1:] - square[:-1], axis=-1) * (1 + 1e-12))


def test_a_layer_of_fewer_units_than_pixels_maps_some_pairs_together():
    k = build_operator_matrix(
        normalize(train_first_layer(FIRST_LAYERS["dense"], 200, 5), SCHEMES["spectral"]).xhat, FIRST_LAYERS["dense"]
    )
    found = compute_lipschitz_ratios(k, *make_singular_pairs(k, 0))
    assert (found < 1e-12).sum() == 32
    assert found[0] == pytest.approx(1)


# --- the figures --------------------------------------------------------------------------------------------------


@EVERY_THEME
def test_the_ellipse_has_the_singular_values_as_half_axes(theme):
    values = np.array([4.0, 2.0, 1.0])
    figure = checked(draw_ellipses(values, 2.0, 0.5, theme))
    half = [(np.max(trace.x), np.max(trace.y)) for trace in figure.data]
    np.testing.assert_allclose(half, [(4, 2), (2, 1), (1, 1)])
    assert figure.layout.xaxis.range[1] > 8  # that of the smallest estimate
    assert figure.layout.yaxis.scaleanchor == "x"
    assert {axis.title.text for axis in (figure.layout.xaxis, figure.layout.yaxis)} == {
        "direction stretched the most", "second direction",
    }  # fmt: skip


def test_an_ellipse_of_one_direction_is_a_line():
    after = checked(draw_ellipses(np.array([3.0]), 3.0, 3.0)).data[1]
    assert (np.max(after.x), np.ptp(after.y)) == (1, 0)


@EVERY_THEME
def test_histograms_of_ratios(theme):
    kinds = {"before": np.array([0.1, 0.2, 0.2, 1.5]), "after": np.array([0.7])}
    figure = checked(draw_stretch_histograms(kinds, theme))
    assert [(bars.name, sum(bars.y)) for bars in figure.data] == [("before", 1), ("after", 1)]
    assert figure.layout.xaxis.range[1] > 1.5
    assert [shape.x0 for shape in figure.layout.shapes] == [1]
