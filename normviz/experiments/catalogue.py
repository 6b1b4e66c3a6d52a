"""All experiments, in the order in which they are offered."""

from normviz.core.errors import InvalidInput
from normviz.core.text import spoken
from normviz.experiments import (
    batch_size,
    convolution,
    dropout,
    fine_tuning,
    gan,
    learning_rate,
    placement,
    recurrent,
    smoothing,
    sparsity,
    speed,
    start,
    weight_decay,
)
from normviz.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    each.key: each
    for each in (
        batch_size.EXPERIMENT,
        learning_rate.EXPERIMENT,
        convolution.EXPERIMENT,
        recurrent.EXPERIMENT,
        placement.EXPERIMENT,
        gan.EXPERIMENT,
        dropout.EXPERIMENT,
        weight_decay.EXPERIMENT,
        smoothing.EXPERIMENT,
        sparsity.EXPERIMENT,
        start.EXPERIMENT,
        speed.EXPERIMENT,
        fine_tuning.EXPERIMENT,
    )
}
"""By key."""


def get_experiment(key: str) -> Experiment:
    """The experiment of that key; raises InvalidInput where there is none."""
    if key not in EXPERIMENTS:
        raise InvalidInput(f"experiment {key!r} is unknown; {spoken(EXPERIMENTS)} would do.")
    return EXPERIMENTS[key]
