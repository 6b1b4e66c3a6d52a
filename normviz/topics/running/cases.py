"""The accuracy of trained networks on test digits when batch norm uses wrong statistics.

All accuracies are arrays with one share for each network.
"""

from collections.abc import Sequence

import numpy as np

from normviz.topics.running import network
from normviz.topics.running.averages import Convention, Moments, RunningAverages, compute_running_averages

TOO_SMALL_SHARE = 0.001
"""A share of the new batch that is too small for so short a training."""

STALE_AFTER = network.STEPS // 10
"""Number of batches after which stale running averages stop."""

CORRECT_CASES = ("population", "running")
"""The cases without a mistake: the population's statistics, and running averages."""


def measure_frozen_accuracy(trained: network.TrainedNetworks, frozen: Moments, contrast: float = 1.0) -> np.ndarray:
    """Return each network's test accuracy with the statistics `frozen`, (networks, units), on digits × `contrast`."""
    pictures, classes = network.load_input_rows(test=True)
    return _compute_accuracy(trained.network.run(pictures * contrast, network.split_moments(frozen)).logits, classes)


def measure_unfrozen_accuracy(trained: network.TrainedNetworks, batches: Sequence[np.ndarray]) -> np.ndarray:
    """Return each network's test accuracy in training mode; `batches`: indices of the test digits per mini-batch."""
    pictures, classes = network.load_input_rows(test=True)
    right = np.zeros(len(trained.network.weights[0]))
    for size in {len(chosen) for chosen in batches}:  # those of one size at once
        chosen = np.stack([each for each in batches if len(each) == size])[:, None]
        right += size * _compute_accuracy(trained.network.run(pictures[chosen]).logits, classes[chosen]).sum(0)
    return right / sum(map(len, batches))


def compute_final_population(trained: network.TrainedNetworks) -> Moments:
    """Compute mean and variance of all units, (networks, units), over all training digits under the final weights."""
    return network.join_moments(trained.network.run(network.load_input_rows()[0]))


def compute_training_averages(
    trained: network.TrainedNetworks, training: network.NetworkTraining, convention: Convention, share: float
) -> RunningAverages:
    """Return running averages by step of the job `training` with networks `trained`; new batches have this `share`.

    Raises:
        InvalidInput: the framework refuses the batch.
    """
    return compute_running_averages(
        trained.means, trained.variances, training.batch, convention, convention.convert_momentum(share)
    )


def measure_case_accuracies(
    trained: network.TrainedNetworks, training: network.NetworkTraining, convention: Convention, share: float
) -> dict[str, np.ndarray]:
    """Return each network's accuracy with right and wrong batch norm statistics, (networks,), by key of the case.

    `share` is that of a new batch in running averages. The case "one" is missing if the framework has an unbiased
    variance, as it refuses to train on one digit at a time.

    Raises:
        InvalidInput: there are no running averages, as the framework refuses the batch.
    """
    kept = compute_training_averages(trained, training, convention, share)
    little, mixed = (
        compute_training_averages(trained, training, convention, other).final_averages
        for other in (TOO_SMALL_SHARE, 1 - share)
    )
    classes = network.load_input_rows(test=True)[1]
    whole = compute_final_population(trained)
    shuffled = np.random.default_rng([training.seed, 7]).permutation(len(classes))
    evaluated = {
        "population": whole,
        "running": kept.final_averages,
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
        | {"contrast": measure_frozen_accuracy(trained, whole, contrast=0.5)}
        | {key: measure_unfrozen_accuracy(trained, batches) for key, batches in trains.items()}
    )


def _compute_accuracy(logits: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return np.mean(logits.argmax(-1) == classes, axis=-1)
