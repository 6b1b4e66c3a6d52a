"""How far two computations of the same number may be apart: relative differences, by floating-point type."""

RELATIVE = {"float64": 1e-12, "float32": 1e-5}
"""Largest difference of two arrays over the largest magnitude, for sums in another order."""


INVARIANT = {"float64": 1e-6, "float32": 1e-2}
"""Largest relative gap of twins that count as together: rounding, and what training makes of it."""


def tolerance(dtype: object) -> float:
    """The relative difference allowed for arrays of this type, NumPy's or torch's."""
    return RELATIVE[str(dtype).removeprefix("torch.")]
