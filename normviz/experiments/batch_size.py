"""Batch size: digits whose pixels are in no order, trained on few and on many at a time (Ba et al. 2016, figure 6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import OWN, Shape
from normviz.core.rows import Row
from normviz.core.settings import choice, real, whole
from normviz.core.text import spoken, typeset
from normviz.data.digits import SIDE, digits
from normviz.experiments.course import Course, percent
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    foremost,
    paired,
    spread,
)
from normviz.jobs.spec import Step
from normviz.networks.cost import dense_seconds
from normviz.ui.curves import Curve, Panel

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
"""Batch sizes that are compared."""

PAIR = (128, 4)
"""Those whose curves are shown, as in the figure; the first is the large one."""

SMALL = (2, 4)
"""Those at which it is decided what small batches cost."""

MIDDLE = 16
"""The batch size that takes the steps of the setting where all sizes see as many examples."""

WIDTHS = (64, 64)
"""Units of the normalized layers."""

POINTS = 20
"""So many times during a training the test error is measured."""

LEARNS = 0.5
"""A scheme learns where its median test error is less."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is compared over batch sizes."""

    steps: int = whole(200, 20, 1000, label="Steps", stops=(100, 200, 300, 500, 1000), control="stops")
    equal: str = choice(
        "steps", {"steps": "Steps", "examples": "Examples"}, label="Same for all sizes",
        help=f"With the same number of examples, batches of {MIDDLE} take the steps above, and smaller ones more.",
    )  # fmt: skip
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate (Adam)", stops=(0.0003, 0.001, 0.003, 0.01, 0.03))

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in SIZES:
            self.check((size, *self.shape[1:]))

    @property
    def shape(self) -> Shape:
        """Of the first normalized layer, at the larger of the two batch sizes whose curves are shown."""
        return max(PAIR), 1, 1, WIDTHS[0]

    def length(self, size: int) -> int:
        """Steps at a batch size."""
        return self.steps if self.equal == "steps" else max(self.steps * MIDDLE // size, 1)


@dataclass(frozen=True)
class Part:
    """The networks of all schemes and seeds, trained on mini-batches of one size."""

    kind: ClassVar[str] = "experiments/batch-size"
    version: ClassVar[int] = 2

    rows: tuple[Row, ...]
    networks: tuple[int, ...]
    batch: int
    length: int
    rate: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """About the time of its steps."""
        schemes = [row.scheme for row in self.rows]
        return dense_seconds(schemes, len(self.networks), WIDTHS, self.batch, self.length, POINTS)

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

        schemes = [row.scheme for row in self.rows]
        device = device_of(self.device)
        x, labels, unseen, answers = both(device)
        network = Dense(schemes, self.networks, WIDTHS, self.batch, self.eps, device)
        learner = Learner(network.parameters, "adam", self.rate)
        course = Course(self.length, POINTS)
        for chosen in mini_batches(self.networks, len(x), self.length, self.batch):
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss)
            course.losses.append(numbers(loss))
            if course.marked:
                network.logits(whole(x, self.batch)[None], Norm.settle)
                course.errors.append(numbers(error(network.logits(unseen[None], Norm.infer), answers)))
            yield Step(course.share, partial(course.so_far, device_words(device)))


@dataclass(frozen=True)
class Noise:
    """How far the mean and the deviation of a mini-batch are from those of all training digits, by its size.

    Of the summed inputs of the first layer before training. In units of σ, the root mean square over mini-batches.
    """

    kind: ClassVar[str] = "experiments/batch-size/noise"
    version: ClassVar[int] = 1

    networks: tuple[int, ...]
    draws: int = 200

    @property
    def seconds(self) -> float:
        """Little."""
        return 0.1 * len(self.networks)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Network by network."""
        pictures, _ = digits()
        x = pictures.reshape(len(pictures), -1)
        found: list[list[list[float]]] = []
        for done, seed in enumerate(self.networks, 1):
            # The first weights of the networks, as `normviz.networks.learning.started` draws them.
            weights = np.random.default_rng([seed, 2, 0]).standard_normal((SIDE**2, WIDTHS[0]))
            summed = x @ weights
            mean, deviation = summed.mean(0), summed.std(0)
            rng = np.random.default_rng([seed, 3])
            off = []
            for size in SIZES:
                batches = summed[rng.integers(len(x), size=(self.draws, size))]
                by = ((batches.mean(1) - mean) / deviation, batches.std(1) / deviation - 1)
                off.append([float(np.sqrt(np.mean(each**2))) for each in by])
            found.append(off)
            yield Step(done / len(self.networks), partial(_noise, found, done / len(self.networks)))


def _noise(found: list[list[list[float]]], share: float) -> Arrays:
    """Errors of μ and σ, (sizes, networks)."""
    mean, deviation = np.array(found).transpose(2, 1, 0)
    return {"mean": mean, "deviation": deviation, "share": np.array(share), "device": np.array("CPU")}


def parts(setting: Setting) -> list[Part | Noise]:
    """A part for every batch size, those whose curves are shown first; and the noise."""
    large, small, *others = (
        Part(setting.rows, setting.networks, size, setting.length(size), setting.rate, setting.eps, setting.device)
        for size in dict.fromkeys((*PAIR, *SIZES))
    )
    return [large, small, Noise(setting.networks), *others]


def report(setting: Setting, results: Results) -> Report:
    """Curves at the two sizes of the figure, the error at the end over all sizes, and the noise of the statistics."""
    wanted = parts(setting)
    found = {part.batch: results[part] for part in wanted if isinstance(part, Part) and part in results}
    ended = {size: each for size, each in sorted(found.items()) if each["share"] == 1}
    figures = [
        *_curves(setting, found),
        *_over_sizes(setting, ended),
        *(each for part in wanted if isinstance(part, Noise) and part in results for each in _noisy(results[part])),
    ]
    table: dict[str, list[Any]] = {
        "batch size": [size for size in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
    }
    for k, row in enumerate(setting.rows):
        for name, what in (("test error", "errors"), ("training loss", "losses")):
            table[f"{row.key}, {name}"] = [float(each) for result in ended.values() for each in result[what][-1, k]]
    return Report(_headline(setting, found, ended), figures, _verdict(setting, ended), table)


def _curves(setting: Setting, found: Mapping[int, Arrays]) -> Iterator[Shown]:
    """Loss and test error by step, at the two sizes of the figure."""
    sizes = [size for size in PAIR if size in found and len(found[size]["errors"])]
    if not sizes:
        return
    panels = [
        Panel(
            f"Batches of {size}: {title}",
            [
                Curve(label, found[size]["measured"], middle, k, low, high)
                for k, label in enumerate(setting.labels)
                for middle, low, high in [spread(drawn(found[size][what][:, k]))]
            ],
            "step", axis, "y",
        )
        for title, axis, what, drawn in (
            ("training loss", "loss", "losses", np.asarray), ("test error", "test error, %", "errors", percent),
        )
        for size in sizes
    ]  # fmt: skip
    last = "; ".join(f"at batches of {size} {_shares(setting, found[size])}" for size in sizes)
    yield Shown(
        "curves", panels, f"Training loss and test error by step. Test error so far: {last}.",
        "Medians over the seeds, in bands from the least to the largest. The loss is that of the mini-batches, which "
        "are normalized by their own statistics; unseen digits by those kept from the training data.",
    )  # fmt: skip


def _over_sizes(setting: Setting, ended: Mapping[int, Arrays]) -> Iterator[Shown]:
    """Loss and test error at the end, over the batch size."""
    if not ended:
        return
    sizes = np.array(list(ended))
    panels = [
        Panel(
            title,
            [
                Curve(label, sizes, middle, k, low, high, points=True)
                for k, label in enumerate(setting.labels)
                for middle, low, high in [spread(drawn(np.stack([each[what][-1, k] for each in ended.values()])))]
            ],
            "batch size N", axis, "xy", marks=SIZES,
        )
        for title, axis, what, drawn in (
            ("Test error at the end", "test error, %", "errors", percent),
            ("Training loss at the end", "loss", "losses", np.asarray),
        )
    ]  # fmt: skip
    said = "; ".join(f"at {size} {_shares(setting, each)}" for size, each in ended.items())
    idle = [label for k, label in enumerate(setting.labels) if not _learns(ended, k)]
    budget = "steps" if setting.equal == "steps" else "examples"
    caption = f"All sizes train on the same number of {budget}: what tells is how schemes differ at one size."
    if idle:
        caption += f" At no size does {spoken(idle)} learn: on a dense layer that may leave nothing of a number."
    yield Shown("sizes", panels, f"Test error at the end by batch size: {said}.", caption)


def _noisy(noise: Arrays) -> Iterator[Shown]:
    """How noisy the statistics are."""
    sizes = np.array(SIZES)
    curves = [
        Curve(name, sizes, middle, k, low, high, points=True)
        for k, (name, what) in enumerate((("μ of a mini-batch", "mean"), ("σ of a mini-batch", "deviation")))
        for middle, low, high in [spread(noise[what])]
    ]
    curves.append(Curve("1/√N", sizes, sizes**-0.5, 2))
    mean, deviation = (dict(zip(SIZES, np.median(noise[what], axis=1), strict=True)) for what in ("mean", "deviation"))
    large, small = PAIR
    said = (
        f"Of {small} examples μ is off by {mean[small]:.2f} σ and σ by {deviation[small]:.0%}; "
        f"of {large} by {mean[large]:.2f} σ and {deviation[large]:.0%}."
    )
    panel = Panel("How far the statistics of a mini-batch are off", curves, "batch size N", "in σ", "xy", marks=SIZES)
    yield Shown(
        "noise", [panel], f"Errors of μ and σ by batch size, falling as one over the root of N. {said}",
        f"{said} This is why: every unit of the first layer before training, against all training digits.",
    )  # fmt: skip


def _shares(setting: Setting, result: Arrays, places: Sequence[int] = ()) -> str:
    """The medians of the last test errors: "batch norm 1.8%, layer norm 2.0%"."""
    middle = np.median(result["errors"][-1], axis=-1)
    return ", ".join(f"{setting.names[k]} {middle[k]:.1%}" for k in places or range(len(middle)))


def _learns(ended: Mapping[int, Arrays], k: int) -> bool:
    """Whether a scheme learns at some size."""
    return min(float(np.median(each["errors"][-1, k])) for each in ended.values()) < LEARNS


def _mixes(row: Row, shape: Shape) -> bool:
    """Whether a scheme has statistics of several examples."""
    scheme = row.scheme.on_activations
    return scheme is not None and any(field.canonical(shape).rules[0] != OWN for field in scheme.fields)


def _compared(setting: Setting, ended: Mapping[int, Arrays]) -> tuple[int, int] | None:
    """Positions of the scheme that is asked about, batch norm if it is there, and of the one it is held against."""
    learning = [k for k in range(len(setting.rows)) if _learns(ended, k)]
    mixing = [k for k in learning if _mixes(setting.rows[k], setting.shape)]
    others = [k for k in learning if k not in mixing]
    # Batch norm and layer norm where they are there; nothing at all only where nothing else is.
    wanted = {"batch": 0, "layer": 0, "none": 2}
    chosen = [sorted(places, key=lambda k: wanted.get(setting.rows[k].key, 1))[:1] for places in (mixing, others)]
    return (chosen[0][0], chosen[1][0]) if all(chosen) else None


def _differ(ended: Mapping[int, Arrays], pair: tuple[int, int], size: int, what: str) -> np.ndarray:
    """By how much the first scheme is worse than the second at a batch size, by seed; of losses, in log₁₀."""
    first, second = ended[size][what][-1, list(pair)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(first) - np.log10(second) if what == "losses" else first - second


def _suffers(ended: Mapping[int, Arrays], pair: tuple[int, int], size: int, what: str) -> bool:
    """Whether the first scheme is worse than the second at a batch size, and by more than at the large one."""
    here, large = (_differ(ended, pair, n, what) for n in (size, PAIR[0]))
    return all(each.clear and each.mean > 0 for each in (paired(here, np.zeros_like(here)), paired(here, large)))


def _headline(setting: Setting, found: Mapping[int, Arrays], ended: Mapping[int, Arrays]) -> str:
    if not ended:
        return f"Training on batches of {spoken(found)} has begun." if found else "Nothing is trained yet."
    ends = dict.fromkeys((min(ended), max(ended)))
    some = foremost(setting.rows)
    return "Test error: " + "; ".join(f"at batches of {n} {_shares(setting, ended[n], some)}" for n in ends) + "."


def _verdict(setting: Setting, ended: Mapping[int, Arrays]) -> Verdict:
    """Whether small batches cost batch norm more than layer norm, in test error and in training loss."""
    if len(ended) < len(SIZES):
        return Verdict("open", "Not all batch sizes are trained yet.")
    pair = _compared(setting, ended)
    if pair is None:
        return Verdict(
            "open", "This takes two that learn: batch norm, or another with statistics of several examples, and layer "
            "norm, or another that takes each example alone.",
        )  # fmt: skip
    name, other = (setting.names[k] for k in pair)
    worse, costly = ([n for n in SMALL if _suffers(ended, pair, n, what)] for what in ("errors", "losses"))
    better = [n for n in SMALL if _suffers(ended, pair[::-1], n, "errors")]
    condition = (
        f"The training is short: {setting.steps} steps of Adam at {typeset(setting.rate)}"
        + ("" if setting.equal == "steps" else f" on batches of {MIDDLE}, on others as many examples")
        + f", {setting.seeds} networks each. Unseen digits are normalized by the mean statistics of all training "
        "digits; running averages would add noise of their own."
    )
    few_end, many_end = (np.median(ended[n]["errors"][-1], axis=-1) for n in (min(ended), max(ended)))
    if setting.equal == "steps" and (few_end > many_end).all():
        condition += (
            " All schemes end worse on small batches, as they see fewer examples; what tells is the difference between "
            "them."
        )

    def at(n: int) -> str:
        by, against = (np.median(ended[n]["errors"][-1, k]) for k in pair)
        return f"at batches of {n} it is {by:.1%} with {name} and {against:.1%} with {other}"

    said = f"The test error: {at(SMALL[0])}; {at(PAIR[0])}."
    if worse:
        hidden = [n for n in costly if n not in worse]
        said += f" Small batches cost {name} more: that is clear at {spoken(worse, 'and')}."
        said += f" At {spoken(hidden, 'and')} only its training loss shows it." if hidden else ""
        return Verdict("holds" if SMALL[0] in worse else "holds-if", said, condition)
    if costly:
        return Verdict(
            "holds-if",
            f"{said} Only the training loss of {name} is clearly worse on batches of {spoken(costly, 'and')}.",
            condition,
        )
    if better:
        return Verdict(
            "wrong", f"{said} Small batches cost {name} less: that is clear at {spoken(better, 'and')}.", condition
        )
    return Verdict(
        "open", f"{said} On batches of {spoken(SMALL, 'and')} no difference is larger than the seeds' noise.", condition
    )


EXPERIMENT = Experiment(
    key="batch-size",
    title="Batch size",
    question="Who needs large batches?",
    claims=("B13", "B16"),
    claim="Batch norm needs a large batch, as its statistics are those of few examples otherwise; layer norm does not "
    "depend on it (Ba et al. 2016, sections 2 and 6.6).",
    about="Dense networks of two normalized layers of 64 units on digits whose pixels are in no order, trained with "
    "Adam on mini-batches of 2 to 256.",
    setting=Setting,
    parts=parts,
    report=report,
)
