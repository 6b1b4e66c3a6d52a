"""The history of a training: losses of every step, and errors measured at some of the steps."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep

if TYPE_CHECKING:
    import torch


def choose_measured_steps(length: int, points: int) -> np.ndarray:
    """Return the numbers of at most `points` steps from 1 to `length`, evenly spread, with the first and the last."""
    return np.unique(np.linspace(1, length, points).round().astype(int))


StackableArrays = np.ndarray | Sequence[np.ndarray]
"""An array, or arrays of one shape that are stacked along a new leading axis."""


def make_job_step(
    share: float, device: "torch.device", collect: Callable[[], Mapping[str, StackableArrays]]
) -> JobStep[Arrays]:
    """Make a job step whose result holds the arrays that `collect` returns, the finished share and the device."""

    def result() -> Arrays:
        from normviz.train.learning import format_device_name

        arrays = {name: np.array(series) for name, series in collect().items()}
        return {**arrays, "share": np.array(share), "device": np.array(format_device_name(device))}

    return JobStep(share, result)


class TrainingHistory:
    """Losses by step and measured errors of a grid of networks, such as (rates, seeds), collected during a training.

    Errors are measured at `points` of its `length` steps. `extra_results` are further arrays for the result, such as
    tests of the trained networks.
    """

    def __init__(self, length: int, points: int, shape: tuple[int, ...]) -> None:
        self.length, self.shape = length, shape
        self.marks = choose_measured_steps(length, points)
        self.losses: list[np.ndarray] = []
        self.errors: defaultdict[str, list[np.ndarray]] = defaultdict(list)
        self.extra_results: Arrays = {}

    @property
    def is_measurement_due(self) -> bool:
        """True if errors are due after the last added step."""
        return len(self.losses) in self.marks

    @property
    def share(self) -> float:
        """The finished share of the training, 0 to 1."""
        return len(self.losses) / self.length

    def reshape_to_grid(self, values: "torch.Tensor") -> np.ndarray:
        """Convert a tensor with a value per network to an array in the shape of the grid."""
        return values.detach().cpu().numpy().reshape(self.shape)

    def add_losses(self, losses: "torch.Tensor") -> None:
        """Append the losses of the next step, (schemes, networks)."""
        self.losses.append(self.reshape_to_grid(losses))

    def add_errors(self, **errors: "torch.Tensor") -> None:
        """Append errors measured after the last step, by kind such as "test", each (schemes, networks)."""
        for name, each in errors.items():
            self.errors[name].append(self.reshape_to_grid(each))

    def make_step(self, device: "torch.device") -> JobStep[Arrays]:
        """Return a job step with the finished share and the result so far.

        The result holds "measured", the measured steps; "losses", the mean losses since the measured step before; every
        kind of errors, (measured steps, …); and the extra results.
        """
        return make_job_step(self.share, device, self._collect_results)

    def _collect_results(self) -> Arrays:
        count = min(map(len, self.errors.values()), default=0)
        measured = self.marks[:count]
        shape = (count, *self.shape)
        losses = [np.mean(self.losses[start:stop], axis=0) for start, stop in pairwise([0, *measured])]
        errors = {name: np.array(found[:count], dtype=float) for name, found in self.errors.items()}
        means = np.array(losses, dtype=float).reshape(shape)
        return {"losses": means, **errors, **self.extra_results, "measured": measured}


def clip_to_percent(errors: np.ndarray) -> np.ndarray:
    """Return error rates in per cent, at least 0.1 for a logarithmic axis (one of 450 test digits is 0.22)."""
    return np.maximum(100 * errors, 0.1)
