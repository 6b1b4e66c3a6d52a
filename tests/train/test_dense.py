"""Dense networks of a stack against torch.nn: each network of each scheme is a plain module that is trained alone."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from normviz.core.registry import SCHEMES, get_scheme
from normviz.data.digits import load_digit_split
from normviz.train.dense import Dense, load_digit_rows, trim_to_batches
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.norm import NormLayer

EPS, BATCH, WIDTHS, SEEDS, RATE = 1e-3, 16, (12, 8), (0, 7), 0.3

LAYERS = {
    "none": lambda width: nn.Identity(),
    "batch": lambda width: nn.BatchNorm1d(width, eps=EPS, affine=False, momentum=None, dtype=torch.float64),
    "layer": lambda width: nn.LayerNorm(width, eps=EPS, elementwise_affine=False),
    "group": lambda width: nn.GroupNorm(2, width, eps=EPS, affine=False),
    "rms": lambda width: nn.RMSNorm(width, eps=EPS, elementwise_affine=False),
    "weight": lambda width: nn.Identity(),
    "spectral": lambda width: nn.Identity(),
    "layer-weight": lambda width: nn.LayerNorm(width, eps=EPS, elementwise_affine=False),
}
"""Of torch.nn, without γ and β; γ is 1 and not learned where the scheme has none."""

KEYS = tuple(LAYERS)


def weight_norm(linear):
    linear = parametrizations.weight_norm(linear, dim=0)
    linear.parametrizations.weight.original0.data.fill_(1)
    linear.parametrizations.weight.original0.requires_grad_(False)  # γ stands behind it
    return linear


ON_WEIGHTS = {
    "weight": weight_norm,
    "layer-weight": weight_norm,
    "spectral": lambda linear: parametrizations.spectral_norm(linear, n_power_iterations=2000),
}


class Plain(nn.Module):
    """One network with torch's own layers, which starts from the weights of one in a stack."""

    def __init__(self, stack, key, scheme, network):
        super().__init__()
        *hidden, last = (weights[scheme, network].detach().clone() for weights in stack.weights)
        self.linears = nn.ModuleList(ON_WEIGHTS.get(key, nn.Identity())(linear(weights)) for weights in hidden)
        self.norms = nn.ModuleList(LAYERS[key](width) for width in WIDTHS)
        self.gains = nn.ParameterList(torch.ones(width, dtype=torch.float64) for width in WIDTHS)
        self.gains.requires_grad_(SCHEMES[key].gain is not None)
        self.biases = nn.ParameterList(torch.zeros(width, dtype=torch.float64) for width in WIDTHS)
        self.classifier = linear(last, bias=True)

    def forward(self, x):
        for layer, norm, gain, bias in zip(self.linears, self.norms, self.gains, self.biases, strict=True):
            x = torch.relu(gain * norm(layer(x)) + bias)
        return self.classifier(x)


def linear(weights, bias=False):
    made = nn.Linear(*weights.shape, bias=bias, dtype=torch.float64)
    made.weight.data = weights.T.clone()
    if bias:
        made.bias.data.zero_()
    return made


def stacked(keys=KEYS, seeds=SEEDS, dtype=torch.float64):
    return Dense([get_scheme(key, 2) for key in keys], seeds, WIDTHS, BATCH, EPS, torch.device("cpu"), dtype)


def examples(start=0, count=BATCH):
    x, labels = load_digit_rows(dtype=torch.float64)
    return x[start : start + count], labels[start : start + count]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("network", range(len(SEEDS)))
def test_two_steps_of_training_and_the_inference_behind_them_are_those_of_torch_nn(key, network):
    stack, place = stacked(), KEYS.index(key)
    plain, learner = Plain(stack, key, place, network), Trainer(stack.parameters, "sgd", RATE)
    optimizer = torch.optim.SGD((each for each in plain.parameters() if each.requires_grad), RATE)
    for step in range(2):
        x, labels = examples(step * BATCH)
        logits, theirs = stack.compute_logits(x[None]), plain(x)
        torch.testing.assert_close(logits[place, network], theirs, rtol=1e-6, atol=1e-8)
        optimizer.zero_grad()
        nn.functional.cross_entropy(theirs, labels).backward()
        optimizer.step()
        learner.step(cross_entropy(logits, labels))
    settling, unseen = examples(count=5 * BATCH)[0], examples(1000, 7)[0]
    stack.compute_logits(settling[None], NormLayer.collect_statistics)
    if key == "batch":
        plain.norms.apply(lambda each: each.reset_running_stats() if hasattr(each, "reset_running_stats") else None)
    for each in settling.split(BATCH):
        plain(each)
    torch.testing.assert_close(
        stack.compute_logits(unseen[None], NormLayer.normalize_in_inference)[place, network],
        plain.eval()(unseen),
        rtol=1e-6,
        atol=1e-8,
    )


def test_a_network_does_not_depend_on_what_is_trained_beside_it():
    together, alone = stacked(), stacked(("rms",), SEEDS[1:])
    x, labels = examples()
    for stack in (together, alone):
        learner = Trainer(stack.parameters, "adam", 0.01)
        for _ in range(3):
            learner.step(cross_entropy(stack.compute_logits(x[None]), labels))
    place = KEYS.index("rms")
    for mine, other in zip(together.parameters, alone.parameters, strict=True):
        torch.testing.assert_close(mine[place, 1], other[0, 0])


def test_every_network_has_its_own_mini_batch():
    stack = stacked(("none", "batch", "layer"))
    x = torch.stack([examples()[0], examples(BATCH)[0]])
    both = stack.compute_logits(x)
    for network in range(2):
        torch.testing.assert_close(both[:, network], stack.compute_logits(x[network][None])[:, network])


def test_all_schemes_start_from_the_same_weights_of_a_seed():
    stack, other = stacked(dtype=torch.float32), stacked(("batch",), (7,), torch.float32)
    for weights, same in zip(stack.weights, other.weights, strict=True):
        assert (weights == weights[:1]).all()
        assert torch.equal(weights[0, 1], same[0, 0])
    assert float(stack.weights[0].std()) == pytest.approx((2 / 64) ** 0.5, rel=0.1)


def test_everything_that_is_learned_has_a_slope():
    stack = stacked(("rms", "batch", "layer"))
    x, labels = examples()
    before = [each.clone() for each in stack.parameters]
    Trainer(stack.parameters, "sgd", 0.1).step(cross_entropy(stack.compute_logits(x[None]), labels))
    assert len(before) == 3 + 2 + 3
    for old, new in zip(before, stack.parameters, strict=True):
        assert (old != new).flatten(2).any(-1).all()


@pytest.mark.parametrize("key", SCHEMES)
def test_every_scheme_gives_numbers_in_training_and_in_inference(key):
    stack = stacked((key,), dtype=torch.float32)
    x, labels = (each.to(dtype) for each, dtype in zip(examples(), (torch.float32, torch.int64), strict=True))
    Trainer(stack.parameters, "adam", 0.01).step(cross_entropy(stack.compute_logits(x[None]), labels))
    for how in (NormLayer.collect_statistics, NormLayer.normalize_in_inference):
        assert stack.compute_logits(x[None], how).isfinite().all()


def test_digits_as_rows():
    x, labels = load_digit_rows(test=True)
    pictures, classes = load_digit_split(True)
    np.testing.assert_array_equal(x.numpy(), pictures.reshape(-1, 64).astype(np.float32))
    np.testing.assert_array_equal(labels.numpy(), classes)


@pytest.mark.parametrize(("count", "batch", "kept"), [(100, 8, 96), (96, 8, 96)])
def test_as_many_as_fill_mini_batches(count, batch, kept):
    x = torch.arange(3.0 * count).view(count, 3)
    assert torch.equal(trim_to_batches(x, batch), x[:kept])
    assert torch.equal(trim_to_batches(x[None], batch), x[None, :kept])
