"""Generators and discriminators of points in a plane, of many schemes and seeds (Goodfellow et al. 2014).

The discriminators are normalized, the generators are not. What a network draws is of its seed alone: the same for all
schemes.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from normviz.core.schemes import Scheme
from normviz.networks.learning import started
from normviz.networks.norm import Norm, weights

LATENT = 8
"""Numbers that a generator makes a point from, N(0, 1) each."""

BETAS = (0.5, 0.99)
"""Adam's for GANs: with the usual β₁ = 0.9 they oscillate (Radford et al. 2016); β₂ is that of short trainings."""


class Generator:
    """Points of numbers z: two layers of ReLU units, then a linear one."""

    def __init__(self, schemes: int, seeds: Sequence[int], width: int, device: torch.device) -> None:
        self.weights, self.biases = _layers(schemes, seeds, (LATENT, width, width, 2), 10, device)

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All that is learned."""
        return [*self.weights, *self.biases]

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Points (schemes, networks, N, 2) of z (networks, N, LATENT)."""
        x = z
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = torch.relu(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]


class Discriminator:
    """Logits that a point is one of the data: two layers a = Wx of ReLU(γ â + β), then a linear one.

    A scheme on activations gives the â of both layers; one on weights gives the W of all three, as what it says of the
    whole network holds only then (Miyato et al. 2018). γ is learned where the scheme has one, and stays 1 elsewhere:
    behind a spectral norm it would undo the bound.

    Args:
        schemes: by which a, or W, is normalized.
        seeds: of the first weights, N(0, 2/fan-in), one network each.
        width: units of the normalized layers.
        batch: points of a mini-batch.
        eps: ε on activations.
    """

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], width: int, batch: int, eps: float, device: torch.device
    ) -> None:
        sizes = (2, width, width, 1)
        self.weights, self.biases = _layers(len(schemes), seeds, sizes, 0, device)
        has = [scheme.gain is not None for scheme in schemes]
        last = [scheme.gain is not None and scheme.on_weights is not None for scheme in schemes]
        self.learned = [torch.tensor(each, device=device).view(-1, 1, 1, 1) for each in (has, has, last)]
        self.gains = [
            torch.ones_like(bias, requires_grad=True) if any(each) else None
            for bias, each in zip(self.biases, (has, has, last), strict=True)
        ]
        like, activations = self.weights[0], [scheme.on_activations for scheme in schemes]
        self.norms = [Norm(activations, (batch, 1, 1, width), eps, like) for _ in range(2)]
        self.on_weights = [weights(schemes, (1, 1, *shape), like) for shape in pairwise(sizes)]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All that is learned."""
        return [*self.weights, *self.biases, *(gain for gain in self.gains if gain is not None)]

    def used(self) -> list[torch.Tensor]:
        """The weights of the layers as they are used: normalized by the schemes that act on weights."""
        normed = zip(self.on_weights, self.weights, strict=True)
        return [norm(w[:, :, None, None])[:, :, 0, 0] for norm, w in normed]

    def __call__(self, batches: torch.Tensor, used: Sequence[torch.Tensor]) -> torch.Tensor:
        """Logits (schemes, networks, mini-batches, N) of points (schemes, networks, mini-batches, N, 2).

        Each mini-batch has statistics of its own: those of data are not mixed with those of a generator.
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


class Game:
    """A generator against a discriminator, for every scheme and seed, on points around the corners of a polygon.

    The discriminator learns to tell data from what is generated, the generator to be taken for data: both by the
    cross-entropy, the generator by -log D(G(z)), whose gradient does not vanish where it loses.

    Args:
        centres: of the Gaussians that the data are a mixture of, in equal shares, (modes, 2).
        deviation: σ of each of them.
        rate: of Adam, in both.
    """

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], centres: np.ndarray, deviation: float, width: int,
        batch: int, rate: float, eps: float, device: torch.device,
    ) -> None:  # fmt: skip
        self.centres, self.deviation, self.batch, self.device = centres, deviation, batch, device
        self.generator = Generator(len(schemes), seeds, width, device)
        self.discriminator = Discriminator(schemes, seeds, width, batch, eps, device)
        self._generates = torch.optim.Adam(self.generator.parameters, rate, BETAS, fused=True)
        self._tells = torch.optim.Adam(self.discriminator.parameters, rate, BETAS, fused=True)
        self._drawn = [np.random.default_rng([seed, 3]) for seed in seeds]
        self._shape = (len(schemes), len(seeds))

    def tell(self) -> torch.Tensor:
        """One step of the discriminators; their losses (schemes, networks)."""
        with torch.no_grad():
            made = self.generator(self._latent())
            batches = torch.stack([self._data().expand_as(made), made], 2)
        logits = self.discriminator(batches, self.discriminator.used())
        signs = logits.new_tensor([-1.0, 1.0])[:, None]
        losses = torch.nn.functional.softplus(signs * logits).sum(2).mean(-1)
        _step(self._tells, losses)
        return losses.detach()

    def generate(self) -> torch.Tensor:
        """One step of the generators; their losses (schemes, networks)."""
        with torch.no_grad():
            used = self.discriminator.used()
        logits = self.discriminator(self.generator(self._latent())[:, :, None], used)
        losses = torch.nn.functional.softplus(-logits).mean((2, 3))
        _step(self._generates, losses)
        return losses.detach()

    @torch.no_grad()
    def made(self, z: torch.Tensor) -> torch.Tensor:
        """What is generated of z, (schemes, networks, N, 2)."""
        return self.generator(z)

    def _latent(self) -> torch.Tensor:
        drawn = [rng.standard_normal((self.batch, LATENT), np.float32) for rng in self._drawn]
        return torch.from_numpy(np.stack(drawn)).to(self.device)

    def _data(self) -> torch.Tensor:
        """Points (networks, N, 2) of the mixture."""
        drawn = [
            self.centres[rng.integers(len(self.centres), size=self.batch)]
            + self.deviation * rng.standard_normal((self.batch, 2), np.float32)
            for rng in self._drawn
        ]
        return torch.from_numpy(np.stack(drawn)).to(self.device, torch.float32)


def kept(seeds: Sequence[int], count: int) -> torch.Tensor:
    """Latent numbers (networks, count, LATENT) to look at the generators by, the same at every time."""
    drawn = [np.random.default_rng([seed, 4]).standard_normal((count, LATENT), np.float32) for seed in seeds]
    return torch.from_numpy(np.stack(drawn))


def _layers(
    schemes: int, seeds: Sequence[int], sizes: Sequence[int], part: int, device: torch.device
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """First weights of layers of these sizes, and their biases, 0."""
    drawn, biases = [], []
    for k, (into, out) in enumerate(pairwise(sizes), part):
        drawn.append(started(seeds, schemes, into, out, scale=(2 / into) ** 0.5, part=k).to(device).requires_grad_())
        biases.append(torch.zeros(schemes, len(seeds), 1, out, device=device, requires_grad=True))
    return drawn, biases


def _step(optimizer: torch.optim.Adam, losses: torch.Tensor) -> None:
    """One step down the losses of all networks; their parameters alone get a gradient."""
    parameters = optimizer.param_groups[0]["params"]
    gradients = torch.autograd.grad(losses.sum(), parameters)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer.step()
