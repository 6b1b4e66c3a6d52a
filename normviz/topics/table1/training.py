"""Training of Table 1's networks as a job."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from normviz.core.registry import Scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.spec import Job, JobStep
from normviz.train import cost
from normviz.train.problem import NonFiniteTensor
from normviz.train.setting import Setting

if TYPE_CHECKING:
    from torch import Tensor


class TableTrainingOutcome(NamedTuple):
    """Losses of a training of Table 1 so far, (steps, schemes, networks), with its device in words and its time.

    `failures`: points where networks stopped being finite, by (scheme, network); known after the last step.
    """

    losses: np.ndarray
    failures: dict[tuple[int, int], NonFiniteTensor]
    device: str
    seconds: float = 0.0


@dataclass(frozen=True)
class TableTrainingJob(Job[TableTrainingOutcome], kind="table1/training", version=1):
    """Job that trains the networks at these indices of `NETWORKS` for every scheme in `rows`, as one stack."""

    rows: tuple[SchemeSpec, ...]
    setting: Setting
    networks: tuple[int, ...]

    @classmethod
    def of(cls, schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int]) -> "TableTrainingJob":
        """Return the job that trains these networks of these schemes."""
        return cls(tuple(map(SchemeSpec.of, schemes)), setting, tuple(networks))

    @property
    def seconds(self) -> float:
        """The expected seconds on the reference machine."""
        return cost.estimate_training_seconds(self.setting, len(self.rows), len(self.networks))

    @property
    def schemes(self) -> list[Scheme]:
        """The schemes of the rows."""
        return [row.scheme for row in self.rows]

    def steps(self) -> Iterator[JobStep[TableTrainingOutcome]]:
        """Train step by step, and yield a `JobStep` with the outcome so far.

        The result has all its losses only once it also has the failures. Raises InvalidInput if a field does not fit
        the setting's layers, or the device is unknown.
        """
        from normviz.train import twins  # imports torch

        schemes, whole, began = self.schemes, self.setting.steps, perf_counter()
        step = JobStep(0.0, partial(TableTrainingOutcome, np.empty((0, len(schemes), len(self.networks))), {}, ""))
        for losses in twins.train_stepwise(schemes, self.setting, self.networks):
            if len(losses) < whole:
                step = JobStep(len(losses) / whole, partial(_make_outcome, losses, perf_counter() - began))
                yield step
        result = _make_outcome(losses, perf_counter() - began)
        lost = ~np.isfinite(result.losses).all(0)
        if lost.any():
            rows, columns = np.flatnonzero(lost.any(1)), np.flatnonzero(lost.any(0))
            failed, networks = [schemes[row] for row in rows], [self.networks[column] for column in columns]
            for found in twins.iterate_failures(failed, self.setting, networks):
                places = {(int(rows[row]), int(columns[column])): why for (row, column), why in found.items()}
                result = result._replace(failures=places)
                yield step
        yield JobStep(1.0, lambda: result)


def _make_outcome(losses: "Tensor", seconds: float) -> TableTrainingOutcome:
    from normviz.train.devices import format_device_name

    return TableTrainingOutcome(losses.cpu().double().numpy(), {}, format_device_name(losses.device), seconds)
