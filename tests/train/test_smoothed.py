import numpy as np
import pytest
import torch

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.train.dense import Dense
from normviz.train.learned_eps import LearnedEpsDense, LearnedEpsNorm
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.norm import NormLayer

CPU, SHAPE, FIRST = torch.device("cpu"), (8, 1, 1, 6), (0.3, 0.01, 2.0, 0.5)
KEYS = ("batch", "layer", "divisive", "rms")
LIKE = torch.zeros(1, dtype=torch.float64)


def layer(keys=KEYS, first=FIRST, networks=2):
    return LearnedEpsNorm([get_scheme(key, radius=2) for key in keys], SHAPE, first, networks, LIKE)


def drawn(*lead):
    return torch.from_numpy(np.random.default_rng(0).standard_normal((*lead, *SHAPE)))


def test_every_scheme_has_its_own_smoothing_term():
    norm, x = layer(), drawn(4, 2)
    xhat = norm(x)
    for k, (key, eps) in enumerate(zip(KEYS, FIRST, strict=True)):
        expected = normalize(x[k], get_scheme(key, radius=2), eps)
        torch.testing.assert_close(xhat[k], expected.xhat)
        torch.testing.assert_close(norm.size[k], expected.v.abs().mean((1, 2, 3, 4)))


@pytest.mark.parametrize("key", KEYS)
def test_the_derivative_by_the_smoothing_term_is_that_of_finite_differences(key):
    norm, x = layer((key,), (0.3,)), drawn(1, 2)
    weights = torch.from_numpy(np.random.default_rng(1).standard_normal(x.shape))
    by_network = (0, 2, 3, 4, 5)
    norm.root.requires_grad_()
    (by_root,) = torch.autograd.grad((norm(x) * weights).sum(), norm.root)
    step = 1e-5
    with torch.no_grad():
        norm.root += step
        above = (norm(x) * weights).sum(by_network)
        norm.root -= 2 * step
        below = (norm(x) * weights).sum(by_network)
    torch.testing.assert_close(by_root[0], (above - below) / (2 * step), rtol=1e-6, atol=1e-9)


def test_the_derivative_by_the_smoothing_term_is_a_sum_over_the_units():
    """∂L/∂s = −s Σ (∂L/∂x̂) v/σ³, as the source of the claim N03 would have it, with the sum that it leaves out."""
    norm, x = layer(("layer",), (0.3,), 1), drawn(1, 1)
    norm.root.requires_grad_()
    (by_root,) = torch.autograd.grad((norm(x) ** 3).sum(), norm.root)
    found = normalize(x[0], SCHEMES["layer"], 0.3)
    each = 3 * found.xhat**2 * found.v / found.deviation**3
    assert by_root.item() == pytest.approx(-(0.3**0.5) * each.sum().item())


def test_with_a_fixed_smoothing_term_it_is_the_dense_network():
    schemes, seeds = [get_scheme(key, radius=2) for key in KEYS], (5, 6)
    smoothed = LearnedEpsDense(schemes, seeds, (6, 6), 8, [1e-3] * 4, CPU, torch.float64)
    plain = Dense(schemes, seeds, (6, 6), 8, 1e-3, CPU, torch.float64)
    x = torch.from_numpy(np.random.default_rng(0).random((2, 16, 64)))
    labels = torch.arange(16).remainder(10).expand(2, 16)
    for network in (smoothed, plain):
        learner = Trainer(network.parameters, "sgd", 0.1)
        learner.step(cross_entropy(network.compute_logits(x[:, :8]), labels[:, :8]))
        network.compute_logits(x, NormLayer.collect_statistics)
    for ours, theirs in zip(smoothed.parameters, plain.parameters, strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        smoothed.compute_logits(x, NormLayer.normalize_in_inference),
        plain.compute_logits(x, NormLayer.normalize_in_inference),
    )


def test_a_step_with_a_learned_smoothing_term_is_that_of_torch_nn():
    """One network with batch norm, against PyTorch's functions with ε in the graph."""
    network = LearnedEpsDense([SCHEMES["layer"], SCHEMES["batch"]], (5, 6), (6,), 8, [0.5, 0.2], CPU, torch.float64)
    x = torch.from_numpy(np.random.default_rng(0).random((2, 8, 64)))
    labels = torch.arange(8).expand(2, 8)
    weights, out = (each[1, 1].clone().requires_grad_() for each in network.weights)
    eps = torch.tensor(0.2**0.5, dtype=torch.float64, requires_grad=True)
    a = x[1] @ weights
    h = torch.relu((a - a.mean(0)) / torch.sqrt(a.var(0, unbiased=False) + eps**2))
    penalty = 0.1 * (a - a.mean(0)).abs().mean()
    (torch.nn.functional.cross_entropy(h @ out, labels[1]) + penalty).backward()
    learner = Trainer([*network.parameters, *network.roots], "sgd", 0.3)
    logits = network.compute_logits(x)
    learner.step(cross_entropy(logits, labels) + 0.1 * network.measure_centred_magnitudes())
    torch.testing.assert_close(network.weights[0][1, 1], (weights - 0.3 * weights.grad).detach())
    torch.testing.assert_close(network.roots[0][1, 1], (eps - 0.3 * eps.grad).detach())


def test_a_field_of_ones_own_is_smoothed_too():
    field = Field.parse("full, full, full, groups(2)")
    scheme = SCHEMES["custom"].with_fields(None, field)
    norm, x = LearnedEpsNorm([scheme], SHAPE, [0.7], 1, LIKE), drawn(1, 1)
    torch.testing.assert_close(norm(x)[0], normalize(x[0], scheme, 0.7).xhat)
    norm.collect_statistics(x.repeat(1, 1, 3, 1, 1, 1))
    assert torch.isfinite(norm.normalize_in_inference(x)).all()


def test_for_inference_every_network_has_the_smoothing_term_that_it_has_learned():
    """Of several mini-batches, as many as there are networks and as there are not."""
    norm = layer()
    norm.root.add_(torch.from_numpy(np.random.default_rng(2).random((4, 2))))
    for batches in (2, 3):
        x = torch.cat([drawn(4, 2) * (k + 1) for k in range(batches)], dim=2)
        settled, inferred = norm.collect_statistics(x), norm.normalize_in_inference(x)
        for k, key in enumerate(KEYS):
            for n in range(2):
                scheme, eps = get_scheme(key, radius=2), norm.eps[k, n].item()
                each = [normalize(part, scheme, eps) for part in x[k, n].split(8)]
                torch.testing.assert_close(settled[k, n], torch.cat([found.xhat for found in each]))
                if key != "batch":
                    torch.testing.assert_close(inferred[k, n], settled[k, n])
                    continue
                mean = torch.stack([found.mean for found in each]).mean(0)
                variance = torch.stack([(found.deviation**2 - eps) * 8 / 7 for found in each]).mean(0)
                torch.testing.assert_close(inferred[k, n], (x[k, n] - mean) / torch.sqrt(variance + eps))
