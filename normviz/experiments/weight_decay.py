"""Weight decay where a layer does not see the length of its weights: twins with and without it, step by step.

The panel on the effective learning rate, on the page on geometry, has the closed form of the schedule, and what the
lengths do; here the rate is that of the lengths as they are measured, for any scheme and over seeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import real, whole
from normviz.core.text import typeset
from normviz.core.theory import predict
from normviz.core.tolerances import ROUNDING
from normviz.core.transformations import TRANSFORMATIONS
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    comparing,
    spread,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

WIDTHS = (32, 32)
"""Units of the normalized layers."""

BATCH = 64
"""Digits of a mini-batch."""

RUNS = ("weight decay", "no decay, same rate", "no decay, matched rate", "one rounding")
"""The twins; the last has weight decay, and starts from weights that are longer by one rounding."""
DECAYED, PLAIN, MATCHED, ROUNDED = range(4)

SAME = 1e-9
"""Losses that differ by no more than this, relatively, are those of one function in float64."""

MARGIN = 1000
"""A gap may be so many times that of the twin that is off by one rounding, and still be what rounding does."""

FLOOR = 2.0**-56
"""Where a gap of 0 stands on a logarithmic axis."""

POINTS = 200
"""So many points of a curve are shown."""

SMOOTHED = 20
"""Mini-batches over which a loss is averaged in its curve."""


@dataclass(frozen=True)
class Setting(Comparison):
    """How the twins are trained."""

    schemes: tuple[str, ...] = comparing(("none", "batch", "layer"))
    eps: float = real(0.0, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    rate: float = real(0.1, 1e-3, 1.0, label="Learning rate η (SGD)", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    decay: float = real(
        0.05, 1e-4, 0.1, label="Weight decay λ", symbol="λ", stops=(0.001, 0.003, 0.01, 0.03, 0.05, 0.1)
    )
    steps: int = whole(200, 20, 1000, label="Steps", stops=(50, 100, 200, 300, 500, 1000), control="stops")

    @property
    def shape(self) -> Shape:
        """Of the normalized layers."""
        return BATCH, 1, 1, WIDTHS[0]


@dataclass(frozen=True)
class Part:
    """The twins of one scheme."""

    kind: ClassVar[str] = "experiments/weight-decay"
    version: ClassVar[int] = 2

    row: Row
    networks: tuple[int, ...]
    length: int
    rate: float
    decay: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """By the step and the network."""
        return self.length * (2e-3 + 2.5e-4 * len(RUNS) * len(self.networks))

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step: w ← w − η (∂l/∂w + λw), and its twins."""
        from normviz.networks.dense import EXACT, Dense, rows
        from normviz.networks.learning import Learner, cross_entropy, device_of, device_words, mini_batches, numbers

        device = device_of(self.device)
        x, labels = (each.to(device) for each in rows(dtype=EXACT))
        network = Dense(
            [self.row.scheme] * len(RUNS), self.networks, WIDTHS, BATCH, self.eps, device, EXACT
        )  # fmt: skip
        normalized = network.weights[: len(WIDTHS)]
        for weights in normalized:
            weights[ROUNDED] *= 1 + ROUNDING["float64"]
        decays = x.new_tensor([self.decay, 0.0, 0.0, self.decay])[:, None]
        rates = [x.new_full((len(RUNS), len(self.networks)), self.rate) for _ in network.parameters]
        learner = Learner(network.parameters, "sgd", rates)
        losses: list[np.ndarray] = []
        effective: list[np.ndarray] = []
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, BATCH), 1):
            squares = [weights.detach().square().sum((-2, -1)) for weights in normalized]
            for rate, square in zip(rates, squares, strict=False):
                rate[MATCHED] = self.rate / (1 - self.rate * self.decay) * square[MATCHED] / square[DECAYED]
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            penalty = sum(weights.square().sum((-2, -1)) for weights in normalized)
            learner.step(loss + decays / 2 * penalty)
            losses.append(numbers(loss))
            effective.append(numbers(rates[0] / squares[0]))
            share = step / self.length
            yield Step(share, partial(_so_far, losses, effective, share, device_words(device)))


def _so_far(losses: list[np.ndarray], effective: list[np.ndarray], share: float, device: str) -> Arrays:
    """The losses, and η/‖W‖² of the first layer, (steps, twins, networks)."""
    return {
        "losses": np.stack(losses),
        "effective": np.stack(effective),
        "share": np.array(share),
        "device": np.array(device),
    }


def parts(setting: Setting) -> list[Part]:
    """A part for every scheme."""
    rest = (setting.steps, setting.rate, setting.decay, setting.eps, setting.device)
    return [Part(row, setting.networks, *rest) for row in setting.rows]


class Gaps(NamedTuple):
    """How far the losses of the twins come from those with weight decay, relatively; the largest of all steps.

    `plain`: at the same learning rate, of the seed that comes least away; `matched`: at the one that fits, of the seed
    that comes furthest; `rounded`: of the one that is off by one rounding, which shows what training makes of it.
    """

    plain: float
    matched: float
    rounded: float

    @property
    def says(self) -> Literal["same", "apart", "rounding", "nothing", "diverged"]:
        """Whether the matched twin is the same function, or is not; or nothing can be told: what rounding does is as
        much, weight decay changes nothing in these networks, or they diverge."""
        if not np.isfinite(self.rounded):
            return "diverged"
        if self.matched <= SAME:
            return "same" if self.plain > 100 * max(self.matched, ROUNDING["float64"]) else "nothing"
        return "rounding" if self.matched <= MARGIN * self.rounded else "apart"


def gaps(losses: np.ndarray) -> np.ndarray:
    """|l − l'| / max(l, l') of every twin, l' being the loss with weight decay; infinite where one is not a number."""
    with np.errstate(invalid="ignore", divide="ignore"):
        other = losses[:, DECAYED : DECAYED + 1]
        gap = np.abs(losses - other) / np.maximum(np.maximum(np.abs(losses), np.abs(other)), np.finfo(float).tiny)
    return np.where(np.isfinite(gap), gap, np.inf)


def compared(losses: np.ndarray) -> Gaps:
    """The gaps of a scheme."""
    most = gaps(losses).max(0)
    return Gaps(float(most[PLAIN].min()), float(most[MATCHED].max()), float(most[ROUNDED].max()))


def expected(setting: Setting, row: Row) -> bool:
    """Whether the rule of Table 1 says that the layer does not see the length of its weights, at ε = 0."""
    return predict(
        row.scheme, TRANSFORMATIONS["weight-matrix-rescaling"], "dense", setting.shape, (1, 1, *WIDTHS), eps=0.0
    ).invariant


def report(setting: Setting, results: Results) -> Report:
    """Losses of the twins, and how far they come away from each other."""
    found = {part.row: results[part] for part in parts(setting) if part in results}
    ended = {row: compared(each["losses"]) for row, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    if found:
        panels = [_gap_panel(row, each) for row, each in found.items()]
        ends = "; ".join(
            f"{row.scheme.label}: {_power(each.matched)} matched, {_power(each.plain)} at the same rate, "
            f"{_power(each.rounded)} by one rounding"
            for row, each in ((row, compared(each["losses"])) for row, each in found.items())
        )
        about = (
            "Relative difference of the losses from those with weight decay, median and range over the seeds. “One "
            "rounding”: a twin with weight decay that starts from weights longer by 2⁻⁵²; no gap can be told from its."
        )
        figures.append(Shown("gaps", panels, f"Gaps of the losses by step, the largest: {ends}.", about))
        panels = [_loss_panel(row, each) for row, each in found.items()]
        last = "; ".join(
            f"{row.scheme.label}: "
            + ", ".join(
                f"{name} {typeset(float(np.median(each['losses'][-SMOOTHED:, k].mean(0))), 3)}"
                for k, name in enumerate(RUNS[:ROUNDED])
            )
            for row, each in found.items()
        )
        figures.append(
            Shown(
                "losses", panels, f"Losses by step, at the end: {last}.",
                f"Means of {SMOOTHED} mini-batches; median and range over the seeds. How long the weights get: "
                "[page on geometry](geometry).",
            )
        )  # fmt: skip
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, _table(setting, found))


def _table(setting: Setting, found: dict[Row, Arrays]) -> dict[str, list[Any]]:
    """Of every twin: how far it came away, its last losses, and η/‖W‖² in the last step."""
    names = ("scheme", "seed", "twin", "largest gap", "loss at the end", "η/‖W‖² at the end")
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row, each in found.items():
        most, last = gaps(each["losses"]).max(0), each["losses"][-SMOOTHED:].mean(0)
        for k, seed in enumerate(setting.networks):
            for twin, name in enumerate(RUNS):
                measured = (float(number) for number in (most[twin, k], last[twin, k], each["effective"][-1, twin, k]))
                for column, entry in zip(table.values(), (row.key, seed, name, *measured), strict=True):
                    column.append(entry)
    return table


def _headline(setting: Setting, ended: dict[Row, Gaps]) -> str:
    """What came out for batch norm."""
    return next((_sentence(setting, row, each) for row, each in ended.items() if row.key == "batch"), "")


def _gap_panel(row: Row, found: Arrays) -> Panel:
    """The gaps of one scheme's twins by step, on a logarithmic axis."""
    drawn = np.clip(gaps(found["losses"]), FLOOR, 1.0)
    lines = _lines(drawn, np.arange(len(drawn)), (PLAIN, MATCHED, ROUNDED))
    return Panel(row.scheme.label, lines, "step", "gap of the losses", "y")


def _loss_panel(row: Row, found: Arrays) -> Panel:
    """The losses of one scheme's twins by step."""
    losses = found["losses"]
    window = min(SMOOTHED, len(losses))
    smooth = np.lib.stride_tricks.sliding_window_view(losses, window, axis=0).mean(-1)
    lines = _lines(smooth, np.arange(window - 1, len(losses)), (DECAYED, PLAIN, MATCHED))
    return Panel(row.scheme.label, lines, "step", "loss", "y")


def _lines(values: np.ndarray, steps: np.ndarray, twins: tuple[int, ...]) -> list[Curve]:
    """Curves of some twins from (steps, twins, networks), with no more points than a figure can show."""
    shown = slice(None, None, max(len(steps) // POINTS, 1))
    return [
        Curve(RUNS[twin], steps[shown], middle, twin, low, high)
        for twin in twins
        for middle, low, high in [spread(values[shown, twin])]
    ]


def _power(number: float) -> str:
    """A gap, to one digit."""
    return typeset(number, 1)


def _verdict(setting: Setting, ended: dict[Row, Gaps]) -> Verdict:
    """Whether the matched twins coincide exactly where the layer does not see the length of its weights."""
    if len(ended) < len(setting.rows):
        return Verdict("open", "Not all schemes are trained yet.")
    condition = (
        f"ε = {typeset(setting.eps)}, plain SGD with η = {typeset(setting.rate)}, and λ = {typeset(setting.decay)} on "
        "the weights in front of the normalization alone: those of the classifier, γ and β have none."
    )
    text = " ".join(_sentence(setting, row, each) for row, each in ended.items())
    blind = {row: each for row, each in ended.items() if expected(setting, row)}
    if blind and "batch" not in {row.key for row in blind}:
        text += " Batch norm is not among the schemes: the others are judged in its place."
    strays = [each for each in blind.values() if each.says == "apart"]
    if strays:
        nearly = all(each.matched < each.plain / 10 for each in strays)
        return Verdict("wrong" if not setting.eps else "holds-if" if nearly else "open", text, condition)
    asked = [each for row, each in blind.items() if row.key == "batch"] or list(blind.values())
    if not any(each.says == "same" for each in asked):
        return Verdict("open", text or "No scheme is compared.", condition)
    lone = [row for row, each in ended.items() if row not in blind and each.says == "same"]
    return Verdict("wrong" if lone else "holds", text, condition)


_WORDS = {
    "same": "{name}: without weight decay, at the rate that keeps η/‖W‖², the losses are the same to {matched}; at the "
    "same rate they part, by {plain}.",
    "apart": "{name}: at the rate that keeps η/‖W‖² the losses come apart, by {matched}{why}.",
    "rounding": "{name}: nothing can be told, since training magnifies one rounding to {rounded}, and the matched "
    "losses part by {matched}.",
    "nothing": "{name}: nothing can be told, since weight decay changes nothing here.",
    "diverged": "{name}: nothing can be told, since the networks diverge.",
}


def _sentence(setting: Setting, row: Row, found: Gaps) -> str:
    """What came out for one scheme."""
    numbers = {name: _power(number) for name, number in found._asdict().items()}
    if found.says == "same" and not found.matched:
        numbers["matched"] = "the last digit"
    why = (
        f", since ε = {typeset(setting.eps)} lets the layer see the length"
        if setting.eps and expected(setting, row)
        else ""
    )
    return _WORDS[found.says].format(name=row.scheme.label, why=why, **numbers)


EXPERIMENT = Experiment(
    key="weight-decay",
    title="Weight decay and batch norm",
    question="What is left of weight decay behind batch norm?",
    claims=("B11",),
    claim="Where L2 regularization is used with batch norm, its effect as a regularizer is gone, and what is left is "
    "that of a larger learning rate (slides on Ioffe & Szegedy 2015; van Laarhoven 2017).",
    about="Twins from the same first weights on the same digits, in float64, two normalized layers of 32 units: one "
    "with weight decay, the others without, one of which has in every step the learning rate that makes η/‖W‖² the "
    "same.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""With batch norm, without, and with any other scheme."""
