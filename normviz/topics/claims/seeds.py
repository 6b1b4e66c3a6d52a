"""The seeds of a claim's measurements."""

SEED_COUNT = 5
"""Number of seeds of a repeated measurement."""

SEED_BOUND = 10_000
"""Bound of all seeds, exclusive."""


def list_seeds(seed: int) -> list[int]:
    """Return `SEED_COUNT` consecutive seeds from `seed` on; after the largest seed comes 0."""
    return [(seed + k) % SEED_BOUND for k in range(SEED_COUNT)]
