"""Cache of measurements and trainings by the values they depend on, so that a changed setting repeats only these."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple, TypeVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.jobs.bounded_store import BoundedStore, HashedKey
from normviz.jobs.fallback import format_device_list
from normviz.jobs.gpu import get_gpu_memory
from normviz.jobs.spec import run_to_end
from normviz.topics.table1.forward import ForwardJob, ForwardMeasurement, has_eps, reduce_to_first_layer
from normviz.topics.table1.training import TableTrainingJob, TableTrainingOutcome
from normviz.train import cost
from normviz.train.problem import MEASURED_NETWORKS, NETWORKS, NonFiniteTensor
from normviz.train.setting import Setting

Part = TypeVar("Part")


class NetworkRecord(NamedTuple):
    """Losses so far of one trained network, (steps,), and where it stopped being finite, with its device and time.

    `device` is in words, `seconds` the network's share of the time of the job that trained it.
    """

    losses: np.ndarray
    failure: NonFiniteTensor | None
    device: str = ""
    seconds: float = 0.0


EMPTY_RECORD = NetworkRecord(np.empty(0), None)
UNMEASURED = ForwardMeasurement(np.full(len(MEASURED_NETWORKS), np.nan))


class TableResultCache:
    """Thread-safe cache of forward gaps and trained networks for Table 1, which keeps the most recently used ones.

    `rows` holds cells of complete rows of Table 1, by the values they depend on.
    """

    def __init__(self, limit: int = 8192) -> None:
        self.rows: BoundedStore[HashedKey, list] = BoundedStore(512)
        self._records: BoundedStore[HashedKey, NetworkRecord] = BoundedStore(
            limit, replaces=lambda new, old: len(new.losses) > len(old.losses)
        )
        self._measured: BoundedStore[HashedKey, ForwardMeasurement] = BoundedStore(limit, replaces=_is_fuller)

    @property
    def version(self) -> int:
        """The number of results stored so far; it changes with every new result."""
        return self._records.version + self._measured.version

    def get_forward(self, scheme: Scheme, setting: Setting) -> ForwardMeasurement:
        """Return the `ForwardMeasurement` of a scheme so far; NaN where nothing is measured."""
        return self._measured.get(_make_forward_key(scheme, setting)) or UNMEASURED

    def list_missing_measurements(self, schemes: Sequence[Scheme], setting: Setting) -> list[ForwardJob]:
        """Return the jobs of missing forward passes; schemes with the same computation share one."""
        lacks = {
            _make_forward_key(each, setting): each for each in schemes if self.get_forward(each, setting).fades is None
        }
        return [ForwardJob.of(scheme, setting) for scheme in lacks.values()]

    def store_forward(self, job: ForwardJob, measured: ForwardMeasurement) -> None:
        """Store the forward measurement of a row, complete or not."""
        self._measured.put(_make_forward_key(job.row.scheme, job.setting), measured)

    def get_losses(self, scheme: Scheme, setting: Setting) -> np.ndarray:
        """Return the losses of all networks of a scheme, (steps, networks), up to the last step that all finished."""
        found = [self._get_record(key).losses for key in _make_network_keys(scheme, setting)]
        done = min(setting.steps, *map(len, found))
        return np.stack([losses[:done] for losses in found], axis=1)

    def get_failure(self, scheme: Scheme, setting: Setting, network: int) -> NonFiniteTensor | None:
        """Return the point where a network became non-finite; None if it did not, or if that is not known yet."""
        return self._get_record(_make_network_keys(scheme, setting)[network]).failure

    def describe_devices(self, schemes: Sequence[Scheme], setting: Setting) -> str:
        """Return the names of the devices that computed the losses of these schemes; empty without losses."""
        return format_device_list(record.device for record in self.list_records([(schemes, setting)]))

    def list_records(self, rows: Iterable[tuple[Sequence[Scheme], Setting]]) -> list[NetworkRecord]:
        """Return the records of all networks of these schemes, each group with its setting; every network once."""
        networks = (_make_network_keys(scheme, setting) for schemes, setting in rows for scheme in schemes)
        return [self._get_record(key) for key in dict.fromkeys(chain.from_iterable(networks))]

    def list_missing_trainings(self, schemes: Sequence[Scheme], setting: Setting) -> list[TableTrainingJob]:
        """Return the jobs of missing trainings, each with as many networks as the budget allows."""
        blocks: dict[tuple[int, ...], dict[HashedKey, Scheme]] = {}
        for scheme in schemes:
            keys = _make_network_keys(scheme, setting)
            lacks = tuple(n for n, key in enumerate(keys) if len(self._get_record(key).losses) < setting.steps)
            if lacks:
                blocks.setdefault(lacks, {})[keys[0]] = scheme  # two names of one computation are trained once
        jobs = []
        for networks, rows in blocks.items():
            high = cost.find_max_schemes(setting, len(networks), plan_training_budget(setting))
            wide = cost.find_max_networks(setting, len(networks))
            for some, part in product(_split_evenly(list(rows.values()), high), _split_evenly(networks, wide)):
                jobs.append(TableTrainingJob.of(some, setting, part))
        return jobs

    def store_outcome(self, job: TableTrainingJob, outcome: TableTrainingOutcome) -> None:
        """Store the outcome of a training, complete or not; a shorter run never replaces a longer one."""
        if len(outcome.losses) == 0:
            return
        seconds = outcome.seconds / outcome.losses[0].size
        for row, scheme in enumerate(job.schemes):
            keys = _make_network_keys(scheme, job.setting)
            for column, network in enumerate(job.networks):
                losses = outcome.losses[:, row, column].copy()
                record = NetworkRecord(losses, outcome.failures.get((row, column)), outcome.device, seconds)
                self._records.put(keys[network], record)

    def compute_missing(self, schemes: Sequence[Scheme], setting: Setting) -> None:
        """Run and store all missing jobs, in this thread. Raises InvalidInput if a scheme does not fit."""
        setting.check(schemes)
        for each in {setting, setting.in_float64}:
            for row in self.list_missing_measurements(schemes, each):
                self.store_forward(row, run_to_end(row))
        for job in self.list_missing_trainings(schemes, setting):
            self.store_outcome(job, run_to_end(job))

    def _get_record(self, key: HashedKey) -> NetworkRecord:
        return self._records.get(key) or EMPTY_RECORD


def plan_training_budget(setting: Setting) -> cost.TrainingBudget:
    """Return the budget by which trainings are split into jobs before they run: all memory of a GPU counts as free.

    The job itself measures free memory and speed, and cuts itself into blocks.
    """
    memory = 0 if setting.device == "cpu" else get_gpu_memory()
    return cost.compute_gpu_budget(memory) if memory else cost.CPU_BUDGET


def _is_fuller(new: ForwardMeasurement, old: ForwardMeasurement) -> bool:
    return old.fades is None and (new.fades is not None or np.isnan(new.gaps).sum() < np.isnan(old.gaps).sum())


def _split_evenly(whole: Sequence[Part], max_length: int) -> list[Sequence[Part]]:
    """Split a sequence into parts of nearly equal lengths, each with at most `max_length` elements."""
    parts = -(-len(whole) // max_length)
    ends = [len(whole) * part // parts for part in range(parts + 1)]
    return [whole[start:end] for start, end in pairwise(ends)]


def _clear_idle_eps(scheme: Scheme, setting: Setting) -> Setting:
    return setting if setting.eps == 0 or has_eps(scheme) else replace(setting, eps=0.0)


@lru_cache(maxsize=4096)
def _make_computation_key(scheme: Scheme, shapes: tuple[Shape, ...], weight_shapes: tuple[Shape, ...]) -> Hashable:
    """Return a key that is equal for schemes with the same computation in layers of these shapes."""
    on_activations, on_weights = scheme.activation_part, scheme.weight_part
    return (
        None if on_activations is None else tuple(map(on_activations.compute_canonical_key, shapes)),
        None if on_weights is None else tuple(map(on_weights.compute_canonical_key, weight_shapes)),
    )


@lru_cache(maxsize=4096)
def _make_forward_key(scheme: Scheme, setting: Setting) -> HashedKey:
    first = reduce_to_first_layer(setting)
    return HashedKey(_make_computation_key(scheme, first.shapes, first.weight_shapes), _clear_idle_eps(scheme, first))


@lru_cache(maxsize=4096)  # as many rows as a job on a GPU has; equal keys are then one object, and quickly compared
def _make_network_keys(scheme: Scheme, setting: Setting) -> tuple[HashedKey, ...]:
    """Return the cache keys of each network's losses, without the steps: a shorter run is the start of a longer one."""
    computed = _make_computation_key(scheme, setting.shapes, setting.weight_shapes)
    shared = {
        kind: HashedKey(computed, each) for kind, each in _reduce_setting(_clear_idle_eps(scheme, setting)).items()
    }
    changes = (network.transformation for network in NETWORKS)
    kinds = ("neither" if change is None else "shift" if change.factor is None else "factor" for change in changes)
    return tuple(HashedKey(shared[kind], network) for network, kind in enumerate(kinds))


@lru_cache(maxsize=64)
def _reduce_setting(setting: Setting) -> dict[str, Setting]:
    """Return by kind of change ("factor", "shift", "neither") the setting without values that the kind does not use."""
    both = replace(setting, steps=1)
    return {
        "factor": replace(both, shift=1.0),
        "shift": replace(both, delta=1.0),
        "neither": replace(both, shift=1.0, delta=1.0),
    }
