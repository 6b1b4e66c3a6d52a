"""Table 1: for every scheme and every transformation three answers side by side, and the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from normviz.core.schemes import Scheme
from normviz.core.theory import degenerate, predict
from normviz.core.tolerances import CHAOTIC, INVARIANT, MARGIN
from normviz.core.transformations import TRANSFORMATIONS, Transformation, paper_says
from normviz.describe.wording import sentence
from normviz.networks.problem import CONTROL, NETWORKS, ORIGINAL, position
from normviz.networks.setting import Setting
from normviz.table1.results import Results

DIVERGED = 1e3
"""A run has diverged when its loss has grown this many times over; its later losses say nothing about twins."""


@dataclass(frozen=True)
class Cell:
    """One cell: what is predicted and why, what was measured, and what the paper says.

    Attributes:
        scheme, transformation: their keys.
        predicted, reason: the rule's answer, and why, in a sentence.
        fades: whether invariance is lost only because ε > 0.
        degenerate: why the question means nothing here, in a sentence; None where it has a meaning.
        forward_gap, training_gap, training_gap_equal_lr: relative distances from the original: of the normalized
            outputs, and of the losses at a learning rate that follows the weights and at the original's. Infinite where
            a run did not stay finite, NaN where nothing has been measured or trained yet.
        forward, trained: whether the gaps are rounding errors; None before the forward pass, and where training gives
            no answer.
        unanswered: why it gives none, in a sentence; None where it gives one.
        paper: the answer in the paper's Table 1; None where it has no such row.
        parted_by_rate: whether re-scaled weights kept the original's learning rate, so that the twins part in training
            even where their outputs agree.
        pending: whether training is not over.
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
    trained: bool | None
    unanswered: str | None
    paper: bool | None
    parted_by_rate: bool = False
    pending: bool = False

    @property
    def invariant(self) -> bool:
        """What was measured: whether the outputs agree, and the losses too where training gives an answer."""
        return bool(self.forward) and self.trained is not False and self.degenerate is None

    @property
    def agrees(self) -> bool:
        """Whether what was measured meets the prediction.

        A degenerate cell has nothing to meet, and one that fades may look invariant while ε is small.
        """
        together = self.predicted and not self.parted_by_rate
        right = self.forward in (self.predicted, None) and self.trained in (together, None)
        return self.degenerate is not None or self.fades or right

    def record(self) -> dict:
        """The cell as plain data, as the command `table1 --json` prints it."""
        return {
            "scheme": self.scheme,
            "transformation": self.transformation,
            "predicted": self.predicted,
            "forward_gap": _finite(self.forward_gap),
            "training_gap": _finite(self.training_gap),
            "training_gap_equal_lr": _finite(self.training_gap_equal_lr),
            "invariant": self.invariant,
            "paper": self.paper,
            "degenerate": self.degenerate is not None,
            "reason": self.degenerate or self.reason,
        }


def table(schemes: Sequence[Scheme], setting: Setting, results: Results, follow: bool = True) -> list[Cell]:
    """All cells of these schemes, from what has been measured and trained so far.

    `follow`: whether `trained` is about the twins whose learning rate follows the weights, or those at the original's.
    """
    forward = [results.forward(scheme, setting) for scheme in schemes]
    losses = [results.losses(scheme, setting) for scheme in schemes]
    return [
        _cell(scheme, change, setting, forward[row][position(change)], losses[row], follow)
        for row, scheme in enumerate(schemes)
        for change in TRANSFORMATIONS.values()
    ]


def measure(schemes: Sequence[Scheme], setting: Setting) -> list[Cell]:
    """All cells of these schemes, once they are trained. Raises InvalidInput where one does not fit the setting."""
    results = Results()
    results.fill(schemes, setting)
    return table(schemes, setting, results)


def loss_gaps(losses: np.ndarray) -> np.ndarray:
    """|l' - l| / max|l| of every step and network, (steps, networks); l: the original's losses, over all steps.

    Infinite where a loss is not finite.
    """
    original = losses[:, ORIGINAL, None]
    scale = np.abs(original[np.isfinite(original)]).max(initial=0.0) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(np.abs(losses - original) / scale, nan=np.inf)


def _together(losses: np.ndarray, network: int, setting: Setting) -> tuple[bool | None, str | None]:
    """Whether a twin's losses are the original's up to rounding; None where that cannot be told, and why."""
    if len(losses) == 0:
        return None, "Not trained yet."
    original, largest = losses[:, ORIGINAL], loss_gaps(losses).max(0)
    if not np.isfinite(original).all():
        return None, "The original network itself did not stay finite, so there is nothing to compare with."
    gap, noise = largest[network], MARGIN * largest[CONTROL]
    if gap > max(noise, INVARIANT[setting.storage]):
        if np.abs(original).max() > DIVERGED * max(original[0], 1.0):
            return None, f"The loss grew from {original[0]:.3g} to {np.abs(original).max():.3g}: training diverged."
        return False, None
    if gap > INVARIANT[setting.storage] and noise > CHAOTIC:
        rounding = f"Rounding alone parts two equal networks by {largest[CONTROL]:.0e} here"
        return None, f"{rounding}, so a gap of {gap:.0e} says nothing."
    return (True, None) if len(losses) == setting.steps else (None, "Together so far; training is not over.")


def _cell(
    scheme: Scheme, change: Transformation, setting: Setting, forward_gap: float, losses: np.ndarray, follow: bool
) -> Cell:
    shape = setting.shapes[0]
    verdict = predict(scheme, change, setting.layer, shape, setting.weight_shapes[0], setting.eps)
    hollow = degenerate(scheme, shape, setting.eps, setting.dtype)
    largest = loss_gaps(losses).max(0) if len(losses) else np.full(len(NETWORKS), np.nan)
    trained, unanswered = _together(losses, position(change, follow), setting)
    return Cell(
        scheme=scheme.key,
        transformation=change.key,
        predicted=verdict.invariant and hollow is None,
        fades=verdict.fades,
        reason=sentence(verdict.reason),
        degenerate=hollow,
        forward_gap=float(forward_gap),
        training_gap=float(largest[position(change)]),
        training_gap_equal_lr=float(largest[position(change, follows=False)]),
        forward=None if np.isnan(forward_gap) else bool(forward_gap <= INVARIANT[setting.dtype]),
        trained=trained,
        unanswered=unanswered,
        paper=paper_says(scheme.key, change.key),
        parted_by_rate=not follow and change.rate_factor(setting.optimizer, setting.delta) != 1.0,
        pending=len(losses) < setting.steps,
    )


def _finite(gap: float) -> float | None:
    return gap if np.isfinite(gap) else None
