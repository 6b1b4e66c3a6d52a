"""One field of a layer taken apart: every step forward, and backward the chain rule from the loss to x.

Forward, over H numbers: μ = Σx/H, v = x - μ, σ² = Σv²/H, s = √(σ² + ε), x̂ = v/s, y = γ x̂ + β, and a loss l = Σ w y
whose ∂l/∂y = w is given. Backward, each from those behind it:

    ∂l/∂x̂ = γ w,   ∂l/∂s = -Σ ∂l/∂x̂ · v/s²,   ∂l/∂σ² = ∂l/∂s / (2s),   ∂l/∂v = ∂l/∂x̂ / s + ∂l/∂σ² · 2v/H,
    ∂l/∂μ = -Σ ∂l/∂v,   ∂l/∂x = ∂l/∂v + ∂l/∂μ / H
"""

from typing import NamedTuple

import numpy as np

STEPS = (
    "x",
    "mean",
    "v",
    "variance",
    "root",
    "xhat",
    "y",
    "l",
    "dy",
    "dxhat",
    "droot",
    "dvariance",
    "dv",
    "dmean",
    "dx",
)
"""What each step adds: values on the way forward, then gradients on the way back."""

LAST = len(STEPS) - 1

TURN = STEPS.index("l")
"""The last step forward."""


class Chain(NamedTuple):
    """All values and gradients of a field; those of single elements are arrays (H,).

    `derivative[a, b]`: what comes back along the edge from a to b, to the element or to what the field shares.
    """

    x: np.ndarray
    mean: float
    v: np.ndarray
    variance: float
    root: float
    xhat: np.ndarray
    y: np.ndarray
    l: float  # noqa: E741
    dy: np.ndarray
    dxhat: np.ndarray
    droot: float
    dvariance: float
    dv: np.ndarray
    dmean: float
    dx: np.ndarray


def chain(x: np.ndarray, dy: np.ndarray, eps: float, gain: float, bias: float) -> Chain:
    """All steps of a field (H,); where s is 0, all numbers alike and ε = 0, x̂ and what comes back through it are 0."""
    count = len(x)
    mean = float(x.mean())
    v = x - mean if np.ptp(x) else np.zeros(count)
    variance = float((v * v).mean())
    root = (variance + eps) ** 0.5
    inverse = 1 / root if root else 0.0
    xhat = v * inverse
    y = gain * xhat + bias
    dxhat = gain * dy
    droot = -float((dxhat * v).sum()) * inverse**2
    dvariance = droot * inverse / 2
    dv = dxhat * inverse + dvariance * 2 * v / count
    dmean = -float(dv.sum())
    return Chain(
        x, mean, v, variance, root, xhat, y, float((dy * y).sum()), dy, dxhat, droot, dvariance, dv, dmean,
        dv + dmean / count,
    )  # fmt: skip


def back(one: Chain, i: int) -> dict[tuple[str, str], float]:
    """What comes back along every edge of element i, by (where it comes from, where it goes)."""
    count, inverse = len(one.x), 1 / one.root if one.root else 0.0
    return {
        ("l", "y"): float(one.dy[i]),
        ("y", "xhat"): float(one.dxhat[i]),
        ("xhat", "root"): -float(one.dxhat[i] * one.v[i]) * inverse**2,
        ("root", "variance"): one.dvariance,
        ("xhat", "v"): float(one.dxhat[i]) * inverse,
        ("variance", "v"): one.dvariance * 2 * float(one.v[i]) / count,
        ("v", "mean"): -float(one.dv[i]),
        ("v", "x"): float(one.dv[i]),
        ("mean", "x"): one.dmean / count,
    }
