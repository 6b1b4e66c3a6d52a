"""The general form of many schemes at once: a GPU averages over all their fields in a few large products."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch

from normviz.core.fields import Field, Rule, Shape
from normviz.core.registry import Scheme
from normviz.train.gradient import TrainingForm, make_averaging_matrix

MAX_MATRIX_SIZE = 256
"""The longest pair of axes, N · H or W · C, that is averaged by a matrix: beyond it the product takes too long."""


class StackedAverage:
    """Average of tensors (schemes, networks, N, H, W, C) over a field for each scheme, in two matrix products.

    An average factors over the axes, so it is a product with two matrices: one over (N, H) from the left, one over
    (W, C) from the right. Each of them is symmetric, as no rule is a window.

        E x = A x B,   A = A_N ⊗ A_H,   B = A_W ⊗ A_C        with x as a matrix (N · H, W · C)

    `fields`: one for each scheme; None for E = 0.
    """

    def __init__(self, fields: Sequence[Field | None], shape: Shape, like: torch.Tensor) -> None:
        self.left = _stack_matrices([None if field is None else field.rules[:2] for field in fields], shape[:2], like)
        self.right = _stack_matrices([None if field is None else field.rules[2:] for field in fields], shape[2:], like)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return E x, in the shape of x."""
        rows, columns = self.left.shape[-1], self.right.shape[-1]
        by_row = torch.bmm(x.reshape(len(x), -1, columns), self.right).view(*x.shape[:2], rows, columns)
        out = torch.empty_like(by_row)
        for network in range(x.shape[1]):  # a batch of products, whose matrices are not copied for every network
            torch.bmm(self.left, by_row[:, network], out=out[:, network])
        return out.view(x.shape)


class StackedForm(TrainingForm):
    """Forward and backward pass of the general form x̂ = (x - μ)/σ, for a scheme at each index of the first axis.

    Both overwrite their tensor. A scheme that does not divide has E_B = 0 and ε = 1, so that σ = 1. For training alone:
    no statistics are collected for inference.
    """

    def __init__(self, schemes: Sequence[Scheme], shape: Shape, eps: float, like: torch.Tensor) -> None:
        self.summation = StackedAverage([scheme.summation for scheme in schemes], shape, like)
        self.suppression = StackedAverage([scheme.suppression for scheme in schemes], shape, like)
        eps_of_scheme = [1.0 if scheme.suppression is None else eps for scheme in schemes]
        self.eps = torch.tensor(eps_of_scheme, dtype=like.dtype, device=like.device).view(-1, 1, 1, 1, 1, 1)

    @staticmethod
    def can_compute(scheme: Scheme, shape: Shape) -> bool:
        """Return True for a scheme of the general form without windows or a factor, on a shape that is small enough."""
        return (
            scheme.is_general_form
            and scheme.has_effect
            and scheme.compute_scale(shape) == 1.0
            and not any(field.windowed_axes for field in scheme.fields)
            and max(prod(shape[:2]), prod(shape[2:])) <= MAX_MATRIX_SIZE
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Overwrite x with x̂ and return it; where σ = 0, x̂ is 0, its limit as ε goes to 0."""
        v = x.sub_(self.summation(x))
        sigma = self.suppression(v.square()).add_(self.eps).sqrt_()
        self.inverse = torch.where(sigma > 0, sigma.reciprocal(), 0.0)
        self.xhat = v.mul_(self.inverse)
        return self.xhat

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        """Overwrite g = ∂L/∂x̂ of the last `forward` with ∂L/∂x, and return it."""
        g.mul_(self.inverse)
        g.addcmul_(self.xhat, self.suppression(g * self.xhat), value=-1.0)
        del self.inverse, self.xhat
        return g.sub_(self.summation(g))


def _stack_matrices(
    rules: Sequence[tuple[Rule, ...] | None], lengths: Sequence[int], like: torch.Tensor
) -> torch.Tensor:
    """Return every scheme's matrix that averages over two axes, (schemes, n, n) with n = prod(lengths); 0 for None."""
    different = list(dict.fromkeys(rules))
    made = [
        np.zeros([prod(lengths)] * 2) if each is None else np.kron(*map(make_averaging_matrix, each, lengths))
        for each in different
    ]
    of_scheme = torch.tensor([different.index(each) for each in rules], device=like.device)
    return torch.tensor(np.stack(made), dtype=like.dtype, device=like.device)[of_scheme]
