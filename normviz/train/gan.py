"""Generators and discriminators of points in a plane, of many schemes and seeds (Goodfellow et al. 2014).

The discriminators are normalized, the generators are not. A network's random numbers depend on its seed alone and are
the same for all schemes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from normviz.core.registry import Scheme
from normviz.train.learning import Trainer, sample_initial_weights
from normviz.train.norm import NormLayer, create_weight_norm
from normviz.train.optimizers import Adam

LATENT_SIZE = 8
"""The number of latent numbers z of a point, N(0, 1) each."""

GAN_BETAS = (0.5, 0.99)
"""Adam's β₁ and β₂. With the usual β₁ = 0.9 GANs oscillate (Radford et al. 2016); β₂ suits short trainings."""


class Generator:
    """Stack of generators of points in the plane from latent numbers z: two layers of ReLU units, a linear layer."""

    def __init__(self, schemes: int, seeds: Sequence[int], width: int, device: torch.device) -> None:
        self.weights, self.biases = _sample_layer_weights(schemes, seeds, (LATENT_SIZE, width, width, 2), 10, device)

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors, each (schemes, networks, …)."""
        return [*self.weights, *self.biases]

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return points (schemes, networks, N, 2) for z (networks, N, LATENT_SIZE)."""
        x = z
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = torch.relu(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]


class Discriminator:
    """Stack of discriminators of points in the plane: two layers ReLU(γ x̂ + β) of a = Wx, then a linear layer.

    A scheme on activations normalizes a of both layers. A scheme on weights normalizes W of all three: its bound for
    the whole network holds only then (Miyato et al. 2018). γ is learned if the scheme has one, and is 1 otherwise:
    after a spectral norm it would undo the bound. The first weights are N(0, 2/fan-in), drawn by the seed.
    """

    def __init__(self, schemes: Sequence[Scheme], seeds: Sequence[int], plan: "GanPlan", device: torch.device) -> None:
        sizes = (2, plan.width, plan.width, 1)
        self.weights, self.biases = _sample_layer_weights(len(schemes), seeds, sizes, 0, device)
        has = [scheme.gain is not None for scheme in schemes]
        last = [scheme.gain is not None and scheme.weight_part is not None for scheme in schemes]
        self.learned = [torch.tensor(each, device=device).view(-1, 1, 1, 1) for each in (has, has, last)]
        self.gains = [
            torch.ones_like(bias, requires_grad=True) if any(each) else None
            for bias, each in zip(self.biases, (has, has, last), strict=True)
        ]
        like, activations = self.weights[0], [scheme.activation_part for scheme in schemes]
        self.norms = [NormLayer(activations, (plan.batch, 1, 1, plan.width), plan.eps, like) for _ in range(2)]
        self.on_weights = [create_weight_norm(schemes, (1, 1, *shape), like) for shape in pairwise(sizes)]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors, each (schemes, networks, …)."""
        return [*self.weights, *self.biases, *(gain for gain in self.gains if gain is not None)]

    def normalize_weights(self) -> list[torch.Tensor]:
        """Return the weights of every layer, normalized in the networks whose scheme acts on weights."""
        normed = zip(self.on_weights, self.weights, strict=True)
        return [norm(w[:, :, None, None])[:, :, 0, 0] for norm, w in normed]

    def __call__(self, batches: torch.Tensor, used: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return logits (schemes, networks, mini-batches, N) of points (schemes, networks, mini-batches, N, 2).

        Each mini-batch has its own statistics, so that those of data and of generated points are not mixed.
        """
        count, x = batches.shape[2:4], batches.flatten(2, 3)
        for k, w in enumerate(used):
            x = x @ w
            if k < len(self.norms):
                x = self.norms[k](x.unflatten(2, count)[..., None, None, :]).flatten(2, 5)
            gain = self.gains[k]
            if gain is not None:
                x = torch.where(self.learned[k], gain, 1.0) * x
            x = x + self.biases[k]
            if k < len(self.norms):
                x = torch.relu(x)
        return x.squeeze(-1).unflatten(2, count)


@dataclass(frozen=True)
class GaussianMixture:
    """Mixture of Gaussians in the plane with equal weights.

    Attributes:
        centres: (modes, 2).
        deviation: σ of each Gaussian along both axes.
        scale: the factor of points in the input of a discriminator.
    """

    centres: np.ndarray
    deviation: float
    scale: float = 1.0

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Sample points (count, 2) from the mixture."""
        chosen = self.centres[rng.integers(len(self.centres), size=count)]
        return chosen + self.deviation * rng.standard_normal((count, 2), np.float32)


class GanPlan(NamedTuple):
    """Learning rates, data, sizes and ε that all networks of a `GanTraining` share.

    Attributes:
        rates: learning rates of Adam, of both networks.
        data: the mixture of the data points.
        width: units of each hidden layer.
        batch: points of a mini-batch.
        eps: ε of schemes on activations.
    """

    rates: Sequence[float]
    data: GaussianMixture
    width: int
    batch: int
    eps: float


class GanTraining:
    """Training of generators against discriminators, for every scheme, learning rate and seed.

    The discriminator learns to tell data from generated points, the generator to have its points taken for data. Both
    minimize a cross-entropy. The generator's is -log D(G(z)), whose gradient does not vanish when the discriminator is
    right. Networks are stacked by rate and then by seed; a seed has the same first weights, data and z at all rates.
    """

    def __init__(self, schemes: Sequence[Scheme], seeds: Sequence[int], plan: GanPlan, device: torch.device) -> None:
        self.data, self.batch, self.rates, self.device = plan.data, plan.batch, plan.rates, device
        networks = tuple(seeds) * len(plan.rates)
        self.generator = Generator(len(schemes), networks, plan.width, device)
        self.discriminator = Discriminator(schemes, networks, plan, device)
        adam, each = partial(Adam, betas=GAN_BETAS), np.repeat(plan.rates, len(seeds))[None]
        self._learners = [Trainer(one.parameters, adam, each) for one in (self.generator, self.discriminator)]
        self._draws = [np.random.default_rng([seed, 3]) for seed in seeds]

    def train_discriminator(self) -> torch.Tensor:
        """Take one optimizer step of the discriminators and return their losses (schemes, networks)."""
        with torch.no_grad():
            generated = self.generator(self._draw_latent())
            batches = torch.stack([self._sample_data().expand_as(generated), generated], 2)
        logits = self._score_batches(batches, self.discriminator.normalize_weights())
        signs = logits.new_tensor([-1.0, 1.0])[:, None]
        losses = torch.nn.functional.softplus(signs * logits).sum(2).mean(-1)
        self._learners[1].step(losses)
        return losses.detach()

    def train_generator(self) -> torch.Tensor:
        """Take one optimizer step of the generators and return their losses (schemes, networks)."""
        with torch.no_grad():
            used = self.discriminator.normalize_weights()
        logits = self._score_batches(self.generator(self._draw_latent())[:, :, None], used)
        losses = torch.nn.functional.softplus(-logits).mean((2, 3))
        self._learners[0].step(losses)
        return losses.detach()

    @torch.no_grad()
    def generate(self, z: torch.Tensor) -> torch.Tensor:
        """Generate points (schemes, networks, N, 2) from latent numbers z (seeds, N, LATENT_SIZE)."""
        return self.generator(self._repeat_at_all_rates(z))

    def _score_batches(self, batches: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.discriminator(self.data.scale * batches, weights)

    def _repeat_at_all_rates(self, drawn: torch.Tensor) -> torch.Tensor:
        """Repeat numbers drawn for each seed once per learning rate, (rates · seeds, N, …), on the device."""
        return drawn.to(self.device, torch.float32).repeat(len(self.rates), 1, 1)

    def _draw_latent(self) -> torch.Tensor:
        drawn = [rng.standard_normal((self.batch, LATENT_SIZE), np.float32) for rng in self._draws]
        return self._repeat_at_all_rates(torch.from_numpy(np.stack(drawn)))

    def _sample_data(self) -> torch.Tensor:
        """Sample a mini-batch of points (networks, N, 2) from the mixture."""
        return self._repeat_at_all_rates(
            torch.from_numpy(np.stack([self.data.sample(rng, self.batch) for rng in self._draws]))
        )


def sample_latent(seeds: Sequence[int], count: int, stream: int) -> torch.Tensor:
    """Sample latent numbers z (seeds, count, LATENT_SIZE) from N(0, 1), each seed from its random stream `stream`."""
    drawn = [np.random.default_rng([seed, stream]).standard_normal((count, LATENT_SIZE), np.float32) for seed in seeds]
    return torch.from_numpy(np.stack(drawn))


def _sample_layer_weights(
    schemes: int, seeds: Sequence[int], sizes: Sequence[int], first_stream: int, device: torch.device
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return lists of initial weights and biases of layers of these sizes, by random streams from the first one on."""
    drawn, biases = [], []
    for k, (into, out) in enumerate(pairwise(sizes), first_stream):
        drawn.append(
            sample_initial_weights(seeds, schemes, into, out, scale=(2 / into) ** 0.5, part=k)
            .to(device)
            .requires_grad_()
        )
        biases.append(torch.zeros(schemes, len(seeds), 1, out, device=device, requires_grad=True))
    return drawn, biases
