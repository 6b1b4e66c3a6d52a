"""Normalization of numbers that share a mean and a variance, and its backward pass step by step.

Forward, for H numbers: μ = Σx/H, v = x − μ, σ² = Σv²/H, s = √(σ² + ε), x̂ = v/s. The gradient ∂L/∂x̂ is given. Backward:

    ∂L/∂s = −Σ ∂L/∂x̂ · v/s²,   ∂L/∂σ² = ∂L/∂s / (2s),   ∂L/∂v = ∂L/∂x̂ / s + ∂L/∂σ² · 2v/H,
    ∂L/∂μ = −Σ ∂L/∂v,   ∂L/∂x = ∂L/∂v + ∂L/∂μ / H

RMS norm subtracts no mean: v = x, σ² is the mean of x², and ∂L/∂x = ∂L/∂v.
"""

from typing import NamedTuple

import numpy as np

STEPS = ("forward", "dxhat", "droot", "dvariance", "dv", "dmean", "dx")
"""The forward pass, then the gradient that each backward step adds."""

LAST_STEP = len(STEPS) - 1

PATHS = ("① directly", "② through the mean", "③ through the variance")
"""The paths from x to x̂, along which the gradient returns."""


class ChainValues(NamedTuple):
    """Values and gradients of every step of a normalization: arrays (H,) per element, numbers for shared statistics.

    Without a mean, `mean` and `dmean` are 0, and `paths`, indices in `PATHS`, lack the path through the mean.
    """

    x: np.ndarray
    mean: float
    v: np.ndarray
    variance: float
    root: float
    xhat: np.ndarray
    dxhat: np.ndarray
    droot: float
    dvariance: float
    dv: np.ndarray
    dmean: float
    dx: np.ndarray
    paths: tuple[int, ...]


def compute_chain_values(x: np.ndarray, dxhat: np.ndarray, eps: float, has_mean: bool = True) -> ChainValues:
    """Return values and gradients of all steps for x (H,) and ∂L/∂x̂ (H,) in layer norm; in RMS norm without a mean.

    If s is 0 (all x are equal and ε = 0), x̂ and the gradients through s are 0.

    Example:
        >>> one = compute_chain_values(np.array([1.0, 3.0]), np.array([1.0, 0.0]), 0.0)
        >>> one.mean, one.root, one.xhat.tolist(), one.dx.tolist()
        (2.0, 1.0, [-1.0, 1.0], [0.0, 0.0])
    """
    count = len(x)
    mean = float(x.mean()) if has_mean else 0.0
    v = x - mean if np.ptp(x) or not has_mean else np.zeros(count)
    variance = float((v * v).mean())
    root = (variance + eps) ** 0.5
    inverse = 1 / root if root else 0.0
    droot = -float((dxhat * v).sum()) * inverse**2
    dvariance = droot * inverse / 2
    dv = dxhat * inverse + dvariance * 2 * v / count
    dmean, paths = (-float(dv.sum()), (0, 1, 2)) if has_mean else (0.0, (0, 2))
    dx = dv + dmean / count
    return ChainValues(x, mean, v, variance, root, v * inverse, dxhat, droot, dvariance, dv, dmean, dx, paths)


def list_step_terms(values: ChainValues, step: str) -> dict[str, np.ndarray]:
    """Return the terms that a backward step, such as "dx", adds up, as arrays (H,) by their formulas; else {}.

    The terms of ∂L/∂s and ∂L/∂μ are summed over the elements, those of ∂L/∂v and ∂L/∂x element by element. Each term of
    ∂L/∂x, in terms of d = ∂L/∂x̂, belongs to one path: no part of ∂L/∂μ comes through the variance, since v sums to 0.
    """
    count, inverse = len(values.x), 1 / values.root if values.root else 0.0
    direct, variance = values.dxhat * inverse, values.dvariance * 2 * values.v / count
    found = {
        "droot": {"−∂L/∂x̂ · v / s²": -values.dxhat * values.v * inverse**2},
        "dv": {"① ∂L/∂x̂ / s": direct, f"③ ∂L/∂σ² · 2v/{count}": variance},
        "dmean": {"−∂L/∂v": -values.dv} if 1 in values.paths else {},
        "dx": {
            "① d / s": direct,
            **({"② −mean(d) / s": np.full(count, values.dmean / count)} if 1 in values.paths else {}),
            "③ −x̂ · mean(d x̂) / s": variance,
        },
    }
    return found.get(step, {})
