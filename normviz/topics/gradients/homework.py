"""Normalization as homework writes it, right or wrong: one formula with a place for each mistake.

    v = x - E_A[x],   w = v,   s = E_B[w²],   r = 1/√(s + ε),   x̂ = v r
    ∂l/∂x = (1 - E_Aᵀ)(g r + 2 w E_Bᵀ[g v ∂r/∂s])

Plain float64, without the care that `normviz.core` takes of extreme numbers: answers are held against that one first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from normviz.core.backward import apply_transposed_average, compute_diagonal_gradient
from normviz.core.fields import Field, Shape
from normviz.core.normalize import broadcast_statistic, centre
from normviz.core.registry import SCHEMES, Scheme

Keys = tuple[str, ...]
"""The mistakes that were made together; none: the right way."""

OTHERS = (1e-3, 1e-5, 1e-6, 1e-8, 1e-12)
"""What ε is by default in frameworks and in homework."""


class Task(NamedTuple):
    """What is given, as tensors (N, H, W, C): gamma and beta broadcast against x; dout is None where there is none."""

    x: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray
    dout: np.ndarray | None


@dataclass(frozen=True)
class Way:
    """One way to normalize: which fields, what divides, and which ε.

    Attributes:
        summation, suppression: A and B; None: not centred, or not divided.
        eps: ε, added inside of the root, outside of it, or to a variance without one.
        root: "inside", "outside" or "none"; with absolute values also "squared", 1/√(s² + ε).
        sample: whether squares are averaged with m - 1.
        sample_mean: whether the mean is a sum over m - 1, too.
        absolute: whether absolute values are averaged, in place of squares.
        around: whether what divides is centred: w = v, otherwise w = x.
        scale: a constant factor of x̂.
    """

    summation: Field | None
    suppression: Field | None
    eps: float
    root: str = "inside"
    sample: bool = False
    sample_mean: bool = False
    absolute: bool = False
    around: bool = True
    scale: float = 1.0


class Steps(NamedTuple):
    """The steps of a way: v, half the derivative of what is averaged, 1/σ with its derivative by the average s, x̂.

    w is what is squared, since d(w²)/dw = 2w; for absolute values it is half of their sign.
    """

    v: np.ndarray
    w: np.ndarray
    r: np.ndarray
    slope: np.ndarray
    xhat: np.ndarray


def average(x: np.ndarray, field: Field) -> np.ndarray:
    """E[x] at every element."""
    return np.broadcast_to(broadcast_statistic(centre(x, field)[1], field, x.shape), x.shape)


def unbiased(field: Field, shape: Shape) -> np.ndarray:
    """Return m/(m − 1) for every element: the factor from a mean over m to a sum over m − 1; 1 where m = 1."""
    m = field.sizes(shape)
    return m / np.maximum(m - 1, 1)


def forward(x: np.ndarray, way: Way) -> Steps:
    """Return the steps of a way on a tensor."""
    v = x
    if way.summation is not None:
        v = x - average(x, way.summation) * (unbiased(way.summation, x.shape) if way.sample_mean else 1.0)
    if way.suppression is None:
        one = np.ones_like(x)
        return Steps(v, v, one, np.zeros_like(x), v * way.scale)
    w = v if way.around else x
    factor = unbiased(way.suppression, x.shape) if way.sample else np.ones_like(x)
    s = average(np.abs(w) if way.absolute else w * w, way.suppression) * factor
    if way.root == "inside":
        r = 1 / np.sqrt(s + way.eps)
        slope = -(r**3) / 2
    elif way.root == "outside":
        r = 1 / (np.sqrt(s) + way.eps)
        slope = -(r**2) / (2 * np.sqrt(s))
    elif way.root == "squared":
        r = 1 / np.sqrt(s * s + way.eps)
        slope = -s * r**3
    else:
        r = 1 / (s + way.eps)
        slope = -(r**2)
    half = np.sign(w) / 2 if way.absolute else w
    return Steps(v, half, r * way.scale, slope * factor * way.scale, v * r * way.scale)


def gradients(x: np.ndarray, g: np.ndarray, way: Way, steps: Steps) -> Iterator[tuple[Keys, np.ndarray]]:
    """Yield ∂l/∂x of a way from g = ∂l/∂x̂, the right one first, then with each mistake of the backward pass."""
    a, b = way.summation, way.suppression
    direct = g * steps.r
    kept = unbiased(a, x.shape) if a is not None and way.sample_mean else 1.0

    def reach(times: float | np.ndarray = 1.0) -> np.ndarray:
        """Return the path through the variance, of which each average is multiplied."""
        return (
            np.zeros_like(x)
            if b is None
            else 2 * steps.w * apply_transposed_average(g * steps.v * steps.slope * times, b)
        )

    def back(z: np.ndarray, times: float | np.ndarray = kept) -> np.ndarray:
        return np.zeros_like(x) if a is None else np.broadcast_to(apply_transposed_average(z * times, a), x.shape)

    through = reach()
    inner = through if way.around else 0.0  # through v, or straight to x
    outer = 0.0 if way.around else through
    dx = direct + inner - back(direct + inner) + outer
    yield (), dx
    if a is not None:
        yield ("mean-path",), direct + through
    if b is not None:
        yield ("variance-path",), direct - back(direct)
        yield ("constant-statistics",), direct
    if way.root == "inside" and way.around and not (way.sample or way.sample_mean or way.absolute):
        own = SCHEMES["custom"].with_fields(a, b)
        yield ("diagonal-gradient",), compute_diagonal_gradient(x, g * way.scale, own, way.eps)
        if b is not None:
            yield ("diagonal-gradient",), direct + 2 * steps.w * g * steps.v * steps.slope / b.sizes(x.shape)
    for of_mean, of_variance in ((1, 0), (0, 1), (1, 1)):
        n = 1.0 if a is None or not of_mean else a.sizes(x.shape)
        m = 1.0 if b is None or not of_variance else b.sizes(x.shape)
        dv = direct + through * m
        yield ("sum-instead-of-mean",), dv - back(dv) * n
    for factor in (0.5, 2.0):
        dv = direct + factor * through
        yield ("factor-of-two",), dv - back(dv)
    yield ("sign",), -dx
    for of_mean, of_variance in ((1, -1), (-1, 1), (-1, -1)):
        dv = direct + of_variance * through
        yield ("sign",), dv - of_mean * back(dv)
    for m in {x.size, x.shape[0], 1 if b is None else int(b.sizes(x.shape).max())}:
        yield ("mean-instead-of-sum",), dx / m
    if b is not None and way.around and not way.sample_mean:
        # m − 1 in the forward pass only, in the backward pass only, and in the sums through the mean as well.
        more = unbiased(b, x.shape)
        of_means = [1.0] if a is None else [1.0, unbiased(a, x.shape)]
        for of_mean, of_variance in [*product(of_means, [1.0, 1 / more if way.sample else more])][1:]:
            dv = direct + reach(of_variance)
            yield ("sample-variance",), dv - back(dv, of_mean)


def right_way(scheme: Scheme, shape: Shape, eps: float) -> Way:
    """The way of the scheme itself."""
    return Way(scheme.summation, scheme.suppression, eps, scale=scheme.scale(shape))


def formulas(scheme: Scheme, way: Way) -> Iterator[tuple[Keys, Way]]:
    """Ways that differ from the right one in what is computed with one statistic, not in which elements share it."""
    if way.suppression is None:
        if way.summation is not None:
            yield ("no-centring",), replace(way, summation=None)
        return
    if way.eps:
        yield ("eps-outside-root",), replace(way, root="outside")
    yield ("no-root",), replace(way, root="none")
    yield ("sample-variance",), replace(way, sample=True)
    if way.eps:
        yield ("no-eps",), replace(way, eps=0.0)
    if way.summation is not None:
        yield ("no-centring",), replace(way, summation=None)
        yield ("mean-square",), replace(way, around=False)
    else:
        yield ("centred",), replace(way, summation=way.suppression)
    yield ("no-division",), replace(way, suppression=None)
    for other in dict.fromkeys((way.eps**2, way.eps**0.5, *OTHERS)):
        if other != way.eps:
            yield ("other-eps",), replace(way, eps=other)
    if scheme.per_fan_in:
        yield ("no-scale",), replace(way, scale=1.0)
    if way.summation is not None:
        yield ("sample-variance",), replace(way, sample=True, sample_mean=True)
        yield ("no-centring", "no-division"), replace(way, summation=None, suppression=None)
    for root, eps in (("none", way.eps), ("none", 0.0), ("squared", way.eps), ("inside", way.eps)):
        yield ("absolute-deviation",), replace(way, absolute=True, root=root, eps=eps)


def denominators(way: Way) -> Iterator[tuple[Keys, Way]]:
    """The ways with each of the mistakes that are made most, beside another one."""
    if way.suppression is None:
        return
    roots = {"inside": (), "none": ("no-root",), **({"outside": ("eps-outside-root",)} if way.eps else {})}
    for (root, first), sample in product(roots.items(), (False, True)):
        keys = (*first, *(("sample-variance",) if sample else ()))
        if keys:
            yield keys, replace(way, root=root, sample=sample)
    if way.eps:
        yield ("no-eps",), replace(way, eps=0.0)
        yield ("no-eps", "sample-variance"), replace(way, eps=0.0, sample=True)
