"""What the experiment on convolutions trains."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.experiments.experiment import Arrays
from normviz.jobs.spec import Step

MARKS = 8
"""So many times during a training errors and statistics are measured."""

TESTED, SETTLED = 450, 256
"""Digits to test on, and those from which statistics for inference are taken."""


@dataclass(frozen=True)
class Part:
    """The networks of one scheme, of all seeds."""

    kind: ClassVar[str] = "experiments/convolution"
    version: ClassVar[int] = 3

    row: Row
    networks: tuple[int, ...]
    shapes: tuple[Shape, ...]
    per_unit: bool
    length: int
    rate: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """About 2 ms a step, and what the units of all digits cost; to look at a digit takes half of training on it."""
        batch, height, width, channels = self.shapes[0]
        digits = self.length * batch + (MARKS + 1) * (TESTED + SETTLED) / 2
        return self.length * 2e-3 + digits * len(self.networks) * height * width * channels * (2e-8 + 2e-9 * channels)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.conv import Conv, pictures
        from normviz.networks.dense import whole
        from normviz.networks.learning import (
            Learner,
            cross_entropy,
            device_of,
            device_words,
            error,
            mini_batches,
            numbers,
        )

        device = device_of(self.device)
        x, labels, unseen, answers = (each.to(device) for each in (*pictures(), *pictures(test=True)))
        batch = self.shapes[0][0]
        network = Conv([self.row.scheme], self.networks, self.shapes, self.per_unit, self.eps, device)
        learner = Learner(network.parameters, "adam", self.rate)
        losses: list[np.ndarray] = []
        errors: list[np.ndarray] = []
        measured: list[int] = []
        maps: dict[str, list[np.ndarray]] = {}

        def measure(step: int) -> None:
            network.settle(whole(x[:SETTLED], batch)[None])
            logits, looks = network.looked_at(unseen[None])
            for layer, look in enumerate(looks, 1):
                for name, values in look._asdict().items():
                    maps.setdefault(f"{name}-{layer}", []).append(numbers(values)[0])
            errors.append(numbers(error(logits, answers))[0])
            measured.append(step)

        marks = set(np.linspace(0, self.length, MARKS + 1).round().astype(int).tolist())
        measure(0)
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, batch), 1):
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss)[0])
            if step in marks:
                measure(step)
            share = step / self.length
            yield Step(share, partial(_so_far, losses, errors, measured, maps, share, device_words(device)))


def _so_far(
    losses: list[np.ndarray],
    errors: list[np.ndarray],
    measured: list[int],
    maps: dict[str, list[np.ndarray]],
    share: float,
    device: str,
) -> Arrays:
    """Losses (steps, networks); at the measured steps errors (…, networks), and by layer and position (…, networks, H,
    W) the share of units that are turned on, and of their summed inputs the mean and the standard deviation."""
    return {
        "losses": np.stack(losses),
        "errors": np.stack(errors),
        "measured": np.array(measured),
        **{name: np.stack(each) for name, each in maps.items()},
        "share": np.array(share),
        "device": np.array(device),
    }
