"""The Fisher information of the generalised linear model: against differences, KL, and the claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normviz.topics.geometry.fisher import (
    INPUTS,
    OUTPUT_KINDS,
    PARAMETER_KINDS,
    PARAMETERS_PER_UNIT,
    SCHEME_KEYS,
    SEARCH_RADIUS,
    UNITS,
    FisherModel,
    compute_fisher_information,
    compute_gain_factors,
    compute_kl_contour,
    compute_kl_divergence,
    compute_output_jacobian,
    compute_predictions,
    compute_scaling_powers,
    compute_step_lengths,
    get_fisher_block,
)

every_model = pytest.mark.parametrize("scheme", SCHEME_KEYS)
every_output = pytest.mark.parametrize("outputs", OUTPUT_KINDS)
MODEL = st.builds(
    FisherModel,
    outputs=st.sampled_from(list(OUTPUT_KINDS)),
    length=st.floats(0.25, 4.0),
    scale=st.floats(0.25, 4.0),
    gain=st.floats(0.25, 4.0),
    seed=st.integers(0, 9999),
)


@every_model
def test_the_jacobian_is_the_derivative(scheme):
    model = FisherModel(length=1.3, gain=0.7, seed=3)
    x, w, gain, step = model.x, model.w, model.gain, 1e-6
    found = compute_output_jacobian(scheme, x, w, gain)
    for unit in range(UNITS):
        for k in range(INPUTS):
            way = np.zeros_like(w)
            way[unit, k] = step
            expected = (
                compute_predictions(scheme, x, w + way, gain) - compute_predictions(scheme, x, w - way, gain)
            ) / (2 * step)
            np.testing.assert_allclose(found[:, :, unit, k], expected, atol=1e-8)
    np.testing.assert_allclose(
        np.einsum("niik->nik", found)[..., INPUTS] * gain, compute_predictions(scheme, x, w, gain)
    )
    assert np.array_equal(found[..., INPUTS + 1], np.broadcast_to(np.eye(UNITS), found.shape[:3]))


@given(MODEL, st.sampled_from(SCHEME_KEYS), st.integers(0, 99))
def test_kl_of_a_small_step_is_half_its_square_by_f(model, scheme, seed):
    x, w = model.x, model.w
    way = np.random.default_rng(seed).standard_normal(w.shape) * model.length * 1e-4
    after = compute_kl_divergence(
        model.outputs,
        compute_predictions(scheme, x, w, model.gain),
        compute_predictions(scheme, x, w + way, model.gain),
    )
    by_f = get_fisher_block(compute_fisher_information(scheme, model), "w")
    expected = way.ravel() @ by_f @ way.ravel() / 2
    largest = np.linalg.eigvalsh(by_f)[-1] * np.sum(way**2) / 2
    assert after == pytest.approx(expected, rel=0.02, abs=1e-3 * largest + 1e-12)


@given(MODEL)
def test_the_claims_on_how_blocks_scale(model):
    found = {scheme: compute_scaling_powers(scheme, model) for scheme in SCHEME_KEYS}
    for scheme in ("batch", "layer", "weight"):  # N04
        power = found[scheme]["w", "w"]
        assert (round(power.exponent), power.exact) == (-2, True)
    for scheme, change in (("batch", "w"), ("batch", "x"), ("layer", "w"), ("layer", "x"), ("weight", "w")):  # N05
        power = found[scheme]["γ", change]
        assert (round(power.exponent), power.exact) == (0, True)
    if model.outputs == "normal":
        assert [round(found["none"][row].exponent) for row in (("w", "w"), ("γ", "w"), ("γ", "x"))] == [0, 2, 2]
        assert round(found["weight"]["γ", "x"].exponent) == 2
        assert all(power.exact for powers_ in found.values() for power in powers_.values())


def test_no_power_is_told_as_such():
    found = compute_scaling_powers("none", FisherModel(outputs="bernoulli", length=2.0))
    assert not any(found[name, "w"].exact for name in PARAMETER_KINDS)


@every_model
def test_the_gains_information_is_the_prediction_error(scheme):  # N05
    for data in (0.5, 3.0):
        error, square, information_of_gain = compute_gain_factors(scheme, FisherModel(seed=5, scale=data, gain=0.7))
        assert error == 1.0
        assert information_of_gain == pytest.approx(square, rel=1e-12)
        assert (square == pytest.approx(1.0, rel=1e-12)) == (scheme in ("batch", "layer"))


def test_f_is_symmetric_and_has_no_negative_eigenvalue():
    for scheme in SCHEME_KEYS:
        f = compute_fisher_information(scheme, FisherModel())
        assert f.shape == (UNITS * PARAMETERS_PER_UNIT, UNITS * PARAMETERS_PER_UNIT)
        np.testing.assert_allclose(f, f.T, atol=1e-15)
        assert np.linalg.eigvalsh(f)[0] > -1e-12


@every_output
@every_model
def test_the_border_is_where_the_distance_is(scheme, outputs):
    model = FisherModel(outputs=outputs, length=1.0)
    way = compute_kl_contour(scheme, model, 0.05).exact - model.w[0]
    reached = np.linalg.norm(way, axis=1) < SEARCH_RADIUS - 1e-9
    z, far = compute_predictions(scheme, model.x, model.w, model.gain), []
    for share in (0.999, 1.001):
        w = np.broadcast_to(model.w, (len(way), UNITS, INPUTS)).copy()
        w[:, 0] += share * way
        far.append(compute_kl_divergence(outputs, z, compute_predictions(scheme, model.x, w, model.gain)))
    assert reached.mean() > 0.5
    assert np.all(far[0][reached] < 0.05)
    assert np.all(far[1][reached] > 0.05)


@pytest.mark.parametrize("scheme", ["batch", "weight"])
def test_along_w_nothing_changes_and_across_it_takes_twice_as_long(scheme):
    model = FisherModel(seed=2)
    now, twice = compute_step_lengths(scheme, model, 0.1), compute_step_lengths(scheme, model, 0.1, 2.0)
    assert abs(now.curvature) < 1e-12
    assert twice.across == pytest.approx(2 * now.across, rel=1e-9)
    assert compute_step_lengths("none", model, 0.1, 2.0).across == pytest.approx(
        compute_step_lengths("none", model, 0.1).across, rel=1e-12
    )


@pytest.mark.parametrize(("gain", "distance", "is_open"), [(0.25, 1.0, True), (1.0, 1.0, False), (1.0, 0.1, False)])
@pytest.mark.parametrize("scheme", ["batch", "weight"])
def test_a_distance_that_no_direction_reaches_leaves_the_plane_open(scheme, gain, distance, is_open):
    model = FisherModel(gain=gain, scale=0.25 if scheme == "weight" and is_open else 1.0)
    found = compute_kl_contour(scheme, model, distance)
    assert found.is_open(model.w[0]) == is_open
    ways = np.random.default_rng(0).uniform(-10, 10, (500, 2))
    moved = np.broadcast_to(model.w, (500, *model.w.shape)).copy()
    moved[:, 0] = ways
    z = compute_predictions(scheme, model.x, model.w, model.gain)
    near = compute_kl_divergence("normal", z, compute_predictions(scheme, model.x, moved, model.gain)) < distance
    assert near.all() == is_open
