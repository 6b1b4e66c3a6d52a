"""Cells of Table 1: for every scheme and transformation three answers, and the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from normviz.core.registry import SCHEMES, Scheme
from normviz.core.theory import explain_degeneracy, explain_sign_only, predict
from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.core.transformations import TRANSFORMATIONS, Transformation, look_up_paper_cell
from normviz.describe.wording import capitalize_first, format_gap
from normviz.jobs.bounded_store import HashedKey
from normviz.topics.table1.forward import ForwardMeasurement
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.verdict import (
    APART_FACTOR,
    CONTROL_POSITIONS,
    TwinVerdict,
    bound_rounding_gap,
    compute_change_size,
    judge_losses,
    judge_outputs,
)
from normviz.train.problem import BASE_POSITIONS, MEASURED_NETWORKS, NETWORKS, ORIGINAL, find_network_index
from normviz.train.setting import Setting

UNCHANGED_REASON = "δ = 1 changes nothing, so nothing can be told."


@dataclass(frozen=True)
class Cell:
    """Cell of Table 1, a scheme and a transformation: the prediction, the measurements, and the paper's answer.

    Attributes:
        predicted, reason: the answer of the theory, and its reason in a sentence.
        fades: True if invariance is lost only because ε > 0.
        degenerate: reason that the question has no meaning here, in a sentence; None if it has.
        forward_gap, training_gap, training_gap_equal_lr: relative distances from the original: of the normalized
            outputs, and of the losses at a learning rate that follows the weights and at the original's. Infinite if a
            run did not stay finite, NaN if nothing has been measured or trained yet.
        forward, trained: True if outputs, or losses, of the twins are equal up to rounding; None for no answer.
        forward_unanswered, unanswered: reason of a missing answer, in a sentence; None if there is an answer.
        paper: the answer in the paper's Table 1; None if it has no such row.
        parted_by_rate: True if re-scaled weights kept the original's learning rate, so that the twins part in training
            even if their outputs agree.
        pending: True if training is not over.
        unchanged: True if nothing was changed, as for δ = 1.
        fade: predicted forward gap of a cell that fades, from ε, δ and the pre-activations; 0 for all others.
        faded: True if the measured gap is the predicted one; True for all others.
        front: key of the weight scheme in front of the scheme, or None.
    """

    scheme: str
    transformation: str
    predicted: bool
    fades: bool
    reason: str
    degenerate: str | None
    forward_gap: float
    training_gap: float
    training_gap_equal_lr: float
    forward: bool | None
    forward_unanswered: str | None
    trained: bool | None
    unanswered: str | None
    paper: bool | None
    parted_by_rate: bool = False
    pending: bool = False
    unchanged: bool = False
    fade: float = 0.0
    faded: bool = True
    front: str | None = None

    @property
    def row_name(self) -> str:
        """The name of the cell's row on the command line: "SCHEME", or "SCHEME behind WEIGHT-SCHEME"."""
        return self.scheme if self.front == SCHEMES[self.scheme].weight else f"{self.scheme} behind {self.front}"

    @property
    def invariant(self) -> bool | None:
        """True if outputs and losses were measured to be unchanged, False if they changed, None if unknown."""
        if self.unchanged:
            return None
        if self.degenerate is not None or False in (self.forward, self.trained):
            return False
        return None if None in (self.forward, self.trained) else True

    @property
    def missing_reasons(self) -> str:
        """Sentences on why answers are missing; empty if none is missing."""
        why = (UNCHANGED_REASON,) if self.unchanged else (self.forward_unanswered, self.unanswered)
        return " ".join(text for text in dict.fromkeys(why) if text)

    @property
    def agrees(self) -> bool:
        """True if no measured answer contradicts the theory's prediction."""
        if self.degenerate is not None or self.unchanged:
            return True
        if self.fades:
            return self.faded
        together = self.predicted and not self.parted_by_rate
        return self.forward in (self.predicted, None) and self.trained in (together, None)

    def to_record(self) -> dict:
        """Return the cell as JSON types, as the command `table1 --json` prints it."""
        gaps = {name: getattr(self, name) for name in ("forward_gap", "training_gap", "training_gap_equal_lr")}
        return {
            **{name: getattr(self, name) for name in ("scheme", "front", "transformation", "predicted")},
            **{name: gap if np.isfinite(gap) else None for name, gap in gaps.items()},
            **{name: getattr(self, name) for name in ("invariant", "paper")},
            "degenerate": self.degenerate is not None,
            "reason": self.degenerate or (UNCHANGED_REASON if self.unchanged else self.reason),
        }


def build_cells(
    schemes: Sequence[Scheme], setting: Setting, results: TableResultCache, has_matched_rate: bool = True
) -> list[Cell]:
    """Return all cells of these schemes so far; with `has_matched_rate` learning rates are scaled with weights.

    Without `has_matched_rate`, `trained` is about twins with the original's learning rate.
    """
    return [cell for scheme in schemes for cell in _build_row_cells(scheme, setting, results, has_matched_rate)]


def _build_row_cells(scheme: Scheme, setting: Setting, results: TableResultCache, has_matched_rate: bool) -> list[Cell]:
    """Return the cells of one scheme, cached once they are complete; `has_matched_rate` as in `build_cells`."""
    key = HashedKey(scheme, setting, has_matched_rate)
    row = results.rows.get(key)
    if row is None:
        measured, exact = results.get_forward(scheme, setting), results.get_forward(scheme, setting.in_float64)
        losses = results.get_losses(scheme, setting)
        largest = compute_loss_gaps(losses).max(0) if len(losses) else np.full(len(NETWORKS), np.nan)
        hollow = explain_degeneracy(scheme, setting.shapes[0], setting.eps, setting.dtype)
        given = scheme, setting, has_matched_rate, measured, exact, losses, largest, hollow
        row = [_compute_cell(*given, change) for change in TRANSFORMATIONS.values()]
        if len(losses) == setting.steps and measured.fades is not None and exact.fades is not None:
            results.rows.put(key, row)
    return row


def measure_cells(schemes: Sequence[Scheme], setting: Setting) -> list[Cell]:
    """Train these schemes and return all their cells. Raises InvalidInput if a scheme does not fit the setting."""
    results = TableResultCache()
    results.compute_missing(schemes, setting)
    return build_cells(schemes, setting, results)


def compute_loss_gaps(losses: np.ndarray) -> np.ndarray:
    """Return |L' - L| / max|L₀| (steps, networks): losses L' of each network, L of its reference, L₀ of the original.

    The reference is the original, or for a control the network it copies. Infinite if a loss is not finite.
    """
    original = losses[:, ORIGINAL]
    scale = np.abs(original[np.isfinite(original)]).max(initial=0.0) or 1.0
    bases = BASE_POSITIONS[: losses.shape[1]]
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(np.abs(losses - losses[:, bases]) / scale, nan=np.inf)


def _trains_on_rounding(scheme: Scheme, setting: Setting) -> bool:
    """Return True if Adam trains weights of a deeper layer whose gradient is only rounding."""
    weights = scheme.weight_part
    if weights is None or setting.optimizer != "adam":
        return False
    return any(explain_sign_only(weights, shape) is not None for shape in setting.weight_shapes[1:])


def _compute_cell(
    scheme: Scheme, setting: Setting, has_matched_rate: bool, measured: ForwardMeasurement, exact: ForwardMeasurement,
    losses: np.ndarray, largest: np.ndarray, hollow: str | None, change: Transformation,
) -> Cell:  # fmt: skip
    """Return a cell from outputs at the setting and in float64, losses, their gaps, and why invariance is trivial."""
    twin, place = find_network_index(change), find_network_index(change, has_matched_rate)
    verdict = predict(scheme, change, setting.layer, setting.shapes[0], setting.weight_shapes[0], setting.eps)
    has_other_rate = not has_matched_rate and change.compute_rate_factor(setting.optimizer, setting.delta) != 1.0
    gaps = _collect_gaps(measured)
    fade = (measured.fades or {}).get(change.key) if verdict.fades else None
    size = compute_change_size(change, setting)
    of_x, of_loss = (size, size) if fade is None else (min(part, 1.0) for part in fade)
    rounding = bound_rounding_gap(gaps, change, setting, "forward")
    loss_rounding = bound_rounding_gap(largest, change, setting, "training")
    forward = judge_outputs(gaps, twin, of_x, rounding, setting.dtype)
    trained = judge_losses(losses, largest, place, of_loss, loss_rounding, setting)
    if setting.in_float64 != setting:
        wide = _collect_gaps(exact)
        exact_rounding = bound_rounding_gap(wide, change, setting.in_float64, "forward")
        exact_forward = judge_outputs(wide, twin, of_x, exact_rounding, "float64")
        forward = _confirm_in_float64(forward, exact_forward, wide[twin], setting.dtype)
        trained = trained if has_other_rate else _confirm_in_float64(trained, exact_forward, wide[twin], setting.dtype)
    if trained.together:
        is_sensitive = change.factor == () and bool(largest[CONTROL_POSITIONS].any())
        trained = _confirm_by_forward(
            trained, forward, is_sensitive, has_other_rate, verdict.fades and setting.depth > 1
        )
    elif (
        trained.together is False
        and not has_other_rate
        and fade is not None
        and fade.largest < MACHINE_EPSILONS[setting.dtype] / 10
    ):
        why = (
            f"The effect of ε is far below the rounding of {setting.dtype}, which causes the difference of the losses."
        )
        trained = TwinVerdict(None, why)
    elif trained.together is False and not has_other_rate and _trains_on_rounding(scheme, setting):
        trained = TwinVerdict(
            None,
            "Each unit of a deeper layer has only two inputs. Their standardized weights are always +1 and −1. Their "
            "gradient is zero up to rounding, and Adam divides the rounding by its own size.",
        )
    return Cell(
        scheme=scheme.key, transformation=change.key, predicted=verdict.invariant and hollow is None,
        fades=verdict.fades, reason=capitalize_first(verdict.reason), degenerate=hollow, forward_gap=float(gaps[twin]),
        training_gap=float(largest[twin]),
        training_gap_equal_lr=float(largest[find_network_index(change, follows=False)]), forward=forward.together,
        forward_unanswered=forward.why, trained=trained.together, unanswered=trained.why,
        paper=look_up_paper_cell(scheme.key, change.key), parted_by_rate=has_other_rate,
        pending=len(losses) < setting.steps, unchanged=change.factor is not None and setting.delta == 1.0,
        fade=0.0 if fade is None else fade.largest, front=scheme.weight,
        faded=fade is None or _is_eps_effect_as_predicted(fade.largest, gaps[twin], rounding, trained),
    )  # fmt: skip


def _collect_gaps(measured: ForwardMeasurement) -> np.ndarray:
    """Return how far each network's outputs are from the original's, all NaN until the measurement is complete."""
    return np.full(len(MEASURED_NETWORKS), np.nan) if measured.fades is None else measured.gaps


def _confirm_in_float64(answer: TwinVerdict, exact: TwinVerdict, gap: float, dtype: str) -> TwinVerdict:
    """Return `answer`, or None with the reason if it contradicts `exact`, the verdict on outputs in float64.

    `exact` and `gap` are verdict and gap of the outputs in float64. They hold for losses too: a change that cancels in
    the outputs cancels in every step, as the learning rate follows.
    """
    if answer.together in (None, exact.together):
        return answer
    if exact.together is None:
        return TwinVerdict(None, f"In float64: {exact.why}")
    if exact.together:
        return TwinVerdict(
            None, f"In float64 the outputs are together: what parts the twins here is rounding to {dtype}."
        )
    return TwinVerdict(None, f"In float64 the outputs are {format_gap(gap)} apart, which {dtype} does not show.")


def _confirm_by_forward(
    trained: TwinVerdict, forward: TwinVerdict, is_sensitive: bool, has_other_rate: bool, is_deep: bool
) -> TwinVerdict:
    """Return the verdict `trained` that losses agree, or no answer where equal losses prove nothing about the change.

    `is_sensitive`: True if all weights or data are re-scaled and losses show rounding. The probe is a random change of
    everything, so it does not prove that a change of one unit, which may be dead, or a slight shift would show. In a
    dead network only the probe may show. `is_deep`: True if ε lets the change through before further layers. Its effect
    is a factor for each field, which the next layer can cancel, as RMS norm does with a factor of an example.
    """
    if has_other_rate:
        return TwinVerdict(None, "The learning rates differ, but in these steps the losses do not show it.")
    if not is_sensitive and forward.together is not True:
        return TwinVerdict(None, "The losses agree, but they might not show such a change: the outputs differ.")
    if is_deep and forward.together is not True:
        return TwinVerdict(None, "The losses agree, but later layers can cancel the effect of ε in the first.")
    return trained


def _is_eps_effect_as_predicted(fade: float, gap: float, rounding: float, trained: TwinVerdict) -> bool:
    """Return True if the outputs' `gap` at ε > 0 is the predicted `fade` up to rounding, and losses differ, too."""
    forward = not np.isfinite(gap) or abs(gap - fade) <= 0.05 * fade + APART_FACTOR * rounding
    return forward and trained.together is not True
