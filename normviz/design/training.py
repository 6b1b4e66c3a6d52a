"""Schemes of the map trained with their six twins: which ones, as which jobs, and what comes out of them.

Every scheme is a row of Table 1, at ε = 0 and in float64, predicted, measured forward and trained as that table does
it; the learning rate of re-scaled weights follows them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from normviz.core.rows import Row
from normviz.core.schemes import SCHEMES, Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.lattice import exactly
from normviz.design.search import Found, Invariances, census, found
from normviz.experiments.experiment import Arrays
from normviz.jobs.spec import Step, finish
from normviz.networks import cost
from normviz.networks.problem import NETWORKS
from normviz.networks.setting import Setting
from normviz.table1.forward import Forward
from normviz.table1.results import Results
from normviz.table1.table import Cell, table
from normviz.table1.training import Training

STEPS = 20
"""Of every training: answers come out as in a hundred."""

BATCH = {"dense": 32, "conv": 16}
"""Examples of a mini-batch, by layer: two groups of them hold several, and so do two of every other axis."""

SAMPLE = 8
"""Schemes of every set of invariances that are trained where not all are."""

FEW = 400
"""Schemes up to which all are trained by default: seconds, also without a GPU."""

TOGETHER = 64
"""Schemes of a job: on a GPU one stack, which fits into the budget of a training on both layers."""

SECONDS = {"dense": 0.025, "conv": 0.05}
"""About what a scheme takes on one core, by layer."""

SLOW = {key for key, row in SCHEMES.items() if row.spectral}
SLOWER = {"dense": 3.0, "conv": 1.3}
"""What takes longer, alone or in front: a singular value; and how many times."""

FORWARD = 0.1
"""The share of a job's time that forward passes take."""

ANSWERS = {True: 1, False: 0, None: -1}
"""Together, apart, and no answer, in arrays."""


@lru_cache(maxsize=16)
def columns(layer: str, weights: tuple[str, ...], seed: int) -> tuple[tuple[Found, np.ndarray], ...]:
    """By set of invariances its schemes, and the order in which they are taken: the simplest first, then as the seed
    draws. A scheme is made only when it is taken: there may be tens of thousands."""
    rng = np.random.default_rng(seed)
    sets = sorted(kind.invariances for kind in census(layer, weights))
    every = [found(exactly(absorbed, layer, weights)) for absorbed in sets]
    return tuple((schemes, np.r_[0, 1 + rng.permutation(len(schemes) - 1)]) for schemes in every)


def rounds(layer: str, weights: tuple[str, ...], seed: int, start: int, end: int) -> list[tuple[Row, Invariances]]:
    """The schemes of these rounds, each of which has one of every set of invariances that has any left."""
    every = columns(layer, weights, seed)
    taken = [schemes[places[k]] for k in range(start, end) for schemes, places in every if k < len(places)]
    return [(Row.of(scheme), absorbed) for scheme, absorbed in taken]


def setting_of(layer: str, seed: int) -> Setting:
    """What the schemes of a layer are trained on; ε is 0 and the type float64."""
    return Setting(layer=layer, steps=STEPS, batch=BATCH[layer], seed=seed)


def total(layer: str, weights: tuple[str, ...]) -> int:
    """How many schemes there are."""
    return sum(kind.schemes for kind in census(layer, weights))


def sampled(layer: str, weights: tuple[str, ...]) -> int | None:
    """How many schemes of every set are trained where nothing is said; None for all."""
    return None if total(layer, weights) <= FEW else SAMPLE


@lru_cache(maxsize=64)
def plan(layer: str, weights: tuple[str, ...], each: int | None, seed: int = 0) -> "tuple[Twins, ...]":
    """What has to be run; `each`: so many schemes of every set, as far as it has them; None for all.

    The first job has one scheme of every set, so that something is known of all of them soon. What a sample has run is
    not run again for all.
    """
    setting, most = setting_of(layer, seed), max(len(places) for _, places in columns(layer, weights, seed))
    last = most if each is None else min(each, most)
    ends = sorted({0, 1, min(SAMPLE, last), last})
    jobs = []
    for start, end in pairwise(ends):
        chosen = rounds(layer, weights, seed, start, end)
        for k in range(0, len(chosen), TOGETHER):
            rows, absorbed = zip(*chosen[k : k + TOGETHER], strict=True)
            jobs.append(Twins(rows, absorbed, setting))
    return tuple(jobs)


def stacked(setting: Setting) -> int:
    """Return the most schemes that are trained as one stack on the setting's device."""
    from normviz.networks import devices  # imports torch

    device = devices.open_device(setting.device, setting.storage)
    return cost.rows(setting, len(NETWORKS), devices.measure_budget(device))


@dataclass(frozen=True)
class Twins:
    """Train schemes with their twins: their rows, the set of the map that each is in, and on what."""

    kind: ClassVar[str] = "design/twins"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    absorbed: tuple[Invariances, ...]
    setting: Setting

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        slow = sum(row.key in SLOW or row.weight in SLOW for row in self.rows)
        return SECONDS[self.setting.layer] * (len(self.rows) + (SLOWER[self.setting.layer] - 1) * slow)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Stack by stack, of as many schemes as suit the device; the result has those that are done."""
        setting, results, cells = self.setting, Results(), list[Cell]()
        most = stacked(setting)
        for start in range(0, len(self.rows), most):
            schemes = [row.scheme for row in self.rows[start : start + most]]
            so_far = partial(self._arrays, tuple(cells), results)
            for share in _filled(results, schemes, setting):
                done = (start + share * len(schemes)) / len(self.rows)
                yield Step(done, partial(so_far, done))
            cells += table(schemes, setting, results)
        yield Step(1.0, partial(self._arrays, tuple(cells), results, 1.0))

    def _arrays(self, cells: Sequence[Cell], results: Results, share: float) -> Arrays:
        """By scheme and transformation what came out; of as many schemes as there are cells for."""
        why = [cell.degenerate or cell.untold for cell in cells]
        reasons = [*dict.fromkeys(filter(None, why))]
        columns = {
            "forward": np.array([ANSWERS[cell.forward] for cell in cells], np.int8),
            "trained": np.array([ANSWERS[cell.trained] for cell in cells], np.int8),
            "forward_gap": np.array([cell.forward_gap for cell in cells], float),
            "training_gap": np.array([cell.training_gap for cell in cells], float),
            "predicted": np.array([cell.predicted for cell in cells], bool),
            "agrees": np.array([cell.agrees for cell in cells], bool),
            "why": np.array([reasons.index(each) if each else -1 for each in why], np.int16),
        }
        return {
            **{name: column.reshape(-1, len(TRANSFORMATIONS)) for name, column in columns.items()},
            "reasons": np.array(reasons, str),
            "share": np.array(share),
            "device": np.array(results.devices([row.scheme for row in self.rows], self.setting)),
        }


def _filled(results: Results, schemes: Sequence[Scheme], setting: Setting) -> Iterator[float]:
    """Measure schemes forward and train them, as one stack where it can be; gives the share that is done, below 1."""
    for number, scheme in enumerate(schemes, 1):
        forward = Forward.of(scheme, setting)
        results.keep_forward(forward, finish(forward))
        yield FORWARD * number / len(schemes)
    training = Training.of(schemes, setting, range(len(NETWORKS)))
    for step in training.steps():
        if step.share < 1:
            yield FORWARD + (1 - FORWARD) * step.share
    results.keep(training, step.result())
