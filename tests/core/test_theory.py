"""Where invariance says nothing: what is said of the fields is what comes out of them."""

import numpy as np
import pytest
from hypothesis import given
from strategies import examples, noise, shapes_with_fields

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.text import typeset
from normviz.core.theory import explain_degeneracy, explain_sign_only, predict
from normviz.core.tolerances import INVARIANCE_TOLERANCES
from normviz.core.transformations import TRANSFORMATIONS

LITTLE, MUCH = 1e-12, 1.0


def only(xhat, *values):
    """Whether x̂ takes no other values than these."""
    return bool(np.isclose(np.abs(xhat)[..., None], values, atol=1e-6).any(-1).all())


@examples(300)
@given(shape_fields=shapes_with_fields(2))
def test_only_signs_are_left_exactly_where_it_is_said(shape_fields):
    shape, *fields = shape_fields
    x = 1 + noise(0, *shape)
    for scheme in (SCHEMES["custom"].with_fields(*fields), SCHEMES["custom"].with_fields(None, fields[1])):
        sign = only(normalize(x, scheme, 0.0).xhat, 0, 1)
        nothing = only(normalize(x, scheme, MUCH).xhat, 0)
        assert (explain_degeneracy(scheme, shape, 0.0) is not None) == (sign or nothing)
        assert (explain_degeneracy(scheme, shape, MUCH) is not None) == nothing
        assert (explain_sign_only(scheme, shape) is not None) <= sign


@pytest.mark.parametrize("eps", [0.0, LITTLE, MUCH])
@pytest.mark.parametrize("shape", [(2, 1, 1, 4), (4, 1, 1, 2), (4, 1, 1, 1), (1, 1, 1, 6), (3, 2, 1, 4), (4, 1, 1, 6)])
@pytest.mark.parametrize("key", SCHEMES)
def test_a_sign_is_no_more_said_once_epsilon_counts(key, shape, eps):
    scheme = get_scheme(key, groups=1)
    reason = explain_degeneracy(scheme, shape, eps)
    xhat = normalize(1 + noise(1, *shape), scheme, eps).xhat
    if scheme.is_weight_scheme:
        assert reason is None
    elif reason is None:
        assert not only(xhat, 0, 1)
    else:
        assert only(xhat, 0) if "is zero" in reason else only(xhat, 1) and eps < MUCH
        assert (f"but for ε = {typeset(eps)}." in reason) == (eps > 0 and "is zero" not in reason)


@pytest.mark.parametrize("dtype", INVARIANCE_TOLERANCES)
def test_epsilon_counts_from_what_the_type_can_tell(dtype):
    told = [
        explain_degeneracy(SCHEMES["batch"], (2, 1, 1, 4), factor * INVARIANCE_TOLERANCES[dtype], dtype)
        for factor in (0.5, 2)
    ]
    assert told[0] is not None
    assert told[1] is None


@pytest.mark.parametrize("key", SCHEMES)
@pytest.mark.parametrize("shape", [(2, 1, 1, 4), (4, 1, 1, 2), (4, 1, 1, 1)])
def test_what_is_predicted_of_pairs_and_single_elements_beside_epsilon_is_what_comes_out(key, shape):
    scheme = get_scheme(key, groups=1)
    if scheme.is_weight_scheme or explain_degeneracy(scheme, shape, MUCH):
        return
    a = 1 + noise(2, *shape)
    for change in TRANSFORMATIONS.values():
        along = change.shift.get("dense") if change.factor is None else change.factor
        varied = noise(3, *(n if axis in along else 1 for axis, n in zip("NHWC", shape, strict=True)))
        changed = a + varied if change.factor is None else a * (3 + np.abs(varied))
        before, after = (normalize(x, scheme, MUCH).xhat for x in (a, changed))
        predicted = predict(scheme, change, "dense", shape, (1, 1, 8, shape[3]), MUCH)
        if not (scheme.weight and change.on == "weights"):
            assert np.allclose(before, after) == predicted.invariant, (change.key, predicted.reason)


@pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.weight_part is None])
@pytest.mark.parametrize("change", [change for change in TRANSFORMATIONS.values() if change.factor is None])
@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_a_shift_goes_with_the_mean_at_every_epsilon_or_comes_through_at_every_one(key, change, layer):
    scheme, shape = SCHEMES[key], (8, 1, 1, 8) if layer == "dense" else (4, 3, 3, 4)
    if explain_degeneracy(scheme, shape, 0.0):
        return
    a = noise(4, *shape)
    shift = noise(5, *(n if axis in change.shift[layer] else 1 for axis, n in zip("NHWC", shape, strict=True)))
    gaps = [np.abs(np.subtract(*(normalize(x, scheme, eps).xhat for x in (a + shift, a)))).max()
            for eps in (0.0, 1e-5, 1.0, 100.0)]  # fmt: skip
    gone = np.array(gaps) < 1e-12
    assert gone.all() == gone.any()
    assert scheme.summation is not None or not gone.any()
