"""The job of the experiment on GANs: the networks of one scheme, and the modes of the data that their samples cover."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.training_history import choose_measured_steps, make_job_step

MODES, RADIUS = 8, 2.0
"""Number of Gaussians, and the distance of their centres from the origin."""

NEAR_SIGMAS = 3.0
"""A sample is near a mode within this many σ of its centre, as 98.9% of the samples of that Gaussian are."""

LEAST = 0.05
"""Share of all samples that are near a covered mode, at least. Of a uniform ring 4.8% are near each, at σ = 0.1."""

LEARNING_RATES = (0.003, 0.01)
"""Learning rates of Adam of the grid, for generator and discriminator. At 0.001 and 0.03 fewer modes are covered."""

WIDTH, BATCH = 32, 64
"""Units of each hidden layer; points of a mini-batch."""

MEASUREMENT_COUNT, SAMPLES, DRAWN = 20, 1000, 200
"""Measurements in a training, samples of each, and how many of the last ones are kept for the picture."""

SAMPLE_STREAMS = {"validation": 4, "near": 5}
"""Random streams of the samples that choose the learning rate, and of the samples that are counted."""


@dataclass(frozen=True)
class GanGrid(SchemeJob, kind="experiments/gan", version=4):
    """Job that trains the GANs of one scheme at all learning rates and from all seeds at once.

    Its result holds "validation" and "near", the shares of samples near each mode (measured, rates, seeds, modes), and
    the last measured "points" (rates, seeds, points, 2), rounded for the picture. `ahead`: steps of the discriminator
    for each of the generator.
    """

    ahead: int
    deviation: float
    scale: float

    @property
    def seconds(self) -> float:
        """Expected seconds; spectral norm and whitening add the time of their matrix decompositions."""
        count, slow = len(LEARNING_RATES) * len(self.networks), self.row.scheme.kind.decomposes
        each = (1.1e-3 + 8e-5 * count) + slow * (4e-4 + 1.2e-4 * count)
        return self.length * (self.ahead + 1) * each

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.gan import GanPlan, GanTraining, GaussianMixture, sample_latent
        from normviz.train.learning import open_float32_device, to_numpy

        device = open_float32_device(self.device)
        data = GaussianMixture(compute_mode_centres(), self.deviation, self.scale)
        plan = GanPlan(LEARNING_RATES, data, WIDTH, BATCH, self.eps)
        game = GanTraining([self.row.scheme], self.networks, plan, device)
        latent = {name: sample_latent(self.networks, SAMPLES, stream) for name, stream in SAMPLE_STREAMS.items()}
        marked = choose_measured_steps(self.length, MEASUREMENT_COUNT)
        found: dict[str, list[np.ndarray]] = {name: [] for name in ("measured", *SAMPLE_STREAMS)}
        points: dict[str, np.ndarray] = {}
        for step in range(1, self.length + 1):
            for _ in range(self.ahead):
                game.train_discriminator()
            game.train_generator()
            if step in marked:
                made = {
                    name: to_numpy(game.generate(z)[0]).reshape(len(LEARNING_RATES), len(self.networks), SAMPLES, 2)
                    for name, z in latent.items()
                }
                found["measured"].append(np.array(step))
                points["points"] = made["near"][:, :, :DRAWN].round(2)
                for name, each in made.items():
                    found[name].append(compute_near_shares(each, self.deviation))
            yield make_job_step(step / self.length, device, lambda: found | points)


def compute_mode_centres() -> np.ndarray:
    """Return the centres of the Gaussians, on a circle around 0, shape (modes, 2)."""
    angles = 2 * np.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angles), np.sin(angles)], 1)


def compute_near_shares(points: np.ndarray, deviation: float) -> np.ndarray:
    """Return the share of points within `NEAR_SIGMAS` deviations of each centre: (…, N, 2) -> (…, modes).

    NaN and Inf are near none.
    """
    distances = np.linalg.norm(points[..., None, :] - compute_mode_centres(), axis=-1)
    return (distances <= NEAR_SIGMAS * deviation).mean(-2)


def count_covered_modes(shares: np.ndarray) -> np.ndarray:
    """Return the number of modes near which are at least `LEAST` of all samples, from the shares near each, (…, modes).

    Example:
        >>> count_covered_modes(np.full(8, 0.04)), count_covered_modes(np.full(8, 0.12))  # a smeared ring; eight modes
        (np.int64(0), np.int64(8))
    """
    return (shares >= LEAST).sum(-1)
