"""Speed: RMS norm against layer norm and the rest, on this machine, in PyTorch's layers and in the general form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from normviz.core.fields import Shape, divisors
from normviz.core.machine import machine
from normviz.core.rows import Row
from normviz.core.schemes import SCHEMES
from normviz.core.settings import among, whole
from normviz.core.text import sentence, typeset
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
    refuse_front,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

EXAMPLES, SIDE = (1, 8, 64), 8
"""N of the tensors that are normalized, and their H and W."""

WAYS = ("PyTorch’s layers", "the general form")
"""As `normviz.networks.speed.WAYS`, in words."""

PASSES = ("forward", "forward and backward")

CLEAR = 1.05
"""A ratio of times is clear when the middle half of its rounds is beyond 1 on one side, and the median beyond this."""

SIMPLER, OTHER = "rms", "layer-channels"
"""The two that the claim compares: both are over the channels of a position."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is timed, on what."""

    seeds: int = whole(20, 5, 60, label="Rounds", help="In each, everything is timed once, in turn.")
    schemes: tuple[str, ...] = comparing(
        ("layer-channels", "rms", "batch", "group"),
        tuple(key for key, scheme in SCHEMES.items() if scheme.acts_on == "activation"),
    )
    channels: int = among(256, (16, 64, 256, 512), label="Channels")
    groups: int = among(2, divisors(16), label="Groups G")

    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            refuse_front(row)

    @property
    def shape(self) -> Shape:
        """Of the largest tensor."""
        return max(EXAMPLES), SIDE, SIDE, self.channels


@dataclass(frozen=True)
class Part:
    """All schemes in turn on one tensor.

    Attributes:
        rounds: how often.
        seed: of the numbers in the tensor.
        machine: on which this was asked for: another one measures anew.
    """

    kind: ClassVar[str] = "experiments/speed"
    version: ClassVar[int] = 1

    rows: tuple[Row, ...]
    shape: Shape
    rounds: int
    seed: int
    eps: float
    device: str
    machine: str

    @property
    def seconds(self) -> float:
        """A round of every scheme, and what the slowest take."""
        elements, channels = int(np.prod(self.shape)), self.shape[-1]
        each = len(self.rows) * (3e-3 + 3e-8 * elements)
        for row in self.rows:
            scheme = row.scheme
            if scheme.whitens:
                each += 0.01 + 2e-7 * elements + 1.5e-9 * channels**3
            elif any(field.windows for field in scheme.fields):
                each += 3e-7 * elements
        return (self.rounds + 1) * each

    def steps(self) -> Iterator[Step[Arrays]]:
        """Round by round, after one that is not counted."""
        from normviz.networks.learning import device_of, device_words, threads
        from normviz.networks.speed import Race

        device = device_of(self.device)
        race = Race([row.scheme for row in self.rows], self.shape, self.eps, self.seed, device)
        race.round()
        where = f"{machine()}, threads: {threads()}"
        if device.type != "cpu":
            where = f"{device_words(device)}; {where}"
        found: list[tuple[float, np.ndarray]] = []
        for number in range(1, self.rounds + 1):
            found.append(race.round())
            share = number / self.rounds
            yield Step(share, partial(_so_far, found, race.operations, share, device_words(device), where))


def _so_far(
    found: list[tuple[float, np.ndarray]], operations: np.ndarray, share: float, device: str, where: str
) -> Arrays:
    """Seconds of a copy (rounds,), and of the rest (rounds, ways, schemes, passes)."""
    copied, times = (np.array(each) for each in zip(*found, strict=True))
    return {
        "copied": copied, "times": times, "operations": operations, "share": np.array(share),
        "device": np.array(device), "machine": np.array(where),
    }  # fmt: skip


def parts(setting: Setting) -> list[Part]:
    """A part for every tensor, the smallest first."""
    return [
        Part(
            setting.rows, (examples, *setting.shape[1:]), setting.seeds, setting.seed, setting.eps, setting.device,
            machine(),
        )
        for examples in EXAMPLES
    ]  # fmt: skip


class Ratio(NamedTuple):
    """A ratio of times: the median of its rounds, and the middle half of them; NaN where there is none."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, times: np.ndarray, others: np.ndarray) -> "Ratio":
        """Of times measured in the same rounds."""
        return cls(*map(float, np.percentile(times / others, (25, 50, 75))))

    @property
    def clear(self) -> bool:
        """Whether it is beyond 1, on either side, by more than the noise."""
        return (self.low > 1 and self.middle > CLEAR) or (self.high < 1 and self.middle < 1 / CLEAR)

    @property
    def said(self) -> str:
        """The median with the middle half: 0.71 (0.68 to 0.75)."""
        return f"{typeset(self.middle, 2)} ({typeset(self.low, 2)} to {typeset(self.high, 2)})"


def report(setting: Setting, results: Results) -> Report:
    """Times over that of a copy, and RMS norm's over layer norm's."""
    found = {part.shape: results[part] for part in parts(setting) if part in results}
    ended = {shape: each for shape, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = [_times(setting, found)] if found else []
    if compared := _compared(setting, found):
        figures.append(_over(compared, found))
    table: dict[str, list[Any]] = {
        name: []
        for name in (
            "scheme", "elements", "computed by", "pass", "operations forward", "microseconds", "over a copy",
            "quartile low", "quartile high",
        )
    }  # fmt: skip
    for shape, each in ended.items():
        for w, way in enumerate(WAYS):
            for k, row in enumerate(setting.rows):
                for p, which in enumerate(PASSES):
                    times = each["times"][:, w, k, p]
                    ratio = Ratio.of(times, each["copied"])
                    values = (
                        row.key, int(np.prod(shape)), way, which, int(each["operations"][w, k]),
                        float(1e6 * np.median(times)), ratio.middle, ratio.low, ratio.high,
                    )  # fmt: skip
                    for column, value in zip(table.values(), values, strict=True):
                        column.append(value)
    return Report(_headline(_compared(setting, ended), len(ended)) or verdict.says, figures, verdict, table)


def _times(setting: Setting, found: Mapping[Shape, Arrays]) -> Shown:
    """Points with bars, by size and scheme, a panel for each way and each pass."""
    panels, words = [], []
    for w, way in enumerate(WAYS):
        for p, which in enumerate(PASSES):
            ratios = {
                label: [Ratio.of(of["times"][:, w, k, p], of["copied"]) for of in found.values()]
                for k, label in enumerate(setting.labels)
                if any(of["operations"][w, k] for of in found.values())  # else PyTorch has no such layer
            }
            if ratios:
                looks = [setting.labels.index(label) for label in ratios]
                panels.append(_panel(f"{sentence(way)}, {which}", ratios, looks, found, "time / copy"))
                last = ", ".join(f"{label} {typeset(each[-1].middle, 2)}" for label, each in ratios.items())
                words.append(f"{way}, {which}: {last}")
    largest = int(np.prod(list(found)[-1]))
    return Shown(
        "times",
        panels,
        f"Time over that of a copy of the tensor, by size. At {largest:,} elements, in {'; in '.join(words)}.",
        f"Points are medians of the rounds, bars their middle half; the line is a copy of the tensor. Measured on "
        f"{next(iter(found.values()))['machine']}.",
    )


def _over(compared: Mapping[tuple[int, int], list[Ratio]], found: Mapping[Shape, Arrays]) -> Shown:
    """RMS norm's times over layer norm's, by size: a panel for each way."""
    panels = [
        _panel(
            f"RMS over layer: {way}", {which: compared[w, p] for p, which in enumerate(PASSES)},
            range(len(PASSES)), found, "time / time",
        )
        for w, way in enumerate(WAYS)
    ]  # fmt: skip
    words = (
        f"{WAYS[w]}, {PASSES[p]}: {', '.join(each.said for each in ratios)}" for (w, p), ratios in compared.items()
    )
    return Shown(
        "ratio",
        panels,
        f"Time of RMS norm over that of layer norm, from the smallest to the largest tensor. {'; '.join(words)}.",
        "Below the line RMS norm is faster. Points are medians of the rounds, bars their middle half.",
    )


def _panel(
    title: str, ratios: Mapping[str, Sequence[Ratio]], looks: Sequence[int], found: Mapping[Shape, Arrays], axis: str
) -> Panel:
    """Ratios by size, those of one size beside each other."""
    shift = 0.7 / len(ratios)
    each = []
    for place, (look, (label, of)) in enumerate(zip(looks, ratios.items(), strict=True)):
        low, middle, high = np.array(of).T
        at = np.arange(len(of)) + shift * (place - (len(ratios) - 1) / 2)
        each.append(Curve(label, at, middle, look, low, high, apart=True))
    sizes = [f"{int(np.prod(shape)):,}" for shape in found]
    return Panel(title, each, "elements", axis, "y", (1.0,), marks=tuple(range(len(sizes))), names=sizes)


def _compared(setting: Setting, found: Mapping[Shape, Arrays]) -> dict[tuple[int, int], list[Ratio]]:
    """RMS norm's times over layer norm's for every size, by way and pass; none where one is not chosen."""
    keys = [row.key for row in setting.rows]
    if not found or not {SIMPLER, OTHER} <= set(keys):
        return {}
    one, other = keys.index(SIMPLER), keys.index(OTHER)
    return {
        (w, p): [Ratio.of(of["times"][:, w, one, p], of["times"][:, w, other, p]) for of in found.values()]
        for w in range(len(WAYS))
        for p in range(len(PASSES))
    }


def _headline(compared: Mapping[tuple[int, int], list[Ratio]], sizes: int) -> str:
    """The ratios of the largest tensor, once all are timed."""
    if not compared or sizes < len(EXAMPLES):
        return ""
    each = (
        f"{' and '.join(typeset(compared[w, p][-1].middle, 2) for p in range(len(PASSES)))} in {way}"
        for w, way in enumerate(WAYS)
    )
    return f"RMS norm’s time over layer norm’s, forward and with backward: {'; '.join(each)}."


def _effect(ratios: Sequence[Ratio]) -> str:
    """What holds at most of the sizes, and the contrary at none."""
    faster, slower = (sum(r.clear and sign * (r.middle - 1) < 0 for r in ratios) for sign in (1, -1))
    for word, here, contrary in (("faster", faster, slower), ("slower", slower, faster)):
        if 2 * here > len(ratios) and not contrary:
            return word
    if faster and slower:
        return "faster at some sizes, slower at others"
    some = "faster" if faster else "slower" if slower else ""
    return f"{some} at {max(faster, slower)} of {len(ratios)} sizes" if some else "no difference larger than the noise"


def _verdict(setting: Setting, ended: Mapping[Shape, Arrays]) -> Verdict:
    """Whether RMS norm takes less time than layer norm, in each of the ways and passes."""
    keys = [row.key for row in setting.rows]
    if not {SIMPLER, OTHER} <= set(keys):
        return Verdict("open", f"The claim compares {SCHEMES[SIMPLER].name} with {SCHEMES[OTHER].name}: choose both.")
    if len(ended) < len(EXAMPLES):
        return Verdict("open", "Not all sizes are timed yet.")
    compared = _compared(setting, ended)
    effects = {of: _effect(ratios) for of, ratios in compared.items()}
    found = set(effects.values())
    slower = "slower" in found and not any("faster" in each for each in found)
    word: Word = "holds-if" if "faster" in found else "wrong" if slower else "open"
    if found == {"faster"}:
        word = "holds"
    says = (
        f"in {WAYS[w]}, {PASSES[p]}, {effect} ({', '.join(typeset(r.middle, 2) for r in compared[w, p])})"
        for (w, p), effect in effects.items()
    )
    first = next(iter(ended.values()))
    (theirs, their_other), (ours, our_other) = first["operations"][:, [keys.index(SIMPLER), keys.index(OTHER)]]
    why = ""
    if theirs > their_other:
        why = (
            f"PyTorch computes RMS norm here as {theirs} operations one behind the other, which is not fused, and "
            f"layer norm as {their_other}. In the general form, where nothing is fused, these are {ours} and "
            f"{our_other}. "
        )
    return Verdict(
        word,
        f"RMS norm's time, as multiples of layer norm's, from the smallest to the largest tensor: {'; '.join(says)}.",
        f"{why}Measured on {first['machine']}; medians of {setting.seeds} rounds. Another machine, or another version "
        f"of PyTorch, may give other times.",
    )


EXPERIMENT = Experiment(
    key="speed",
    title="Speed",
    question="Is RMS norm faster than layer norm?",
    claims=("R02",),
    claim="RMS norm is simpler and faster than layer norm, as it does not centre (Zhang & Sennrich 2019).",
    about="Tensors of three sizes are normalized on this machine, by PyTorch's own layers and by the general form that "
    "this app's networks are trained with: in turn, many times, beside a copy of the tensor.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""Time over what a copy of the tensor takes."""
