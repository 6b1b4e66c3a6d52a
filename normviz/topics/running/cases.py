"""What batch norm's statistics cost a trained network where they are wrong: its accuracy on digits it has not seen.

All accuracies are shares of the test digits, an array with one number for each of the networks.
"""

from collections.abc import Sequence

import numpy as np

from normviz.topics.running.averages import Averages, Convention, Moments, running_averages
from normviz.topics.running.network import STEPS, Trained, Training, forward, inputs

FEW = 0.001
"""The share of a new batch that is too small for so short a training."""

STALE = STEPS // 10
"""Batches after which running averages stop, where they are stale."""

CONTRAST = 0.5
"""What test pictures are multiplied by, where the data have shifted."""

EXPECTED = ("population", "running")
"""The cases in which nothing is wrong: what evaluation should use, and what it uses."""


def accuracy(trained: Trained, eps: float, frozen: Moments, contrast: float = 1.0) -> np.ndarray:
    """In evaluation: every unit is normalized by frozen statistics."""
    pictures, classes = inputs(test=True)
    return _right(forward(trained.network, pictures * contrast, eps, frozen).logits, classes)


def accuracy_in_training(trained: Trained, eps: float, batches: Sequence[np.ndarray]) -> np.ndarray:
    """In training mode, on test digits in mini-batches: which digits each has."""
    pictures, classes = inputs(test=True)
    right = np.zeros(len(trained.network.weights[0]))
    for size in {len(chosen) for chosen in batches}:  # those of one size at once
        chosen = np.stack([each for each in batches if len(each) == size])[:, None]
        right += size * _right(forward(trained.network, pictures[chosen], eps).logits, classes[chosen]).sum(0)
    return right / sum(map(len, batches))


def population(trained: Trained, eps: float) -> Moments:
    """The statistics of all training digits under the last weights: what running averages stand for."""
    return forward(trained.network, inputs()[0], eps).moments


def averages(trained: Trained, asked: Training, convention: Convention, share: float) -> Averages:
    """The running averages of the training, before its first mini-batch and after each.

    Raises InvalidInput where the framework refuses the batch.
    """
    return running_averages(trained.means, trained.variances, asked.batch, convention, convention.other(share))


def costs(trained: Trained, asked: Training, convention: Convention, share: float) -> dict[str, np.ndarray]:
    """Return the accuracy of every case that the framework allows, by its key.

    A framework with an unbiased variance refuses to train on one digit at a time, so "one" is missing there.

    Raises:
        InvalidInput: there are no running averages, as the framework refuses the batch.
    """
    kept = averages(trained, asked, convention, share)
    little, mixed = (averages(trained, asked, convention, other).last for other in (FEW, 1 - share))
    classes = inputs(test=True)[1]
    whole = population(trained, asked.eps)
    shuffled = np.random.default_rng([asked.seed, 7]).permutation(len(classes))
    evaluated = {
        "population": whole,
        "running": kept.last,
        "fresh": Moments(kept.mean[0], kept.variance[0]),
        "few": little,
        "mixed": mixed,
        "stale": Moments(kept.mean[STALE], kept.variance[STALE]),
    }
    trains = {} if convention.unbiased else {"one": np.split(np.arange(len(classes)), len(classes))}
    trains |= {
        "class": [np.flatnonzero(classes == label) for label in np.unique(classes)],
        "batches": np.split(shuffled, range(asked.batch, len(classes), asked.batch)),
    }
    return (
        {key: accuracy(trained, asked.eps, statistics) for key, statistics in evaluated.items()}
        | {"contrast": accuracy(trained, asked.eps, whole, CONTRAST)}
        | {key: accuracy_in_training(trained, asked.eps, batches) for key, batches in trains.items()}
    )


def _right(logits: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return np.mean(logits.argmax(-1) == classes, axis=-1)
