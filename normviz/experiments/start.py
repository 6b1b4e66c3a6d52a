"""The first values of gain and bias: a sweep over both, with any scheme in front of them.

The page on why it works has a sweep over each of them alone, with batch norm and by the learning rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import By, choice, real, whole
from normviz.core.text import typeset
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
    percent,
    spread,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

GAINS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
BIASES = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0)
"""First values of γ and β."""

USUAL = (1.0, 0.0)
"""γ and β as every library starts them."""

WIDTHS = (32, 32)
"""Units of the normalized layers."""

BATCH = 32
"""Digits of a mini-batch."""

RATES = {"sgd": 0.1, "adam": 0.01}

LEARNT = 0.5
"""A network that is wrong more often than this has not learnt."""

STRICT = 2.0
"""A first value is better or worse where the difference is so many times its 95% interval: many are compared."""

TESTED = 450
"""Digits to test on: errors come in steps of one."""

MOST = 20.0
"""The error at the end of the colours, in percent: differences among networks that learn are to be seen."""


@dataclass(frozen=True)
class Setting(Comparison):
    """How the networks are trained that differ in their first γ and β."""

    schemes: tuple[str, ...] = comparing(("layer",))
    optimizer: str = choice("adam", {"sgd": "SGD", "adam": "Adam"}, label="Optimizer")
    rate: float = real(
        By("optimizer", RATES), 1e-4, 1.0, label="Learning rate", stops=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    )  # fmt: skip
    steps: int = whole(150, 20, 800, label="Steps", stops=(50, 100, 150, 300, 500, 800), control="stops")

    @property
    def shape(self) -> Shape:
        """Of the normalized layers."""
        return BATCH, 1, 1, WIDTHS[0]


@dataclass(frozen=True)
class Part:
    """The networks of one scheme that start from one γ, with every β."""

    kind: ClassVar[str] = "experiments/start"
    version: ClassVar[int] = 2

    row: Row
    gain: float
    biases: tuple[float, ...]
    networks: tuple[int, ...]
    optimizer: str
    rate: float
    length: int
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """By the step and the network."""
        return self.length * (1.5e-3 + 9e-5 * len(self.biases) * len(self.networks))

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step; the errors are those at the end."""
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
        network = Dense([self.row.scheme] * len(self.biases), self.networks, WIDTHS, BATCH, self.eps, device)
        for gains, biases in zip(network.gains, network.biases, strict=False):
            gains.fill_(self.gain)
            biases.copy_(biases.new_tensor(self.biases)[:, None, None, None].expand_as(biases))
        learner = Learner(network.parameters, self.optimizer, self.rate)
        losses: list[np.ndarray] = []
        for step, chosen in enumerate(mini_batches(self.networks, len(x), self.length, BATCH), 1):
            loss = cross_entropy(network.logits(x[chosen]), labels[chosen])
            learner.step(loss)
            losses.append(numbers(loss))
            if step < self.length:
                yield Step(step / self.length, partial(_so_far, losses, step / self.length, device_words(device)))
        network.logits(whole(x, BATCH)[None], Norm.settle)
        errors = numbers(error(network.logits(unseen[None], Norm.infer), answers))
        yield Step(1.0, lambda: _so_far(losses, 1.0, device_words(device)) | {"errors": errors})


def _so_far(losses: list[np.ndarray], share: float, device: str) -> Arrays:
    """The losses, (steps, first biases, networks)."""
    return {"losses": np.stack(losses), "share": np.array(share), "device": np.array(device)}


def parts(setting: Setting) -> list[Part]:
    """A part for every scheme and first gain; the usual gain comes first."""
    gains = sorted(GAINS, key=lambda gain: abs(np.log(gain)))
    return [
        Part(
            row, gain, BIASES, setting.networks, setting.optimizer, setting.rate, setting.steps, setting.eps,
            setting.device,
        )
        for row in setting.rows
        for gain in gains
    ]  # fmt: skip


def report(setting: Setting, results: Results) -> Report:
    """Maps of the test error over both first values, and each of them alone."""
    found = {(part.row, part.gain): results[part] for part in parts(setting) if part in results}
    ended = {key: each["errors"] for key, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    for row in setting.rows:
        by_gain = {gain: ended[row, gain] for gain in GAINS if (row, gain) in ended}
        if by_gain:
            figures.append(_map(row, by_gain))
    if ended:
        figures.append(_alone(setting, ended))
    elif found:
        figures.append(_losses(found))
    table: dict[str, list[Any]] = {name: [] for name in ("scheme", "first γ", "first β", "seed", "test error")}
    for (row, gain), errors in ended.items():
        for (k, n), error in np.ndenumerate(errors):
            values = (row.key, gain, BIASES[k], setting.networks[n], float(error))
            for column, entry in zip(table.values(), values, strict=True):
                column.append(entry)
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, table)


def _map(row: Row, errors: dict[float, np.ndarray]) -> Shown:
    """The median error over first γ and first β."""
    values = np.full((len(GAINS), len(BIASES)), np.nan)
    for gain, each in errors.items():
        values[GAINS.index(gain)] = 100 * np.median(each, -1)
    heat = Heat(
        f"{row.scheme.label}: test error, %", values, [typeset(gain) for gain in GAINS],
        [typeset(bias) for bias in BIASES], "first β", "first γ", (0.0, MOST), written="{:.1f}".format,
    )  # fmt: skip
    low, high = (np.unravel_index(how(values), values.shape) for how in (np.nanargmin, np.nanargmax))
    ends = " and ".join(
        f"{percent(values[at] / 100)} at γ = {typeset(GAINS[at[0]])}, β = {typeset(BIASES[at[1]])}"
        for at in (low, high)
    )
    return Shown(
        f"map-{row.key}", heat, f"Test error by the first γ and β, {row.scheme.name}: between {ends}.",
        f"Medians over the seeds, after training; {typeset(MOST)}% and more have one colour.",
    )  # fmt: skip


def _alone(setting: Setting, ended: dict[tuple[Row, float], np.ndarray]) -> Shown:
    """The error over each of the two where the other is as usual."""
    by_gain, by_bias, said = [], [], []
    for look, (row, label) in enumerate(zip(setting.rows, setting.labels, strict=True)):
        gains = [gain for gain in GAINS if (row, gain) in ended]
        if gains:
            at_zero = np.stack([ended[row, gain][BIASES.index(USUAL[1])] for gain in gains])
            by_gain.append(_line(label, gains, at_zero, look))
        if (row, USUAL[0]) in ended:
            by_bias.append(_line(label, BIASES, ended[row, USUAL[0]], look))
            middle = by_bias[-1].y
            said.append(f"{label}, γ = 1: {percent(middle.min() / 100)} to {percent(middle.max() / 100)}")
    panels = [
        Panel("First γ, with β = 0", by_gain, "first γ", "test error, %", "xy"),
        Panel("First β, with γ = 1", by_bias, "first β", "test error, %", "y"),
    ]
    return Shown(
        "alone", [panel for panel in panels if panel.curves],
        f"Test error over the first γ, and over the first β. {'; '.join(said)}.",
        "Lines are medians over the seeds, bands reach from the least to the largest.",
    )  # fmt: skip


def _line(label: str, values: Any, errors: np.ndarray, look: int) -> Curve:
    """Errors (values, seeds) in percent."""
    middle, low, high = (100 * each for each in spread(errors))
    return Curve(label, np.array(values), middle, look, low, high, points=True)


def _losses(found: dict[tuple[Row, float], Arrays]) -> Shown:
    """What there is to see before the first networks are trained: the loss with the usual first values."""
    (row, gain), first = next(iter(found.items()))
    losses = first["losses"][:, BIASES.index(USUAL[1])]
    middle, low, high = spread(losses)
    curve = Curve(row.scheme.label, np.arange(len(losses)), middle, 0, low, high)
    panel = Panel(f"γ = {typeset(gain)}, β = 0", [curve], "step", "loss", "y")
    return Shown("losses", [panel], f"Loss by step, so far {typeset(float(middle[-1]), 3)}.")


def _headline(setting: Setting, ended: dict[tuple[Row, float], np.ndarray]) -> str:
    """Return the median error from the usual first values, and the range of the medians from all others."""
    said = []
    for row, label in zip(setting.rows, setting.labels, strict=True):
        if all((row, gain) in ended for gain in GAINS):
            usual = np.median(ended[row, USUAL[0]][BIASES.index(USUAL[1])])
            firsts = ((gain, bias) for gain in GAINS for bias in BIASES if (gain, bias) != USUAL)
            others = [np.median(ended[row, gain][BIASES.index(bias)]) for gain, bias in firsts]
            said.append(f"{label} {percent(usual)}, others {percent(min(others))} to {percent(max(others))}")
    return f"Test error from γ = 1, β = 0: {'; '.join(said)}." if said else ""


def _verdict(setting: Setting, ended: dict[tuple[Row, float], np.ndarray]) -> Verdict:
    """How many first values end better or worse than the usual ones, paired by seed."""
    if not setting.rows or len(ended) < len(setting.rows) * len(GAINS):
        return Verdict("open", "Not all first values are tried yet.")
    said, better, worse, count = [], 0, 0, 0
    for row, label in zip(setting.rows, setting.labels, strict=True):
        errors = {(gain, bias): ended[row, gain][k] for gain in GAINS for k, bias in enumerate(BIASES)}
        usual = errors.pop(USUAL)
        if np.median(usual) > LEARNT:
            said.append(f"{label} does not learn from γ = 1, β = 0.")
            continue
        changes = {at: paired(each, usual, step=1 / TESTED) for at, each in errors.items()}
        clear = {at: change.mean for at, change in changes.items() if abs(change.mean) > STRICT * change.reach}
        up = [at for at, mean in clear.items() if mean > 0]
        worst = max(errors, key=lambda at: float(np.median(errors[at])))
        said.append(
            f"{label}: from γ = 1, β = 0 the test error is {percent(np.median(usual))}; of {len(errors)} other first "
            f"values {len(up)} end worse, {len(clear) - len(up)} better, the rest within the noise of the seeds. "
            f"Worst is γ = {typeset(worst[0])}, β = {typeset(worst[1])}, with "
            f"{percent(np.median(errors[worst]))}."
        )
        better, worse, count = better + len(clear) - len(up), worse + len(up), count + len(errors)
    condition = (
        f"{setting.steps} steps of {'Adam' if setting.optimizer == 'adam' else 'SGD'} with learning rate "
        f"{typeset(setting.rate)}: what learns longer has more time to move γ and β. Better or worse: by more than "
        f"twice the 95% interval of the difference over {setting.seeds} seeds, as so many are compared."
    )
    if not count:
        return Verdict("open", " ".join(said), condition)
    word: Word = "open" if not better + worse else "holds" if better + worse == count else "holds-if"
    if word == "holds-if":
        condition = f"It does for {better + worse} of {count} first values. {condition}"
    return Verdict(word, " ".join(said), condition)


EXPERIMENT = Experiment(
    key="start",
    title="First gain and bias",
    question="Do the first values of gain and bias matter?",
    claims=("F04",),
    claim="The first values of gain and bias matter (a question on Ba et al. 2016).",
    about="Dense networks of two layers of 32 units, ReLU(γ x̂ + β), on digits: every unit starts from one γ and one "
    "β, here from 49 pairs of them.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""Over both at once."""
