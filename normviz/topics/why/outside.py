"""Normalization outside of the gradient: the step ignores that the mean follows the bias.

    x = u + b,  x̂ = x − E[x],  L = ½ E[(x̂ − t)²]

A step along −∂L/∂x̂ moves b as if E[x] were constant. But u + (b + Δb) − E[u + (b + Δb)] = u + b − E[u + b], so
neither x̂ nor the loss changes, and the next step is the same again.

Source: Ioffe & Szegedy 2015, arXiv 1502.03167, section 2.
"""

from typing import NamedTuple

import numpy as np

EXAMPLES = 64
TARGET = 1.0
"""Mean of the targets of x̂, which no x̂ can have."""


class BiasDescent(NamedTuple):
    """Course of gradient descent on a bias b: b and the loss, (steps + 1,) each, from before the first step."""

    b: np.ndarray
    losses: np.ndarray


def sample_bias_examples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample inputs u, and targets of x̂, which are u plus noise around the mean TARGET; (EXAMPLES,) each."""
    u, noise = np.random.default_rng([seed, 24]).standard_normal((2, EXAMPLES))
    t = u - u.mean() + 0.5 * (noise - noise.mean()) + TARGET
    return u, t


def descend_bias(rate: float, steps: int, seed: int, through_normalization: bool) -> BiasDescent:
    """Run gradient descent on a bias b before the mean is subtracted; return b and the loss after every step.

    `through_normalization`: ∂L/∂b = Σ_i ∂L/∂x_i; otherwise E[x] counts as constant, ∂L/∂b = Σ_i ∂L/∂x̂_i.
    """
    u, t = sample_bias_examples(seed)
    b, bs, losses = 0.0, [], []
    for step in range(steps + 1):
        x = u + b
        error = x - x.mean() - t
        bs.append(b)
        losses.append(float((error**2).mean() / 2))
        by_xhat = error / EXAMPLES
        by_x = by_xhat - by_xhat.mean() if through_normalization else by_xhat
        if step < steps:
            b -= rate * float(by_x.sum())
    return BiasDescent(np.array(bs), np.array(losses))
