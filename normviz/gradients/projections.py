"""The Jacobian ∂x̂/∂x: its blocks, the two directions that it maps to nothing, and what its diagonal alone misses.

At every x, whatever the fields, a scheme that centres has J·1 = 0, and one that divides has J·x = x̂ ε/(σ² + ε): the
derivative of x̂ as all x are shifted, and as all are multiplied.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.backward import diagonal_only, gradients, jacobian
from normviz.core.fields import Field, Shape
from normviz.core.normalize import normalize, spread
from normviz.core.schemes import SCHEMES, Scheme
from normviz.core.whitening import by_power

SIZES = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Numbers of units H over which the diagonal's error is drawn."""

DRAWS = 200

COMMON = 1.0
"""What all units of ∂l/∂y have in common in the second curve, where their scatter is 1."""


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


class Three(NamedTuple):
    """A field of three elements: x, its x̂, and d = ∂l/∂x̂ on its way back, all (3,).

    Attributes:
        centred: d without its mean, where the scheme centres.
        left: σ ∂l/∂x: what is left of d once its part along x̂ has gone, too, as far as ε lets it.
        dx: ∂l/∂x.
    """

    x: np.ndarray
    xhat: np.ndarray
    d: np.ndarray
    centred: np.ndarray
    left: np.ndarray
    dx: np.ndarray

    def shares(self) -> tuple[float, float, float]:
        """Of the squared length of d: what the mean takes, what x̂ takes, and what is left."""
        whole, after, end = (float((each**2).sum()) for each in (self.d, self.centred, self.left))
        return 1 - after / whole, (after - end) / whole, end / whole


def three(scheme: Scheme, eps: float, seed: int) -> Three:
    """Return three normal numbers through one field that centres and divides as the scheme does, and a normal d.

    Of weights the field is one vector: those that are divided by its length, not by its root mean square, have x̂ of
    length 1. What is left of d does not depend on that.
    """
    rng = np.random.default_rng([seed, 3])
    x, d = rng.standard_normal((2, 1, 1, 1, 3))
    field = Field.parse("full, full, full, full")
    centres, divides = scheme.summation is not None, scheme.suppression is not None
    alike = SCHEMES["custom"].with_fields(field if centres else None, field if divides else None)
    result, found = normalize(x, alike, eps), gradients(x, d, alike, eps)
    root = 1.0 if result.deviation is None else float(result.deviation.ravel()[0])
    centred = d - d.mean() if centres else d
    scale = x.size**-0.5 if scheme.per_fan_in or scheme.spectral else 1.0
    each = (x, scale * result.xhat, d, centred, found.dx * root, scale * found.dx)
    return Three(*(values.ravel() for values in each))


def diagonal_errors(eps: float, seed: int) -> dict[str, np.ndarray]:
    """How far the diagonal alone is from ∂l/∂x of layer norm, relative, by what ∂l/∂y is like and H: medians."""
    rng = np.random.default_rng([seed, 5])
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    for h in SIZES:
        x, noise = rng.standard_normal((2, DRAWS, 1, 1, 1, h))
        for name, common in KINDS.items():
            dy = noise + common
            full = gradients(x, dy, SCHEMES["layer"], eps).dx
            wrong = diagonal_only(x, dy, SCHEMES["layer"], eps) - full
            lengths = [np.sqrt((each**2).sum(axis=-1)).ravel() for each in (wrong, full)]
            found[name].append(float(np.median(lengths[0] / np.maximum(lengths[1], np.finfo(float).tiny))))
    return {name: np.array(errors) for name, errors in found.items()}


KINDS = {"∂l/∂y of mean 0": 0.0, f"∂l/∂y of mean {COMMON:g}": COMMON}
"""What ∂l/∂y is like: normal numbers, and the same beside what all units have in common."""
