"""Estimates of the numbers inside a scheme without statistics: α and s of y = γ f(αx + s) + β."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import ignore_float_warnings
from normviz.core.registry import Scheme

INITIAL_ALPHAS = 2.0 ** np.arange(-3, 5)
"""First guesses of α, times the root mean square of x."""

STEPS, LAST, SLOW = 40, 4, 0.99
"""Gauss-Newton steps with some elements, and with all of them; share of the squares left by a step that is the last."""

BENT, BENT_FROM = 8, 0.02
"""Least number of elements on the bend of f: with f′ from this share to one minus this share of its maximum."""


class PointwiseEstimate(NamedTuple):
    """A pointwise scheme with its estimated α and s; it is `bent` if enough elements lie where f is curved.

    `moved`: |u f′(u)| of every element, u = αx + s: the change of f for a relative change of u.
    """

    scheme: Scheme
    bent: bool
    moved: np.ndarray


def is_monotone(x: np.ndarray, y: np.ndarray, tolerance: float) -> bool:
    """Return True if y only rises or only falls with x in every channel, up to a tolerance."""
    flat, target = x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1])
    rises = np.diff(np.take_along_axis(target, np.argsort(flat, axis=0), axis=0), axis=0)
    return bool(np.all(np.all(rises >= -tolerance, axis=0) | np.all(rises <= tolerance, axis=0)))


@ignore_float_warnings
def estimate_pointwise_fit(x: np.ndarray, y: np.ndarray, scheme: Scheme, with_gain: bool) -> PointwiseEstimate | None:
    """Estimate α and s of y = f(αx + s), or if `with_gain` of y = γ f(αx + s) + β; None if x is constant or α ≤ 0.

    Gauss-Newton steps, halved until the squares fall, start at the best of `INITIAL_ALPHAS`. γ and β, one per channel,
    follow by least squares in each step (variable projection).

    Source: Golub & Pereyra 1973, The Differentiation of Pseudo-Inverses and Nonlinear Least Squares.
    """
    flat, target = x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1])
    size = float(np.sqrt(np.mean(flat**2)))
    if not np.ptp(flat) or not np.isfinite(size):
        return None
    step = max(1, len(flat) * x.shape[-1] // 4096)  # so many elements for the search; the last steps use all
    some = (flat[::step], target[::step])
    found = min(
        (_FittedCurve(*some, scheme, with_gain, (alpha / size, 0.0)) for alpha in INITIAL_ALPHAS),
        key=lambda curve: curve.squares,
    )
    for _ in range(STEPS):
        better = found.take_gauss_newton_step()
        if better is None:
            break
        is_slow, found = better.squares > SLOW * found.squares, better
        if is_slow:
            break
    found = _FittedCurve(flat, target, scheme, with_gain, found.inner)
    for _ in range(LAST):
        found = found.take_gauss_newton_step() or found
    alpha, shift = found.inner
    if not (np.isfinite(alpha) and alpha > 0):
        return None
    steep = np.abs(found.slope)
    bent = int(((steep > BENT_FROM) & (steep < (1 - BENT_FROM) * steep.max())).sum()) >= BENT
    moved = (np.abs(flat * alpha + shift) * steep).reshape(x.shape)
    return PointwiseEstimate(replace(scheme, alpha=alpha, shift=None if scheme.shift is None else shift), bent, moved)


class _FittedCurve:
    """Curve f(αx + s) at one `inner` = (α, s), and its residual; if `with_gain`, with γ and β by least squares."""

    def __init__(
        self, x: np.ndarray, y: np.ndarray, scheme: Scheme, with_gain: bool, inner: tuple[float, float]
    ) -> None:
        self.given = (x, y, scheme, with_gain)
        self.inner = inner
        function = scheme.function
        assert function is not None
        u = inner[0] * x + inner[1]
        value, self.slope = function.value(u), function.slope(u)
        self.gain = np.ones(x.shape[-1])
        self.value = value
        if with_gain:
            self.value, target = value - value.mean(0), y - y.mean(0)
            square = (self.value**2).sum(0)
            self.gain = (self.value * target).sum(0) / np.where(square > 0, square, 1)
            self.rest = target - self.gain * self.value
        else:
            self.rest = y - value
        self.squares = float((self.rest**2).sum())

    def take_gauss_newton_step(self) -> "_FittedCurve | None":
        """Return the curve after one Gauss-Newton step, or None if no step reduces the squared error."""
        x, y, scheme, with_gain = self.given
        columns = [self.gain * self.slope * x]
        if scheme.shift is not None:
            columns.append(self.gain * self.slope)
        if with_gain:  # γ and β explain a part of each column, which leaves no step of α and s
            square = (self.value**2).sum(0)
            columns = [each - each.mean(0) for each in columns]
            parts = [(self.value * each).sum(0) / np.where(square > 0, square, 1) for each in columns]
            columns = [each - self.value * part for each, part in zip(columns, parts, strict=True)]
        matrix = np.stack([each.ravel() for each in columns], axis=1)
        change = np.linalg.lstsq(matrix, self.rest.ravel(), rcond=None)[0]
        move = np.append(change, [0.0])[:2]
        for part in 2.0 ** -np.arange(12):
            alpha, shift = self.inner[0] + part * move[0], self.inner[1] + part * move[1]
            if alpha > 0:
                other = _FittedCurve(x, y, scheme, with_gain, (float(alpha), float(shift)))
                if other.squares < self.squares:
                    return other
        return None
