from itertools import pairwise

import numpy as np
import pytest
import torch

from normviz.core.registry import SCHEMES
from normviz.train.dense import Dense, return_unchanged
from normviz.train.dropout import Dropout
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.norm import NormLayer
from normviz.train.small_training_set import SmallTrainingSet

CPU = torch.device("cpu")
WIDTHS, BATCH, EPS = (6, 5), 8, 1e-5


def stack(keys, seeds=(3, 4), dtype=torch.float64):
    return Dense([SCHEMES[key] for key in keys], seeds, WIDTHS, BATCH, EPS, CPU, dtype)


class Plain(torch.nn.Module):
    """One network of a stack, as one writes it in PyTorch; batch norm where it is normalized."""

    def __init__(self, network, scheme, seed, batch_norm):
        super().__init__()
        sizes = [64, *WIDTHS, 10]
        self.linear = torch.nn.ModuleList(
            torch.nn.Linear(*pair, bias=False, dtype=torch.float64) for pair in pairwise(sizes)
        )
        layer = torch.nn.BatchNorm1d if batch_norm else torch.nn.LayerNorm
        self.norm = torch.nn.ModuleList(layer(width, eps=EPS, dtype=torch.float64) for width in WIDTHS)
        self.offset = torch.nn.Parameter(torch.zeros(10, dtype=torch.float64))
        for linear, weight in zip(self.linear, network.weights, strict=True):
            linear.weight.data = weight[scheme, seed].detach().mT.clone()

    def forward(self, x, masks):
        for linear, norm, mask in zip(self.linear, self.norm, masks, strict=False):
            x = torch.relu(norm(linear(x))) * mask
        return self.linear[-1](x) + self.offset


@pytest.mark.parametrize("key", ["batch", "layer"])
def test_a_step_with_dropout_is_that_of_torch_nn(key):
    network = stack(["none", key])
    few = SmallTrainingSet((3, 4), 16, BATCH, CPU)
    x, labels = next(few.iterate_batches(1))
    x = x.double()
    plain = Plain(network, 1, 0, key == "batch")
    masks = []

    def watched(outputs):
        dropped = dropout(outputs)
        masks.append(torch.where(outputs > 0, dropped / outputs, 0.0)[1, 0].detach())
        return dropped

    dropout = Dropout((3, 4), 0.5)
    learner = Trainer(network.parameters, "sgd", 0.5)
    losses = cross_entropy(network.compute_logits(x, transform=watched), labels)
    theirs = torch.nn.functional.cross_entropy(plain(x[0], masks), labels[0])
    assert {0.0, 2.0} == set(torch.stack([mask.max() for mask in masks] + [mask.min() for mask in masks]).tolist())
    torch.testing.assert_close(losses[1, 0], theirs)
    learner.step(losses)
    theirs.backward()
    for ours, linear in zip(network.weights, plain.linear, strict=True):
        torch.testing.assert_close(ours[1, 0], (linear.weight - 0.5 * linear.weight.grad).mT)
    torch.testing.assert_close(network.gains[0][1, 0, 0], plain.norm[0].weight - 0.5 * plain.norm[0].weight.grad)


def test_dropout_keeps_the_mean_and_draws_the_same_for_all_schemes_and_for_each_seed_alone():
    outputs = torch.ones(2, 2, 4000, 5)
    both = Dropout((3, 4), 0.3)(outputs)
    assert torch.equal(both[0], both[1])
    assert not torch.equal(both[0, 0], both[0, 1])
    assert torch.equal(Dropout((4,), 0.3)(outputs[:, :1])[:, 0], both[:, 1])
    assert both.mean().item() == pytest.approx(1, abs=0.02)
    assert (both == 0).double().mean().item() == pytest.approx(0.3, abs=0.01)
    assert torch.equal(Dropout((3, 4), np.array([0.0, 0.3]))(outputs), torch.stack([outputs[:, 0], both[:, 1]], 1))


def test_every_network_trains_on_digits_of_its_seed_and_no_other():
    few, alone = SmallTrainingSet((3, 4), 24, BATCH, CPU), SmallTrainingSet((4,), 24, BATCH, CPU)
    assert torch.equal(few.x[1], alone.x[0])
    assert not torch.equal(few.x[0], few.x[1])
    seen = [x[1] for x, _ in few.iterate_batches(3)]
    assert sorted(torch.cat(seen).sum(1).tolist()) == pytest.approx(sorted(few.x[1].sum(1).tolist()))
    for (x, labels), (theirs, answers) in zip(few.iterate_batches(2), alone.iterate_batches(2), strict=True):
        assert torch.equal(x[1], theirs[0])
        assert torch.equal(labels[1], answers[0])


def test_errors_are_those_of_the_kept_statistics():
    few, network = SmallTrainingSet((3, 4), 20, BATCH, CPU), stack(["batch", "layer"], dtype=torch.float32)
    found = few.measure_errors(network)
    seen, unseen = found["training"], found["test"]
    network.compute_logits(few.x[:, :16], NormLayer.collect_statistics)
    told = network.compute_logits(few.x, NormLayer.normalize_in_inference).argmax(-1)
    np.testing.assert_allclose(seen, (told != few.labels).float().mean(-1))
    assert unseen.shape == (2, 2)
    assert return_unchanged(few.x) is few.x


def test_a_network_is_validated_on_digits_that_it_does_not_train_on_with_their_own_labels():
    few = SmallTrainingSet((3, 4), 24, BATCH, CPU, relabelled=1.0)
    plain = SmallTrainingSet((3, 4), 24, BATCH, CPU)
    together = torch.cat([few.x, few.held_out], 1)
    everything = sorted(plain.x[0].sum(1).tolist() + plain.held_out[0].sum(1).tolist())
    assert together.shape[1] == 1347
    assert sorted(together[1].sum(1).tolist()) == everything
    assert torch.equal(few.held_out_labels, plain.held_out_labels)
    assert torch.equal(few.x, plain.x)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_labels_is_drawn_at_random_by_the_seed(share):
    few, plain = SmallTrainingSet((3, 4), 1000, BATCH, CPU, share), SmallTrainingSet((3, 4), 1000, BATCH, CPU)
    changed = (few.labels != plain.labels).double().mean().item()
    assert changed == pytest.approx(0.9 * share, abs=0.04)  # one in ten draws is the label itself
    assert torch.equal(SmallTrainingSet((4,), 1000, BATCH, CPU, share).labels[0], few.labels[1])
