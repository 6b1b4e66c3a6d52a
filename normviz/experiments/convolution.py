"""Convolutions: batch norm against layer norm in its readings, and units at the border (Ba et al. 2016, §6.7)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from normviz.core.fields import Shape, divisors
from normviz.core.rows import Row
from normviz.core.schemes import SCHEMES, get_scheme
from normviz.core.settings import among, choice, real, whole
from normviz.core.text import typeset
from normviz.data.digits import SIDE
from normviz.experiments.convolution_jobs import Part
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
    paired,
    percent,
    spread,
)
from normviz.ui.curves import Curve, Panel

LAYERS = 2
"""Normalized layers, each of 3 × 3 filters."""

LEARNS = 0.5
"""Networks learn where their median test error is less."""

APART = 1.5
"""Border units vary otherwise than inner ones where their standard deviations differ by this factor."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is compared on convolutions."""

    schemes: Sequence[str] = comparing(("none", "batch", "layer", "layer-channels", "instance", "group"))
    channels: int = among(8, (4, 8, 16), label="Channels")
    padding: str = choice(
        "zeros", {"zeros": "Zeros", "none": "None"}, label="Around the picture",
        help="Zeros keep the size of 8 × 8; without, it is 6 × 6, then 4 × 4.",
    )  # fmt: skip
    learned: str = choice(
        "channel", {"channel": "Each channel", "unit": "Each unit"}, label="γ and β of",
        help="Each unit is a channel at one position, as the paper's layer norm has them.",
    )  # fmt: skip
    batch: int = whole(32, 4, 64, label="Batch size N", stops=(4, 8, 16, 32, 64), control="stops")
    steps: int = whole(200, 20, 500, label="Steps", stops=(50, 100, 200, 300, 500), control="stops")
    rate: float = real(0.003, 1e-4, 1.0, label="Learning rate (Adam)", stops=(0.0003, 0.001, 0.003, 0.01, 0.03))

    def __post_init__(self) -> None:
        super().__post_init__()
        for shape in self.shapes:
            self.check(shape)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of the normalized layers."""
        lost = 0 if self.padding == "zeros" else 2
        return tuple((self.batch, *[SIDE - lost * layer] * 2, self.channels) for layer in range(1, LAYERS + 1))

    @property
    def shape(self) -> Shape:
        """Of the first normalized layer."""
        return self.shapes[0]


def _trained(setting: Setting) -> dict[Row, Part]:
    """The part of every scheme, those by which group norm becomes others too; schemes that are equal share one."""
    grouped = [] if "group" not in setting.schemes else [_grouped(groups) for groups in divisors(setting.channels)]
    first: dict[Any, Row] = {}
    found = {}
    for row in (*setting.rows, *grouped):
        same = first.setdefault(tuple(row.scheme.canonical(shape) for shape in setting.shapes), row)
        found[row] = Part(
            same, setting.networks, setting.shapes, setting.learned == "unit", setting.steps, setting.rate, setting.eps,
            setting.device,
        )  # fmt: skip
    return found


def _grouped(groups: int) -> Row:
    return Row.of(get_scheme("group", groups))


def parts(setting: Setting) -> list[Part]:
    """A part for every scheme that differs from the others."""
    return list(dict.fromkeys(_trained(setting).values()))


def report(setting: Setting, results: Results) -> Report:
    """Curves, statistics by the distance from the border, and group norm from one group to as many as channels."""
    found = {row: results[part] for row, part in _trained(setting).items() if part in results}
    ended = {row: each for row, each in found.items() if each["share"] == 1}
    shown = {label: found[row] for label, row in zip(setting.labels, setting.rows, strict=True) if row in found}
    finished = {row.key: ended[row] for row in setting.rows if row in ended}
    figures = [*_curves(shown), *_borders(shown), *_groups(setting, ended)]
    verdicts = {"B16": _lead(setting, finished)}
    return Report(
        _headline(setting, finished), figures, _verdict(setting, finished), _table(setting, finished), verdicts
    )


def _finite(values: np.ndarray) -> np.ndarray:
    """Values as they are drawn: a network that diverged has none."""
    return np.where(np.isfinite(values), values, np.nan)


def _between(result: Arrays) -> np.ndarray:
    """Mean losses since the mark before, (marks so far, networks)."""
    starts = result["measured"][:-1]
    return np.add.reduceat(result["losses"][: result["measured"][-1]], starts) / np.diff(result["measured"])[:, None]


def _curves(shown: Mapping[str, Arrays]) -> Iterator[Shown]:
    """Training loss and test error by step."""
    begun = {label: each for label, each in shown.items() if len(each["measured"]) > 1}
    if not begun:
        return
    panels = [
        Panel(
            title,
            [
                Curve(label, each["measured"][1:], middle, k, low, high)
                for k, (label, each) in enumerate(shown.items())
                if label in begun
                for middle, low, high in [spread(_finite(values(each)))]
            ],
            "step", axis, log,
        )
        for title, axis, log, values in (
            ("Training loss", "loss", "y", _between),
            ("Test error", "test error, %", "", lambda each: 100 * each["errors"][1:]),
        )
    ]  # fmt: skip
    said = ", ".join(f"{label} {percent(np.median(each['errors'][-1]))}" for label, each in begun.items())
    yield Shown(
        "curves", panels, f"Training loss and test error by step; the error so far: {said}.",
        "Medians over the seeds, in bands from the least to the largest. Losses are means since the point before.",
    )  # fmt: skip


def distance(side: int) -> np.ndarray:
    """(side, side): how far each position is from the border, 0 at it."""
    along = np.minimum(np.arange(side), np.arange(side)[::-1])
    return np.minimum(along[:, None], along)


def by_distance(maps: np.ndarray) -> np.ndarray:
    """Means (…, distances) of maps (…, H, W) over the positions at each distance from the border."""
    away = distance(maps.shape[-1])
    return np.stack([maps[..., away == k].mean(-1) for k in range(away.max() + 1)], -1)


def border_and_inside(maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of maps (…, H, W) over the positions at the border, and over all others."""
    away = distance(maps.shape[-1])
    return maps[..., away == 0].mean(-1), maps[..., away > 0].mean(-1)


def _borders(shown: Mapping[str, Arrays]) -> Iterator[Shown]:
    """How often units are turned on, and how much their summed inputs vary, by the distance from the border."""
    if not shown:
        return
    panels = [
        Panel(
            f"Layer {layer}: {title}",
            [
                Curve(label, np.arange(values.shape[-1]), middle, k, low, high, points=True)
                for k, (label, each) in enumerate(shown.items())
                for values in [factor * by_distance(_finite(each[f"{name}-{layer}"][-1]))]
                for middle, low, high in [spread(values, 0)]
            ],
            "distance from the border", axis, marks=range(SIDE // 2),
        )
        for name, title, axis, factor in (
            ("on", "turned on", "of the digits, %", 100),
            ("deviation", "spread of the summed inputs", "standard deviation", 1),
        )
        for layer in range(1, LAYERS + 1)
    ]  # fmt: skip
    said = "; ".join(f"{label}: {_contrast(each)}" for label, each in shown.items())
    yield Shown(
        "borders", panels, f"Statistics of units by their distance from the border. In the last layer, {said}.",
        "Means over channels and positions, on digits to test on, as the networks are now. Batch norm, too, shares its "
        "statistics between the border and the inside; layer norm over channels does not.",
    )  # fmt: skip


def _contrast(result: Arrays) -> str:
    """How the border of the last layer differs from the inside: "turned on 50 % at the border, 53 % inside, …"."""
    on, deviation = (
        [float(np.median(each)) for each in border_and_inside(result[f"{name}-{LAYERS}"][-1])]
        for name in ("on", "deviation")
    )
    return (
        f"turned on for {percent(on[0])} of the digits at the border and {percent(on[1])} inside, with a standard "
        f"deviation of {typeset(deviation[0], 3)} and {typeset(deviation[1], 3)}"
    )


def _groups(setting: Setting, ended: Mapping[Row, Arrays]) -> Iterator[Shown]:
    """Group norm from one group, which is layer norm, to as many as channels, which is instance norm."""
    counts = divisors(setting.channels)
    found = {groups: ended[_grouped(groups)] for groups in counts if _grouped(groups) in ended}
    if "group" not in setting.schemes or not found:
        return
    panels = [
        Panel(
            title,
            [
                Curve("Group", np.array(list(found)), middle, 0, low, high, points=True)
                for middle, low, high in [spread(_finite(np.stack([values(each) for each in found.values()])))]
            ],
            "groups G", axis, "x", marks=counts,
        )
        for title, axis, values in (
            ("Training loss, mean over all steps", "loss", lambda each: each["losses"].mean(0)),
            ("Test error at the end", "test error, %", lambda each: 100 * each["errors"][-1]),
        )
    ]  # fmt: skip
    said = ", ".join(
        f"{typeset(np.median(each['losses'].mean(0)), 2)} and {percent(np.median(each['errors'][-1]))} at G = {groups}"
        for groups, each in found.items()
    )
    yield Shown(
        "groups", panels, f"Mean training loss and test error of group norm by its number of groups: {said}.",
        f"G = 1 is layer norm, G = {setting.channels} instance norm.",
    )  # fmt: skip


def _loss(result: Arrays) -> np.ndarray:
    """The mean over all steps of a training, by network: how fast it learns."""
    return result["losses"].mean(0)


def _headline(setting: Setting, finished: Mapping[str, Arrays]) -> str:
    if not finished:
        return "No networks are trained yet."
    rows = [row for row in setting.rows if row.key in finished]
    named = [(rows[k].scheme.label, finished[rows[k].key]) for k in foremost(rows, 3)]
    losses = ", ".join(f"{label} {typeset(np.median(_loss(each)), 3)}" for label, each in named)
    errors = ", ".join(f"{label} {percent(np.median(each['errors'][-1]))}" for label, each in named)
    return f"Training loss, mean over {setting.steps} steps: {losses}. Test error at the end: {errors}."


def _verdict(setting: Setting, finished: Mapping[str, Arrays]) -> Verdict:
    """Whether batch norm learns faster than layer norm, and whether units at the border can be why."""
    lead = _lead(setting, finished)
    if lead.word not in ("holds", "holds-if"):
        return lead
    layer = finished["layer"]
    reasons = [_border(layer, "deviation"), _border(layer, "on"), _alone(finished)]
    word: Word = "holds" if all(holds for holds, _ in reasons) else "holds-if"
    return Verdict(word, " ".join([lead.says, *(why for _, why in reasons)]), f"{lead.condition} {_why(reasons)}")


def _lead(setting: Setting, finished: Mapping[str, Arrays]) -> Verdict:
    """Whether batch norm learns faster than layer norm, and ends with fewer errors too."""
    for key in ("batch", "layer"):
        if key not in setting.schemes:
            return Verdict("open", f"This takes batch and layer norm, but {SCHEMES[key].name} is not chosen.")
    if len(finished) < len(setting.rows):
        return Verdict("open", "Not all networks are trained yet.")
    batch, layer = finished["batch"], finished["layer"]
    lead = paired(_loss(layer), _loss(batch))
    ended = paired(layer["errors"][-1], batch["errors"][-1])
    condition = (
        f"{setting.steps} steps of Adam at {typeset(setting.rate)} on batches of {setting.batch}, "
        f"{'zeros' if setting.padding == 'zeros' else 'nothing'} around the pictures; ± is the 95% interval over "
        f"{len(setting.networks)} seeds."
    )
    said = (
        f"In the mean over all steps, training loss with layer norm is that with batch norm plus {lead.said()}; at the "
        f"end, test error differs by {ended.said(100)} points{'' if ended.clear else ', which may be noise'}."
    )
    if not np.isfinite(lead.mean):
        return Verdict("open", "Some networks of batch or layer norm diverged: they give no numbers.", condition)
    if min(float(np.median(each["errors"][-1])) for each in (batch, layer)) > LEARNS:
        return Verdict("open", f"{said} Neither of the two learns here.", condition)
    if not lead.clear:
        return Verdict("open", f"{said} The loss differs by no more than the noise between seeds.", condition)
    if lead.mean < 0:
        return Verdict("wrong", f"{said} So layer norm learns faster here.", condition)
    return Verdict("holds" if ended.clear and ended.mean > 0 else "holds-if", said, condition)


def _border(result: Arrays, name: str) -> tuple[bool, str]:
    """Whether a statistic of the last layer is much smaller at the border than inside, and that in words."""
    border, inside = border_and_inside(result[f"{name}-{LAYERS}"][-1])
    less = paired(inside, border).clear and APART * border.mean() < inside.mean()
    what, said = {
        "deviation": (
            "In the last layer of layer norm the standard deviation of the summed inputs is",
            lambda number: typeset(number, 3),
        ),
        "on": ("The share of digits that turn a unit on is", percent),
    }[name]
    return less, f"{what} {said(np.median(border))} at the border and {said(np.median(inside))} inside."


def _alone(finished: Mapping[str, Arrays]) -> tuple[bool | None, str]:
    """Whether layer norm learns faster where it does not mix the border with the inside, and that in words; None where
    that is not tried."""
    if "layer-channels" not in finished:
        return None, "Layer norm over channels, which takes every position alone, is not among the schemes."
    more = paired(_loss(finished["layer-channels"]), _loss(finished["layer"]))
    faster = more.clear and more.mean < 0
    how = "learns faster" if faster else "learns more slowly" if more.clear else "learns about as fast"
    return faster, f"Layer norm over channels, which takes every position alone, {how} ({more.said()})."


def _why(reasons: Sequence[tuple[bool | None, str]]) -> str:
    """What of the explanation is seen."""
    deviation, on, alone = (holds for holds, _ in reasons)
    if deviation and on and alone:
        return "The explanation by the border agrees with all that is measured here."
    seen = [text for holds, text in ((deviation, "vary less"), (on, "are turned on more rarely")) if holds]
    border = f"Units at the border {' and '.join(seen)}" if seen else "Units at the border do not clearly differ"
    tested = {
        True: "not to mix them with the others helps",
        False: "that mixing them in costs anything is not seen",
        None: "whether mixing them in costs anything is not tried",
    }[alone]
    return f"{border}; {tested}."


def _table(setting: Setting, finished: Mapping[str, Arrays]) -> dict[str, list[Any]]:
    """A row for every scheme and seed."""
    table: dict[str, list[Any]] = {
        "scheme": [key for key in finished for _ in setting.networks],
        "seed": [seed for _ in finished for seed in setting.networks],
        "mean training loss": [float(each) for result in finished.values() for each in _loss(result)],
        "test error": [float(each) for result in finished.values() for each in result["errors"][-1]],
    }
    for when, moment in (("at the start", 0), ("at the end", -1)):
        for layer in range(1, LAYERS + 1):
            for name, what in (("on", "turned on"), ("mean", "mean"), ("deviation", "standard deviation")):
                sides = [border_and_inside(result[f"{name}-{layer}"][moment]) for result in finished.values()]
                for side, where in enumerate(("border", "inside")):
                    values = [float(each) for both in sides for each in both[side]]
                    table[f"layer {layer} {where}, {what} {when}"] = values
    return table


EXPERIMENT = Experiment(
    key="convolution",
    title="Convolutions",
    question="Why does layer norm help less in convolutional networks?",
    claims=("L09", "B16"),
    claim="In convolutional networks batch norm outperforms layer norm, which is faster only than no normalization: "
    "units near the border of the picture are rarely turned on, so that their statistics differ from those of "
    "the rest of the layer, with which layer norm mixes them (Ba et al. 2016, section 6.7).",
    about="Two layers of 3 × 3 filters, normalized, and a linear classifier, on handwritten digits of 8 × 8 pixels, "
    "trained with Adam.",
    setting=Setting,
    parts=parts,
    report=report,
)
