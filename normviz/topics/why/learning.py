"""Deep networks with and without batch norm, by learning rate and scale of the initial weights.

The results at depth 5 from seed 0 are shipped in `learning.npz`, since they take some minutes to compute. This command
writes the file anew:

    python -m normviz.topics.why.learning
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np

from normviz.describe.seeds import choose_learning_rate
from normviz.jobs.spec import Job, JobStep, compute_digest, run_to_end
from normviz.topics.why import network, saturation
from normviz.topics.why.saturation import RATES, SCALES, LearningResults, Setting

STUDY_FILE = Path(__file__).with_name("learning.npz")

KIND_NAMES = {False: "without batch norm", True: "with batch norm"}

Arrays = dict[str, np.ndarray]

LEARNED_ACCURACY = 0.8
"""Smallest test accuracy of a network that has learned."""


@dataclass(frozen=True)
class ShippedStudy(Job[Arrays], kind="why/learning", version=1):
    """Job that trains the networks whose results are shipped; the results store its digest.

    Raise `version` when the same networks give other results than before.
    """

    depth: int = Setting().depth
    seed: int = Setting().seed
    seeds: int = saturation.SEEDS
    scales: tuple[float, ...] = SCALES
    rates: tuple[float, ...] = RATES
    width: int = saturation.WIDTH
    length: int = saturation.STEPS
    every: int = saturation.MEASUREMENT_INTERVAL
    batch: int = network.BATCH
    parts: tuple[int, ...] = (network.VALIDATION_DIGITS, network.TEST_DIGITS)
    slope: float = saturation.SATURATION_SLOPE

    def find_position(self, setting: Setting) -> tuple[int, int] | None:
        """Return the positions of a setting's scale and rate in the study; None if it is not in the study."""
        if (setting.depth, setting.seed) != (self.depth, self.seed):
            return None
        if setting.start not in self.scales or setting.rate not in self.rates:
            return None
        return self.scales.index(setting.start), self.rates.index(setting.rate)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train the networks of each scale, rate and kind in turn; yield a step after each.

        The result has the fields of `LearningResults` by name, each with leading axes (scales, rates, kinds).
        """
        cells = list(product(self.scales, self.rates, KIND_NAMES))
        found: list[LearningResults] = []
        for scale, rate, normalized in cells:
            setting = Setting(self.depth, scale, rate, self.seed)
            found.append(saturation.train_and_measure(setting, normalized, self.seeds).final_results)
            yield JobStep(len(found) / len(cells), partial(self._collect, found))

    def _collect(self, found: list[LearningResults]) -> Arrays:
        cells = (len(self.scales), len(self.rates), len(KIND_NAMES))
        arrays = {
            name: np.array([getattr(each, name) for each in found], np.float32) for name in LearningResults._fields
        }
        return {name: array.reshape(*cells, *array.shape[1:]) for name, array in arrays.items()}


STUDY = ShippedStudy()


@lru_cache(maxsize=1)
def read_study() -> Arrays:
    """Return the shipped results as arrays by name, and under "digest" the digest of their study."""
    with np.load(STUDY_FILE) as file:
        return {name: file[name] if name == "digest" else file[name].astype(float) for name in file.files}


@dataclass(frozen=True)
class RateSweep:
    """Accuracies on test and validation digits, (rates, seeds), of one kind of network from one initial scale."""

    accuracy: np.ndarray
    validation: np.ndarray

    @property
    def best_rate_index(self) -> int:
        """The index of the rate with the highest mean accuracy on the validation digits."""
        return choose_learning_rate(1 - self.validation)

    @property
    def robust_count(self) -> int:
        """The number of learning rates at which every seed's network reaches `LEARNED_ACCURACY`."""
        return int((self.accuracy >= LEARNED_ACCURACY).all(1).sum())


def find_shipped_results(setting: Setting) -> dict[str, LearningResults] | None:
    """Return the shipped results of a setting by kind of network; None if `STUDY` lacks the setting."""
    place = STUDY.find_position(setting)
    if place is None:
        return None
    found = [read_study()[field][place] for field in LearningResults._fields]
    return {name: LearningResults(*(each[kind] for each in found)) for kind, name in enumerate(KIND_NAMES.values())}


def find_shipped_sweeps(setting: Setting) -> dict[str, RateSweep] | None:
    """Return shipped accuracies at all learning rates by kind of network; None if `STUDY` lacks the setting."""
    place = STUDY.find_position(replace(setting, rate=STUDY.rates[0]))
    if place is None:
        return None
    accuracy, validation = (read_study()[field][place[0]] for field in ("accuracy", "validation"))
    return {
        name: RateSweep(accuracy[:, kind, -1], validation[:, kind]) for kind, name in enumerate(KIND_NAMES.values())
    }


if __name__ == "__main__":
    np.savez_compressed(STUDY_FILE, allow_pickle=False, digest=np.array(compute_digest(STUDY)), **run_to_end(STUDY))
