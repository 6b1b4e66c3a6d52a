"""Batch and layer norm as limits of divisive norm: its windows widened until they reach across whole axes."""

from collections.abc import Sequence

import numpy as np

from normviz.core.equality import difference
from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, Field, Rule, Shape
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, Scheme


def in_windows(scheme: Scheme, radius: int) -> Scheme:
    """Divisive norm with windows of this radius along the axes over which another scheme's field is full."""
    field = Field(tuple(Rule("window", radius) if rule == FULL else rule for rule in _rules(scheme)))
    return SCHEMES["divisive"].with_fields(field, field)


def reach(scheme: Scheme, shape: Shape) -> int:
    """The smallest radius whose windows hold the whole of every such axis, around every element: the longest n - 1."""
    return max(n - 1 for n, rule in zip(shape, _rules(scheme), strict=True) if rule == FULL)


def gaps_to_limit(x: np.ndarray, scheme: Scheme, radii: Sequence[int], eps: float) -> np.ndarray:
    """max|x̂_divisive - x̂| / max|x̂| between a scheme and its windows, for every radius; x is (N, H, W, C).

    Source: Ren et al. 2017, Table 2: the ranges under which the general form is batch norm or layer norm.
    """
    limit = normalize(x, scheme, eps).xhat
    return np.array([difference(normalize(x, in_windows(scheme, r), eps).xhat, limit).residual for r in radii])


def _rules(scheme: Scheme) -> tuple[Rule, ...]:
    if scheme.field is None:
        raise InvalidInput(f"{scheme.name} has no field that windows could be widened to.")
    return scheme.field.rules
