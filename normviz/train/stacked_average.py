"""Averages over the fields of many schemes at once, so that a GPU computes them in a few large products."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch

from normviz.core.fields import Field, Rule, Shape

MAX_MATRIX_SIZE = 256
"""The longest pair of axes, N · H or W · C, that is averaged by a matrix: beyond it the product takes too long."""


class StackedAverage:
    """Average over a field of its own for each scheme, for tensors (schemes, networks, N, H, W, C) of one shape.

    An average factors over the axes, so it is a product with two matrices: one over (N, H) from the left, one over
    (W, C) from the right. Each of them is symmetric, as no rule is a window.

        E x = A x B,   A = A_N ⊗ A_H,   B = A_W ⊗ A_C        with x as a matrix (N · H, W · C)

    Args:
        fields: the field of each scheme; None for E = 0.
        shape: the shape (N, H, W, C).
        like: a tensor of the type and device.
    """

    windows: Sequence[tuple[int, torch.Tensor]] = ()

    def __init__(self, fields: Sequence[Field | None], shape: Shape, like: torch.Tensor) -> None:
        self.left = _stack_matrices([None if field is None else field.rules[:2] for field in fields], shape[:2], like)
        self.right = _stack_matrices([None if field is None else field.rules[2:] for field in fields], shape[2:], like)

    @staticmethod
    def can_average(fields: Sequence[Field | None], shape: Shape) -> bool:
        """Return True if these fields have no windows and the shape is not too large."""
        has_windows = any(field is not None and field.windowed_axes for field in fields)
        return not has_windows and max(prod(shape[:2]), prod(shape[2:])) <= MAX_MATRIX_SIZE

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return E x, in the shape of x."""
        rows, columns = self.left.shape[-1], self.right.shape[-1]
        by_row = torch.bmm(x.reshape(len(x), -1, columns), self.right).view(*x.shape[:2], rows, columns)
        out = torch.empty_like(by_row)
        for network in range(x.shape[1]):  # a batch of products, whose matrices are not copied for every network
            torch.bmm(self.left, by_row[:, network], out=out[:, network])
        return out.view(x.shape)

    apply_transpose = __call__


def _stack_matrices(
    rules: Sequence[tuple[Rule, ...] | None], lengths: Sequence[int], like: torch.Tensor
) -> torch.Tensor:
    """Return the averaging matrix of two axes for every scheme, (schemes, n, n); 0 for None."""
    different = list(dict.fromkeys(rules))
    made = [
        np.zeros([prod(lengths)] * 2) if each is None else np.kron(*map(_make_matrix, each, lengths))
        for each in different
    ]
    of_scheme = torch.tensor([different.index(each) for each in rules], device=like.device)
    return torch.tensor(np.stack(made), dtype=like.dtype, device=like.device)[of_scheme]


def _make_matrix(rule: Rule, n: int) -> np.ndarray:
    """Return the matrix (n, n) that averages along one axis."""
    low, high = rule.compute_bounds(n).T[:, :, None]
    inside = (np.arange(n) >= low) & (np.arange(n) < high)
    return inside / inside.sum(1, keepdims=True)
