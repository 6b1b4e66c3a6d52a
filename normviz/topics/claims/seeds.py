"""The seeds of a claim's measurements."""

from collections.abc import Callable

SEED_COUNT = 5
"""Number of seeds of a repeated measurement."""

SEED_BOUND = 10_000
"""Bound of all seeds, exclusive."""


def list_seeds(seed: int) -> list[int]:
    """Return `SEED_COUNT` consecutive seeds from `seed` on; after the largest seed comes 0."""
    return [(seed + k) % SEED_BOUND for k in range(SEED_COUNT)]


def repeat_over_seeds(seed: int, measure: Callable[[int], float]) -> tuple[float, ...]:
    """Call `measure` with each of `list_seeds(seed)`; return the numbers in this order."""
    return tuple(float(measure(each)) for each in list_seeds(seed))
