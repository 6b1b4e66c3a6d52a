"""The schemes that the detector tries, taken from the registry."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from normviz.core.equality import compute_behaviour_key
from normviz.core.fields import CHANNEL_FIELD, OWN, Shape, find_divisors, shrink_shape
from normviz.core.registry import NAMED_SCHEMES, Scheme
from normviz.topics.same.variants import VARIANTS

MAX_TRIED_GROUPS = 32
"""Most groups with which a scheme is tried."""

LEAST_FIELDS = 16
"""Least number of fields in the part on which a candidate is tried, where there are so many."""


@lru_cache(maxsize=64)
def list_candidates(shape: Shape) -> tuple[tuple[Scheme, ...], ...]:
    """Return the schemes to try on a shape (N, H, W, C), as groups of schemes that compute the same on it.

    Layer norm's variants come first, no normalization comes last. Numbers of groups that equal a scheme without groups
    are omitted. So are schemes whose fields hold one element each: their x̂ is 0.
    """
    found: dict[tuple[Any, ...], list[Scheme]] = {}
    for scheme in CANDIDATE_SCHEMES:
        if not scheme.find_grouped_axes(shape):
            found.setdefault(compute_behaviour_key(scheme, shape), []).append(scheme)
    plain = set(found)
    for scheme in (
        each for row in CANDIDATE_SCHEMES if row.find_grouped_axes(shape) for each in _vary_groups(row, shape)
    ):
        if compute_behaviour_key(scheme, shape) not in plain:
            found.setdefault(compute_behaviour_key(scheme, shape), []).append(scheme)
    there = [each for key, each in found.items() if key[1] != "zero"]
    return tuple(tuple(each) for each in sorted(there, key=lambda each: each[0].is_baseline))


def choose_independent_part(shape: Shape, scheme: Scheme, most: int) -> tuple[np.ndarray, ...]:
    """Return indices, from `numpy.ix_`, of about `most` elements whose x̂ does not depend on the rest of the tensor.

    Axes along which no field averages are cut to evenly spaced indices: examples in layer norm, channels in batch norm.
    The part has at most `most` elements, unless `LEAST_FIELDS` fields need more.
    """
    averaged = find_mixed_axes(shape, scheme)
    size = prod(n for n, is_averaged in zip(shape, averaged, strict=True) if is_averaged)
    own = tuple(1 if is_averaged else n for n, is_averaged in zip(shape, averaged, strict=True))
    few = shrink_shape(own, max(most // size, LEAST_FIELDS))
    return space_indices_evenly(
        shape, tuple(n if is_averaged else m for n, m, is_averaged in zip(shape, few, averaged, strict=True))
    )


def find_mixed_axes(shape: Shape, scheme: Scheme) -> tuple[bool, ...]:
    """Return for each axis True if x̂ at one index depends on x at other indices along this axis."""
    return tuple(any(field.rules[axis] != OWN for field in scheme.fields) for axis in range(4))


def space_indices_evenly(shape: Shape, lengths: Shape) -> tuple[np.ndarray, ...]:
    """Return evenly spaced indices along each axis, `lengths[k]` of them along axis k, from `numpy.ix_`."""
    return np.ix_(*(np.linspace(0, n - 1, m).round().astype(int) for n, m in zip(shape, lengths, strict=True)))


def is_affine(schemes: Sequence[Scheme]) -> bool:
    """Return True if the schemes compute x̂ = a x + b with one a and one b for each channel, as batch norm does.

    `schemes`: schemes that compute the same x̂; with a single example, batch norm may be among them.
    """
    return any(each.is_general_form and all(field == CHANNEL_FIELD for field in each.fields) for each in schemes)


def needs_missing_gain(schemes: Sequence[Scheme]) -> bool:
    """Return True if these schemes have no γ, and with a γ would fit any affine y, as x̂ = a x + b by channel."""
    return is_affine(schemes) and bool(schemes[0].fields) and schemes[0].gain is None


def _list_registry_candidates() -> Iterator[Scheme]:
    """Yield the registered schemes on activations without windows, "no normalization" included; variants first.

    A window has a radius for each axis, too many to try. Of rows with the same fields, those with fewer gains are left
    out: they equal another row with some of its gains fixed.
    """
    rows = [row for row in NAMED_SCHEMES.values() if row.weight_part is None]
    rows = [row for row in rows if not any(field.windowed_axes for field in row.fields)]
    for row in sorted(rows, key=lambda row: row.key not in VARIANTS):
        alike = [other for other in rows if (other.fields, other.function) == (row.fields, row.function)]
        if _rank_by_gains(row) == max(map(_rank_by_gains, alike)):
            yield row


def _rank_by_gains(scheme: Scheme) -> int:
    return -1 if scheme.gain is None else min(len(scheme.gain), 1)


CANDIDATE_SCHEMES = tuple(_list_registry_candidates())
"""Registered schemes to try, before they get a number of groups."""


def _vary_groups(row: Scheme, shape: Shape) -> Iterator[Scheme]:
    """Yield a grouped scheme once for each number of groups up to `MAX_TRIED_GROUPS`; no group has only one index."""
    length = prod(row.find_grouped_axes(shape).values())
    for groups in find_divisors(length)[:-1]:
        if groups <= MAX_TRIED_GROUPS:
            yield row.with_parameters(groups=groups)
