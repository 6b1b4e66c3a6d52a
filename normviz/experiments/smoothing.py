"""The smoothing term ε when it is learned, layer by layer of a deep network (Ren et al. 2017)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.schemes import SCHEMES
from normviz.core.settings import choice, real, whole
from normviz.core.text import typeset
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Difference,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    Word,
    comparing,
    paired,
    spread,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

FIRST = (1.0, 0.1)
"""ε of all layers before training, beside that of the setting: what it becomes depends on it."""

WIDTH = 32
"""Units of every layer."""

BATCH = 32
"""Digits of a mini-batch."""

LEAST = 1e-8
"""An ε below this is drawn there."""

SMOOTHED = tuple(
    key for key, scheme in SCHEMES.items() if scheme.on_activations and scheme.suppression and scheme.in_the_form
)
"""The schemes that have an ε under a root."""


@dataclass(frozen=True)
class Smoothable(Comparison):
    """A comparison of schemes with an ε that can be learned."""

    schemes: tuple[str, ...] = comparing(("batch", "layer", "divisive"), SMOOTHED)
    radius: int = whole(4, 0, 63, label="Radius R", help="Of the windows of divisive normalization.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(row.suppression is None for row in self.rows):
            raise InvalidInput("own: a scheme that divides by nothing has no ε to learn; one with a field B would do.")


@dataclass(frozen=True)
class Setting(Smoothable):
    """How the networks are trained whose ε is learned."""

    eps: float = real(
        0.01, 1e-6, 1.0, label="ε at the start, beside 1 and 0.1", symbol="ε", stops=(1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.3)
    )  # fmt: skip
    depth: int = whole(6, 2, 12, label="Normalized layers", control="slider")
    steps: int = whole(200, 20, 1000, label="Steps", stops=(50, 100, 200, 300, 500, 1000), control="stops")
    optimizer: str = choice("adam", {"sgd": "SGD", "adam": "Adam"}, label="Optimizer")
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate", stops=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3))

    @property
    def shape(self) -> Shape:
        """Of the normalized layers."""
        return BATCH, 1, 1, WIDTH

    @property
    def firsts(self) -> tuple[float, ...]:
        """ε of all layers before training, from the largest."""
        return tuple(sorted({*FIRST, self.eps}, reverse=True))


@dataclass(frozen=True)
class Part:
    """The networks of all schemes and seeds, whose ε starts from one value."""

    kind: ClassVar[str] = "experiments/smoothing"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    first: float
    depth: int
    optimizer: str
    rate: float
    length: int
    device: str

    @property
    def seconds(self) -> float:
        """By the step, the layer and the network."""
        return self.length * self.depth * (6e-4 * len(self.rows) + 6e-5 * len(self.rows) * len(self.networks))

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.dense import rows
        from normviz.networks.learning import Learner, cross_entropy, device_of, device_words, mini_batches, numbers
        from normviz.networks.smoothed import SmoothedDense

        device = device_of(self.device)
        x, labels = (each.to(device) for each in rows())
        schemes = [row.scheme for row in self.rows]
        network = SmoothedDense(
            schemes, self.networks, [WIDTH] * self.depth, BATCH, [self.first] * len(schemes), device
        )  # fmt: skip
        learner = Learner([*network.parameters, *network.roots], self.optimizer, self.rate)
        losses: list[np.ndarray] = []
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, BATCH), 1):
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss))
            terms = [np.stack([numbers(each) for each in norms]) for norms in network.terms()]
            yield Step(
                step / self.length, partial(_so_far, losses, terms, step / self.length, device_words(device))
            )  # fmt: skip


def _so_far(losses: list[np.ndarray], terms: list[np.ndarray], share: float, device: str) -> Arrays:
    """The losses (steps, schemes, networks), and by layer ε, and its part of what divides, (layers, …)."""
    eps, part = terms
    return {
        "losses": np.stack(losses), "eps": eps, "part": part, "share": np.array(share), "device": np.array(device),
    }  # fmt: skip


def parts(setting: Setting) -> list[Part]:
    """A part for every first ε."""
    return [
        Part(
            setting.rows, setting.networks, first, setting.depth, setting.optimizer, setting.rate, setting.steps,
            setting.device,
        )
        for first in setting.firsts
    ]  # fmt: skip


def trend(values: np.ndarray) -> Difference:
    """The rank correlation of (layers, seeds) with the layer, −1 where each is less than the one before: its mean."""
    ranks = ((values[:, None] > values) + (values[:, None] == values) / 2).sum(1)
    ranks[:, ~np.isfinite(values).all(0)] = np.nan
    layers = np.arange(len(values))[:, None] - (len(values) - 1) / 2
    centred = ranks - ranks.mean(0)
    each = (layers * centred).sum(0) / (layers**2).sum()
    return paired(each, np.zeros_like(each), step=1 / float((layers**2).sum()))


def fall(values: np.ndarray) -> str:
    """Whether (layers, seeds) "falls" from layer to layer, "rises", or is "level" in the noise of the seeds; "last":
    it is less in the last layer, and does not fall before it; "nothing": some are no numbers."""
    found = trend(values)
    if np.isnan(found.mean):
        return "nothing"
    if not found.clear:
        return "level"
    if found.mean > 0:
        return "rises"
    if len(values) == 2:
        return "falls"
    before = trend(values[:-1])
    return "falls" if before.clear and before.mean < 0 else "last"


def report(setting: Setting, results: Results) -> Report:
    """ε by layer, and what it is of that which divides."""
    found = {part.first: results[part] for part in parts(setting) if part in results}
    ended = {first: each for first, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    for name, title, about in _FIGURES if found else ():
        panels = [_panel(setting, first, np.maximum(each[name], LEAST), title) for first, each in found.items()]
        said = "; ".join(_ends(setting, first, each[name]) for first, each in found.items())
        figures.append(Shown(name, panels, f"{about} {said}.", f"{about} {_BANDS}"))
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, _table(setting, found))


_FIGURES = (
    ("eps", "ε", "What ε has become."),
    ("part", "ε / (ε + E v²)", "What ε is of that which divides: 0 where it does nothing, 1 where it divides alone."),
)  # fmt: skip
_BANDS = "Lines are medians over the seeds, bands reach from the least to the largest."


def _ends(setting: Setting, first: float, values: np.ndarray) -> str:
    """The medians in the first layer and in the last."""
    middle = np.median(values, -1)
    each = (
        f"{label} {typeset(low, 2)} to {typeset(high, 2)}"
        for label, low, high in zip(setting.labels, middle[0], middle[-1], strict=True)
    )
    return f"From ε = {typeset(first)}, from the first layer to the last: {', '.join(each)}"


def _panel(setting: Setting, first: float, values: np.ndarray, title: str) -> Panel:
    """Something of (layers, schemes, seeds) by layer."""
    layers = np.arange(1, len(values) + 1)
    lines = [
        Curve(label, layers, middle, k, low, high, points=True)
        for k, label in enumerate(setting.labels)
        for middle, low, high in [spread(values[:, k])]
    ]
    return Panel(f"From ε = {typeset(first)}", lines, "layer", title, "y", marks=layers.tolist())


def _table(setting: Setting, found: dict[float, Arrays]) -> dict[str, list[Any]]:
    names = ("first ε", "scheme", "seed", "layer", "ε", "part of what divides", "loss")
    table: dict[str, list[Any]] = {name: [] for name in names}
    for first, each in found.items():
        for (layer, k, n), eps in np.ndenumerate(each["eps"]):
            values = (
                first, setting.rows[k].key, setting.networks[n], layer + 1, float(eps),
                float(each["part"][layer, k, n]), float(each["losses"][-1, k, n]),
            )  # fmt: skip
            for column, entry in zip(table.values(), values, strict=True):
                column.append(entry)
    return table


def _verdict(setting: Setting, ended: dict[float, Arrays]) -> Verdict:
    """Whether ε falls from layer to layer, by scheme and first ε; the claim is that of divisive normalization."""
    if not setting.rows or len(ended) < len(setting.firsts):
        return Verdict("open", "Not all networks are trained yet.")
    told = {
        (row.key, first): fall(each["eps"][:, k]) for k, row in enumerate(setting.rows) for first, each in ended.items()
    }
    asked = [each for (key, _), each in told.items() if key == "divisive"]
    word: Word = "holds-if"
    if set(asked) == {"falls"}:
        word = "holds"
    elif not {"falls", "last"} & set(asked):
        word = "wrong" if "rises" in asked else "open"
    return Verdict(
        word,
        ("" if asked else "The claim is of divisive normalization, which is not chosen. ")
        + " ".join(_sentence(setting, ended, told, k) for k in range(len(setting.rows))),
        "It depends on the ε that all layers start from, and on how far training has moved it: "
        f"{setting.steps} steps here. In brackets the rank correlation of ε with the layer, −1 where every layer has "
        f"less than the one before; ± is the 95% interval over {setting.seeds} seeds.",
    )


def _headline(setting: Setting, ended: dict[float, Arrays]) -> str:
    """What ε became in divisive normalization, or in the first scheme, where it started from the largest."""
    if not setting.rows or FIRST[0] not in ended:
        return ""
    keys = [row.key for row in setting.rows]
    k = keys.index("divisive") if "divisive" in keys else 0
    name = setting.rows[k].scheme.name
    middle = np.median(ended[FIRST[0]]["eps"][:, k], -1)
    return (
        f"With {name}, ε went from {typeset(FIRST[0])} to {typeset(middle[0], 2)} in the first layer "
        f"and to {typeset(middle[-1], 2)} in the last."
    )


_TOLD = {
    "falls": "falls with depth",
    "last": "is less in the last layer, and does not clearly fall before it,",
    "rises": "rises with depth",
    "level": "neither falls nor rises clearly",
    "nothing": "gives no numbers",
}


def _sentence(setting: Setting, ended: dict[float, Arrays], told: dict[tuple[str, float], str], k: int) -> str:
    """What came out for one scheme."""
    said = []
    for kind, words in _TOLD.items():
        firsts = [
            typeset(first) + ("" if kind == "nothing" else f" ({trend(each['eps'][:, k]).said()})")
            for first, each in ended.items()
            if told[setting.rows[k].key, first] == kind
        ]
        if firsts:
            said.append(f"{words} where it starts from {' or '.join(firsts)}")
    return f"{setting.labels[k]}: the learned ε {'; it '.join(said)}."


EXPERIMENT = Experiment(
    key="smoothing",
    title="Learned smoothing",
    question="Does the learned smoothing term fall with depth?",
    claims=("D03",),
    claim="The smoothing term ε of divisive normalization, where it is learned, tends to fall with the depth of the "
    "network (notes on Ren et al. 2017).",
    about="Deep dense networks of 32 units a layer on digits; ε = s² of every layer is a parameter like the weights, "
    "and starts from several values.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""By layer, for every scheme that has an ε."""
