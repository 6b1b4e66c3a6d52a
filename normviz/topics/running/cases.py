"""What batch norm's statistics cost a trained network where they are wrong: its accuracy on digits it has not seen.

All accuracies are shares of the test digits, an array with one number for each of the networks.
"""

from collections.abc import Sequence

import numpy as np

from normviz.topics.running.averages import Convention, Moments, RunningAverages, compute_running_averages
from normviz.topics.running.network import (
    STEPS,
    NetworkTraining,
    TrainedNetworks,
    join_moments,
    load_input_rows,
    split_moments,
)

TOO_SMALL_SHARE = 0.001
"""The share of a new batch that is too small for so short a training."""

STALE_AFTER = STEPS // 10
"""Batches after which running averages stop, where they are stale."""

SHIFTED_CONTRAST = 0.5
"""What test pictures are multiplied by, where the data have shifted."""

CORRECT_CASES = ("population", "running")
"""The cases in which nothing is wrong: what evaluation should use, and what it uses."""


def measure_frozen_accuracy(trained: TrainedNetworks, frozen: Moments, contrast: float = 1.0) -> np.ndarray:
    """In evaluation: every unit is normalized by frozen statistics."""
    pictures, classes = load_input_rows(test=True)
    return _right(trained.network.run(pictures * contrast, split_moments(frozen)).logits, classes)


def measure_unfrozen_accuracy(trained: TrainedNetworks, batches: Sequence[np.ndarray]) -> np.ndarray:
    """In training mode, on test digits in mini-batches: which digits each has."""
    pictures, classes = load_input_rows(test=True)
    right = np.zeros(len(trained.network.weights[0]))
    for size in {len(chosen) for chosen in batches}:  # those of one size at once
        chosen = np.stack([each for each in batches if len(each) == size])[:, None]
        right += size * _right(trained.network.run(pictures[chosen]).logits, classes[chosen]).sum(0)
    return right / sum(map(len, batches))


def compute_final_population(trained: TrainedNetworks) -> Moments:
    """The statistics of all training digits under the last weights: what running averages stand for."""
    return join_moments(trained.network.run(load_input_rows()[0]))


def compute_training_averages(
    trained: TrainedNetworks, training: NetworkTraining, convention: Convention, share: float
) -> RunningAverages:
    """The running averages of the training, before its first mini-batch and after each.

    Raises InvalidInput where the framework refuses the batch.
    """
    return compute_running_averages(
        trained.means, trained.variances, training.batch, convention, convention.convert_momentum(share)
    )


def measure_case_accuracies(
    trained: TrainedNetworks, training: NetworkTraining, convention: Convention, share: float
) -> dict[str, np.ndarray]:
    """Return the accuracy of every case that the framework allows, by its key.

    A framework with an unbiased variance refuses to train on one digit at a time, so "one" is missing there.

    Raises:
        InvalidInput: there are no running averages, as the framework refuses the batch.
    """
    kept = compute_training_averages(trained, training, convention, share)
    little, mixed = (
        compute_training_averages(trained, training, convention, other).last for other in (TOO_SMALL_SHARE, 1 - share)
    )
    classes = load_input_rows(test=True)[1]
    whole = compute_final_population(trained)
    shuffled = np.random.default_rng([training.seed, 7]).permutation(len(classes))
    evaluated = {
        "population": whole,
        "running": kept.last,
        "fresh": Moments(kept.mean[0], kept.variance[0]),
        "few": little,
        "mixed": mixed,
        "stale": Moments(kept.mean[STALE_AFTER], kept.variance[STALE_AFTER]),
    }
    trains = {} if convention.unbiased else {"one": np.split(np.arange(len(classes)), len(classes))}
    trains |= {
        "class": [np.flatnonzero(classes == label) for label in np.unique(classes)],
        "batches": np.split(shuffled, range(training.batch, len(classes), training.batch)),
    }
    return (
        {key: measure_frozen_accuracy(trained, statistics) for key, statistics in evaluated.items()}
        | {"contrast": measure_frozen_accuracy(trained, whole, SHIFTED_CONTRAST)}
        | {key: measure_unfrozen_accuracy(trained, batches) for key, batches in trains.items()}
    )


def _right(logits: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return np.mean(logits.argmax(-1) == classes, axis=-1)
