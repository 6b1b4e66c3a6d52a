"""Batch norm and dropout: with and without each, on so few digits that a network learns them by heart."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import real, whole
from normviz.core.text import typeset
from normviz.experiments.course import marks
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    comparing,
    paired,
    percent,
    spread,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
"""Of the outputs that are dropped: without dropout, and with ever more of it."""

WIDTHS = (64, 64)
"""Units of the normalized layers."""

BATCH = 32
"""Digits of a mini-batch."""

POINTS = 12
"""So many times during a training the errors are measured."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is trained with dropout and without."""

    seeds: int = whole(8, 2, 16, label="Networks of each kind", help="Each from a seed of its own; curves are bands.")
    schemes: tuple[str, ...] = comparing(("none", "batch"))
    share: float = real(0.5, 0.05, 0.9, label="Dropped share", stops=(0.1, 0.2, 0.3, 0.5, 0.7))
    digits: int = whole(200, BATCH, 1347, label="Digits to train on", stops=(50, 100, 200, 400, 1347), control="stops")
    steps: int = whole(300, 20, 1000, label="Steps", stops=(100, 200, 300, 500, 1000), control="stops")
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate (Adam)", stops=(0.0003, 0.001, 0.003, 0.01, 0.03))

    @property
    def shape(self) -> Shape:
        """Of the first normalized layer."""
        return BATCH, 1, 1, WIDTHS[0]


@dataclass(frozen=True)
class Part:
    """The networks of all schemes and seeds, with one share of dropout."""

    kind: ClassVar[str] = "experiments/dropout"
    version: ClassVar[int] = 3

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    share: float
    digits: int
    length: int
    rate: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A step of so many networks, and measuring them."""
        count = len(self.rows) * len(self.networks)
        return self.length * (2e-3 + 2e-4 * count) + POINTS * count * (7e-4 + 3e-6 * self.digits)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.dense import Dense
        from normviz.networks.dropout import Dropout
        from normviz.networks.few import Few
        from normviz.networks.learning import Learner, cross_entropy, device_of, device_words, numbers

        device = device_of(self.device)
        few = Few(self.networks, self.digits, BATCH, device)
        network = Dense([row.scheme for row in self.rows], self.networks, WIDTHS, BATCH, self.eps, device)
        learner, dropout = Learner(network.parameters, "adam", self.rate), Dropout(self.networks, self.share)
        found: list[tuple[int, np.ndarray, np.ndarray]] = []
        marked = marks(self.length, POINTS)
        for step, (x, labels) in enumerate(few.batches(self.length), 1):
            learner.step(cross_entropy(network.logits(x, between=dropout), labels))
            if step in marked:
                seen, unseen = few.errors(network, Dropout(self.networks, self.share))
                found.append((step, numbers(seen), numbers(unseen)))
            share = step / self.length
            yield Step(share, partial(_so_far, found, share, device_words(device)))


def _so_far(found: list[tuple[int, np.ndarray, np.ndarray]], share: float, device: str) -> Arrays:
    """Errors on the digits to train on, and on those to test on, (measured, schemes, networks)."""
    measured, seen, unseen = (np.array(each) for each in zip(*found, strict=True))
    return {"measured": measured, "seen": seen, "unseen": unseen, "share": np.array(share), "device": np.array(device)}


def parts(setting: Setting) -> list[Part]:
    """A part for every share; the one without dropout, and that of the setting, come first."""
    return [
        Part(
            setting.rows, setting.networks, share, setting.digits, setting.steps, setting.rate, setting.eps,
            setting.device,
        )
        for share in dict.fromkeys((0.0, setting.share, *SHARES))
    ]  # fmt: skip


def report(setting: Setting, results: Results) -> Report:
    """Curves with dropout and without, and the error at the end over the share that is dropped."""
    found = {part.share: results[part] for part in parts(setting) if part in results}
    ended = {share: each["unseen"][-1] for share, each in sorted(found.items()) if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    if found:
        panels = [
            Panel(
                row.scheme.label,
                [
                    Curve(_dropped(share), each["measured"], 100 * middle, look, 100 * low, 100 * high)
                    for look, (share, each) in enumerate((s, found[s]) for s in (0.0, setting.share) if s in found)
                    for middle, low, high in [spread(each["unseen"][:, k])]
                ],
                "step", "test error, %", "y",
            )
            for k, row in enumerate(setting.rows)
        ]  # fmt: skip
        figures.append(Shown("curves", panels, f"Test error by step. {_ends(setting, found)}", SEEDS))
    if len(ended) > 1:
        shares = np.array(list(ended))
        over = [
            Curve(label, shares, 100 * middle, k, 100 * low, 100 * high, points=True)
            for k, label in enumerate(setting.labels)
            for middle, low, high in [spread(np.stack([each[k] for each in ended.values()]))]
        ]
        panel = Panel("At the end, over the share that is dropped", over, "dropped share", "test error, %", "y")
        lowest = "; ".join(f"{c.name} {percent(c.y.min() / 100)} at {typeset(c.x[c.y.argmin()])}" for c in over)
        figures.append(Shown("shares", [panel], f"Test error at the end by dropped share; lowest: {lowest}.", SEEDS))
    table: dict[str, list[Any]] = {
        "dropped share": [share for share in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
    }
    for k, row in enumerate(setting.rows):
        table[row.key] = [float(each) for errors in ended.values() for each in errors[k]]
        table[f"{row.key}, digits to train on"] = [float(each) for s in ended for each in found[s]["seen"][-1][k]]
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, table)


SEEDS = "Lines are medians over the seeds, bands reach from the least to the largest."


def _dropped(share: float) -> str:
    return f"{share:.0%} dropped" if share else "no dropout"


def _ends(setting: Setting, found: dict[float, Arrays]) -> str:
    """The last medians in words."""
    ends = (
        f"{label}, {_dropped(share)}: {percent(np.median(found[share]['unseen'][-1][k]))}"
        for k, label in enumerate(setting.labels)
        for share in (0.0, setting.share)
        if share in found
    )
    return "; ".join(ends) + "."


def _headline(setting: Setting, ended: dict[float, np.ndarray]) -> str:
    """What dropout changes with every scheme."""
    if not {0.0, setting.share} <= set(ended):
        return ""
    each = (
        f"{label} {paired(ended[setting.share][k], ended[0.0][k]).said(100)}" for k, label in enumerate(setting.labels)
    )
    return f"Change of the test error where {setting.share:.0%} is dropped, in points: {', '.join(each)}."


def _verdict(setting: Setting, ended: dict[float, np.ndarray]) -> Verdict:
    """What dropout changes in the test error, paired by seed, and which is best of all."""
    if not {0.0, setting.share} <= set(ended):
        return Verdict("open", "The networks with dropout and without are not trained yet.")
    without, dropped = ended[0.0], ended[setting.share]
    said = []
    for k, row in enumerate(setting.rows):
        change = paired(dropped[k], without[k])
        effect = "within the noise of the seeds"
        if change.clear:
            effect = "which is better" if change.mean < 0 else "which is worse"
        with_or_not = "without normalization" if row.key == "none" else f"with {row.scheme.name}"
        said.append(f"{with_or_not} by {change.said(100)} points, {effect}")
    means = {(k, share): ended[share][k].mean() for k in range(len(setting.rows)) for share in (0.0, setting.share)}
    (k, share), lowest = min(means.items(), key=lambda each: each[1])
    return Verdict(
        "opinion",
        f"Dropping {setting.share:.0%} of the outputs changes the test error {'; '.join(said)}. The lowest mean is "
        f"{percent(lowest)}: {setting.labels[k]}, {_dropped(share)}.",
        f"Networks of {len(WIDTHS)} × {WIDTHS[0]} units, {setting.steps} steps on {setting.digits} digits; ± is the "
        f"95% interval over {setting.seeds} seeds. Dropout slows learning; longer training, or a larger network, which "
        "learns by heart more easily, may want what this one does not.",
    )


EXPERIMENT = Experiment(
    key="dropout",
    title="Batch norm and dropout",
    question="Can dropout go where there is batch norm?",
    claims=("B17",),
    claim="Batch norm fulfils some of the goals of dropout, which can then be removed or reduced (Ioffe & Szegedy "
    "2015, section 3.4).",
    about="Dense networks of two normalized layers of 64 units, trained with Adam on a part of the digits; dropout "
    "is behind every ReLU. The other digits test what they have learnt.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""The four combinations, and more or less of dropout."""
