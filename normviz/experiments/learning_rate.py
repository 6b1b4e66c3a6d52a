"""Learning rate: the largest at which a network still learns, with and without normalization (Ioffe & Szegedy 2015)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import choice, real, whole
from normviz.core.text import spoken, typeset
from normviz.experiments.course import Course, percent
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Experiment,
    Heat,
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
from normviz.networks.cost import dense_seconds
from normviz.ui.curves import Curve, Panel

RATES = {
    "sgd": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "momentum": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "adam": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
}
"""Learning rates that are tried, by the optimizer."""

OPTIMIZERS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}

WIDTH = 32
"""Units of a layer."""

MORE, LESS, NEVER, LEVEL = (
    "Trained at larger rates than without:",
    "Only at smaller ones:",
    "At none of these rates:",
    "No clear difference:",
)
"""How the largest rates of a scheme compare with those without."""

POINTS = 12
"""So many times during a training the test error is measured."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is trained at all rates."""

    schemes: Sequence[str] = comparing(("none", "batch", "layer", "rms", "weight"))
    optimizer: str = choice("sgd", OPTIMIZERS, label="Optimizer")
    depth: int = whole(4, 1, 8, label="Normalized layers")
    steps: int = whole(200, 20, 500, label="Steps", stops=(50, 100, 200, 500), control="stops")
    batch: int = whole(32, 4, 128, label="Batch size", stops=(4, 8, 16, 32, 64, 128), control="stops")
    most: float = real(
        0.2, 0.02, 0.5, label="Trains, up to a test error of", stops=(0.05, 0.1, 0.2, 0.5), shown="{:.0%}".format,
    )  # fmt: skip

    @property
    def shape(self) -> Shape:
        """Of every normalized layer."""
        return self.batch, 1, 1, WIDTH


@dataclass(frozen=True)
class Part:
    """The networks of one scheme at all rates, of all seeds, as one stack."""

    kind: ClassVar[str] = "experiments/learning-rate"
    version: ClassVar[int] = 1

    row: Row
    rates: tuple[float, ...]
    networks: tuple[int, ...]
    optimizer: str
    depth: int
    batch: int
    length: int
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """About the time of its steps."""
        count = len(self.rates) * len(self.networks)
        return dense_seconds([self.row.scheme], count, (WIDTH,) * self.depth, self.batch, self.length, POINTS)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.dense import Dense, both, whole
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

        device = device_of(self.device)
        x, labels, unseen, answers = both(device)
        count, shape = len(self.rates), (len(self.rates), len(self.networks))
        widths = (WIDTH,) * self.depth
        network = Dense([self.row.scheme], self.networks * count, widths, self.batch, self.eps, device)
        rates = np.repeat(self.rates, len(self.networks))[None]
        learner = Learner(network.parameters, self.optimizer, rates)
        course = Course(self.length, POINTS)
        for chosen in mini_batches(self.networks, len(x), self.length, self.batch):
            same = chosen.repeat(count, 1)
            loss = cross_entropy(network.logits(x[same]), labels[same])
            learner.step(loss)
            course.losses.append(numbers(loss).reshape(shape))
            if course.marked:
                network.logits(whole(x, self.batch)[None], Norm.settle)
                wrong = error(network.logits(unseen[None], Norm.infer), answers)
                course.errors.append(numbers(wrong).reshape(shape))
            yield Step(course.share, partial(course.so_far, device_words(device)))


def parts(setting: Setting) -> list[Part]:
    """A part for every scheme."""
    return [
        Part(
            row, RATES[setting.optimizer], setting.networks, setting.optimizer, setting.depth, setting.batch,
            setting.steps, setting.eps, setting.device,
        )
        for row in setting.rows
    ]  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What the networks of a scheme came to.

    Attributes:
        errors: by rate and seed.
        largest: the largest rate at which the network of a seed trains; NaN where there is none.
        reached: its log₁₀, which is that of a rate below all where there is none.
        best: the position of the rate with the lowest median error.
    """

    name: str
    label: str
    errors: np.ndarray
    largest: np.ndarray
    reached: np.ndarray
    best: int

    @classmethod
    def of(cls, setting: Setting, k: int, result: Arrays) -> "Found":
        """What a result says of the scheme at a position."""
        errors = result["errors"][-1]
        rates = np.array(RATES[setting.optimizer])
        largest = np.where(errors <= setting.most, rates[:, None], 0).max(0)
        reached = np.log10(np.where(largest > 0, largest, rates[0] / 3))
        best = int(np.median(errors, axis=1).argmin())
        largest = np.where(largest > 0, largest, np.nan)
        return cls(setting.names[k], setting.labels[k], errors, largest, reached, best)

    @property
    def up_to(self) -> float:
        """The median of the largest rates, one of those that were tried; NaN where most train at none."""
        ordered = np.sort(np.nan_to_num(self.largest, nan=-np.inf))
        middle = float(ordered[(len(ordered) - 1) // 2])
        return middle if middle > 0 else np.nan


def report(setting: Setting, results: Results) -> Report:
    """The map of rates and schemes, the error over the rate, and the course at every scheme's best rate."""
    wanted = parts(setting)
    begun = {k: results[part] for k, part in enumerate(wanted) if part in results and len(results[part]["errors"])}
    found = {k: Found.of(setting, k, result) for k, result in begun.items()}
    ended = {k: each for k, each in found.items() if begun[k]["share"] == 1}
    rates = RATES[setting.optimizer]
    table: dict[str, list[Any]] = {
        "learning rate": [rate for rate in rates for _ in setting.networks],
        "seed": [*setting.networks] * len(rates),
    }
    for k in ended:
        for name, what in (("test error", "errors"), ("training loss", "losses")):
            table[f"{setting.rows[k].key}, {name}"] = [float(each) for each in begun[k][what][-1].flat]
    figures = [_map(setting, found), _curves(setting, begun, found)] if found else []
    return Report(_headline(setting, found, ended), figures, _verdict(setting, ended), table)


def _map(setting: Setting, found: dict[int, Found]) -> Shown:
    """The median test error by scheme and rate."""
    rates = RATES[setting.optimizer]
    values = np.full((len(setting.rows), len(rates)), np.nan)
    for k, each in found.items():
        values[k] = np.median(each.errors, axis=1)
    heat = Heat(
        "Test error at the end", values, setting.labels, [typeset(rate) for rate in rates], x="learning rate",
        ends=(0.0, 0.9), written="{:.0%}".format,
    )  # fmt: skip
    return Shown(
        "map", heat, f"Test error of every scheme by learning rate. The lowest: {_bests(setting, found.values())}.",
        f"Medians over {setting.seeds} seeds. 90% is guessing; 100%: the networks diverged.",
    )  # fmt: skip


def _curves(setting: Setting, begun: dict[int, Arrays], found: dict[int, Found]) -> Shown:
    """Test error over the rate, and by step at the rate that is best for each scheme."""
    rates = np.array(RATES[setting.optimizer])
    over = [
        Curve(each.label, rates, middle, k, low, high, points=True)
        for k, each in found.items()
        for middle, low, high in [spread(percent(each.errors))]
    ]
    course = [
        Curve(each.label, begun[k]["measured"], middle, k, low, high)
        for k, each in found.items()
        for middle, low, high in [spread(percent(begun[k]["errors"][:, each.best]))]
    ]
    panels = [
        Panel("At the end, over the rate", over, "learning rate", "test error, %", "xy", levels=[100 * setting.most]),
        Panel("At the rate that is best for each", course, "step", "test error, %", "y"),
    ]
    best = _bests(setting, found.values())
    return Shown(
        "curves", panels, f"Test error over the learning rate, and by step at the best: {best}.",
        "Medians over the seeds, in bands from the least to the largest. Below the line a network counts as trained.",
    )  # fmt: skip


def _reached(found: Iterable[Found], rates: Sequence[float]) -> str:
    """Which schemes train up to which rate, from the largest: "3 (Batch), 0.3 (Layer, RMS)"."""
    by_rate: dict[float, list[str]] = {}
    for each in sorted(found, key=lambda one: -np.nan_to_num(one.up_to)):
        by_rate.setdefault(float(np.nan_to_num(each.up_to)), []).append(each.label)
    return ", ".join(
        f"{typeset(rate) if rate else 'none of these'}{' or more' * (rate == rates[-1])} ({', '.join(labels)})"
        for rate, labels in by_rate.items()
    )


def _bests(setting: Setting, found: Iterable[Found]) -> str:
    """Where the schemes are best: "batch norm 2.7% at 0.3"."""
    rates = RATES[setting.optimizer]
    each = (f"{one.name} {np.median(one.errors[one.best]):.1%} at {typeset(rates[one.best])}" for one in found)
    return ", ".join(each)


def _headline(setting: Setting, found: dict[int, Found], ended: dict[int, Found]) -> str:
    if ended:
        return f"The largest learning rate that still trains: {_reached(ended.values(), RATES[setting.optimizer])}."
    names = spoken([each.name for each in found.values()], "and") if found else ""
    return f"Training of {names} has begun." if found else "Nothing is trained yet."


def _verdict(setting: Setting, ended: dict[int, Found]) -> Verdict:
    """Whether networks with normalization train at larger rates than those without."""
    if len(ended) < len(setting.rows):
        return Verdict("open", "Not all schemes are trained yet.")
    plain = next((each for k, each in ended.items() if setting.rows[k].key == "none"), None)
    others = [each for k, each in ended.items() if setting.rows[k].key != "none"]
    if plain is None or not others:
        return Verdict("open", "This takes networks with and without normalization: None beside another scheme.")
    condition = (
        f"It depends on the optimizer, here {OPTIMIZERS[setting.optimizer]}, and on the depth, here "
        f"{setting.depth}. A network counts as trained when {setting.steps} steps on batches of {setting.batch} bring "
        f"its test error to {setting.most:.0%} or less."
    )
    if all(np.isnan(each.up_to) for each in ended.values()):
        return Verdict("open", "No scheme trains at any of these rates; more steps may help.", condition)
    came = _sorted(plain, others)
    said = [f"{words} {spoken(names, 'and')}." for words, names in came.items() if names]
    best = min(others, key=lambda each: float(np.median(each.errors[each.best])))
    said.append(f"The lowest test error: {_bests(setting, [plain, best])}.")
    more, *rest = (bool(names) for names in came.values())
    word: Word = "holds" if more and not any(rest) else "holds-if" if more else "open" if came[LEVEL] else "wrong"
    return Verdict(word, " ".join(said), condition)


def _sorted(plain: Found, others: Sequence[Found]) -> dict[str, list[str]]:
    """The schemes by how their largest rates compare with those without, and how many times these they are."""
    came: dict[str, list[str]] = {words: [] for words in (MORE, LESS, NEVER, LEVEL)}
    for each in others:
        gain = paired(each.reached, plain.reached, step=0.5)  # the rates differ by the root of ten
        times = "" if np.isnan(plain.largest).any() else f" ({typeset(10**gain.mean, 2)} times, on average)"
        if np.isnan(each.up_to):
            came[NEVER].append(each.name)
        elif gain.clear:
            came[MORE if gain.mean > 0 else LESS].append(each.name + times)
        else:
            came[LEVEL].append(each.name)
    return came


EXPERIMENT = Experiment(
    key="learning-rate",
    title="Learning rate",
    question="Does normalization allow higher learning rates?",
    claims=("B09",),
    claim="With normalization, networks train at higher learning rates, without ill effects (Ioffe & Szegedy 2015).",
    about="Dense networks of normalized layers of 32 units on digits, trained at nine learning rates that differ by "
    "about the root of ten each.",
    setting=Setting,
    parts=parts,
    report=report,
)
