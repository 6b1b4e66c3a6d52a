"""One generator and its discriminator of the stack, against modules of torch that play the same game."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from normviz.core.registry import get_scheme
from normviz.train.gan import GAN_BETAS, LATENT_SIZE, GanPlan, GanTraining, GaussianMixture

WIDTH, BATCH, EPS, RATE = 8, 6, 1e-5, 0.01
CENTRES = np.array([[1.0, 0.0], [-1.0, 0.5]])
NORMS = {
    "none": nn.Identity,
    "spectral": nn.Identity,
    "batch": lambda: nn.BatchNorm1d(WIDTH, EPS),
    "layer": lambda: nn.LayerNorm(WIDTH, EPS),
    "group": lambda: nn.GroupNorm(2, WIDTH, EPS),
}


def game(keys, seeds=(0, 1), rates=(RATE,)):
    schemes = [get_scheme(key, 2) for key in keys]
    plan = GanPlan(rates, GaussianMixture(CENTRES, 0.1), WIDTH, BATCH, EPS)
    return GanTraining(schemes, seeds, plan, torch.device("cpu"))


def modules(played, key, scheme, network):
    """The two networks at one place of the stack as torch writes them, with the same numbers."""

    def linear(layers, k):
        layer = nn.Linear(*layers.weights[k].shape[2:])
        layer.weight.data = layers.weights[k][scheme, network].detach().T.clone()
        layer.bias.data = layers.biases[k][scheme, network, 0].detach().clone()
        return layer

    makes = [linear(played.generator, k) for k in range(3)]
    generator = nn.Sequential(makes[0], nn.ReLU(), makes[1], nn.ReLU(), makes[2])
    tells = [linear(played.discriminator, k) for k in range(3)]
    if key == "spectral":
        tells = [spectral_norm(layer, n_power_iterations=200) for layer in tells]
    norms = [NORMS[key]() for _ in range(2)]
    if key not in ("none", "spectral"):
        tells[0].bias = tells[1].bias = None  # the layer's norm has one
    discriminator = nn.Sequential(tells[0], norms[0], nn.ReLU(), tells[1], norms[1], nn.ReLU(), tells[2])
    return generator, discriminator


@pytest.mark.parametrize("key", NORMS)
def test_a_game_is_that_of_torchs_modules(key):
    played = game(("layer", key), (0, 3))
    generator, discriminator = modules(played, key, 1, 1)
    drawn = np.random.default_rng([3, 3])
    cross, optimizers = nn.BCEWithLogitsLoss(), []
    for network in (generator, discriminator):
        optimizers.append(torch.optim.Adam(network.parameters(), RATE, GAN_BETAS))
    for _ in range(3):
        z = torch.from_numpy(drawn.standard_normal((BATCH, LATENT_SIZE), np.float32))
        chosen = CENTRES[drawn.integers(2, size=BATCH)]
        data = torch.tensor(chosen + 0.1 * drawn.standard_normal((BATCH, 2), np.float32), dtype=torch.float32)
        right, wrong = discriminator(data), discriminator(generator(z).detach())
        loss = cross(right, torch.ones_like(right)) + cross(wrong, torch.zeros_like(wrong))
        assert played.train_discriminator()[1, 1].item() == pytest.approx(loss.item(), rel=1e-4)
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()
        taken = discriminator(generator(torch.from_numpy(drawn.standard_normal((BATCH, LATENT_SIZE), np.float32))))
        loss = cross(taken, torch.ones_like(taken))
        assert played.train_generator()[1, 1].item() == pytest.approx(loss.item(), rel=1e-4)
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
    z = torch.randn(1, 5, LATENT_SIZE, generator=torch.Generator().manual_seed(0))
    made, wanted = played.generate(z.expand(2, -1, -1))[1, 1], generator(z[0])
    if key == "batch":  # it does not see where points are as a whole: of the last bias the gradient is rounding alone
        made, wanted = made - made.mean(0), wanted - wanted.mean(0)
    torch.testing.assert_close(made, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("key", ["spectral", "weight", "layer-weight", "rms", "whitening", "divisive"])
def test_only_schemes_with_a_gain_learn_one(key):
    scheme = get_scheme(key, 2)
    played = game((key, "layer"))
    for _ in range(3):
        played.train_discriminator()
        played.train_generator()
    used = [None if gain is None else gain[0].detach() for gain in played.discriminator.gains]
    learns = [gain is not None and bool((gain != 1).any()) for gain in used]
    assert learns == [scheme.gain is not None] * 2 + [scheme.gain is not None and scheme.weight_part is not None]


def test_a_spectral_discriminator_is_no_steeper_than_one():
    played = game(("none", "spectral"))
    for _ in range(20):
        played.train_discriminator()
        played.train_generator()
    used = [w.detach() for w in played.discriminator.normalize_weights()]
    points = torch.randn(1, 2, 1, 400, 2, generator=torch.Generator().manual_seed(1), requires_grad=True)
    logits = played.discriminator(points.expand(2, -1, -1, -1, -1), used)
    steepest = [torch.autograd.grad(logits[k].sum(), points, retain_graph=True)[0].norm(dim=-1).max() for k in (0, 1)]
    assert steepest[1] <= 1 + 1e-5
    assert steepest[0] > 1


def test_a_discriminator_sees_data_and_generated_points_as_two_mini_batches():
    tells = game(("batch",)).discriminator
    a, b = torch.randn(2, 1, 2, 1, BATCH, 2, generator=torch.Generator().manual_seed(2))
    used = tells.normalize_weights()
    torch.testing.assert_close(tells(torch.cat([a, b], 2), used), torch.cat([tells(a, used), tells(b, used)], 2))


def test_networks_at_several_rates_are_those_at_each_rate_alone():
    stacked, alone = game(("spectral",), rates=(0.001, RATE)), game(("spectral",))
    for played in (stacked, alone):
        for _ in range(3):
            played.train_discriminator()
            played.train_generator()
    z = torch.randn(2, 5, LATENT_SIZE, generator=torch.Generator().manual_seed(0))
    low, high = stacked.generate(z)[0].chunk(2)
    torch.testing.assert_close(high, alone.generate(z)[0], rtol=1e-4, atol=1e-5)
    assert (low - high).abs().max() > 1e-3


def test_a_discriminator_reads_scaled_points():
    played = game(("spectral",))
    points = torch.randn(1, 2, 1, BATCH, 2, generator=torch.Generator().manual_seed(3))
    used = played.discriminator.normalize_weights()
    played.data = GaussianMixture(CENTRES, 0.1, scale=5.0)
    torch.testing.assert_close(played._score_batches(points, used), played.discriminator(5 * points, used))
