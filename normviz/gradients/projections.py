"""The Jacobian ∂x̂/∂x: its blocks, and the two directions that it maps to nothing.

At every x, whatever the fields, a scheme that centres has J·1 = 0, and one that divides has J·x = x̂ ε/(σ² + ε): the
derivative of x̂ as all x are shifted, and as all are multiplied.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.backward import jacobian
from normviz.core.fields import Field, Shape
from normviz.core.normalize import normalize, spread
from normviz.core.schemes import Scheme
from normviz.core.whitening import by_power


class Blocks(NamedTuple):
    """The elements of a tensor in an order in which those of a field stand together.

    Attributes:
        order: places in memory; edges: where fields begin, and the end.
        alone: whether nothing outside of its field acts on an element: one field for both statistics, or one that holds
            the other, as in whitening; and no windows.
    """

    order: np.ndarray
    edges: np.ndarray
    alone: bool


def blocks(scheme: Scheme, shape: Shape) -> Blocks:
    """Elements ordered by the statistic that they share; under windows, which overlap, as they are in memory."""
    fields = [field.canonical(shape) for field in scheme.fields]
    count = int(np.prod(shape))
    if not fields:
        return Blocks(np.arange(count), np.arange(count + 1), True)
    field = fields[-1].coarse
    keys = _statistics(field, shape)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order], prepend=-1, append=count))
    return Blocks(order, edges, (len(set(fields)) == 1 or scheme.whitens) and not fields[-1].windows)


def _statistics(field: Field, shape: Shape) -> np.ndarray:
    """The place of its statistic, for every element in memory order."""
    counts = field.statistics_shape(shape)
    places = np.arange(int(np.prod(counts))).reshape(counts)
    return np.broadcast_to(spread(places, field, shape), shape).ravel()


class Directions(NamedTuple):
    """J, what it makes of a shift and of a factor of all x, and what theory says of the factor; all as (elements,)."""

    jacobian: np.ndarray
    shift: np.ndarray
    factor: np.ndarray
    expected: np.ndarray


def directions(x: np.ndarray, scheme: Scheme, eps: float) -> Directions:
    """J·1, J·x and x̂ ε/(σ² + ε) at x (N, H, W, C), or ε (Σ + εI)⁻¹ x̂; without division v, or x times its slope."""
    matrix = jacobian(x, scheme, eps)
    result = normalize(x, scheme, eps)
    expected = result.v
    if scheme.function is not None:
        expected = x * scheme.alpha * scheme.function.slope(scheme.inside(x))
    elif scheme.whitens:
        expected = eps * by_power(result.xhat, result.v, scheme.matrices(x.shape), eps, 2)
    elif scheme.suppression is not None:
        root = np.broadcast_to(spread(result.deviation, scheme.suppression, x.shape), x.shape)
        left = np.zeros(x.shape) if scheme.spectral else eps * np.ones(x.shape)
        expected = result.xhat * np.divide(left, root**2, out=np.zeros(x.shape), where=root != 0)
    return Directions(matrix, matrix.sum(axis=1), matrix @ x.ravel(), expected.ravel())
