"""The Jacobian's blocks."""

import numpy as np
import pytest

from normviz.core.backward import compute_jacobian
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES
from normviz.data.samples import sample_uneven
from normviz.topics.gradients.blocks import find_jacobian_blocks

SHAPE = (2, 2, 2, 4)


@pytest.mark.parametrize(("key", "fields"), [("batch", 4), ("layer", 2), ("group", 4), ("instance", 8), ("rms", 8)])
def test_nothing_is_outside_of_the_blocks(key, fields):
    scheme = SCHEMES[key]
    laid = find_jacobian_blocks(scheme, SHAPE)
    assert (len(laid.edges) - 1, laid.edges[-1], laid.alone) == (fields, 32, True)
    matrix = compute_jacobian(sample_uneven(SHAPE, 0), scheme, 1e-3)[np.ix_(laid.order, laid.order)]
    for start, end in zip(laid.edges[:-1], laid.edges[1:], strict=True):
        assert np.all(matrix[start:end, start:end] != 0)
        matrix[start:end, start:end] = 0
    assert np.all(matrix == 0)


def test_overlapping_and_different_fields_are_told():
    assert not find_jacobian_blocks(SCHEMES["divisive"], SHAPE).alone
    assert not find_jacobian_blocks(
        SCHEMES["custom"].with_fields(Field.parse("N=full"), Field.parse("C=full")), SHAPE
    ).alone
    assert find_jacobian_blocks(SCHEMES["divisive"], (2, 2, 2, 2)).alone  # windows that hold whole axes
