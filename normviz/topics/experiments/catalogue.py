"""All experiments, by topic, in the order of the page."""

from collections.abc import Mapping
from typing import NamedTuple

from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.topics.experiments import batch_leak as leak
from normviz.topics.experiments import (
    batch_size,
    convolution,
    dropout,
    fine_tuning,
    gan,
    initial_gain_bias,
    learning_rate,
    placement,
    recurrent,
    smoothing,
    speed,
    statistics_repair,
    weight_decay,
)
from normviz.topics.experiments.experiment import Experiment

TOPICS: dict[str, tuple[Experiment, ...]] = {
    "Batches": (batch_size.EXPERIMENT, leak.EXPERIMENT, statistics_repair.EXPERIMENT, fine_tuning.EXPERIMENT),
    "Training": (
        learning_rate.EXPERIMENT,
        initial_gain_bias.EXPERIMENT,
        dropout.EXPERIMENT,
        weight_decay.EXPERIMENT,
        smoothing.EXPERIMENT,
    ),
    "Architectures": (convolution.EXPERIMENT, recurrent.EXPERIMENT, placement.EXPERIMENT, gan.EXPERIMENT),
    "Cost": (speed.EXPERIMENT,),
}
"""The experiments of each topic."""

EXPERIMENTS: dict[str, Experiment] = {each.key: each for topic in TOPICS.values() for each in topic}


class ExperimentAlias(NamedTuple):
    """The experiment that a former one is now part of: its key, and its settings by their former names."""

    key: str
    settings: Mapping[str, str]


_SAME = ("seeds", "seed", "device", "schemes", "groups", "radius", "own", "digits", "steps")

ALIASES = {"sparsity": ExperimentAlias("smoothing", {**{name: name for name in _SAME}, "first": "eps"})}
"""Former experiments, by their keys in old links and commands."""


def get_experiment(key: str) -> Experiment:
    """Return the experiment with this key or former key; raise InvalidInput for an unknown one."""
    key = ALIASES[key].key if key in ALIASES else key
    if key not in EXPERIMENTS:
        raise InvalidInput(f"experiment {key!r} is unknown; {join_words(EXPERIMENTS)} would do.")
    return EXPERIMENTS[key]
