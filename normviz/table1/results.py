"""Trained networks, kept by what they depend on: a setting that changes retrains what it affects and nothing else."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from normviz.core.schemes import Scheme
from normviz.jobs.spec import finish
from normviz.jobs.store import Store
from normviz.networks.problem import NETWORKS, Failure
from normviz.networks.setting import Setting
from normviz.table1.training import Outcome, Training


class Record(NamedTuple):
    """One trained network: its losses so far, and where it stopped being finite, or None."""

    losses: np.ndarray
    failure: Failure | None


NOTHING = Record(np.empty(0), None)


class Results:
    """The most recently used trained networks; for any number of threads.

    Attributes:
        device: what the last training ran on, in words.
    """

    def __init__(self, limit: int = 8192) -> None:
        self.device = ""
        self._records: Store[Hashable, Record] = Store(limit, replaces=_at_least_as_long)

    def losses(self, scheme: Scheme, setting: Setting) -> np.ndarray:
        """The losses of all networks of a scheme, (steps so far, networks), as far as each of them has come."""
        found = [self._record(key).losses for key in _keys(scheme, setting)]
        done = min(setting.steps, *map(len, found))
        return np.stack([losses[:done] for losses in found], axis=1)

    def failure(self, scheme: Scheme, setting: Setting, network: int) -> Failure | None:
        """Where a network stopped being finite, once that is known."""
        return self._record(_keys(scheme, setting)[network]).failure

    def missing(self, schemes: Sequence[Scheme], setting: Setting) -> list[Training]:
        """What has to be trained: a job for the schemes that lack the same networks."""
        blocks: dict[tuple[int, ...], dict[Hashable, Scheme]] = {}
        for scheme in schemes:
            keys = _keys(scheme, setting)
            lacks = tuple(n for n, key in enumerate(keys) if len(self._record(key).losses) < setting.steps)
            if lacks:
                blocks.setdefault(lacks, {})[keys[0]] = scheme  # two names of one computation are trained once
        return [Training.of(list(rows.values()), setting, networks) for networks, rows in blocks.items()]

    def keep(self, job: Training, outcome: Outcome) -> None:
        """Keep what came out of a job, whole or as far as it has come; a longer run is never lost to a shorter one."""
        if len(outcome.losses) == 0:
            return
        self.device = outcome.device
        for row, scheme in enumerate(job.schemes):
            keys = _keys(scheme, job.setting)
            for column, network in enumerate(job.networks):
                losses = outcome.losses[:, row, column].copy()
                self._records.put(keys[network], Record(losses, outcome.failures.get((row, column))))

    def fill(self, schemes: Sequence[Scheme], setting: Setting) -> None:
        """Train what is missing, here and now. Raises InvalidInput where a scheme does not fit the setting."""
        setting.check(schemes)
        for job in self.missing(schemes, setting):
            self.keep(job, finish(job))

    def _record(self, key: Hashable) -> Record:
        return self._records.get(key) or NOTHING


def _at_least_as_long(new: Record, old: Record) -> bool:
    return len(new.losses) >= len(old.losses)


def _keys(scheme: Scheme, setting: Setting) -> list[Hashable]:
    """What the losses of every network depend on. Not on the number of steps: fewer are the first ones of more."""
    on_activations, on_weights = scheme.on_activations, scheme.on_weights
    computed = (
        None if on_activations is None else tuple(map(on_activations.canonical, setting.shapes)),
        None if on_weights is None else tuple(map(on_weights.canonical, setting.weight_shapes)),
    )
    divides = on_activations is not None and on_activations.suppression is not None
    with_delta = replace(setting, steps=1, eps=setting.eps if divides else 0.0)
    without = replace(with_delta, delta=1.0)
    changes = (network.transformation for network in NETWORKS)
    rescaled = (change is not None and change.factor is not None for change in changes)
    return [(computed, with_delta if yes else without, network) for network, yes in enumerate(rescaled)]
