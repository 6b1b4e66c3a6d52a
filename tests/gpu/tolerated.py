"""How far two trainings of the same networks may be apart: sums in another order, on another device."""

import numpy as np

from normviz.core.tolerances import INVARIANCE_TOLERANCES

ADAM = 0.05
"""In float32 rounding decides whether some gradients count as zero, and Adam goes a whole step for all others. With
inputs disturbed by 2e-7, on the CPU: 6e-3 after four steps. What Adam computes is held in float64."""


def allowed(setting):
    """The gap that a few steps of a setting may leave; rounding leaves 1e-14, 1e-5, 1e-3 and 2e-4 by type."""
    if setting.storage == "float64":
        return 1e-9
    return ADAM if setting.optimizer == "adam" else INVARIANCE_TOLERANCES[setting.dtype]


def gap(there, here):
    """The largest difference of two arrays of losses, (steps, schemes, networks), over a network's largest loss."""
    return (np.abs(there - here).max(0) / np.abs(here).max(0)).max()
