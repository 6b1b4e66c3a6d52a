"""The jobs of the experiment on recurrent networks: the training, the gradient at its start, and two layouts."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from normviz.core.rows import Row
from normviz.experiments.experiment import Arrays
from normviz.jobs.spec import Step

UNITS = 32
"""Of the state."""

PIXELS = 64
"""Of a digit."""

SCALES = tuple(2.0 ** (k / 2) for k in range(-4, 5))
"""By which the first weights are multiplied, 1/4 to 4."""

BACK = 24
"""Steps over which the gradient goes back before training."""

LAYOUTS = (
    Row("batch", "full,full,full,own", "full,full,full,own"),
    Row("custom", "full,own,full,full", "full,own,full,full"),
)
"""BatchNorm1d of all steps at once: as (B, C, T), which keeps the channels, and as (B, T, C), which keeps the steps."""

SETTLED = 512
"""Digits from which the statistics of `LAYOUTS` for inference are taken."""


def waits(most: int) -> range:
    """Empty steps ahead of the sequences that test what was trained on 0 to `most`."""
    return range(2 * most + 5)


@dataclass(frozen=True)
class Reading:
    """The networks of all schemes and seeds, trained on sequences of unequal length, and tested on longer ones."""

    kind: ClassVar[str] = "experiments/recurrent/reading"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    inputs: int
    wait: int
    batch: int
    length: int
    rate: float
    gain: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A time step of so many networks, forward and back."""
        count = len(self.rows) * len(self.networks)
        steps = PIXELS // self.inputs + self.wait
        tested = sum(PIXELS // self.inputs + wait for wait in waits(self.wait))
        return self.length * steps * (1e-3 + count * (1e-5 + 1e-6 * self.batch)) + 4e-4 * count * tested

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step, and then length by length."""
        from normviz.networks.dense import both
        from normviz.networks.learning import (
            Learner,
            cross_entropy,
            device_of,
            device_words,
            error,
            mini_batches,
            numbers,
        )
        from normviz.networks.recurrent import Recurrent, last, pooled, read, unequal

        device = device_of(self.device)
        x, labels, unseen, answers = both(device)
        ahead, still = unequal(self.batch, self.wait, PIXELS // self.inputs)
        schemes = [row.scheme for row in self.rows]
        network = Recurrent(schemes, self.networks, self.inputs, UNITS, still, 1.0, self.gain, self.eps, device)
        learner = Learner(network.parameters, "adam", self.rate)
        losses: list[np.ndarray] = []
        so_far = partial(_so_far, losses, device=device_words(device))
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, self.batch), 1):
            sequences = read(x[chosen], self.inputs, ahead, len(still)).unsqueeze(1)
            states = list(network.states(sequences, still))
            loss = cross_entropy(network.logits(last(states, still)), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss))
            yield Step(0.95 * step / self.length, partial(so_far, share=0.95 * step / self.length))

        whole = x[: len(x) // self.batch * self.batch].unflatten(0, (-1, self.batch))
        network.settle(read(whole, self.inputs, ahead, len(still))[None])
        kept = (network.norms, [pooled(network.norms)])  # by step, and one for all
        found: tuple[list[np.ndarray], ...] = ([], [])
        lengths = waits(self.wait)
        for wait in lengths:
            tested = read(unseen, self.inputs, [wait] * len(unseen), wait + PIXELS // self.inputs)
            for norms, errors in zip(kept, found, strict=True):
                network.norms = norms
                errors.append(numbers(error(network.told(tested), answers)))
            share = 0.95 + 0.04 * (wait + 1) / len(lengths)
            yield Step(share, partial(so_far, share=share))
        by_step, together = map(np.stack, found)
        yield Step(1.0, partial(so_far, share=1.0, by_step=by_step, together=together))


@dataclass(frozen=True)
class Back:
    """‖∂l/∂h_t‖ at the start, of the loss behind the last of `BACK` steps, for first weights times each of `SCALES`."""

    kind: ClassVar[str] = "experiments/recurrent/back"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    inputs: int
    batch: int
    gain: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A pass forward and back for each of the scales."""
        count = len(self.rows) * len(self.networks)
        return len(SCALES) * BACK * (5e-4 + count * (5e-6 + 4e-7 * self.batch))

    def steps(self) -> Iterator[Step[Arrays]]:
        """Scale by scale; every network reads digits behind each other, those of its first mini-batches."""
        from normviz.networks.dense import rows
        from normviz.networks.learning import device_of, device_words, mini_batches, numbers
        from normviz.networks.recurrent import Recurrent, read, way_back

        device = device_of(self.device)
        x, labels = (each.to(device) for each in rows())
        each = PIXELS // self.inputs
        order = mini_batches(self.networks, len(x), -(-BACK // each), self.batch)
        digits = read(x[order], self.inputs, [0] * self.batch, each)
        sequences = digits.permute(1, 2, 0, 3, 4).flatten(2, 3)[:, :, -BACK:]
        schemes, still = [row.scheme for row in self.rows], [self.batch] * BACK
        norms: list[np.ndarray] = []
        for k, scale in enumerate(SCALES, 1):
            network = Recurrent(schemes, self.networks, self.inputs, UNITS, still, scale, self.gain, self.eps, device)
            norms.append(numbers(way_back(network, sequences, labels[order[-1]])))
            yield Step(k / len(SCALES), partial(_so_far, norms, k / len(SCALES), device_words(device), "norms"))


@dataclass(frozen=True)
class Layouts:
    """Networks whose inputs' part is normalized over all steps at once, in each of `LAYOUTS`."""

    kind: ClassVar[str] = "experiments/recurrent/layouts"
    version: ClassVar[int] = 2

    networks: tuple[int, ...]
    inputs: int
    batch: int
    length: int
    rate: float
    gain: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A time step of so many networks, forward and back."""
        count = len(LAYOUTS) * len(self.networks)
        return self.length * PIXELS // self.inputs * (3e-4 + count * (5e-6 + 3e-7 * self.batch)) + 0.02 * count

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.dense import both
        from normviz.networks.learning import (
            Learner,
            cross_entropy,
            device_of,
            device_words,
            error,
            mini_batches,
            numbers,
        )
        from normviz.networks.recurrent import Recurrent, read

        device = device_of(self.device)
        x, labels, unseen, answers = both(device)
        x, unseen = (read(each, self.inputs, [0] * len(each), PIXELS // self.inputs) for each in (x, unseen))
        still = [self.batch] * x.shape[1]
        schemes = [row.scheme for row in LAYOUTS]
        network = Recurrent(
            schemes, self.networks, self.inputs, UNITS, still, 1.0, self.gain, self.eps, device, sequence=True
        )
        learner = Learner(network.parameters, "adam", self.rate)
        first = network.driven(x[None, None, : self.batch]) / self.gain
        spreads = numbers(first.std((2, 3)).sort(descending=True).values)
        losses: list[np.ndarray] = []
        so_far = partial(_so_far, losses, device=device_words(device), spreads=spreads)
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, self.batch), 1):
            *_, state = network.states(x[chosen].unsqueeze(1), still)
            loss = cross_entropy(network.logits(state), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss))
            yield Step(0.95 * step / self.length, partial(so_far, share=0.95 * step / self.length))
        network.settle(x[: SETTLED // self.batch * self.batch].unflatten(0, (-1, self.batch))[None])
        errors = numbers(error(network.told(unseen), answers))
        yield Step(1.0, partial(so_far, share=1.0, errors=errors))


def _so_far(series: list[np.ndarray], share: float, device: str, name: str = "losses", **more: np.ndarray) -> Arrays:
    return {name: np.stack(series), "share": np.array(share), "device": np.array(device), **more}
