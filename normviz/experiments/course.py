"""The course of a training: losses and test errors of many networks at some of its steps."""

from itertools import pairwise

import numpy as np

from normviz.experiments.experiment import Arrays


def marks(length: int, points: int) -> np.ndarray:
    """So many of the steps from 1 to length, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(1, length, points).round().astype(int))


class Course:
    """Mean losses since the last of the marked steps, and errors there.

    Args:
        length: steps of the training.
        points: so many steps are marked, the first and the last among them.
    """

    def __init__(self, length: int, points: int) -> None:
        self.length = length
        self.marks = marks(length, points)
        self.losses: list[np.ndarray] = []
        self.errors: list[np.ndarray] = []

    @property
    def marked(self) -> bool:
        """Whether the last step is one of those."""
        return len(self.losses) in self.marks

    @property
    def share(self) -> float:
        """What is done of the training."""
        return len(self.losses) / self.length

    def so_far(self, device: str) -> Arrays:
        """Losses and errors, (marks so far, …), and which steps these are."""
        measured = self.marks[: len(self.errors)]
        shape = (len(measured), *self.losses[0].shape)
        losses = [np.mean(self.losses[start:stop], axis=0) for start, stop in pairwise([0, *measured])]
        return {
            "losses": np.array(losses, dtype=float).reshape(shape),
            "errors": np.array(self.errors, dtype=float).reshape(shape),
            "measured": measured,
            "share": np.array(self.share),
            "device": np.array(device),
        }


def percent(errors: np.ndarray) -> np.ndarray:
    """Shares in per cent; none is drawn as 0.1, as an axis of powers has no 0 (one of 450 test digits is 0.22)."""
    return np.maximum(100 * errors, 0.1)
