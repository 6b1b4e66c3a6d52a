"""The core under array-api-strict, which has what the array API standard has and nothing else."""

import array_api_strict as strict
import numpy as np
import pytest
from strategies import uneven_array

from normviz.core.backward import compute_diagonal_gradient, compute_gradients, compute_jacobian
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES

SHAPE = (2, 4, 3, 5, 6)
ELSEWHERE = strict.Device("device1")
MIXED = SCHEMES["custom"].with_fields(
    Field.parse("full,own,groups(1),window(1)"), Field.parse("window(1),full,own,full")
)


def assert_same(found, expected):
    for part, right in zip(found, expected, strict=True):
        assert (part is None) == (right is None)
        if part is not None:
            assert part.device == ELSEWHERE
            np.testing.assert_array_equal(np.asarray(part.to_device(strict.Device("CPU_DEVICE"))), right)


@pytest.fixture(autouse=True)
def _lazy():
    """Nothing whose shape depends on data either, so that libraries which trace or compile can take part."""
    with strict.ArrayAPIStrictFlags(boolean_indexing=False, data_dependent_shapes=False):
        yield


@pytest.mark.parametrize("scheme", [*SCHEMES.values(), MIXED], ids=[*SCHEMES, "mixed fields"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
def test_the_core_needs_nothing_beyond_the_array_api(scheme, dtype):
    x = uneven_array(SHAPE, 1, dtype)
    assert_same(normalize(strict.asarray(x, device=ELSEWHERE), scheme, 1e-3), normalize(x, scheme, 1e-3))


@pytest.mark.parametrize("scheme", [*SCHEMES.values(), MIXED], ids=[*SCHEMES, "mixed fields"])
def test_the_backward_pass_needs_nothing_beyond_it_either(scheme):
    x, dy, gain = uneven_array(SHAPE, 1), uneven_array(SHAPE, 2), uneven_array((6,), 3)
    there = [strict.asarray(a, device=ELSEWHERE) for a in (x, dy, gain)]
    assert_same(compute_gradients(*there[:2], scheme, 1e-3, there[2]), compute_gradients(x, dy, scheme, 1e-3, gain))
    assert_same([compute_diagonal_gradient(*there[:2], scheme, 1e-3)], [compute_diagonal_gradient(x, dy, scheme, 1e-3)])
    small = x[0, :, :2, :1]
    assert_same(
        [compute_jacobian(strict.asarray(small, device=ELSEWHERE), scheme, 1e-3)],
        [compute_jacobian(small, scheme, 1e-3)],
    )


def test_gain_and_bias_are_arrays_of_the_same_kind():
    x, gain, bias = uneven_array(SHAPE, 1), uneven_array((1, 1, 1, 6), 2), uneven_array((1, 1, 1, 6), 3)
    there = (strict.asarray(a, device=ELSEWHERE) for a in (x, gain, bias))
    found, expected = (normalize(a, SCHEMES["batch"], None, g, b) for a, g, b in (tuple(there), (x, gain, bias)))
    assert_same(found, expected)
