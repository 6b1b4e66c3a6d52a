"""The jobs of the experiment on placement: trainings, gradients at the start, and a long residual chain."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from normviz.core.rows import Row
from normviz.experiments.experiment import Arrays
from normviz.jobs.spec import Step

WIDTH, HEADS = 16, 2
"""Channels of a token, and heads of attention."""

CHAIN_WIDTH, CHAIN_BATCH = 64, 32
"""Channels of a token in the chain, where chance should decide little, and digits."""

TRAINED = ("post", "pre", "peri")
"""Placements that are trained; the first is what the claim is about, and it is held against the second."""

PLACEMENTS = ("none", *TRAINED)
"""Those that are looked at before training."""

SETTLED = 256
"""Digits from which statistics for inference are taken."""


@dataclass(frozen=True)
class Training:
    """Networks of all placements and seeds, each with a warm-up of the learning rate and without."""

    kind: ClassVar[str] = "experiments/placement/training"
    version: ClassVar[int] = 1

    row: Row
    networks: tuple[int, ...]
    layers: int
    batch: int
    length: int
    warm: int
    rate: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A step of so many networks and layers, and telling all digits at the end."""
        count = 2 * len(TRAINED) * len(self.networks)
        return self.layers * count * (self.length * (5e-5 + 2.2e-5 * self.batch) + 1e-2)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step. The first axis of the results: every placement with a warm-up, then without."""
        from normviz.networks.learning import Learner, cross_entropy, device_words, error, mini_batches, numbers
        from normviz.networks.transformer import Transformer, tokens

        device, (x, labels), (unseen, answers) = tokens(self.device)
        placements = [placement for placement in TRAINED for _ in range(2)]
        network = Transformer(
            placements, self.row.scheme, self.networks, self.layers, WIDTH, HEADS, self.batch, self.eps, device
        )
        learner = Learner(network.parameters, "adam", self.rate)
        losses: list[np.ndarray] = []
        so_far = partial(_so_far, losses, device_words(device))
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, self.batch), 1):
            share = x.new_tensor([min(step / self.warm, 1.0), 1.0] * len(TRAINED))[:, None]
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss, share)
            losses.append(numbers(loss))
            yield Step(0.9 * step / self.length, partial(so_far, share=0.9 * step / self.length))
        network.settle(x[None, : SETTLED // self.batch * self.batch])
        errors = numbers(error(network.told(unseen[None]), answers))
        yield Step(1.0, partial(so_far, share=1.0, errors=errors))


@dataclass(frozen=True)
class Start:
    """‖∂l/∂W‖ of the last matrix of every branch, before training."""

    kind: ClassVar[str] = "experiments/placement/start"
    version: ClassVar[int] = 1

    row: Row
    networks: tuple[int, ...]
    layers: int
    batch: int
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A pass forward and back for each of a few mini-batches."""
        return 0.05 + SETTLED * self.layers * len(PLACEMENTS) * len(self.networks) * 1.5e-5

    def steps(self) -> Iterator[Step[Arrays]]:
        """Mini-batch by mini-batch, in the mean."""
        from normviz.networks.learning import device_words, mini_batches, numbers
        from normviz.networks.transformer import Transformer, tokens

        device, (x, labels), _ = tokens(self.device)
        network = Transformer(
            PLACEMENTS, self.row.scheme, self.networks, self.layers, WIDTH, HEADS, self.batch, self.eps, device
        )
        norms: list[np.ndarray] = []
        count = SETTLED // self.batch
        for step, chosen in enumerate(mini_batches(self.networks, len(x), count, self.batch), 1):
            norms.append(numbers(network.gradients(x[chosen], labels[chosen])))
            yield Step(step / count, partial(_so_far, norms, device_words(device), step / count, "norms"))


@dataclass(frozen=True)
class Chain:
    """The mean square of the stream along a chain of residual branches of ReLU units, before training."""

    kind: ClassVar[str] = "experiments/placement/chain"
    version: ClassVar[int] = 1

    row: Row
    networks: tuple[int, ...]
    pairs: int
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A pass forward."""
        return 0.05 + self.pairs * len(PLACEMENTS) * len(self.networks) * 1.5e-3

    def steps(self) -> Iterator[Step[Arrays]]:
        """Network by network."""
        from normviz.networks.learning import device_words, numbers
        from normviz.networks.transformer import Transformer, tokens

        device, (x, _), _ = tokens(self.device)
        squares: list[np.ndarray] = []
        for step, seed in enumerate(self.networks, 1):
            network = Transformer(
                PLACEMENTS, self.row.scheme, [seed], self.pairs, CHAIN_WIDTH, 1, CHAIN_BATCH, self.eps, device,
                attention=False,
            )  # fmt: skip
            squares.append(numbers(network.mean_squares(x[None, :CHAIN_BATCH])[..., 0]))
            share = step / len(self.networks)
            yield Step(share, partial(_so_far, squares, device_words(device), share, "squares"))


def _so_far(series: list[np.ndarray], device: str, share: float, name: str = "losses", **more: np.ndarray) -> Arrays:
    return {name: np.stack(series), "share": np.array(share), "device": np.array(device), **more}
