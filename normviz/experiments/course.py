"""The course of a training: losses of every step, and errors that are measured at some of the steps."""

from collections import defaultdict
from itertools import pairwise

import numpy as np

from normviz.experiments.experiment import Arrays


def marks(length: int, points: int) -> np.ndarray:
    """Return at most `points` of the steps 1 to `length`, evenly spread, with the first and the last."""
    return np.unique(np.linspace(1, length, points).round().astype(int))


class Course:
    """Losses and measured errors of many networks.

    Args:
        length: number of steps of the training.
        points: number of steps at which errors are measured.

    Attributes:
        found: further results, such as those of the trained networks.
    """

    def __init__(self, length: int, points: int) -> None:
        self.length = length
        self.marks = marks(length, points)
        self.losses: list[np.ndarray] = []
        self.errors: defaultdict[str, list[np.ndarray]] = defaultdict(list)
        self.found: Arrays = {}

    @property
    def marked(self) -> bool:
        """Whether errors are measured at the last step."""
        return len(self.losses) in self.marks

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return len(self.losses) / self.length

    def add(self, name: str, errors: np.ndarray) -> None:
        """Add the errors of one kind at the last step."""
        self.errors[name].append(errors)

    def so_far(self, device: str) -> Arrays:
        """Return the result so far.

        "measured" holds the marked steps, "losses" the mean losses since the step marked before, and every kind of
        errors an array (marked steps, …). What is `found` comes beside them.
        """
        count = min(map(len, self.errors.values()), default=0)
        measured = self.marks[:count]
        shape = (count, *self.losses[0].shape)
        losses = [np.mean(self.losses[start:stop], axis=0) for start, stop in pairwise([0, *measured])]
        errors = {name: np.array(found[:count], dtype=float) for name, found in self.errors.items()}
        return {
            "losses": np.array(losses, dtype=float).reshape(shape),
            **errors,
            **self.found,
            "measured": measured,
            "share": np.array(self.share),
            "device": np.array(device),
        }


def to_percent(errors: np.ndarray) -> np.ndarray:
    """Return shares in per cent, at least 0.1: an axis of powers has no 0 (one of 450 test digits is 0.22)."""
    return np.maximum(100 * errors, 0.1)
