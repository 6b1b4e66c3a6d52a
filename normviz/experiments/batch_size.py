"""Batch size: digits whose pixels are in no order, trained on few and on many at a time (Ba et al. 2016, figure 6)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import real, whole
from normviz.experiments.experiment import Arrays, Comparison, Experiment, Report, Results, Shown, Verdict, spread
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
"""Batch sizes that are compared."""

PAIR = (128, 4)
"""Those whose curves are shown, as in the figure."""

WIDTHS = (64, 64)
"""Units of the normalized layers."""

POINTS = 20
"""So many times during a training the test error is measured."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is compared over batch sizes."""

    steps: int = whole(300, 20, 2000, label="Steps", stops=(100, 200, 300, 500, 1000, 2000), control="stops")
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate (Adam)", stops=(0.0003, 0.001, 0.003, 0.01, 0.03))

    @property
    def shape(self) -> Shape:
        """Of the first normalized layer, at the larger of the two batch sizes whose curves are shown."""
        return max(PAIR), 1, 1, WIDTHS[0]


@dataclass(frozen=True)
class Part:
    """The networks of all schemes and seeds, trained on mini-batches of one size."""

    kind: ClassVar[str] = "experiments/batch-size"
    version: ClassVar[int] = 1

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    batch: int
    length: int
    rate: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """About 3 ms a step, and what the units of all examples cost."""
        count = len(self.rows) * len(self.networks)
        return self.length * (3e-3 + 1.5e-6 * count * self.batch)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.dense import Dense, rows, whole
        from normviz.networks.learning import (
            Learner,
            cross_entropy,
            device_of,
            device_words,
            error,
            mini_batches,
            numbers,
        )
        from normviz.networks.norm import Norm

        (x, labels), (unseen, answers) = rows(), rows(test=True)
        schemes = [row.scheme for row in self.rows]
        device = device_of(self.device)
        x, labels, unseen, answers = (each.to(device) for each in (x, labels, unseen, answers))
        network = Dense(schemes, self.networks, WIDTHS, self.batch, self.eps, device)
        learner = Learner(network.parameters, "adam", self.rate)
        losses: list[np.ndarray] = []
        errors: list[np.ndarray] = []
        measured: list[int] = []
        marks = set(np.unique(np.linspace(1, self.length, POINTS).round().astype(int)).tolist())
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, self.batch), 1):
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss))
            if step in marks:
                network.logits(whole(x, self.batch)[None], Norm.settle)
                errors.append(numbers(error(network.logits(unseen[None], Norm.infer), answers)))
                measured.append(step)
            yield Step(
                step / self.length, partial(_so_far, losses, errors, measured, step / self.length, device_words(device))
            )


def _so_far(
    losses: list[np.ndarray], errors: list[np.ndarray], measured: list[int], share: float, device: str
) -> Arrays:
    """Losses (steps, schemes, networks), and errors at the measured steps."""
    return {
        "losses": np.stack(losses),
        "errors": np.stack(errors) if errors else np.empty((0, *losses[0].shape)),
        "measured": np.array(measured),
        "share": np.array(share),
        "device": np.array(device),
    }


def parts(setting: Setting) -> list[Part]:
    """A part for every batch size; those whose curves are shown come first."""
    return [
        Part(setting.rows, setting.networks, size, setting.steps, setting.rate, setting.eps, setting.device)
        for size in dict.fromkeys((*PAIR, *SIZES))
    ]


def report(setting: Setting, results: Results) -> Report:
    """Curves at the two sizes of the figure, and the error at the end over all sizes."""
    found = {part.batch: results[part] for part in parts(setting) if part in results}
    ended = {size: each["errors"][-1] for size, each in sorted(found.items()) if each["share"] == 1}
    figures = []
    panels = [
        Panel(
            f"Batches of {size}",
            [
                Curve(label, found[size]["measured"], 100 * middle, k, 100 * low, 100 * high)
                for k, label in enumerate(setting.labels)
                for middle, low, high in [spread(found[size]["errors"][:, k])]
            ],
            "step", "test error, %", "y",
        )
        for size in PAIR
        if size in found and len(found[size]["errors"])
    ]  # fmt: skip
    if panels:
        figures.append(Shown("curves", panels, "Test error by step."))
    if ended:
        sizes = np.array(list(ended))
        over = [
            Curve(label, sizes, 100 * middle, k, 100 * low, 100 * high, points=True)
            for k, label in enumerate(setting.labels)
            for middle, low, high in [spread(np.stack([each[k] for each in ended.values()]))]
        ]
        panel = Panel("At the end, over the batch size", over, "batch size N", "test error, %", "xy", marks=SIZES)
        figures.append(Shown("sizes", [panel], "Test error at the end by batch size."))
    table: dict[str, list[Any]] = {
        "batch size": [size for size in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
    }
    for k, row in enumerate(setting.rows):
        table[row.key] = [float(each) for errors in ended.values() for each in errors[k]]
    return Report("…", figures, Verdict("open", "Not all batch sizes are trained yet."), table)


EXPERIMENT = Experiment(
    key="batch-size",
    title="Batch size",
    question="Who needs large batches?",
    claims=("B13", "B16"),
    claim="Batch norm needs a large batch, as its statistics are those of few examples otherwise; layer norm does not "
    "depend on it.",
    about="Dense networks of two normalized layers of 64 units on digits whose pixels are in no order, trained with "
    "Adam on mini-batches of 2 to 256.",
    setting=Setting,
    parts=parts,
    report=report,
)
