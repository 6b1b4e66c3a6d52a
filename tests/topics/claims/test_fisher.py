"""The Fisher information of the generalised linear model: against differences, KL, and the claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normviz.topics.claims.fisher import (
    INPUTS,
    OUTPUT_KINDS,
    PARAMETERS_PER_UNIT,
    SCHEME_KEYS,
    UNITS,
    FisherModel,
    compute_fisher_information,
    compute_gain_information,
    compute_output_jacobian,
    compute_scaling_power,
    compute_unit_xhat,
    get_fisher_block,
)

every_model = pytest.mark.parametrize("scheme", SCHEME_KEYS)
MODEL = st.builds(
    FisherModel,
    outputs=st.sampled_from(OUTPUT_KINDS),
    length=st.floats(0.25, 4.0),
    scale=st.floats(0.25, 4.0),
    gain=st.floats(0.25, 4.0),
    seed=st.integers(0, 9999),
)


@every_model
def test_the_jacobian_is_the_derivative(scheme):
    model = FisherModel(length=1.3, seed=3)
    x, w, gain, step = model.x, model.w, 0.7, 1e-6
    found = compute_output_jacobian(scheme, x, w, gain)
    for unit in range(UNITS):
        for k in range(INPUTS):
            way = np.zeros_like(w)
            way[k, unit] = step
            ahead, behind = (compute_unit_xhat(scheme, x, w + each) for each in (way, -way))
            np.testing.assert_allclose(found[:, :, unit, k], gain * (ahead - behind) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(np.einsum("niik->nik", found)[..., INPUTS], compute_unit_xhat(scheme, x, w))


def compute_kl_divergence(outputs, z, other):
    """KL of the predictions, summed over units, a mean over the examples."""
    if outputs == "normal":
        return ((z - other) ** 2 / 2).sum(1).mean()
    share = 1 / (1 + np.exp(-z))
    return (share * (z - other) - np.logaddexp(0, z) + np.logaddexp(0, other)).sum(1).mean()


@given(MODEL, st.sampled_from(SCHEME_KEYS), st.integers(0, 99))
def test_kl_of_a_small_step_is_half_its_square_by_f(model, scheme, seed):
    x, w = model.x, model.w
    way = np.random.default_rng(seed).standard_normal(w.shape) * model.length * 1e-4
    z, other = (model.gain * compute_unit_xhat(scheme, x, each) for each in (w, w + way))
    by_f = get_fisher_block(compute_fisher_information(scheme, model), "w")
    expected = way.T.ravel() @ by_f @ way.T.ravel() / 2
    largest = np.linalg.eigvalsh(by_f)[-1] * np.sum(way**2) / 2
    assert compute_kl_divergence(model.outputs, z, other) == pytest.approx(
        expected, rel=0.02, abs=1e-3 * largest + 1e-12
    )


@given(MODEL)
def test_the_claims_on_how_blocks_scale(model):
    def power(*row):
        return compute_scaling_power(row[0], model, *row[1:])

    for scheme in ("batch", "layer", "weight"):  # N04
        assert power(scheme, "w", "length") == pytest.approx(-2, abs=1e-9)
    for scheme, change in (
        ("batch", "length"),
        ("batch", "scale"),
        ("layer", "length"),
        ("layer", "scale"),
        ("weight", "length"),
    ):  # N05
        assert power(scheme, "γ", change) == pytest.approx(0, abs=1e-9)
    if model.outputs == "normal":
        found = [power("none", *row) for row in (("w", "length"), ("γ", "length"), ("γ", "scale"))]
        assert [*found, power("weight", "γ", "scale")] == pytest.approx([0, 2, 2, 2], abs=1e-9)


@every_model
def test_the_gains_information_is_the_prediction_error(scheme):  # N05
    for data in (0.5, 3.0):
        model = FisherModel(seed=5, scale=data, gain=0.7)
        error, information = compute_gain_information(scheme, model)
        square = np.square(compute_unit_xhat(scheme, model.x, model.w)).mean()
        assert error == 1.0
        assert information == pytest.approx(square, rel=1e-12)
        assert (square == pytest.approx(1.0, rel=1e-12)) == (scheme in ("batch", "layer"))


def test_f_is_symmetric_and_has_no_negative_eigenvalue():
    for scheme in SCHEME_KEYS:
        f = compute_fisher_information(scheme, FisherModel())
        assert f.shape == (UNITS * PARAMETERS_PER_UNIT, UNITS * PARAMETERS_PER_UNIT)
        np.testing.assert_allclose(f, f.T, atol=1e-15)
        assert np.linalg.eigvalsh(f)[0] > -1e-12
