"""Jobs that train the schemes of a layer, or a sample of them, each with its six twins.

The answers are those of Table 1 at ε = 0 in float64: theory, a forward pass, and training. The learning rate of
rescaled weights follows their scale.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from normviz.core.registry import Scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.transformations import TRANSFORMATIONS
from normviz.jobs.gpu import uses_gpu
from normviz.jobs.results import ArrayJob, Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.design.demands import Demands, Invariances, make_exact_demands
from normviz.topics.design.search import FoundSchemes, find_schemes, take_census
from normviz.topics.table1.forward import ForwardJob, ForwardMeasurement
from normviz.topics.table1.results import TableResultCache, plan_training_budget
from normviz.topics.table1.table import Cell, build_cells
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import cost
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting

TWIN_TRAINING_STEPS = 20
"""Steps of each training: the answers equal those after 100 steps."""

LAYER_BATCH_SIZES = {"dense": 32, "conv": 16}
"""Examples in a mini-batch, by layer: every axis has room for two groups of several."""

FIRST_SAMPLE_SIZE = 8
"""Number of schemes of each set of invariances that are trained before all others."""

MAX_JOB_SCHEMES = 64
"""Most schemes in a job on a CPU; a GPU trains the largest stack that fits as one job."""

ANSWER_CODES = (False, True, None)
"""Answers by their number in arrays: not invariant, invariant, unknown."""


@lru_cache(maxsize=16)
def order_schemes(layer: str, weight_keys: tuple[str, ...], seed: int) -> tuple[tuple[FoundSchemes, np.ndarray], ...]:
    """Return the schemes of each set of invariances, and their indices with the simplest first, the others shuffled."""
    rng = np.random.default_rng(seed)
    sets = sorted(kind.invariances for kind in take_census(layer, weight_keys))
    every = [find_schemes(make_exact_demands(invariances, layer, weight_keys)) for invariances in sets]
    return tuple((schemes, np.r_[0, 1 + rng.permutation(len(schemes) - 1)]) for schemes in every)


@lru_cache(maxsize=64)
def list_training_jobs(
    layer: str, weight_keys: tuple[str, ...] = ("none",), sample: int | None = None, seed: int = 0, device: str = "auto"
) -> "tuple[TwinTraining, ...]":
    """Return the jobs that train `sample` schemes (all for None) of each set of invariances.

    The first job has the simplest scheme of each set. The jobs for `FIRST_SAMPLE_SIZE` schemes are part of the jobs for
    all, so cached results are reused.

    Raises:
        InvalidInput: an unknown layer, scheme of weights or device, or a seed out of bounds.

    >>> [len(job.rows) for job in list_training_jobs("dense")]
    [10, 35, 36]
    """
    Demands(layer, weights=weight_keys)  # raises InvalidInput
    setting = Setting(layer=layer, steps=TWIN_TRAINING_STEPS, batch=LAYER_BATCH_SIZES[layer], seed=seed, device=device)
    ordered = order_schemes(layer, weight_keys, seed)
    most = max(len(schemes) for schemes, _ in ordered)
    last = most if sample is None else min(sample, most)
    size = max(MAX_JOB_SCHEMES, cost.find_max_schemes(setting, len(NETWORKS), plan_training_budget(setting)))
    jobs = []
    for start, end in pairwise(sorted({0, 1, min(FIRST_SAMPLE_SIZE, last), last})):
        taken = [schemes[order[k]] for k in range(start, end) for schemes, order in ordered if k < len(order)]
        for k in range(0, len(taken), size):
            schemes, invariances = zip(*taken[k : k + size], strict=True)
            jobs.append(TwinTraining(tuple(map(SchemeSpec.of, schemes)), invariances, setting))
    return tuple(jobs)


def compute_stack_size(setting: Setting) -> int:
    """Return the most schemes that are trained as one stack on the setting's device."""
    from normviz.train import devices  # imports torch

    device = devices.open_device(setting.device, setting.storage)
    return cost.find_max_schemes(setting, len(NETWORKS), devices.measure_budget(device))


@dataclass(frozen=True)
class TwinTraining(ArrayJob, kind="design/twins", version=4):
    """Job that measures schemes and trains them, each beside copies of which one thing is transformed (twins).

    Attributes:
        rows: the schemes.
        absorbed: the invariances of each scheme in theory.
        setting: the layer, the steps, the seed and the device.
    """

    rows: tuple[SchemeSpec, ...]
    absorbed: tuple[Invariances, ...]
    setting: Setting

    @property
    def seconds(self) -> float:
        """The expected seconds on the reference machine."""
        return cost.estimate_training_seconds(self.setting, len(self.rows), len(NETWORKS))

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure and train the schemes stack by stack; yield the results of all finished stacks after each.

        Its arrays are columns of `InvarianceCheck`, (schemes, transformations), two of them as codes in `ANSWER_CODES`.
        """
        from normviz.train import compiled  # imports torch

        if not uses_gpu(self):
            compiled.start_loading()  # the stacks after the first second train several times as fast
        results, cells = TableResultCache(limit=2 * len(self.rows) * len(NETWORKS)), list[Cell]()
        most = compute_stack_size(self.setting)
        for start in range(0, len(self.rows), most):
            schemes = [row.scheme for row in self.rows[start : start + most]]
            so_far = partial(self._arrays, tuple(cells), results)
            for share in _measure_and_train_schemes(results, schemes, self.setting):
                done = (start + share * len(schemes)) / len(self.rows)
                yield JobStep(done, partial(so_far, done))
            cells += build_cells(schemes, self.setting, results)
        yield JobStep(1.0, partial(self._arrays, tuple(cells), results, 1.0))

    def _arrays(self, cells: Sequence[Cell], results: TableResultCache, share: float) -> Arrays:
        columns = {
            "predicted": np.array([cell.predicted for cell in cells], bool),
            "forward": np.array([ANSWER_CODES.index(cell.forward) for cell in cells], np.int8),
            "trained": np.array([ANSWER_CODES.index(cell.trained) for cell in cells], np.int8),
            "forward_gap": np.array([cell.forward_gap for cell in cells], float),
            "training_gap": np.array([cell.training_gap for cell in cells], float),
            "agrees": np.array([cell.agrees for cell in cells], bool),
            "why": np.array([cell.degenerate or cell.missing_reasons for cell in cells], str),
        }
        return {
            **{name: column.reshape(-1, len(TRANSFORMATIONS)) for name, column in columns.items()},
            "share": np.array(share),
            "device": np.array(results.describe_devices([row.scheme for row in self.rows], self.setting)),
        }


def _measure_and_train_schemes(
    results: TableResultCache, schemes: Sequence[Scheme], setting: Setting
) -> Iterator[float]:
    """Measure and train schemes, and store the outcomes in `results`; yield the finished share, from 0 to below 1."""
    from normviz.train import twins  # imports torch

    for scheme, gaps in zip(schemes, twins.measure_output_gaps(schemes, setting), strict=True):
        results.store_forward(ForwardJob.of(scheme, setting), ForwardMeasurement(gaps, {}))  # nothing fades at ε = 0
    yield 0.0
    training = TableTrainingJob.of(schemes, setting, range(len(NETWORKS)))
    for step in training.steps():
        if step.share < 1:
            yield step.share
    results.store_outcome(training, step.result())
