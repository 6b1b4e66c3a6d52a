"""The verdicts of experiments at their default: the same from other seeds, and after twice the steps."""

from dataclasses import replace

import pytest

from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.catalogue import get_experiment

VERDICTS = {
    "batch-size": "holds",
    "dropout": "wrong",
    "learning-rate": "holds",
    "convolution": "wrong",
    "fine-tuning": "holds",
    "gan": "holds-if",
    "leak": "holds",
    "repair": "holds",
    "smoothing": "holds-if",
    "start": "holds-if",
    "weight-decay": "holds",
    "recurrent": "holds-if",
    "placement": "holds-if",
}
"""The verdict of each at its default."""

CLAIMS = {"smoothing": {"D03": "holds-if", "D04": "holds-if"}}
"""Verdicts on claims, of experiments that judge several."""


def report(key, **changes):
    experiment = get_experiment(key)
    setting = replace(experiment.setting(), **changes)
    return experiment.report(setting, {part: run_to_end(part) for part in experiment.list_jobs(setting)})


@pytest.mark.heavy
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("seed", [0, 8])
@pytest.mark.parametrize("key", VERDICTS)
def test_other_seeds_and_twice_the_steps_give_the_same_verdict(key, seed, times):
    found = report(key, seed=seed, steps=times * get_experiment(key).setting().steps)
    assert found.verdict.word == VERDICTS[key]
    assert {claim: found.get_verdict(claim).word for claim in CLAIMS.get(key, {})} == CLAIMS.get(key, {})
