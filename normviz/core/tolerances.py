"""Relative differences allowed between two computations of a number, by floating-point type."""

RELATIVE_TOLERANCES = {"float64": 1e-12, "float32": 1e-5}
"""Largest difference of two arrays over the largest magnitude, for sums in another order."""

MACHINE_EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
"""The distance from 1 to the next larger number of a type."""

INVARIANCE_TOLERANCES = {"float64": 1e-6, "float32": 1e-4, "bfloat16": 2**-4, "float16": 2**-7}
"""Largest relative gap of outputs that count as equal: rounding, 16 times the type's own for the short ones."""

CONTROL_ROUNDINGS = {"float64": 64, "float32": 64, "bfloat16": 8, "float16": 8}
"""A control that is disturbed by this many roundings shows what a single one may set off where training is chaotic."""

_LONG = {
    "forward": {"rounding": 64.0, "twin": 16.0, "magnified": 0.3},
    "training": {"rounding": 64.0, "magnified": 1.5},
}
_SHORT = {"forward": {"rounding": 1.0, "twin": 0.5, "magnified": 0.1}, "training": {"rounding": 2.5, "magnified": 1.5}}
CONTROL_MARGINS = {"float64": _LONG, "float32": _LONG, "bfloat16": _SHORT, "float16": _SHORT}
"""Margins by type and by what is measured: a gap up to this multiple of a control's is still rounding.

A control is disturbed by "rounding" or by "magnified" rounding. In the short types every copy is rounded anew
throughout, and so coarsely that no sum adds to it: their controls need a smaller margin. So does the control of a
re-scaled "twin", which speaks of that twin alone: it decides only where rounding does more to the twin than to the
original.
"""

ANSWER_ROUNDINGS = 4
"""An answer to homework may be off by so many roundings of each term that it is the sum of, and is right."""


def get_relative_tolerance(dtype: object) -> float:
    """Return the relative difference allowed for arrays of this type, NumPy's or torch's."""
    return RELATIVE_TOLERANCES[str(dtype).removeprefix("torch.")]
