"""Recurrent networks: digits read row by row, in sequences of unequal length (Ba et al. 2016, sections 3.1 and 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from normviz.core.fields import OWN, Shape
from normviz.core.rows import Row
from normviz.core.settings import among, real, whole
from normviz.core.text import typeset
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    Word,
    comparing,
    foremost,
    joined,
    paired,
    spread,
)
from normviz.experiments.recurrent_jobs import BACK, PIXELS, SCALES, UNITS, Back, Layouts, Reading, waits
from normviz.ui.curves import Curve, Panel


@dataclass(frozen=True)
class Setting(Comparison):
    """What reads the digits, and in which pieces."""

    schemes: tuple[str, ...] = comparing(("none", "batch", "layer", "rms"))
    inputs: int = among(8, (8, 4), label="Pixels a step", help="8 is a row of the picture.")
    wait: int = among(3, (0, 1, 3, 7), label="Empty steps ahead, at most", help="In training; each number as often.")
    batch: int = among(64, (8, 16, 32, 64), label="Batch size N")
    steps: int = whole(300, 20, 400, label="Steps", stops=(50, 100, 200, 300, 400), control="stops")
    rate: float = real(0.005, 1e-4, 0.1, label="Learning rate (Adam)", stops=(0.001, 0.002, 0.005, 0.01, 0.02))
    gain: float = real(1.0, 0.05, 3.0, label="γ at first", symbol="γ", stops=(0.1, 0.3, 0.5, 1.0, 1.5, 2.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            if row.scheme.on_activations:
                row.scheme.check((self.batch // (self.wait + 1), *self.shape[1:]))

    @property
    def shape(self) -> Shape:
        """Of a step that all sequences of a mini-batch have."""
        return self.batch, 1, 1, UNITS

    @property
    def read(self) -> int:
        """Steps that a digit takes."""
        return PIXELS // self.inputs

    @property
    def keeps(self) -> tuple[bool, ...]:
        """Which schemes keep statistics for inference: those of several examples."""
        acting = [row.scheme.on_activations for row in self.rows]
        return tuple(
            act is not None and any(field.canonical(self.shape).rules[0] != OWN for field in act.fields)
            for act in acting
        )


def parts(setting: Setting) -> list[Reading | Back | Layouts]:
    """Training, the gradient at the start, and the two layouts."""
    s = setting
    return [
        Reading(s.rows, s.networks, s.inputs, s.wait, s.batch, s.steps, s.rate, s.gain, s.eps, s.device),
        Back(s.rows, s.networks, s.inputs, s.batch, s.gain, s.eps, s.device),
        Layouts(s.networks, s.inputs, s.batch, s.steps, s.rate, s.gain, s.eps, s.device),
    ]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # of networks that give no numbers
def report(setting: Setting, results: Results) -> Report:
    """Loss and errors over the length, the gradient's way back, and the two layouts."""
    reading, back, layouts = (results.get(part, {}) for part in parts(setting))
    figures = []
    if "losses" in reading:
        panels = [_losses(setting.labels, reading["losses"])]
        said = _ends(setting.labels, reading["losses"])
        if "by_step" in reading:
            panels.append(_lengths(setting, reading))
            said += f" {_both(setting, reading)}"
        trained = f"{setting.read} to {setting.read + setting.wait}" if setting.wait else f"{setting.read}"
        figures.append(Shown("reading", panels, said, f"In training, sequences have {trained} steps. {BANDS}"))
    if "norms" in back:
        factors = _factors(back["norms"])
        figures.append(Shown("back", _way_back(setting, back["norms"]), _factors_said(setting, factors), BANDS))
    if "losses" in layouts:
        names = ("(B, C, T)", "(B, T, C)")
        panels = [_losses(names, layouts["losses"]), _channels(names, layouts["spreads"])]
        figures.append(Shown("layouts", panels, _ends(names, layouts["losses"]), LAYOUT))
    found: list[tuple[Word, str]] = [_sequences(setting, reading, layouts), _gradients(setting, back)]
    condition = f"{CONDITION} ± is the 95% interval over {setting.seeds} seeds."
    verdicts = [Verdict(word, says, condition) for word, says in found]
    verdict = Verdict(joined(each.word for each in verdicts), " ".join(each.says for each in verdicts), condition)
    of_claims = dict(zip(EXPERIMENT.claims, verdicts, strict=True))
    return Report(_headline(setting, reading), figures, verdict, _table(setting, reading), of_claims)


BANDS = "Lines are medians over the seeds, bands reach from the least to the largest."

LAYOUT = (
    "BatchNorm1d takes the second axis for the channels: fed with (B, T, C) it normalizes every step over all examples "
    "and units. Right: before training, how far each unit's outputs spread; batch norm makes all alike. A layer that "
    "keeps the steps has as many statistics as there are steps, and takes sequences of no other length. " + BANDS
)

CONDITION = (
    "What batch norm loses on longer sequences depends on which lengths the training has; what a step back multiplies "
    "the gradient by depends on γ, on the activation and on the weights' directions, though not on their scale."
)

LIMIT = 10.0
"""A gradient that is so many times smaller or larger has vanished or exploded."""

SAME = 1.02
"""Factors of a step that differ by less than this factor over all scales are called one."""

SMALL = 1e-3
"""With a larger ε, layers are not invariant to the scale of the first weights."""


def _losses(names: Sequence[str], losses: np.ndarray) -> Panel:
    """Means over thirty stretches of the training, or fewer, of losses (steps, schemes, seeds)."""
    cut = np.array_split(losses, min(30, len(losses)))
    x = np.cumsum([len(each) for each in cut])
    means = np.stack([each.mean(0) for each in cut])
    lines = [
        Curve(name, x, middle, k, low, high)
        for k, name in enumerate(names)
        for middle, low, high in [spread(means[:, k])]
    ]
    return Panel("In training", lines, "step", "loss", "y")


def _lengths(setting: Setting, reading: Arrays) -> Panel:
    steps = setting.read + np.array(waits(setting.wait))
    drawn = [(label, reading["by_step"][:, k], k) for k, label in enumerate(setting.labels)]
    drawn += [
        (f"{label}, one for all steps", reading["together"][:, k], len(setting.labels) + k)
        for k, label in enumerate(setting.labels)
        if setting.keeps[k]
    ]
    lines = [
        Curve(name, steps, 100 * middle, look, 100 * low, 100 * high, points=True)
        for name, errors, look in drawn
        for middle, low, high in [spread(errors)]
    ]
    return Panel("At the end, over the length", lines, "steps of a sequence", "test error, %", "y")


def _way_back(setting: Setting, norms: np.ndarray) -> list[Panel]:
    """Of norms (scales, steps, schemes, seeds): over the steps at scale 1, and the factor of a step over the scales."""
    panels = []
    if len(norms) > len(SCALES) // 2:
        plain = norms[len(SCALES) // 2]
        relative = plain / plain[-1]
        lines = [
            Curve(label, np.arange(1, BACK + 1), middle, k, low, high)
            for k, label in enumerate(setting.labels)
            for middle, low, high in [spread(relative[:, k])]
        ]
        panels.append(Panel("‖∂l/∂h<sub>t</sub>‖ over that of the last step", lines, "step t", "", "y", levels=(1.0,)))
    lines = [
        Curve(label, np.array(SCALES[: len(norms)]), middle, k, low, high, points=True)
        for k, label in enumerate(setting.labels)
        for middle, low, high in [spread(_factors(norms)[:, k])]
    ]
    title = "Factor of a step back"
    return [*panels, Panel(title, lines, "first weights times", "", "xy", levels=(1.0,), marks=(0.25, 0.5, 1, 2, 4))]


def _factors(norms: np.ndarray) -> np.ndarray:
    """What a step back multiplies the gradient by, a geometric mean over the steps, (scales, schemes, seeds)."""
    return (norms[:, 0] / norms[:, -1]) ** (1 / (BACK - 1))


def _channels(names: Sequence[str], spreads: np.ndarray) -> Panel:
    """Standard deviations of the units, the largest first, (layouts, seeds, units)."""
    lines = [
        Curve(name, np.arange(1, UNITS + 1), middle, k, low, high)
        for k, name in enumerate(names)
        for middle, low, high in [spread(spreads[k], 0)]
    ]
    return Panel("Spread of each unit", lines, "unit, by its spread", "standard deviation")


def _percent(errors: np.ndarray) -> str:
    return f"{typeset(100 * float(np.median(errors)), 2)}%"


def _ends(names: Sequence[str], losses: np.ndarray) -> str:
    ends = (f"{name} {typeset(float(np.median(losses[-1, k])), 2)}" for k, name in enumerate(names))
    return f"Loss after {len(losses)} steps: {', '.join(ends)}."


def _rise(setting: Setting, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of errors (waits, schemes, seeds): the mean on the lengths of the training, and on longer ones."""
    return errors[: setting.wait + 1].mean(0), errors[setting.wait + 1 :].mean(0)


def _both(setting: Setting, reading: Arrays, places: Sequence[int] = ()) -> str:
    known, longer = _rise(setting, reading["by_step"])
    named = [(k, setting.labels[k]) for k in places or range(len(setting.labels))]
    each = (f"{label} {_percent(known[k])} and {_percent(longer[k])}" for k, label in named)
    return f"Test error on lengths of the training, and on longer sequences: {'; '.join(each)}."


def _headline(setting: Setting, reading: Arrays) -> str:
    if "by_step" in reading:
        return _both(setting, reading, foremost(setting.rows))
    return _ends(setting.labels, reading["losses"]) if "losses" in reading else "Nothing is trained yet."


def _factors_said(setting: Setting, factors: np.ndarray) -> str:
    ends = (
        f"{label} {typeset(float(middle.min()), 2)} to {typeset(float(middle.max()), 2)}"
        for label, middle in zip(setting.labels, np.median(factors, -1).T, strict=True)
    )
    return f"What a step back multiplies the gradient by, over the scale of the first weights: {'; '.join(ends)}."


def _sequences(setting: Setting, reading: Arrays, layouts: Arrays) -> tuple[Word, str]:
    """Whether batch norm can be used on sequences."""
    keys = [row.key for row in setting.rows]
    if "batch" not in keys:
        return "open", "Batch norm is not among the schemes."
    if "by_step" not in reading:
        return "open", "Batch norm on sequences: not trained yet."
    batch = keys.index("batch")
    known, longer = _rise(setting, reading["by_step"])
    if np.median(known, -1).min() > 0.5:
        return "open", "No scheme learns here: more steps, or another rate, may help."
    if known[batch].min() > 0.5:
        return "holds", f"Batch norm step by step does not learn: {_percent(known[batch])} errors."
    if known[batch].max() > 0.5:
        return "open", "Batch norm step by step learns from some seeds only."
    said = [f"Batch norm step by step can be used: {_percent(known[batch])} errors on lengths of the training."]
    harms = []
    others = [k for k, keeps in enumerate(setting.keeps) if not keeps and known[k].max() <= 0.5]
    if others:
        other = next((k for k in others if keys[k].startswith("layer")), others[-1])
        more = paired(longer[batch] - known[batch], longer[other] - known[other])
        harms.append(more)
        said.append(
            f"On longer sequences, for whose steps it has no statistics, its errors rise by {more.said(100)} points "
            f"more than with {_named(setting.rows[other])}{_noise(more.clear)}."
        )
    together = paired(_rise(setting, reading["together"])[0][batch], known[batch])
    harms.append(together)
    said.append(
        f"One statistic for all steps changes its errors by {together.said(100)} points{_noise(together.clear)}."
    )
    if "errors" in layouts:
        trap = paired(layouts["errors"][1], layouts["errors"][0])
        said.append(
            f"Layout (B, T, C) in place of (B, C, T) raises no error, and changes the test error by {trap.said(100)} "
            f"points{_noise(trap.clear)}."
        )
    worse = any(each.clear and each.mean > 0 for each in harms)
    word: Word = "holds-if" if worse else "wrong" if all(each.clear for each in harms) else "open"
    return word, " ".join(said)


def _named(row: Row) -> str:
    return "no normalization" if row.key == "none" else row.scheme.name


def _noise(clear: bool) -> str:
    return "" if clear else ", within the noise of the seeds"


def _gradients(setting: Setting, back: Arrays) -> tuple[Word, str]:
    """Whether invariance to re-scaling keeps gradients from vanishing and exploding."""
    if back.get("share") != 1:
        return "open", "Gradients back in time: not computed yet."
    factors = _factors(back["norms"])
    changes = np.median(factors.max(0) / factors.min(0), -1)
    keys = [row.key for row in setting.rows]
    rest = [k for k, key in enumerate(keys) if key != "none" and np.isfinite(changes[k])]
    same = [k for k in rest if changes[k] < SAME]
    if "none" not in keys or not rest:
        return "open", "To compare gradients takes networks with normalization, and without."
    none = keys.index("none")
    span = f"the first weights times {typeset(SCALES[0])} to {typeset(SCALES[-1])}"
    if not same:
        says = f"No scheme keeps a step's factor of the gradient the same over {span}."
        if setting.eps > SMALL:
            return "open", f"{says} With ε = {typeset(setting.eps)} they are not invariant to it."
        return "wrong", says
    worst = np.abs(np.log(factors)).max((0, 2)) * (BACK - 1)
    kept = [worst[k] < np.log(LIMIT) for k in same]
    middle = np.median(factors, -1)
    each = ", ".join(f"{typeset(float(middle[0, k]), 2)} ({setting.labels[k]})" for k in same)
    says = (
        f"Over {span} a step back multiplies the gradient by {typeset(float(middle[:, none].min()), 2)} to "
        f"{typeset(float(middle[:, none].max()), 2)} without normalization; "
        f"with it by one factor, whatever the scale: {each}. "
    )
    if all(kept):
        return "holds", says + f"Over {BACK - 1} steps back that neither vanishes nor explodes."
    ends = ", ".join(
        f"{typeset(float(middle[0, k] ** (BACK - 1)), 1)} ({setting.labels[k]})"
        for k, fine in zip(same, kept, strict=True)
        if not fine
    )
    return (
        "holds-if",
        f"{says}The scale no longer matters, but such a factor need not be 1: over {BACK - 1} steps back, {ends}.",
    )


def _table(setting: Setting, reading: Arrays) -> dict[str, list[Any]]:
    """Test errors by length and seed."""
    if "by_step" not in reading:
        return {}
    steps = [setting.read + wait for wait in waits(setting.wait)]
    table: dict[str, list[Any]] = {
        "steps": [step for step in steps for _ in setting.networks],
        "seed": [*setting.networks] * len(steps),
    }
    for k, row in enumerate(setting.rows):
        table[row.key] = [float(each) for errors in reading["by_step"][:, k] for each in errors]
        if setting.keeps[k]:
            table[f"{row.key}, one for all steps"] = [float(e) for errors in reading["together"][:, k] for e in errors]
    return table


EXPERIMENT = Experiment(
    key="recurrent",
    title="Recurrent networks",
    question="What becomes of sequences, and of gradients that go back through them?",
    claims=("B15", "L02"),
    claim="Batch norm cannot be used on sequences, since its channel axis is time (a tutorial on layer norm); and "
    "invariance to re-scaling of the summed inputs keeps a recurrent network's gradients from vanishing and exploding "
    "(Ba et al. 2016, section 3.1).",
    about="Recurrent networks of 32 tanh units that read digits row by row, behind some empty rows, and tell them at "
    "the end, trained with Adam. The summed inputs are normalized at each step, with statistics of that step: nothing "
    "that comes later is seen. Tested on longer sequences as well.",
    setting=Setting,
    parts=parts,
    report=report,
)
