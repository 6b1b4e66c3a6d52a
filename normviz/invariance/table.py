"""Table 1: for every scheme and every transformation the three answers side by side, and what the paper says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from normviz.invariance.forward import forward_gaps
from normviz.invariance.problem import position
from normviz.invariance.setting import Setting
from normviz.invariance.theory import degenerate, predict
from normviz.invariance.transformations import (
    TRANSFORMATIONS,
    Transformation,
    paper_says,
)
from normviz.schemes import Scheme
from normviz.tolerances import INVARIANT


@dataclass(frozen=True)
class Cell:
    """One cell: what is predicted and why, what was measured, and what the paper says.

    Attributes:
        scheme, transformation: their keys.
        predicted, fades, reason: the rule's answer, whether ε alone decides it, and why, in a sentence.
        degenerate: why the question says nothing here, in a sentence; None where it does.
        forward_gap, training_gap, training_gap_equal_lr: relative distances to the original, of the normalized
            outputs and of the losses, with the learning rate that follows the weights and with the same one;
            infinite where a run did not stay finite, NaN where none was made.
        forward, trained: whether these gaps are rounding; trained is None where a run did not stay finite.
        paper: Table 1's answer; None where it has no such row.
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
    forward: bool
    trained: bool | None
    paper: bool | None

    @property
    def invariant(self) -> bool:
        """What was measured: the outputs agree, and so does the training where it has an answer."""
        return self.forward and self.trained is not False and self.degenerate is None

    @property
    def agrees(self) -> bool:
        """Whether all answers that there are agree; a degenerate cell has none, and a small ε may not show."""
        answers = {self.predicted, self.forward, self.trained} - {None}
        return self.degenerate is not None or self.fades or len(answers) == 1

    def record(self) -> dict:
        """The cell as plain data: what `python -m normviz table1 --json` prints of it."""
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


def table(schemes: Sequence[Scheme], setting: Setting, losses: np.ndarray, follow: bool = True) -> list[Cell]:
    """All cells of these schemes, from the losses (steps, schemes, networks) of their training.

    `follow`: whether `trained` judges the twins whose learning rate follows the weights, or those at an equal one.
    """
    forward = forward_gaps(schemes, setting)
    return [
        _cell(scheme, change, setting, forward[row, column], losses[:, row], follow)
        for row, scheme in enumerate(schemes)
        for column, change in enumerate(TRANSFORMATIONS.values())
    ]


def measure(
    schemes: Sequence[Scheme],
    setting: Setting,
    progress: Callable[[int], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Cell]:
    """Train, and put the three answers side by side."""
    from normviz.invariance.twins import train  # torch, only when something is trained

    return table(schemes, setting, train(schemes, setting, progress, cancelled).losses)


def training_gap(losses: np.ndarray, change: Transformation, follows: bool = True) -> float:
    """max over the steps of |l' - l|, relative to the original's largest loss; of losses (steps, networks).

    Infinite where only one of the two stayed finite, or neither did.
    """
    original, twin = losses[:, 0], losses[:, position(change, follows)]
    if not len(losses):
        return float("nan")
    if not (np.isfinite(original).all() and np.isfinite(twin).all()):
        return float("inf")
    return float(np.abs(twin - original).max() / (np.abs(original).max() or 1.0))


def _cell(
    scheme: Scheme,
    change: Transformation,
    setting: Setting,
    forward_gap: float,
    losses: np.ndarray,
    follow: bool,
) -> Cell:
    shape = setting.shapes[0]
    verdict = predict(scheme, change, setting.layer, shape, setting.weight_shapes[0], setting.eps)
    hollow = degenerate(scheme, shape)
    followed, equal = (training_gap(losses, change, follows) for follows in (True, False))
    tolerance, judged = INVARIANT[setting.dtype], followed if follow else equal
    return Cell(
        scheme=scheme.key,
        transformation=change.key,
        predicted=verdict.invariant and hollow is None,
        fades=verdict.fades,
        reason=verdict.reason,
        degenerate=hollow,
        forward_gap=float(forward_gap),
        training_gap=followed,
        training_gap_equal_lr=equal,
        forward=bool(forward_gap <= tolerance),
        trained=None if np.isinf(judged) else judged <= tolerance,
        paper=paper_says(scheme.key, change.key),
    )


def _finite(gap: float) -> float | None:
    return gap if np.isfinite(gap) else None
