from dataclasses import replace

import numpy as np
import pytest
import torch
from repeated import assert_repeated

from normviz.core.registry import SCHEMES
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.figures import draw_figure
from normviz.topics.experiments.initial_gain_bias import FIRST_BIASES, FIRST_GAINS, Setting, list_jobs, report

TINY = Setting(seeds=2, steps=20)
NOISE = 0.002 * np.array([1, -1, 1, -1, 0, 1, 0, -1])
BEST = 1
"""The position of the rate with the lowest validation error in made-up results."""


def made_up(setting, error):
    """Return results in which the networks end with these errors: (γ, β) -> mean, over which the seeds scatter."""
    results = {}
    for part in list_jobs(setting):
        test = np.zeros((len(FIRST_BIASES), len(part.rates), 8))
        for k, bias in enumerate(FIRST_BIASES):
            test[k, BEST] = error(part.gain, bias) + NOISE * (k % 2 * 2 - 1) * (1 + 0.1 * k)
        validation = np.ones_like(test)
        validation[:, BEST] = 0.5
        results[part] = {
            "losses": np.ones((3, *test.shape)), "validation": validation, "test": test, "share": np.array(1.0),
            "device": np.array("CPU"),
        }  # fmt: skip
    return results


@pytest.mark.parametrize(
    ("error", "word", "said", "headline"),
    [
        (lambda gain, bias: 0.04, "open", "0 end clearly worse and 0 clearly better", "No: no pair"),
        (
            lambda gain, bias: 0.9 if bias == -4 else 0.04, "holds-if", "5 end clearly worse and 0 clearly better",
            "Yes, with initial β ≤ −2γ: up to 90% error instead of 4%.",
        ),
        (
            lambda gain, bias: 0.02 if gain > 1 else 0.04, "holds-if", "0 end clearly worse and 14 clearly better",
            "Only with initial γ > 1: down to 2% error instead of 4%.",
        ),
        (
            lambda gain, bias: 0.04 if (gain, bias) == (1, 0) else 0.1 + 0.1 * (bias == 2), "holds",
            "34 end clearly worse and 0", "Yes, with initial β > 0: up to 20% error instead of 4%.",
        ),
        (
            lambda gain, bias: 0.04 + 0.1 * (gain == 1 and bias > 0), "holds-if", "3 end clearly worse",
            "Only with initial β > 0: up to 14% error instead of 4%.",
        ),
        (lambda gain, bias: 0.9, "open", "does not learn", "No: no pair"),
        (lambda gain, bias: 1.0 - 0.9 * ((gain, bias) != (1, 0)), "open", "does not learn", "Yes, "),
    ],
)  # fmt: skip
def test_the_verdict_counts_clear_differences(error, word, said, headline):
    told = report(Setting(), made_up(Setting(), error))
    assert told.headline.startswith(headline)
    assert told.verdict.word == word
    assert said in told.verdict.says
    assert told.verdict.text.startswith("Holds with ") == (word == "holds-if")
    assert told.verdict.extent.endswith("most of all") == (told.headline.startswith("Yes") and word != "open")
    assert [shown.key for shown in told.figures] == ["map-layer"]
    assert len(told.table["seed"]) == len(FIRST_GAINS) * len(FIRST_BIASES) * 8


def test_the_level_of_the_usual_first_values_is_said_at_the_rate_that_validation_digits_chose():
    told = report(Setting(), made_up(Setting(), lambda gain, bias: 0.02 if (gain, bias) == (1, 0) else 0.1))
    assert told.figures[0].panels.border == [3, 3, 2, 0, 0]
    line = next(trace for trace in draw_figure(told.figures[0]).data if trace["type"] == "scatter")
    assert [*zip(line["x"], line["y"], strict=True)][-3:] == [(1.5, 1.5), (1.5, 2.5), (-0.5, 2.5)]
    assert "test error 2.0 ± 0.2% from γ = 1, β = 0" in told.verdict.says
    assert "All means lie between 2.0% and 10.0%." in told.verdict.says


def test_what_is_not_trained_yet_is_not_judged():
    results = made_up(Setting(), lambda gain, bias: 0.04)
    assert report(Setting(), {}).verdict.word == "open"
    for count in range(1, len(results)):
        assert report(Setting(), dict(list(results.items())[:count])).verdict.word == "open"


def test_a_tiny_run_gives_the_same_numbers_again_and_for_a_seed_alone():
    part = list_jobs(TINY)[2]
    steps = list(part.steps())
    found, again = steps[-1].result(), run_to_end(part)
    assert_repeated(found, again)
    assert report(TINY, {part: steps[0].result()}).figures[0].key == "losses"
    assert [shown.key for shown in report(TINY, {part: found}).figures] == ["map-layer"]
    alone = run_to_end(replace(part, networks=part.networks[1:], rates=part.rates[:1]))
    np.testing.assert_allclose(alone["losses"][:5, :, 0, 0], found["losses"][:5, :, 0, 1], rtol=1e-4)


def test_the_first_values_are_those_of_the_layers_and_not_of_the_classifier():
    """The first loss, against PyTorch's layers that start from γ = 0.3 and β = 2."""
    from normviz.train.dense import Dense, load_digit_parts
    from normviz.train.learning import shuffle_mini_batches

    part = next(part for part in list_jobs(TINY) if part.gain == 0.3)
    cpu = torch.device("cpu")
    first = Dense([SCHEMES["layer"]], part.networks, (32, 32), 32, part.eps, cpu)
    x, labels = load_digit_parts(cpu).train
    chosen = shuffle_mini_batches(part.networks, len(x), 1, 32)[0, 1]
    h = x[chosen]
    for weights in first.weights[:2]:
        norm = torch.nn.LayerNorm(32, eps=part.eps)
        torch.nn.init.constant_(norm.weight, 0.3)
        torch.nn.init.constant_(norm.bias, 2.0)
        h = torch.relu(norm(h @ weights[0, 1]))
    theirs = torch.nn.functional.cross_entropy(h @ first.weights[2][0, 1], labels[chosen])
    assert run_to_end(part)["losses"][0, FIRST_BIASES.index(2.0), 0, 1] == pytest.approx(theirs.item(), rel=1e-5)
