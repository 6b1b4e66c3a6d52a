"""What was measured and trained, kept by what it depends on: a setting that changes repeats what it affects alone."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple, TypeVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.jobs.bounded_store import BoundedStore, HashedKey
from normviz.jobs.fallback import join_devices
from normviz.jobs.gpu import get_gpu_memory
from normviz.jobs.spec import run_to_end
from normviz.topics.table1.forward import ForwardJob, ForwardMeasurement, is_fading, reduce_to_first_layer
from normviz.topics.table1.training import TableTrainingJob, TableTrainingOutcome
from normviz.train import cost
from normviz.train.problem import MEASURED_NETWORKS, NETWORKS, Failure
from normviz.train.setting import Setting

Part = TypeVar("Part")


class NetworkRecord(NamedTuple):
    """One trained network.

    Attributes:
        losses: so far.
        failure: where it stopped being finite, or None.
        device: that computed it, in words.
    """

    losses: np.ndarray
    failure: Failure | None
    device: str = ""


EMPTY_RECORD = NetworkRecord(np.empty(0), None)
UNMEASURED = ForwardMeasurement(np.full(len(MEASURED_NETWORKS), np.nan))


MAX_CACHED_ROWS = 512
"""The rows of Table 1 whose cells are held."""


class TableResults:
    """The most recently used forward gaps and trained networks; for any number of threads.

    Attributes:
        rows: cells of Table 1 by what they depend on, of rows of which nothing is missing.
    """

    def __init__(self, limit: int = 8192) -> None:
        self.rows: BoundedStore[HashedKey, list] = BoundedStore(MAX_CACHED_ROWS)
        self._records: BoundedStore[HashedKey, NetworkRecord] = BoundedStore(limit, replaces=_is_longer)
        self._measured: BoundedStore[HashedKey, ForwardMeasurement] = BoundedStore(limit, replaces=_is_fuller)

    @property
    def version(self) -> int:
        """A number that grows with every new result."""
        return self._records.version + self._measured.version

    def forward(self, scheme: Scheme, setting: Setting) -> ForwardMeasurement:
        """What a forward pass of all networks of a scheme has given so far."""
        return self._measured.get(_first_key(scheme, setting)) or UNMEASURED

    def plan_measurements(self, schemes: Sequence[Scheme], setting: Setting) -> list[ForwardJob]:
        """What has to be measured on a forward pass: a job for every row, and one for two names of a computation."""
        lacks = {_first_key(each, setting): each for each in schemes if self.forward(each, setting).fades is None}
        return [ForwardJob.of(scheme, setting) for scheme in lacks.values()]

    def store_forward(self, job: ForwardJob, measured: ForwardMeasurement) -> None:
        """Keep what was measured of a row, the whole or as far as it has come."""
        self._measured.put(_first_key(job.row.scheme, job.setting), measured)

    def losses(self, scheme: Scheme, setting: Setting) -> np.ndarray:
        """The losses of all networks of a scheme, (steps so far, networks), as far as each of them has come."""
        found = [self._record(key).losses for key in _keys(scheme, setting)]
        done = min(setting.steps, *map(len, found))
        return np.stack([losses[:done] for losses in found], axis=1)

    def failure(self, scheme: Scheme, setting: Setting, network: int) -> Failure | None:
        """Where a network stopped being finite, once that is known."""
        return self._record(_keys(scheme, setting)[network]).failure

    def devices(self, schemes: Sequence[Scheme], setting: Setting) -> str:
        """Return the devices that computed the losses of these schemes, in words; empty before any did."""
        records = (self._record(key) for scheme in schemes for key in _keys(scheme, setting))
        return join_devices(record.device for record in records)

    def find_missing(self, schemes: Sequence[Scheme], setting: Setting) -> list[TableTrainingJob]:
        """What has to be trained: jobs for the schemes that lack the same networks, as large as `cost` lets them be."""
        blocks: dict[tuple[int, ...], dict[HashedKey, Scheme]] = {}
        for scheme in schemes:
            keys = _keys(scheme, setting)
            lacks = tuple(n for n, key in enumerate(keys) if len(self._record(key).losses) < setting.steps)
            if lacks:
                blocks.setdefault(lacks, {})[keys[0]] = scheme  # two names of one computation are trained once
        jobs = []
        for networks, rows in blocks.items():
            high = cost.find_max_schemes(setting, len(networks), plan_budget(setting))
            wide = cost.find_max_networks(setting, len(networks))
            for some, part in product(_cut(list(rows.values()), high), _cut(networks, wide)):
                jobs.append(TableTrainingJob.of(some, setting, part))
        return jobs

    def keep(self, job: TableTrainingJob, outcome: TableTrainingOutcome) -> None:
        """Keep what came out of a job, whole or as far as it has come; a longer run is never lost to a shorter one."""
        if len(outcome.losses) == 0:
            return
        for row, scheme in enumerate(job.schemes):
            keys = _keys(scheme, job.setting)
            for column, network in enumerate(job.networks):
                losses = outcome.losses[:, row, column].copy()
                record = NetworkRecord(losses, outcome.failures.get((row, column)), outcome.device)
                self._records.put(keys[network], record)

    def fill(self, schemes: Sequence[Scheme], setting: Setting) -> None:
        """Measure and train what is missing, here and now. Raises InvalidInput where a scheme does not fit."""
        setting.check(schemes)
        for each in {setting, setting.in_float64}:
            for row in self.plan_measurements(schemes, each):
                self.store_forward(row, run_to_end(row))
        for job in self.find_missing(schemes, setting):
            self.keep(job, run_to_end(job))

    def _record(self, key: HashedKey) -> NetworkRecord:
        return self._records.get(key) or EMPTY_RECORD


def plan_budget(setting: Setting) -> cost.Budget:
    """Return the budget that jobs are cut by before they run: of a GPU all of its memory counts as free.

    What is free then, and how fast the GPU is, is measured by the job, which cuts itself into blocks.
    """
    memory = 0 if setting.device == "cpu" else get_gpu_memory()
    return cost.compute_gpu_budget(memory) if memory else cost.CPU_BUDGET


def _is_longer(new: NetworkRecord, old: NetworkRecord) -> bool:
    return len(new.losses) > len(old.losses)


def _is_fuller(new: ForwardMeasurement, old: ForwardMeasurement) -> bool:
    return old.fades is None and (new.fades is not None or np.isnan(new.gaps).sum() < np.isnan(old.gaps).sum())


def _cut(whole: Sequence[Part], most: int) -> list[Sequence[Part]]:
    """In parts of even length, of at most so many."""
    parts = -(-len(whole) // most)
    ends = [len(whole) * part // parts for part in range(parts + 1)]
    return [whole[start:end] for start, end in pairwise(ends)]


def _without_idle_eps(scheme: Scheme, setting: Setting) -> Setting:
    return setting if is_fading(scheme, setting) else replace(setting, eps=0.0)


@lru_cache(maxsize=4096)
def _computed(scheme: Scheme, shapes: tuple[Shape, ...], weight_shapes: tuple[Shape, ...]) -> Hashable:
    """What a scheme computes on layers of these shapes, whatever its name."""
    on_activations, on_weights = scheme.on_activations, scheme.on_weights
    return (
        None if on_activations is None else tuple(map(on_activations.canonical, shapes)),
        None if on_weights is None else tuple(map(on_weights.canonical, weight_shapes)),
    )


@lru_cache(maxsize=4096)
def _first_key(scheme: Scheme, setting: Setting) -> HashedKey:
    """What the forward gaps of a scheme depend on."""
    first = reduce_to_first_layer(setting)
    return HashedKey(_computed(scheme, first.shapes, first.weight_shapes), _without_idle_eps(scheme, first))


@lru_cache(maxsize=1024)
def _keys(scheme: Scheme, setting: Setting) -> tuple[HashedKey, ...]:
    """What the losses of every network depend on. Not on the number of steps: fewer are the first ones of more."""
    computed = _computed(scheme, setting.shapes, setting.weight_shapes)
    both = replace(_without_idle_eps(scheme, setting), steps=1)
    own = {"factor": replace(both, shift=1.0), "shift": replace(both, delta=1.0)}
    shared = {kind: HashedKey(computed, each) for kind, each in own.items()}
    shared["neither"] = HashedKey(computed, replace(both, shift=1.0, delta=1.0))
    changes = (network.transformation for network in NETWORKS)
    kinds = ("neither" if change is None else "shift" if change.factor is None else "factor" for change in changes)
    return tuple(HashedKey(shared[kind], network) for network, kind in enumerate(kinds))
