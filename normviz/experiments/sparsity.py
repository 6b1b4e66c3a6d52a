"""An L1 term on the centred sums, and a learned smoothing term: what each does to the test error (Ren et al. 2017)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.schemes import DEFAULT_EPS
from normviz.core.settings import real, whole
from normviz.core.text import spoken, typeset
from normviz.experiments.course import marks
from normviz.experiments.experiment import (
    Arrays,
    Difference,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    Word,
    paired,
    percent,
    spread,
)
from normviz.experiments.smoothing import Smoothable
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

PLAIN, SMOOTHING, BOTH = "neither", "smoothing", "both"
VARIANTS = {PLAIN: (False, False), SMOOTHING: (True, False), "L1": (False, True), BOTH: (True, True)}
"""Whether ε is learned, and whether there is an L1 term."""

WIDTHS = (64, 64)
"""Units of the normalized layers."""

BATCH = 32
"""Digits of a mini-batch."""

POINTS = 10
"""So many times during a training the test error is measured."""

APART = 0.15
"""How far points beside each other stand, of the way from one scheme to the next."""


@dataclass(frozen=True)
class Setting(Smoothable):
    """What is trained with an L1 term and smoothing, and without."""

    seeds: int = whole(8, 2, 16, label="Networks of each kind", help="Each from a seed of its own; curves are bands.")
    eps: float = real(
        DEFAULT_EPS, 1e-8, 1.0, label="ε where it is not learned", symbol="ε", stops=(1e-8, 1e-5, 1e-3, 0.1, 1.0)
    )  # fmt: skip
    first: float = real(1.0, 1e-6, 10.0, label="ε at the start where it is learned", stops=(0.01, 0.1, 0.3, 1.0, 3.0))
    penalty: float = real(
        0.01, 1e-5, 10.0, label="L1 term", help="Times the mean of |v|.", stops=(0.001, 0.01, 0.1, 1.0)
    )
    digits: int = whole(200, BATCH, 1347, label="Digits to train on", stops=(50, 100, 200, 400, 1347), control="stops")
    steps: int = whole(200, 20, 1000, label="Steps", stops=(100, 200, 300, 500, 1000), control="stops")
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate (Adam)", stops=(0.0003, 0.001, 0.003, 0.01, 0.03))

    @property
    def shape(self) -> Shape:
        """Of the normalized layers."""
        return BATCH, 1, 1, WIDTHS[0]


@dataclass(frozen=True)
class Part:
    """The networks of all schemes and seeds, with one kind of ε and one L1 term."""

    kind: ClassVar[str] = "experiments/sparsity"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    first: float
    learned: bool
    penalty: float
    digits: int
    rate: float
    length: int
    device: str

    @property
    def seconds(self) -> float:
        """By the step and the network, and what measuring takes."""
        count = len(self.rows) * len(self.networks)
        return self.length * (1e-3 + 1e-3 * len(self.rows) + 2e-4 * count) + POINTS * count * (
            3e-4 + 1e-6 * self.digits
        )

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.few import Few
        from normviz.networks.learning import Learner, cross_entropy, device_of, device_words, numbers
        from normviz.networks.smoothed import SmoothedDense

        device = device_of(self.device)
        few = Few(self.networks, self.digits, BATCH, device)
        schemes = [row.scheme for row in self.rows]
        network = SmoothedDense(schemes, self.networks, WIDTHS, BATCH, [self.first] * len(schemes), device)
        learner = Learner([*network.parameters, *(network.roots if self.learned else [])], "adam", self.rate)
        measured: list[int] = []
        errors: list[np.ndarray] = []
        marked = marks(self.length, POINTS)
        for step, (x, labels) in enumerate(few.batches(self.length), 1):
            loss = cross_entropy(network.logits(x), labels)
            learner.step(loss + self.penalty * network.sizes())
            if step in marked:
                measured.append(step)
                errors.append(numbers(few.errors(network)[1]))
            yield Step(
                step / self.length, partial(_so_far, measured, errors, step / self.length, device_words(device))
            )  # fmt: skip


def _so_far(measured: list[int], errors: list[np.ndarray], share: float, device: str) -> Arrays:
    """Test errors, (measured, schemes, networks)."""
    return {
        "measured": np.array(measured),
        "errors": np.stack(errors),
        "share": np.array(share),
        "device": np.array(device),
    }


def parts(setting: Setting) -> list[Part]:
    """A part for every variant, in the order of `VARIANTS`."""
    return [
        Part(
            setting.rows, setting.networks, setting.first if learned else setting.eps, learned,
            setting.penalty if sparse else 0.0, setting.digits, setting.rate, setting.steps, setting.device,
        )
        for learned, sparse in VARIANTS.values()
    ]  # fmt: skip


def report(setting: Setting, results: Results) -> Report:
    """What each variant changes in the test error, paired by seed, and the errors by step."""
    each_of = zip(VARIANTS, parts(setting), strict=True)
    found = {name: results[part] for name, part in each_of if part in results}
    ended = {name: each["errors"][-1] for name, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    if PLAIN in ended and len(ended) > 1 and setting.rows:
        figures.append(_changes(setting, ended))
    if found and setting.rows:
        panels = [
            Panel(
                label,
                [
                    Curve(name, each["measured"], 100 * middle, list(VARIANTS).index(name), 100 * low, 100 * high)
                    for name, each in found.items()
                    for middle, low, high in [spread(each["errors"][:, k])]
                ],
                "step", "test error, %", "y",
            )
            for k, label in enumerate(setting.labels)
        ]  # fmt: skip
        said = "; ".join(
            f"{label} "
            + ", ".join(f"{name} {percent(np.median(each['errors'][-1][k]))}" for name, each in found.items())
            for k, label in enumerate(setting.labels)
        )
        about = "Lines are medians over the seeds, bands reach from the least to the largest."
        figures.append(Shown("curves", panels, f"Test error by step, the last: {said}.", about))
    table: dict[str, list[Any]] = {
        "variant": [name for name in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
    }
    for k, row in enumerate(setting.rows):
        table[row.key] = [float(error) for errors in ended.values() for error in errors[k]]
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, table)


def _changes(setting: Setting, ended: dict[str, np.ndarray]) -> Shown:
    """The change of the test error that each variant brings, with its interval."""
    names = [name for name in ended if name != PLAIN]
    places = np.arange(len(setting.rows))
    lines, said = [], []
    for number, name in enumerate(names):
        changes = [paired(ended[name][k], ended[PLAIN][k]) for k in places]
        mean, reach = (100 * np.array(each) for each in zip(*changes, strict=True))
        x = places + APART * (number - (len(names) - 1) / 2)
        lines.append(Curve(name, x, mean, list(VARIANTS).index(name), mean - reach, mean + reach, apart=True))
        said += [f"{label} with {name} {c.said(100)}" for label, c in zip(setting.labels, changes, strict=True)]
    panel = Panel(
        "Change of the test error, in points", lines, "", "points", levels=(0.0,), marks=places.tolist(),
        names=setting.labels,
    )  # fmt: skip
    return Shown(
        "changes", [panel], f"Change of the test error in points: {'; '.join(said)}.",
        "Means of the differences by seed, with their 95% intervals: one that holds 0 is noise.",
    )  # fmt: skip


def _headline(setting: Setting, ended: dict[str, np.ndarray]) -> str:
    """The test error with both and with neither."""
    if not {PLAIN, BOTH} <= set(ended):
        return ""
    changes = (
        f"{label} from {percent(np.mean(ended[PLAIN][k]))} to {percent(np.mean(ended[BOTH][k]))}"
        for k, label in enumerate(setting.labels)
    )
    return f"With a learned ε and an L1 term the mean test error goes: {', '.join(changes)}."


def _effect(change: Difference) -> str:
    return "noise" if not change.clear else "better" if change.mean < 0 else "worse"


def _told(change: Difference) -> str:
    return f"{change.said(100)} ({_effect(change)})"


def _verdict(setting: Setting, ended: dict[str, np.ndarray]) -> Verdict:
    """Whether both together lower the test error of every scheme by more than the noise of the seeds, and the L1 term
    has a part in it."""
    if len(ended) < len(VARIANTS) or not setting.rows:
        return Verdict("open", "Not all networks are trained yet.")
    said, together, added = [], [], []
    for k, row in enumerate(setting.rows):
        changes = {name: paired(ended[name][k], ended[PLAIN][k]) for name in VARIANTS if name != PLAIN}
        more = paired(ended[BOTH][k], ended[SMOOTHING][k])
        together.append(_effect(changes[BOTH]))
        added.append(_effect(more))
        each_of = ", ".join(f"{name} {_told(change)}" for name, change in changes.items())
        said.append(f"{row.scheme.label}: {each_of}; L1 to smoothing adds {_told(more)}.")
    word: Word = "holds-if"
    if set(together) == {"better"} and "better" in added:
        word = "holds"
    elif "better" not in together:
        word = "wrong" if "worse" in together else "open"
    helped = [label for label, effect in zip(setting.labels, together, strict=True) if effect == "better"]
    where = ""
    if word == "holds-if":
        where = f"Both together help {spoken(helped, 'and')}; the L1 term adds to smoothing in "
        where += f"{added.count('better')} of {len(added)} schemes. "
    return Verdict(
        word,
        f"Change of the test error, in points: {' '.join(said)}",
        f"{where}Networks of {len(WIDTHS)} × {WIDTHS[0]} units on {setting.digits} digits; an L1 term of "
        f"{typeset(setting.penalty)}, which is not fitted; ε learned from {typeset(setting.first)}, or fixed at "
        f"{typeset(setting.eps)}. ± is the 95% interval over {setting.seeds} seeds; noise: it holds 0.",
    )


EXPERIMENT = Experiment(
    key="sparsity",
    title="Smoothing and an L1 term",
    question="Do a smoothing term and an L1 term improve the normalizers?",
    claims=("D04",),
    claim="A learned smoothing term and an L1 term on the centred sums improve the accuracy of batch, layer and "
    "divisive normalization (Ren et al. 2017).",
    about="Dense networks of two normalized layers of 64 units, trained with Adam on a part of the digits: with ε "
    "learned or fixed, with or without a term for the mean of |v|, v = x − E_A x, in the loss.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""The four combinations."""
