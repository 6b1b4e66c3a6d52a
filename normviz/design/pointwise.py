"""What takes a normalizer's place without statistics: a function of every element by itself, beside RMS norm.

RMS norm divides by what its field shares, so a factor of all of it is divided out; f(αx + s) shares nothing, and bounds
x̂. Everything is computed by `normalize`, at ε = 0, on one seeded tensor; the six changes on the networks of Table 1.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize, quiet
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.core.theory import Verdict, predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.core.turns import one_at_a_time
from normviz.networks.problem import position
from normviz.networks.setting import Setting
from normviz.table1.forward import forward_gaps

POINTWISE = {key: row.label for key, row in SCHEMES.items() if row.pointwise is not None}
"""The schemes without statistics, by their keys."""

SHARED, PLAIN = SCHEMES["rms"], SCHEMES["none"]
"""What they stand beside: a scheme that shares, and nothing."""

DELTAS = np.geomspace(1e-3, 1e3, 61)
"""Factors δ of all of x."""

ALPHAS = (0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1e4, 1e8)
"""α, from almost a line to nothing but signs."""

EDGE = 3.0
"""An element with |αx + s| beyond this is called saturated."""

SHAPE, SEED = (8, 1, 1, 8), 0


def sample() -> np.ndarray:
    """64 standard normal numbers: eight fields of RMS norm, each of eight."""
    return np.random.default_rng(SEED).standard_normal(SHAPE)


def xhat(x: np.ndarray, scheme: Scheme) -> np.ndarray:
    """x̂ at ε = 0."""
    return normalize(x, scheme, 0.0).xhat


def gap(scheme: Scheme, delta: float) -> float:
    """max|x̂(δx) − x̂(x)| / max|x̂(x)| of the sample, as Table 1 measures it."""
    before = xhat(sample(), scheme)
    return float(np.abs(xhat(delta * sample(), scheme) - before).max() / np.abs(before).max())


@lru_cache(maxsize=64)
def gaps(scheme: Scheme) -> np.ndarray:
    """The gap at every one of `DELTAS`."""
    return np.array([gap(scheme, float(delta)) for delta in DELTAS])


class Saturated(NamedTuple):
    """What saturation does to the sample times a factor.

    Attributes:
        beyond: how many of its elements are beyond `EDGE`.
        largest: max|x̂|.
        slope: the mean slope of all elements, over the one at αx + s = 0.
    """

    beyond: int
    largest: float
    slope: float


@quiet
def saturated(scheme: Scheme, times: float = 1.0) -> Saturated:
    """What saturation does, for a pointwise scheme."""
    inside = scheme.inside(times * sample())
    return Saturated(
        int((np.abs(inside) > EDGE).sum()),
        float(np.abs(xhat(times * sample(), scheme)).max()),
        float(_slope(scheme, inside).mean()),
    )


def edge_slope(scheme: Scheme) -> float:
    """The slope at `EDGE`, over the one at 0: the most that is left of the gradient beyond."""
    return float(_slope(scheme, np.array([EDGE]))[0])


def _slope(scheme: Scheme, inside: np.ndarray) -> np.ndarray:
    assert scheme.function is not None
    return scheme.function.slope(inside) / scheme.function.slope(np.zeros(1))


class Field(NamedTuple):
    """Elements that come in, δx, and their x̂; and what any element among them would become: `curve` over `across`."""

    x: np.ndarray
    xhat: np.ndarray
    across: np.ndarray
    curve: np.ndarray


def field(scheme: Scheme, delta: float) -> Field:
    """The first eight elements, a field of RMS norm, times δ.

    Under RMS norm they lie on a line, whose slope 1/√(mean square) they share; under a function on its curve, always
    the same.
    """
    x = delta * sample()
    first, out = x[0].ravel(), xhat(x, scheme)[0].ravel()
    reach = 1.15 * np.abs(first).max()
    across = np.linspace(-reach, reach, 401)
    if scheme.function is not None:
        return Field(first, out, across, scheme.function.value(scheme.inside(across)))
    return Field(first, out, across, across * (out @ first) / (first @ first))


class Change(NamedTuple):
    """One of the six changes: its key, what the rule says, and the gap of a forward pass."""

    key: str
    verdict: Verdict
    gap: float


@one_at_a_time
@lru_cache(maxsize=64)
def changes(scheme: Scheme, layer: str, delta: float) -> tuple[Change, ...]:
    """The six changes of Table 1, by the rule and on a forward pass of its networks, at ε = 0."""
    setting = Setting(layer=layer, delta=delta)
    found = forward_gaps([scheme], setting)[0]
    shapes = setting.layer, setting.shapes[0], setting.weight_shapes[0]
    return tuple(
        Change(key, predict(scheme, change, *shapes), float(found[position(change)]))
        for key, change in TRANSFORMATIONS.items()
    )


def at_alpha(key: str, alpha: float) -> Scheme:
    """A scheme without statistics, by its key, with another α."""
    return get_scheme(key, alpha=alpha)
