"""Weights multiplied by a: what is exact at ε = 0, and what ε makes of it."""

import numpy as np
import pytest

from normviz.core.registry import SCHEMES
from normviz.topics.gradients.scaling import make_linear_layer, measure_scaling_gaps, measure_sign_gap, run_scaled_layer

SHAPE = (4, 2, 2, 4)
DIVIDES = [key for key, scheme in SCHEMES.items() if scheme.suppression is not None]


@pytest.mark.parametrize("a", [0.01, 0.3, 7.0, 100.0])
@pytest.mark.parametrize("key", DIVIDES)
def test_without_eps_all_three_hold(key, a):
    assert max(measure_scaling_gaps(SCHEMES[key], make_linear_layer(SHAPE, 0), a, 0.0)) < 1e-11


@pytest.mark.parametrize(
    "key", [key for key in DIVIDES if SCHEMES[key].eps is not None and SCHEMES[key].weight is None]
)
def test_with_eps_it_is_that_of_another_eps(key):
    at, a, eps = make_linear_layer(SHAPE, 1), 3.0, 0.1
    one, other = run_scaled_layer(SCHEMES[key], at, a, eps), run_scaled_layer(SCHEMES[key], at, 1.0, eps / a**2)
    np.testing.assert_allclose(one.xhat, other.xhat, atol=1e-12)
    np.testing.assert_allclose(one.du, other.du, atol=1e-12)
    np.testing.assert_allclose(a * one.dw, other.dw, atol=1e-12)
    assert min(measure_scaling_gaps(SCHEMES[key], at, a, eps)) > 1e-4


def test_without_division_a_comes_through():
    assert measure_scaling_gaps(SCHEMES["none"], make_linear_layer(SHAPE, 0), 3.0, 0.0) == pytest.approx(
        (2.0, 2.0, 2.0)
    )


@pytest.mark.parametrize("key", SCHEMES)
def test_the_gradients_are_those_of_differences(key):
    scheme, at, a, step = SCHEMES[key], make_linear_layer(SHAPE, 2), 2.0, 1e-6
    eps = 0.0 if scheme.eps is None else 1e-3
    exact = run_scaled_layer(scheme, at, a, eps)
    rng = np.random.default_rng(0)
    for name, gradient in (("u", exact.du), ("w", exact.dw)):
        along = rng.standard_normal(gradient.shape)
        size = step if name == "u" else step / a
        up, down = (
            float(
                (
                    at.d * run_scaled_layer(scheme, at._replace(**{name: getattr(at, name) + s * along}), a, eps).xhat
                ).sum()
            )
            for s in (size, -size)
        )
        assert (up - down) / (2 * step) == pytest.approx(float((gradient * along).sum()), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("key", SCHEMES)
def test_a_negative_factor_turns_the_sign(key, eps):
    eps = 0.0 if SCHEMES[key].eps is None else eps
    assert measure_sign_gap(SCHEMES[key], make_linear_layer(SHAPE, 0), 3.0, eps) < 1e-12
