"""Verdicts on a measured gap: together, apart, or no answer.

Every gap is compared with two scales. Controls, copies disturbed by rounding, show the effect of rounding; the probe, a
copy disturbed by `PROBE_SIZE`, shows the effect of a change. A twin is together with the original if rounding explains
its gap and a change of its size would show above rounding. It is apart if rounding does not explain the gap, and the
gap is in proportion to the change. Everything between is no answer.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.text import format_number
from normviz.core.tolerances import CONTROL_MARGINS, MACHINE_EPSILONS
from normviz.core.transformations import Transformation
from normviz.describe.wording import format_gap
from normviz.train.problem import NETWORKS, ORIGINAL, PROBE, PROBE_SIZE, find_control_networks, sample_data_shift
from normviz.train.setting import Setting

APART_FACTOR = 4.0
"""Least gap of twins that are apart, in multiples of the largest that rounding explains, as controls may miss it."""

MIN_PROPORTION = 1e-3
"""Least gap of twins that are apart, as a share of the usual effect of a change of its size."""

ROUNDING_SHARES = {"forward": 0.15, "training": 1.0}
"""Largest rounding for twins that are together, as a share of the probe's gap times the size of the change."""

DIVERGENCE_FACTOR = 1e3
"""Growth of the loss from which a run has diverged; its later losses say nothing about twins."""


CONTROL_POSITIONS = [place for place, network in enumerate(NETWORKS) if network.disturbed in ("rounding", "magnified")]
"""Positions of all copies that show the effect of rounding."""


class TwinVerdict(NamedTuple):
    """Verdict on a twin: True if its losses are those of the network, False if they differ, None if unknown."""

    together: bool | None
    why: str | None = None


def compute_change_size(change: Transformation, setting: Setting) -> float:
    """Return the size of a transformation, at most 1: |δ - 1| for a factor, the root mean square of τ for a shift."""
    if change.factor is not None:
        return min(1.0, abs(setting.delta - 1.0))
    return min(
        1.0, setting.shift if change.on == "weights" else float(np.sqrt((sample_data_shift(setting) ** 2).mean()))
    )


def bound_rounding_gap(gaps: np.ndarray, change: Transformation, setting: Setting, kind: str) -> float:
    """Return the largest gap that rounding explains, from disturbed copies; `kind`: "forward" or "training"."""
    found = (
        margin * gaps[find_control_networks(change.key, disturbed, len(gaps))].max(initial=0.0)
        for disturbed, margin in CONTROL_MARGINS[setting.dtype][kind].items()
    )
    return max(*found, MACHINE_EPSILONS[setting.dtype if kind == "forward" else setting.storage])


def judge_outputs(gaps: np.ndarray, place: int, size: float, rounding: float, dtype: str) -> TwinVerdict:
    """Return the `TwinVerdict` on the outputs of the twin at index `place`, from the gaps of all networks.

    `size`: of the change; `rounding`: the gap that rounding explains.
    """
    if np.isnan(gaps).any():
        return TwinVerdict(None, "Not measured yet.")
    if not np.isfinite(gaps[place]):
        return TwinVerdict(None, f"The sums overflow {dtype}, so there are no outputs to compare.")
    return _judge_gap(gaps[place], rounding, gaps[PROBE], size, ROUNDING_SHARES["forward"], "outputs")


def judge_losses(
    losses: np.ndarray, gaps: np.ndarray, place: int, size: float, rounding: float, setting: Setting
) -> TwinVerdict:
    """Return the `TwinVerdict` on the losses of the twin at index `place`, from the losses and gaps of all networks.

    `losses`: (steps, networks); `size`: of the change; `rounding`: the gap that rounding explains.
    """
    if len(losses) == 0:
        return TwinVerdict(None, "Not trained yet.")
    original = losses[:, ORIGINAL]
    if not np.isfinite(original).all():
        return TwinVerdict(
            None, "The original network itself did not stay finite, so there is nothing to compare with."
        )
    if setting.dtype == "float16" and not np.isfinite(gaps[place]):
        return TwinVerdict(None, "The transformed network overflows float16, so there is nothing to compare.")
    if gaps[place] > rounding and np.abs(original).max() > DIVERGENCE_FACTOR * max(original[0], 1.0):
        first, most = (format_number(loss, 3) for loss in (original[0], np.abs(original).max()))
        return TwinVerdict(None, f"The loss grew from {first} to {most}: training diverged.")
    found = _judge_gap(gaps[place], rounding, gaps[PROBE], size, ROUNDING_SHARES["training"], "losses")
    if found.together and len(losses) < setting.steps:
        return TwinVerdict(None, "Together so far; training is not over.")
    return found


def _judge_gap(gap: float, rounding: float, probe: float, size: float, max_share: float, quantity: str) -> TwinVerdict:
    """Return the `TwinVerdict` on a `gap` in "outputs" or "losses", given those by `rounding` and by a `probe`.

    The probe is a small known change. `size`: of the twin's change; `max_share`: a value of `ROUNDING_SHARES`.
    """
    usual = probe / PROBE_SIZE * size
    if gap > rounding:
        if gap > max(APART_FACTOR * rounding, MIN_PROPORTION * usual):
            return TwinVerdict(False)
        return TwinVerdict(
            None,
            f"Too small to tell from the {quantity}: the gap is {format_gap(gap)}, where rounding explains up to "
            f"{format_gap(rounding)}, and such a change, if it has an effect, causes about {format_gap(usual)}.",
        )
    if probe <= rounding:
        return TwinVerdict(
            None,
            f"The {quantity} barely depend on weights and data: a change of {PROBE_SIZE:.0%} moves them by "
            f"{format_gap(probe)}, rounding by up to {format_gap(rounding)}. They decide nothing.",
        )
    if rounding > max_share * probe * size:
        return TwinVerdict(
            None,
            f"Too small to tell from the {quantity}: rounding alone can part equal networks by {format_gap(rounding)} "
            "here, and a change of this size need not do more.",
        )
    return TwinVerdict(True)
