"""Learning rate: what follows from made-up results, and a tiny run against networks that are trained one by one."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from normviz.data.digits import digits
from normviz.experiments.learning_rate import RATES, WIDTH, Part, Setting, parts, report
from normviz.jobs.spec import finish
from normviz.networks.learning import mini_batches, started

SETTING = Setting(seeds=4, schemes=("none", "batch", "layer"))
GRID = np.array(RATES["sgd"])


def made_up(*reached, setting=SETTING):
    """Results of networks that train up to these rates, one for all seeds or one each."""
    found = {}
    for part, rates in zip(parts(setting), reached, strict=True):
        errors = np.where(GRID[:, None] <= np.broadcast_to(rates, setting.seeds), 0.05, 0.9)[None]
        found[part] = {
            "losses": errors, "errors": errors, "measured": np.array([1]), "share": np.array(1.0),
            "device": np.array("CPU"),
        }  # fmt: skip
    return found


def verdict(*reached):
    return report(SETTING, made_up(*reached)).verdict


@pytest.mark.parametrize(
    ("reached", "word"),
    [
        ((0.1, 1, 0.3), "holds"),
        ((0.1, 1, 0.1), "holds-if"),
        ((0.1, 1, 0.03), "holds-if"),
        ((0.1, 1, 0), "holds-if"),
        ((0.1, 0.1, 0.1), "open"),
        ((0.1, 0.03, 0.1), "open"),
        ((0.1, 0.03, 0.01), "wrong"),
        ((0.1, 0, 0), "wrong"),
        ((0, 1, 0.3), "holds"),
        ((0, 0, 0), "open"),
        ((0, 0, 0.3), "holds-if"),
        ((0.1, [0.03, 0.3, 1, 0.03], [0.1, 0.3, 0.1, 0.03]), "open"),
    ],
)
def test_words(reached, word):
    assert verdict(*reached).word == word


def test_how_many_times_as_large():
    assert "batch norm (30 times, on average)" in verdict([0.1, 0.1, 0.1, 0.1], 3, 0.1).says
    assert "times" not in verdict([0, 0.1, 0.1, 0.1], 3, 0.1).says  # a rate below all that were tried is no number


def test_headline():
    shown = report(SETTING, made_up(0.1, 100, 0))
    assert shown.headline.endswith("100 or more (Batch), 0.1 (None), none of these (Layer).")
    assert {len(column) for column in shown.table.values()} == {len(GRID) * SETTING.seeds}


def test_with_and_without_are_needed_and_all_of_them():
    found = made_up(0.1, 1, 0.3)
    found.pop(parts(SETTING)[1])
    assert report(SETTING, found).verdict.word == "open"
    alone = replace(SETTING, schemes=("batch", "layer"))
    assert report(alone, made_up(1, 1, setting=alone)).verdict.word == "open"


def test_what_is_not_begun_is_not_in_the_map():
    found = made_up(0.1, 1, 0.3)
    found.pop(parts(SETTING)[1])
    heat = report(SETTING, found).figures[0].panels
    assert np.isnan(heat.values[1]).all()
    assert np.isfinite(heat.values[[0, 2]]).all()


def by_torch_nn(scheme, seed, rate, depth, batch, length):
    """The losses of one network, as a torch.nn module."""
    layer = {"none": nn.Identity, "batch": lambda: nn.BatchNorm1d(WIDTH), "layer": lambda: nn.LayerNorm(WIDTH)}[scheme]
    sizes = [64, *[WIDTH] * depth]
    blocks = [nn.Sequential(nn.Linear(i, o, bias=scheme == "none"), layer(), nn.ReLU()) for i, o in pairwise(sizes)]
    model = nn.Sequential(*blocks, nn.Linear(WIDTH, 10)).double()
    for part, linear in enumerate(each for each in model.modules() if isinstance(each, nn.Linear)):
        first = started([seed], 1, *linear.weight.T.shape, scale=(2 / linear.in_features) ** 0.5, part=part)
        linear.weight.data = first[0, 0].double().T.clone()
        if linear.bias is not None:
            linear.bias.data.zero_()
    optimizer = torch.optim.SGD(model.parameters(), rate)
    pictures, classes = digits()
    x, labels = torch.tensor(pictures.reshape(len(pictures), -1)), torch.tensor(classes)
    losses = []
    for (chosen,) in mini_batches([seed], len(x), length, batch):
        loss = nn.functional.cross_entropy(model(x[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("scheme", ["batch", "layer"])
def test_a_network_of_the_stack_is_one_that_is_trained_alone(scheme):
    row = Setting(schemes=(scheme,)).rows[0]
    found = finish(Part(row, (0.01, 0.1), (3, 8), "sgd", 2, 16, 8, 1e-5, "cpu"))
    for k, rate in enumerate((0.01, 0.1)):
        for j, seed in enumerate((3, 8)):
            losses = by_torch_nn(scheme, seed, rate, 2, 16, 8)
            marks = [0, *found["measured"]]
            means = [np.mean(losses[a:b]) for a, b in pairwise(marks)]
            np.testing.assert_allclose(found["losses"][:, k, j], means, rtol=1e-4)


def test_networks_that_diverge_leave_the_others_as_they_are():
    row = Setting(schemes=("none",)).rows[0]
    both = finish(Part(row, (0.1, 1e4), (0, 1), "sgd", 3, 16, 20, 1e-5, "cpu"))
    alone = finish(Part(row, (0.1,), (0, 1), "sgd", 3, 16, 20, 1e-5, "cpu"))
    assert (both["errors"][-1, 1] == 1).all()
    np.testing.assert_allclose(both["losses"][:, 0], alone["losses"][:, 0], rtol=1e-4)


@pytest.mark.parametrize("scheme", ["whitening", "spectral", "instance", "custom"])
def test_any_scheme_at_any_rate(scheme):
    setting = Setting(schemes=("none", scheme), seeds=2, steps=20, depth=1, batch=8)
    told = report(setting, {part: finish(part) for part in parts(setting)})
    assert told.verdict.word in ("holds", "holds-if", "wrong", "open")
