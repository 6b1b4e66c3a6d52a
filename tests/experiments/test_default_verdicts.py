"""The verdicts of experiments at their default: the same from other seeds, and after twice the steps."""

from dataclasses import replace

import pytest

from normviz.experiments.catalogue import get_experiment
from normviz.jobs.spec import finish

VERDICTS = {
    "batch-size": "holds",
    "dropout": "wrong",
    "learning-rate": "holds-if",
    "convolution": "holds-if",
    "fine-tuning": "holds",
    "gan": "holds-if",
    "recurrent": "holds-if",
    "placement": "holds-if",
}
"""The verdict of each at its default."""


def verdict(key, **changes):
    experiment = get_experiment(key)
    setting = replace(experiment.setting(), **changes)
    return experiment.report(setting, {part: finish(part) for part in experiment.parts(setting)}).verdict


@pytest.mark.heavy
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("seed", [0, 8])
@pytest.mark.parametrize("key", VERDICTS)
def test_other_seeds_and_twice_the_steps_give_the_same_verdict(key, seed, times):
    assert verdict(key, seed=seed, steps=times * get_experiment(key).setting().steps).word == VERDICTS[key]
