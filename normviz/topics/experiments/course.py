"""The course of a training: losses of every step, and errors that are measured at some of the steps."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep

if TYPE_CHECKING:
    import torch


def marks(length: int, points: int) -> np.ndarray:
    """Return at most `points` of the steps 1 to `length`, evenly spread, with the first and the last."""
    return np.unique(np.linspace(1, length, points).round().astype(int))


Series = np.ndarray | Sequence[np.ndarray]
"""An array, or arrays of one shape that make one with another leading axis."""


def make_step(share: float, device: "torch.device", collect: Callable[[], Mapping[str, Series]]) -> JobStep[Arrays]:
    """Return a step of a job on a device: its result so far is what `collect` returns, the share and the device."""

    def result() -> Arrays:
        from normviz.train.learning import format_device_name

        arrays = {name: np.array(series) for name, series in collect().items()}
        return {**arrays, "share": np.array(share), "device": np.array(format_device_name(device))}

    return JobStep(share, result)


class Course:
    """Losses and measured errors of many networks.

    Args:
        length: number of steps of the training.
        points: number of steps at which errors are measured.
        shape: of the networks, such as (rates, seeds).

    Attributes:
        found: further results, such as those of the trained networks.
    """

    def __init__(self, length: int, points: int, shape: tuple[int, ...]) -> None:
        self.length, self.shape = length, shape
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

    def as_grid(self, values: "torch.Tensor") -> np.ndarray:
        """Return values of all networks in the shape of the networks."""
        return values.detach().cpu().numpy().reshape(self.shape)

    def add_losses(self, losses: "torch.Tensor") -> None:
        """Add the losses of a step, (schemes, networks)."""
        self.losses.append(self.as_grid(losses))

    def add_errors(self, **errors: "torch.Tensor") -> None:
        """Add errors that were measured at the last step, by kind, (schemes, networks)."""
        for name, each in errors.items():
            self.errors[name].append(self.as_grid(each))

    def step(self, device: "torch.device") -> JobStep[Arrays]:
        """Return the last step as a job yields it, with the result so far.

        "measured" holds the marked steps, "losses" the mean losses since the step marked before, and every kind of
        errors an array (marked steps, …). What is `found` comes beside them.
        """
        return make_step(self.share, device, self._collect)

    def _collect(self) -> Arrays:
        count = min(map(len, self.errors.values()), default=0)
        measured = self.marks[:count]
        shape = (count, *self.shape)
        losses = [np.mean(self.losses[start:stop], axis=0) for start, stop in pairwise([0, *measured])]
        errors = {name: np.array(found[:count], dtype=float) for name, found in self.errors.items()}
        return {"losses": np.array(losses, dtype=float).reshape(shape), **errors, **self.found, "measured": measured}


def to_percent(errors: np.ndarray) -> np.ndarray:
    """Return shares in per cent, at least 0.1: an axis of powers has no 0 (one of 450 test digits is 0.22)."""
    return np.maximum(100 * errors, 0.1)
