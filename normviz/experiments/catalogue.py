"""All experiments, by topic, in the order in which they are offered."""

from normviz.core.errors import InvalidInput
from normviz.core.text import spoken
from normviz.experiments import (
    batch_size,
    convolution,
    dropout,
    fine_tuning,
    gan,
    leak,
    learning_rate,
    placement,
    recurrent,
    repair,
    smoothing,
    sparsity,
    speed,
    start,
    weight_decay,
)
from normviz.experiments.experiment import Experiment

TOPICS: dict[str, tuple[Experiment, ...]] = {
    "Batches": (batch_size.EXPERIMENT, leak.EXPERIMENT, repair.EXPERIMENT, fine_tuning.EXPERIMENT),
    "Training": (
        learning_rate.EXPERIMENT,
        start.EXPERIMENT,
        dropout.EXPERIMENT,
        weight_decay.EXPERIMENT,
        smoothing.EXPERIMENT,
        sparsity.EXPERIMENT,
    ),
    "Architectures": (convolution.EXPERIMENT, recurrent.EXPERIMENT, placement.EXPERIMENT, gan.EXPERIMENT),
    "Cost": (speed.EXPERIMENT,),
}
"""The experiments of each topic."""

EXPERIMENTS: dict[str, Experiment] = {each.key: each for topic in TOPICS.values() for each in topic}
"""All of them by key."""


def get_experiment(key: str) -> Experiment:
    """Return the experiment of a key; raises InvalidInput where there is none."""
    if key not in EXPERIMENTS:
        raise InvalidInput(f"experiment {key!r} is unknown; {spoken(EXPERIMENTS)} would do.")
    return EXPERIMENTS[key]
