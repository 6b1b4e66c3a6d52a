"""Dense networks at all rates and seeds, held against networks that are trained alone."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from repeated import assert_repeated
from torch import nn

from normviz.core.registry import SCHEMES
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.train import dense
from normviz.train.dense import Dense, load_digit_parts
from normviz.train.learning import sample_initial_weights, shuffle_mini_batches

CPU = torch.device("cpu")
WIDTH = 32


def grid(scheme, rates=(0.01, 0.1), seeds=(3, 8), depth=2, batch=16, length=8):
    return DenseGrid(
        rates, "sgd", (WIDTH,) * depth, batch,
        row=SchemeSpec.of(SCHEMES[scheme]), networks=seeds, length=length, eps=1e-5, device="cpu",
    )  # fmt: skip


def by_torch_nn(scheme, seed, rate, part):
    """Return the losses of one network and its validation and test errors, by a torch.nn module."""
    layer = {
        "none": nn.Identity, "batch": lambda: nn.BatchNorm1d(WIDTH, momentum=None), "layer": lambda: nn.LayerNorm(WIDTH)
    }[scheme]  # fmt: skip
    sizes = [64, *part.widths]
    blocks = [nn.Sequential(nn.Linear(i, o, bias=scheme == "none"), layer(), nn.ReLU()) for i, o in pairwise(sizes)]
    model = nn.Sequential(*blocks, nn.Linear(WIDTH, 10)).double()
    for k, linear in enumerate(each for each in model.modules() if isinstance(each, nn.Linear)):
        first = sample_initial_weights([seed], 1, *linear.weight.T.shape, scale=(2 / linear.in_features) ** 0.5, part=k)
        linear.weight.data = first[0, 0].double().T.clone()
        if linear.bias is not None:
            linear.bias.data.zero_()
    optimizer = torch.optim.SGD(model.parameters(), rate)
    digits = load_digit_parts(CPU)
    x, labels = digits.train[0].double(), digits.train[1]
    losses = []
    for (chosen,) in shuffle_mini_batches([seed], len(x), part.length, part.batch):
        loss = nn.functional.cross_entropy(model(x[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


@pytest.mark.parametrize("scheme", ["none", "batch", "layer"])
def test_a_network_of_the_stack_is_one_that_is_trained_alone(scheme):
    part = grid(scheme)
    found, digits = run_to_end(part), load_digit_parts(CPU)
    for k, rate in enumerate(part.rates):
        for j, seed in enumerate(part.networks):
            losses, model = by_torch_nn(scheme, seed, rate, part)
            means = [np.mean(losses[a:b]) for a, b in pairwise([0, *found["measured"]])]
            np.testing.assert_allclose(found["losses"][:, k, j], means, rtol=1e-4)
            if scheme == "batch":
                continue  # its statistics are means over mini-batches, not running averages
            model.eval()
            for name in ("validation", "test"):
                x, labels = getattr(digits, name)
                wrong = (model(x.double()).argmax(-1) != labels).double().mean().item()
                assert found[name][-1, k, j] == pytest.approx(wrong, abs=1e-3)


def test_the_network_without_normalization_has_no_gain():
    schemes = [SCHEMES["none"], SCHEMES["layer"]]
    network = Dense(schemes, (0,), (WIDTH,), 16, 1e-5, CPU)
    x = load_digit_parts(CPU).train[0][None, :16]
    before = network.compute_logits(x)
    with torch.no_grad():
        network.gains[0] *= 3
    after = network.compute_logits(x)
    torch.testing.assert_close(after[0], before[0], rtol=0, atol=0)
    assert not torch.allclose(after[1], before[1])


def test_weight_norm_starts_with_units_of_mean_0_and_variance_1():
    schemes = [SCHEMES["weight"], SCHEMES["none"], SCHEMES["batch"]]
    network = Dense(schemes, (0, 1), (WIDTH, WIDTH), 64, 1e-5, CPU)
    first = [gain.clone() for gain in network.gains]
    x = load_digit_parts(CPU).train[0][None, :64]
    network.initialize_from_data(x)
    norm = nn.functional.normalize(network.weights[0][0, 0], dim=0)
    a = network.gains[0][0, 0] * (x[0] @ norm) + network.biases[0][0, 0]
    torch.testing.assert_close(a.mean(0), torch.zeros(WIDTH), atol=1e-4, rtol=0)
    live = (x[0] @ norm).std(0) > 1e-2
    torch.testing.assert_close(a.std(0)[live], torch.ones(int(live.sum())), atol=1e-3, rtol=0)
    for gain, before in zip(network.gains, first, strict=True):
        assert torch.equal(gain[1:], before[1:])


def test_the_digits_are_in_three_parts_without_a_common_one():
    digits = load_digit_parts(CPU)
    seen = [{tuple(row.tolist()) for row in x} for x, _ in digits]
    assert [len(x) for x, _ in digits] == [898, 449, 450]
    assert not any(one & other for one, other in combinations(seen, 2))


def test_test_digits_change_nothing_but_the_test_errors(monkeypatch):
    real = run_to_end(grid("batch"))
    digits = load_digit_parts(CPU)
    spoiled = digits._replace(test=(digits.test[0].flip(0), digits.test[1]))
    monkeypatch.setattr(dense, "load_digit_parts", lambda device: spoiled)
    other = run_to_end(grid("batch"))
    assert not np.array_equal(other.pop("test"), real.pop("test"))
    assert_repeated(real, other)


def test_networks_that_diverge_leave_the_others_as_they_are():
    both = run_to_end(grid("none", (0.1, 1e4), (0, 1), 3, length=20))
    alone = run_to_end(grid("none", (0.1,), (0, 1), 3, length=20))
    assert (both["test"][-1, 1] == 1).all()
    np.testing.assert_allclose(both["losses"][:, 0], alone["losses"][:, 0], rtol=1e-4)


def test_it_tells_how_far_it_is_and_runs_again_the_same():
    part = grid("layer", length=12)
    seen = [step.result() for step in part.steps()]
    np.testing.assert_allclose([each["share"] for each in seen], np.arange(1, 13) / 12)
    assert seen[0]["test"].shape == seen[-1]["test"][:1].shape == (1, 2, 2)
    assert_repeated(seen[-1], run_to_end(part))
    alone = run_to_end(replace(part, rates=(0.1,), networks=(8,)))
    np.testing.assert_allclose(alone["losses"][:, 0, 0], seen[-1]["losses"][:, 1, 1], rtol=1e-4)


@pytest.mark.parametrize("scheme", ["whitening", "spectral", "instance", "custom"])
def test_any_scheme_at_any_rate(scheme):
    found = run_to_end(grid(scheme, (0.01, 100.0), depth=1, length=20))
    assert ((found["test"] >= 0) & (found["test"] <= 1)).all()
