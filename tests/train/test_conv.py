"""Convolutional networks of a stack against torch.nn."""

import numpy as np
import pytest
import torch
from torch import nn

from normviz.core.registry import SCHEMES, get_scheme
from normviz.train.conv import Conv, load_digit_pictures
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.norm import NormLayer

EPS = 1e-3
CPU = torch.device("cpu")
PADDED = ((6, 8, 8, 4), (6, 8, 8, 4))
SHRINKING = ((6, 6, 6, 4), (6, 4, 4, 4))
TORCH_PADDING_MODES = {"constant": "zeros", "reflect": "reflect"}

LAYERS = {
    "none": lambda n, h, w, c: nn.Identity(),
    "batch": lambda n, h, w, c: nn.BatchNorm2d(c, eps=EPS, affine=False, momentum=None),
    "layer": lambda n, h, w, c: nn.LayerNorm((c, h, w), eps=EPS, elementwise_affine=False),
    "instance": lambda n, h, w, c: nn.InstanceNorm2d(c, eps=EPS),
    "group": lambda n, h, w, c: nn.GroupNorm(2, c, eps=EPS, affine=False),
    "weight": lambda n, h, w, c: nn.Identity(),
}
"""Of torch.nn, without γ and β; γ is 1 and not learned where the scheme has none."""


class Plain(nn.Module):
    """One network with torch's own layers, which starts from the weights of one in a stack."""

    def __init__(self, network, key, scheme, seed, shapes):
        super().__init__()
        self.convs = nn.ModuleList()
        for w in network.weights:
            padding, mode = "same" if shapes is PADDED else 0, TORCH_PADDING_MODES[network.pad_mode]
            conv = nn.Conv2d(w.shape[-2], w.shape[-1], 3, padding=padding, bias=False, padding_mode=mode)
            conv.weight.data = w[scheme, seed].detach().permute(3, 2, 0, 1).clone()
            self.convs.append(conv)
        if key == "weight":
            self.convs = nn.ModuleList(nn.utils.parametrizations.weight_norm(conv, dim=0) for conv in self.convs)
            for conv in self.convs:
                conv.parametrizations.weight.original0.data.fill_(1)
                conv.parametrizations.weight.original0.requires_grad_(False)  # γ is behind it
        self.norms = nn.ModuleList(LAYERS[key](*shape) for shape in shapes)
        last = network.classifier[scheme, seed].detach()
        self.gains = nn.ParameterList(gain[scheme, seed].detach().permute(0, 3, 1, 2).clone() for gain in network.gains)
        self.gains.requires_grad_(SCHEMES[key].gain is not None)
        self.biases = nn.ParameterList(torch.zeros_like(gain) for gain in self.gains)
        self.classifier = nn.Linear(*last.shape)
        self.classifier.weight.data = last.T.clone()
        self.classifier.bias.data.zero_()

    def forward(self, x):
        x = x[:, None]
        for conv, norm, gain, bias in zip(self.convs, self.norms, self.gains, self.biases, strict=True):
            x = torch.relu(gain * norm(conv(x)) + bias)
        return self.classifier(x.permute(0, 2, 3, 1).flatten(1))


def stack(keys, shapes=PADDED, per_unit=False, seeds=(0, 7), pad_mode="constant"):
    return Conv([get_scheme(key, 2) for key in keys], seeds, shapes, per_unit, EPS, CPU, pad_mode)


@pytest.fixture
def batches():
    x, labels = load_digit_pictures(CPU).train
    return x[:12].view(2, 6, 8, 8), labels[:12].view(2, 6)


@pytest.mark.parametrize("per_unit", [False, True])
@pytest.mark.parametrize(("shapes", "pad_mode"), [(PADDED, "constant"), (PADDED, "reflect"), (SHRINKING, "constant")])
def test_every_network_learns_as_one_of_torch_nn_does(batches, shapes, pad_mode, per_unit):
    x, labels = batches
    network = stack(LAYERS, shapes, per_unit, pad_mode=pad_mode)
    plain = {(k, s): Plain(network, key, k, s, shapes) for k, key in enumerate(LAYERS) for s in range(2)}
    learner = Trainer(network.parameters, "momentum", 0.1)
    optimizers = {at: torch.optim.SGD(one.parameters(), 0.1, momentum=0.9) for at, one in plain.items()}
    for _ in range(3):
        logits = network.compute_logits(x)
        learner.step(cross_entropy(logits, labels))
        for (k, s), one in plain.items():
            torch.testing.assert_close(logits[k, s], one(x[s]), rtol=1e-3, atol=1e-4)
            optimizers[k, s].zero_grad()
            nn.functional.cross_entropy(one(x[s]), labels[s]).backward()
            optimizers[k, s].step()


def test_batch_norm_infers_as_torch_nn_does(batches):
    x, _ = batches
    network = stack(["batch"], seeds=(3,))
    one = Plain(network, "batch", 0, 0, PADDED)
    for batch in x:
        one(batch)
    network.compute_logits(x.flatten(0, 1)[None], NormLayer.collect_statistics)
    unseen = load_digit_pictures(CPU).test[0][:5]
    torch.testing.assert_close(
        network.compute_logits(unseen[None], NormLayer.normalize_in_inference)[0, 0],
        one.eval()(unseen),
        rtol=1e-4,
        atol=1e-5,
    )


def test_units_are_look_at_one_by_one(batches):
    network = stack(["batch", "layer"], SHRINKING)
    x = batches[0].flatten(0, 1)[None]
    summed, units = next(network.iterate_layers(x))
    logits, (look, _) = network.measure_responses(x, NormLayer.__call__)
    torch.testing.assert_close(logits, network.compute_logits(x))
    at = summed[1, 0, :, 2, 3]
    assert look.on[1, 0, 2, 3] == pytest.approx((units[1, 0, :, 2, 3] > 0).numpy().mean())
    assert look.deviation[1, 0, 2, 3] == pytest.approx(np.sqrt(at.numpy().var(0).mean()), rel=1e-5)


def test_a_network_learns_alike_alone_and_among_others(batches):
    x, labels = batches
    losses = {}
    for keys, seeds in ((["layer", "batch", "none"], (0, 7)), (["batch"], (7,))):
        network = stack(keys, seeds=seeds)
        learner = Trainer(network.parameters, "adam", 0.01)
        for _ in range(3):
            loss = cross_entropy(network.compute_logits(x[-len(seeds) :]), labels[-len(seeds) :])
            learner.step(loss)
        losses[len(keys)] = loss[keys.index("batch"), seeds.index(7)].item()
    assert losses[3] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("key", SCHEMES)
def test_every_scheme_learns(batches, key):
    x, labels = batches
    network = stack([key])
    learner = Trainer(network.parameters, "adam", 0.01)
    losses = []
    for _ in range(8):
        loss = cross_entropy(network.compute_logits(x), labels)
        learner.step(loss)
        losses.append(loss.detach().numpy())
    assert np.isfinite(losses).all()
    assert (losses[-1] < losses[0]).all()
