"""How far two computations of the same number may be apart: relative differences, by floating-point type."""

RELATIVE = {"float64": 1e-12, "float32": 1e-5}
"""Largest difference of two arrays over the largest magnitude, for sums in another order."""

INVARIANT = {"float64": 1e-6, "float32": 1e-4, "bfloat16": 2**-4, "float16": 2**-7}
"""Largest relative gap of outputs that count as equal: rounding, 16 times the type's own for the short ones."""

MARGIN = 100
"""Twins round at every step, the control once: their gap may be this many times the control's and still be rounding."""

CHAOTIC = 1e-2
"""Where rounding may part twins by more than this, a gap of that size says nothing."""


def tolerance(dtype: object) -> float:
    """The relative difference allowed for arrays of this type, NumPy's or torch's."""
    return RELATIVE[str(dtype).removeprefix("torch.")]
