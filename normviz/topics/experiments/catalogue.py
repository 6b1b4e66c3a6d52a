"""All experiments, by topic, in the order in which they are offered."""

from collections.abc import Mapping
from dataclasses import dataclass

from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.topics.experiments import (
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
    speed,
    start,
    weight_decay,
)
from normviz.topics.experiments.experiment import Experiment

TOPICS: dict[str, tuple[Experiment, ...]] = {
    "Batches": (batch_size.EXPERIMENT, leak.EXPERIMENT, repair.EXPERIMENT, fine_tuning.EXPERIMENT),
    "Training": (
        learning_rate.EXPERIMENT,
        start.EXPERIMENT,
        dropout.EXPERIMENT,
        weight_decay.EXPERIMENT,
        smoothing.EXPERIMENT,
    ),
    "Architectures": (convolution.EXPERIMENT, recurrent.EXPERIMENT, placement.EXPERIMENT, gan.EXPERIMENT),
    "Cost": (speed.EXPERIMENT,),
}
"""The experiments of each topic."""

EXPERIMENTS: dict[str, Experiment] = {each.key: each for topic in TOPICS.values() for each in topic}
"""All of them by key."""


@dataclass(frozen=True)
class Alias:
    """An experiment that has become part of another one.

    Attributes:
        key: of the other one.
        settings: the names of its settings that the other one has too, with their names there.
    """

    key: str
    settings: Mapping[str, str]


_SAME = ("seeds", "seed", "device", "schemes", "groups", "radius", "own", "digits", "steps")

ALIASES = {"sparsity": Alias("smoothing", {**{name: name for name in _SAME}, "first": "eps"})}
"""By the key in old links and commands."""


def get_experiment(key: str) -> Experiment:
    """Return the experiment of a key or of an alias; raises InvalidInput where there is none."""
    key = ALIASES[key].key if key in ALIASES else key
    if key not in EXPERIMENTS:
        raise InvalidInput(f"experiment {key!r} is unknown; {join_words(EXPERIMENTS)} would do.")
    return EXPERIMENTS[key]
