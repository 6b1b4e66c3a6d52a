"""The blocks of the Jacobian ∂x̂/∂x."""

from typing import NamedTuple

import numpy as np

from normviz.core.fields import Field, Shape
from normviz.core.reductions import broadcast_statistic
from normviz.core.registry import Scheme


class JacobianBlocks(NamedTuple):
    """An order of a tensor's elements in which those that share a statistic are adjacent.

    Attributes:
        order: places in memory; edges: the starts of the fields, and the end.
        alone: True if only elements of its own field act on an element: without windows, and with one field for both
            statistics, or, as in whitening, a field that holds the other.
    """

    order: np.ndarray
    edges: np.ndarray
    alone: bool


def find_jacobian_blocks(scheme: Scheme, shape: Shape) -> JacobianBlocks:
    """Return the order of elements in which those that share a statistic are blocks of the Jacobian ∂x̂/∂x."""
    fields = [field.simplify(shape) for field in scheme.kind.list_dependence_fields(scheme)]
    count = int(np.prod(shape))
    if not fields:
        return JacobianBlocks(np.arange(count), np.arange(count + 1), True)
    field = fields[-1].with_full_windows
    keys = _index_statistics(field, shape)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order], prepend=-1, append=count))
    return JacobianBlocks(order, edges, len(set(fields)) == 1 and not fields[-1].windowed_axes)


def _index_statistics(field: Field, shape: Shape) -> np.ndarray:
    """Return the position of each element's statistic among all statistics, flat, in the elements' memory order."""
    counts = field.compute_statistics_shape(shape)
    places = np.arange(int(np.prod(counts))).reshape(counts)
    return np.broadcast_to(broadcast_statistic(places, shape), shape).ravel()
