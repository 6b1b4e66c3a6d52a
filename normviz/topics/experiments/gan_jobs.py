"""Jobs of the experiment on GANs: the networks of one scheme, and how many modes of the data their samples cover."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.course import make_step, marks
from normviz.topics.experiments.scheme_job import SchemeJob

MODES, RADIUS = 8, 2.0
"""Number of Gaussians, and the distance of their centres from the origin."""

NEAR = 3.0
"""A sample is near a mode within this many σ of its centre, as 98.9% of the samples of that Gaussian are."""

LEAST, MOST = 0.2, 0.5
"""A mode is covered if two conditions hold. At least `LEAST` of its fair share, 1/`MODES`, of all samples are near it;
and more than `MOST` of all samples are near some mode. At σ = 0.1 that is 38% of the samples of a uniform ring."""

RATES = (0.001, 0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid, for generator and discriminator."""

WIDTH, BATCH = 32, 64
"""Units of each hidden layer; points of a mini-batch."""

POINTS, SAMPLES, DRAWN = 20, 1000, 100
"""Measurements in a training, samples of each, and how many of these are kept for the picture."""

ENDS = 3
"""Number of last measurements whose mean is the result at the end, as modes come and go."""

STREAMS = {"validation": 4, "near": 5}
"""Streams of random numbers of the samples that choose the learning rate, and of those that judge it."""


@dataclass(frozen=True)
class Part(SchemeJob):
    """The networks of one scheme at all learning rates, from all seeds, as one stack.

    Its result holds "validation" and "near", the shares of samples near each mode (measured, rates, seeds, modes), and
    "points" of the first seed (measured, rates, points, 2), rounded for the picture.

    Attributes:
        ahead: steps of the discriminator for each of the generator.
    """

    kind: ClassVar[str] = "experiments/gan"
    version: ClassVar[int] = 3

    ahead: int
    deviation: float
    scale: float

    @property
    def seconds(self) -> float:
        """The expected time; the decompositions of spectral norm and of whitening add to every step."""
        count, slow = len(RATES) * len(self.networks), self.row.scheme.kind.decomposes
        each = (1.1e-3 + 8e-5 * count) + slow * (4e-4 + 1.2e-4 * count)
        return self.length * (self.ahead + 1) * each

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train step by step of the generator."""
        from normviz.train.gan import GanTraining, GaussianMixture, draw_latent
        from normviz.train.learning import open_float32_device, to_numpy

        device = open_float32_device(self.device)
        data = GaussianMixture(centres(), self.deviation, self.scale)
        game = GanTraining([self.row.scheme], self.networks, RATES, data, WIDTH, BATCH, self.eps, device)
        latent = {name: draw_latent(self.networks, SAMPLES, stream) for name, stream in STREAMS.items()}
        marked = marks(self.length, POINTS)
        found: dict[str, list[np.ndarray]] = {name: [] for name in ("measured", "points", *STREAMS)}
        for step in range(1, self.length + 1):
            for _ in range(self.ahead):
                game.train_discriminator()
            game.train_generator()
            if step in marked:
                made = {
                    name: to_numpy(game.generate(z)[0]).reshape(len(RATES), len(self.networks), SAMPLES, 2)
                    for name, z in latent.items()
                }
                found["measured"].append(np.array(step))
                found["points"].append(made["near"][:, 0, :DRAWN].round(2))
                for name, each in made.items():
                    found[name].append(near(each, self.deviation))
            yield make_step(step / self.length, device, lambda: found)


def centres() -> np.ndarray:
    """Return the centres of the Gaussians (modes, 2)."""
    angles = 2 * np.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angles), np.sin(angles)], 1)


def near(points: np.ndarray, deviation: float) -> np.ndarray:
    """Return the shares of points within `NEAR` σ of each centre; points that are not finite are near none.

    Args:
        points: (…, N, 2).
        deviation: σ of each Gaussian.

    Returns:
        Shares (…, modes).
    """
    distances = np.linalg.norm(points[..., None, :] - centres(), axis=-1)
    return (distances <= NEAR * deviation).mean(-2)


def covered(shares: np.ndarray) -> np.ndarray:
    """Return the number of covered modes, by the conditions at `LEAST`.

    Args:
        shares: of the samples near each mode, (…, modes).

    Example:
        >>> covered(np.full(8, 0.04)), covered(np.full(8, 0.12))  # a smeared ring; eight modes
        (np.int64(0), np.int64(8))
    """
    return (shares >= LEAST / MODES).sum(-1) * (shares.sum(-1) > MOST)
