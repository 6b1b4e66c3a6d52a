"""Divisive norm with wide windows against batch and layer norm, PyTorch's too; and pictures in fading light."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import eps as epsilons
from strategies import seeds, shapes, uneven_array

from normviz.core.equality import find_largest_difference
from normviz.core.fields import FULL, OWN
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.topics.divisive.contrast import apply_fading_light, compute_contrast_ratio
from normviz.topics.same.identities import make_windowed_scheme

KEYS = ("batch", "layer", "instance", "layer-channels")
EVERY = pytest.mark.parametrize("key", KEYS)
ROUNDING = 1e-12


@EVERY
@given(shape=shapes, eps=epsilons, seed=seeds)
def test_windows_as_wide_as_the_axes_are_the_other_scheme(key, shape, eps, seed):
    x, scheme = uneven_array(shape, seed), SCHEMES[key]
    axes = [n for n, rule in zip(shape, scheme.field.rules, strict=True) if rule == FULL]
    wide = make_windowed_scheme(scheme, max(axes) - 1)
    assert wide.compute_canonical_key(shape) == scheme.compute_canonical_key(shape)
    assert find_largest_difference(normalize(x, wide, eps).xhat, normalize(x, scheme, eps).xhat).residual < ROUNDING


@EVERY
@given(seed=seeds, eps=st.sampled_from([0.0, 1e-5, 1.0]))
def test_narrower_windows_are_another_norm(key, seed, eps):
    x, scheme = uneven_array((6, 6, 6, 6), seed), SCHEMES[key]
    for radius in range(5):
        assert (
            find_largest_difference(
                normalize(x, make_windowed_scheme(scheme, radius), eps).xhat, normalize(x, scheme, eps).xhat
            ).residual
            > 1e-4
        )


def test_windows_lie_where_the_other_scheme_is_full():
    for key in KEYS:
        rules = zip(SCHEMES[key].field.rules, make_windowed_scheme(SCHEMES[key], 3).field.rules, strict=True)
        assert all(str(ours) == "window(3)" if theirs == FULL else ours == OWN for theirs, ours in rules)


TORCH = {
    "batch": lambda z, eps: torch.nn.functional.batch_norm(z, None, None, training=True, eps=eps),
    "layer": lambda z, eps: torch.nn.LayerNorm(z.shape[1:], eps=eps, dtype=z.dtype)(z),
    "instance": lambda z, eps: torch.nn.InstanceNorm2d(z.shape[1], eps=eps, dtype=z.dtype)(z),
    "layer-channels": lambda z, eps: torch.nn.LayerNorm(z.shape[1], eps=eps, dtype=z.dtype)(z.movedim(1, 3)).movedim(
        3, 1
    ),
}


@EVERY
@given(seed=seeds, eps=st.floats(1e-8, 1))
def test_the_limits_are_pytorchs_layers(key, seed, eps):
    x = uneven_array((4, 5, 3, 6), seed)
    xhat = normalize(x, make_windowed_scheme(SCHEMES[key], max(x.shape)), eps).xhat
    with torch.no_grad():
        theirs = TORCH[key](torch.tensor(x).movedim(3, 1), eps).movedim(1, 3).numpy()
    np.testing.assert_allclose(xhat, theirs, rtol=1e-9, atol=1e-9)


@given(shape=st.tuples(*[st.integers(2, 5)] * 4), light=st.floats(1e-3, 1), seed=seeds)
def test_light_fades_by_equal_factors(shape, light, seed):
    x = uneven_array(shape, seed)
    factors = apply_fading_light(x, light) / x
    np.testing.assert_allclose(factors[:, :, 0], 1)
    np.testing.assert_allclose(factors[:, :, -1], light)
    np.testing.assert_allclose(factors[:, :, 1:] / factors[:, :, :-1], light ** (1 / (shape[2] - 1)))


def test_the_ratio_of_the_halves():
    x = np.random.default_rng(0).standard_normal((1, 6, 7, 2))
    x[:, :, 4:] = 0.25 * x[:, :, :3]
    assert compute_contrast_ratio(x) == pytest.approx(0.25)
    assert np.isnan(compute_contrast_ratio(np.ones((1, 4, 4, 1))))


def test_divisive_norm_gives_a_dim_half_its_contrast_back_and_a_large_eps_does_not():
    x = apply_fading_light(np.random.default_rng(1).uniform(size=(1, 40, 60, 1)), 0.01)
    scheme = make_windowed_scheme(SCHEMES["instance"], 4)
    found = {eps: compute_contrast_ratio(normalize(x, scheme, eps).xhat) for eps in (0.0, 1e-2, 10.0)}
    assert compute_contrast_ratio(x) < 0.2
    assert found[0.0] == pytest.approx(1, abs=0.05)
    assert found[10.0] < found[1e-2] < 0.5
