"""Speed: RMS norm against layer norm and others on this machine, in PyTorch's layers and in the general form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.fields import Shape, find_divisors
from normviz.core.machine import describe_machine
from normviz.core.registry import SCHEMES
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import integer, number_choice
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.describe.seeds import MeanDifference, compare_seed_by_seed, find_clear_signs
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.course import make_step
from normviz.topics.experiments.experiment import Comparison, Experiment, comparing, refuse_front
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, Word, tabulate

EXAMPLES, SIDE = (1, 8, 64), 8
"""N of the tensors that are normalized, and their H and W."""

WAYS = ("PyTorch’s layers", "the general form")
"""As `normviz.train.layer_timing.WAYS`, in words."""

PASSES = ("forward", "forward and backward")

REPEATS = 3
"""Number of times that a round times everything; the shortest time counts, as other processes only lengthen it."""

SIMPLER, OTHER = "rms", "layer-channels"
"""The two that the claim compares: both are over the channels of a position."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What is timed, on what."""

    seeds: int = integer(20, 5, 60, label="Rounds", help=f"In each, everything is timed {REPEATS} times, in turn.")
    schemes: tuple[str, ...] = comparing(
        ("layer-channels", "rms", "batch", "group"),
        tuple(key for key, scheme in SCHEMES.items() if scheme.is_activation_scheme),
    )
    channels: int = number_choice(256, (16, 64, 256, 512), label="Channels")
    groups: int = number_choice(2, find_divisors(16), label="Groups G")

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

    Its result holds the shortest seconds of a round, "copied" (rounds,) and "times" (rounds, ways, schemes, passes).

    Attributes:
        rounds: number of rounds.
        seed: of the numbers in the tensor.
        machine: on which this was asked for: another one measures anew.
    """

    kind: ClassVar[str] = "experiments/speed"
    version: ClassVar[int] = 2

    rows: tuple[SchemeSpec, ...]
    shape: Shape
    rounds: int
    seed: int
    eps: float
    device: str
    machine: str

    @property
    def seconds(self) -> float:
        """The expected time: rounds of every scheme, and what the slowest schemes add."""
        elements, channels = int(np.prod(self.shape)), self.shape[-1]
        each = len(self.rows) * (3e-3 + 3e-8 * elements)
        for row in self.rows:
            scheme = row.scheme
            if scheme.kind.divides_by_matrix:
                each += 0.01 + 2e-7 * elements + 1.5e-9 * channels**3
            elif any(field.windows for field in scheme.fields):
                each += 3e-7 * elements
        return REPEATS * (self.rounds + 1) * each

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Time round by round, after one that is not counted."""
        from normviz.train.layer_timing import LayerBenchmark
        from normviz.train.learning import format_device_name, get_thread_count, open_float32_device

        device = open_float32_device(self.device)
        race = LayerBenchmark([row.scheme for row in self.rows], self.shape, self.eps, self.seed, device)
        race.time_layers(REPEATS)
        processor = "a CPU" if device.type == "cpu" else f"the GPU {format_device_name(device)} beside"
        where = f"{processor} ({describe_machine()}, threads: {get_thread_count()})"
        rounds: list[tuple[float, np.ndarray]] = []

        def collect() -> dict[str, np.ndarray]:
            copied, times = map(np.array, zip(*rounds, strict=True))
            return {"copied": copied, "times": times, "operations": race.operations, "machine": np.array(where)}

        for number in range(1, self.rounds + 1):
            rounds.append(race.time_layers(REPEATS))
            yield make_step(number / self.rounds, device, collect)


def parts(setting: Setting) -> list[Part]:
    """Return a part for every tensor, the smallest first."""
    return [
        Part(
            setting.rows, (examples, *setting.shape[1:]), setting.seeds, setting.seed, setting.eps, setting.device,
            describe_machine(),
        )
        for examples in EXAMPLES
    ]  # fmt: skip


class Ratio(NamedTuple):
    """A ratio of times that were measured in the same rounds; NaN where there are no times.

    Attributes:
        low, middle, high: the geometric mean over the rounds, between the ends of its 95% interval.
        log: the mean difference of the natural logarithms, with its interval and p-value.
    """

    low: float
    middle: float
    high: float
    log: MeanDifference

    @classmethod
    def from_times(cls, times: np.ndarray, others: np.ndarray) -> "Ratio":
        """Return the ratio of `times` to `others`, paired by round.

        Example:
            >>> Ratio.of(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])).text
            '2 (2 to 2)'
        """
        log = compare_seed_by_seed(np.log(times), np.log(others))
        low, middle, high = (float(np.exp(log.mean + sign * log.half_width)) for sign in (-1, 0, 1))
        return cls(low, middle, high, log)

    @property
    def text(self) -> str:
        """The ratio with its interval: "0.71 (0.68 to 0.75)"."""
        return f"{typeset(self.middle, 2)} ({typeset(self.low, 2)} to {typeset(self.high, 2)})"


Compared = Mapping[tuple[int, int], Sequence[Ratio]]
"""Layer norm's times over RMS norm's by way and pass, from the smallest to the largest tensor."""


def report(setting: Setting, results: Results) -> Report:
    """Return layer norm's times over RMS norm's, and the times of all schemes over that of a copy."""
    found = {part.shape: results[part] for part in parts(setting) if part in results}
    ended = {shape: each for shape, each in found.items() if each["share"] == 1}
    figures = [_draw_times(setting, found)] if found else []
    if compared := _compare_times(setting, found):
        figures.insert(0, _draw_ratios(compared, found))
    return Report(_headline(setting, ended), figures, _verdict(setting, ended), _tabulate(setting, ended))


def _tabulate(setting: Setting, ended: Mapping[Shape, Arrays]) -> dict[str, list[Any]]:
    """Return all numbers, a row for every size, way, scheme and pass."""
    keys = [row.key for row in setting.rows]
    rows = []
    for (shape, each), (w, way), (k, key), (p, name) in product(
        ended.items(), enumerate(WAYS), enumerate(keys), enumerate(PASSES)
    ):
        times = each["times"][:, w, k, p]
        other = each["times"][:, w, keys.index(OTHER), p] if OTHER in keys else np.full_like(times, np.nan)
        ratios = {
            "over a copy": Ratio.from_times(times, each["copied"]),
            "layer norm over it": Ratio.from_times(other, times),
        }
        row = {
            "scheme": key, "elements": int(np.prod(shape)), "computed by": way, "pass": name,
            "operations forward": int(each["operations"][w, k]),
            "microseconds": float(1e6 * np.exp(np.log(times).mean())),
        }  # fmt: skip
        for title, ratio in ratios.items():
            row |= {title: ratio.middle, f"{title}, low": ratio.low, f"{title}, high": ratio.high}
        rows.append(row)
    return tabulate(rows)


def _draw_times(setting: Setting, found: Mapping[Shape, Arrays]) -> FigureSpec:
    """Draw times over that of a copy, by size and scheme, in a panel for each way and each pass."""
    panels, words = [], []
    for w, way in enumerate(WAYS):
        for p, which in enumerate(PASSES):
            ratios = {
                label: [Ratio.from_times(of["times"][:, w, k, p], of["copied"]) for of in found.values()]
                for k, label in enumerate(setting.labels)
                if any(of["operations"][w, k] for of in found.values())  # else PyTorch has no such layer
            }
            if ratios:
                looks = [setting.labels.index(label) for label in ratios]
                panels.append(_panel(f"{capitalize_first(way)}, {which}", ratios, looks, found, "time / copy"))
                last = ", ".join(f"{label} {typeset(each[-1].middle, 2)}" for label, each in ratios.items())
                words.append(f"{way}, {which}: {last}")
    largest = int(np.prod(list(found)[-1]))
    return FigureSpec(
        "times",
        panels,
        f"Time over that of a copy of the tensor, by size. At {largest:,} elements, in {'; in '.join(words)}.",
        f"Geometric means over the rounds with 95% intervals; the line is a copy of the tensor. Measured on "
        f"{next(iter(found.values()))['machine']}.",
    )


def _draw_ratios(compared: Compared, found: Mapping[Shape, Arrays]) -> FigureSpec:
    """Draw layer norm's times over RMS norm's by size, in a panel for each way."""
    panels = [
        _panel(
            capitalize_first(way), {which: compared[w, p] for p, which in enumerate(PASSES)}, range(len(PASSES)), found,
            "layer norm / RMS norm",
        )
        for w, way in enumerate(WAYS)
    ]  # fmt: skip
    words = (
        f"{WAYS[w]}, {PASSES[p]}: {', '.join(each.text for each in ratios)}" for (w, p), ratios in compared.items()
    )
    return FigureSpec(
        "ratio",
        panels,
        f"Time of layer norm over that of RMS norm, from the smallest to the largest tensor. {'; '.join(words)}.",
        "Above the line RMS norm is faster. Geometric means of the ratios of all rounds with 95% intervals.",
    )


def _panel(
    title: str, ratios: Mapping[str, Sequence[Ratio]], looks: Sequence[int], found: Mapping[Shape, Arrays], axis: str
) -> CurvePanel:
    """Return a panel of ratios by size, with all ratios of one size beside each other."""
    shift = 0.7 / len(ratios)
    each = []
    for place, (look, (label, of)) in enumerate(zip(looks, ratios.items(), strict=True)):
        low, middle, high = (np.array([getattr(ratio, name) for ratio in of]) for name in ("low", "middle", "high"))
        at = np.arange(len(of)) + shift * (place - (len(ratios) - 1) / 2)
        each.append(Curve(label, at, middle, look, low, high, apart=True))
    sizes = [f"{int(np.prod(shape)):,}" for shape in found]
    return CurvePanel(title, each, "elements", axis, "y", (1.0,), marks=tuple(range(len(sizes))), names=sizes)


def _compare_times(setting: Setting, found: Mapping[Shape, Arrays]) -> Compared:
    """Return layer norm's times over RMS norm's; nothing where one of them is not chosen."""
    keys = [row.key for row in setting.rows]
    if not found or not {SIMPLER, OTHER} <= set(keys):
        return {}
    one, other = keys.index(SIMPLER), keys.index(OTHER)
    return {
        (w, p): [Ratio.from_times(of["times"][:, w, other, p], of["times"][:, w, one, p]) for of in found.values()]
        for w in range(len(WAYS))
        for p in range(len(PASSES))
    }


def _headline(setting: Setting, ended: Mapping[Shape, Arrays]) -> str:
    """Say from which to which ratio it reaches, over all sizes, ways and passes."""
    if len(ended) < len(EXAMPLES):
        return f"{len(ended)} of {len(EXAMPLES)} sizes are timed."
    middles = [each.middle for ratios in _compare_times(setting, ended).values() for each in ratios]
    if not middles:
        return f"Timed on {len(EXAMPLES)} sizes."
    return f"Layer norm takes {typeset(min(middles), 2)} to {typeset(max(middles), 2)} times as long as RMS norm."


def _judge_sizes(signs: Sequence[float], sizes: Sequence[int]) -> str:
    """Return for which sizes RMS norm is faster or slower: "RMS norm is faster at all sizes"."""
    words = []
    for sign, word in ((1, "faster"), (-1, "slower")):
        here = [f"{size:,}" for size, each in zip(sizes, signs, strict=True) if each == sign]
        if len(here) == len(sizes):
            return f"RMS norm is {word} at all sizes"
        if here:
            words.append(f"{word} at {join_words(here, 'and')} elements")
    return f"RMS norm is {', '.join(words)}" if words else "there is no clear difference"


def _verdict(setting: Setting, ended: Mapping[Shape, Arrays]) -> Verdict:
    """Say at which sizes RMS norm takes less time than layer norm, for each of the ways and passes."""
    keys = [row.key for row in setting.rows]
    if not {SIMPLER, OTHER} <= set(keys):
        return Verdict("open", f"The claim compares {SCHEMES[SIMPLER].name} with {SCHEMES[OTHER].name}: choose both.")
    if len(ended) < len(EXAMPLES):
        return Verdict("open", "Not all sizes are timed yet.")
    compared = _compare_times(setting, ended)
    flat = [each.log for ratios in compared.values() for each in ratios]
    found = find_clear_signs(flat)
    signs = dict(zip(compared, np.reshape(found, (len(compared), -1)).tolist(), strict=True))
    sizes = [int(np.prod(shape)) for shape in ended]
    says = "; ".join(
        f"in {WAYS[w]}, {PASSES[p]}, {', '.join(each.text for each in compared[w, p])}: {_judge_sizes(each, sizes)}"
        for (w, p), each in signs.items()
    )
    word: Word = "holds" if min(found) > 0 else "holds-if" if max(found) > 0 else "wrong" if min(found) < 0 else "open"
    first = next(iter(ended.values()))
    (theirs, their_other), (ours, our_other) = first["operations"][:, [keys.index(SIMPLER), keys.index(OTHER)]]
    why = ""
    if theirs > their_other:
        why = (
            f"PyTorch computes RMS norm here as {theirs} operations that are not fused, and layer norm as "
            f"{their_other}. In this app's general form nothing is fused: {ours} operations and {our_other}. On large "
            "tensors, memory for the results of every operation takes further time. "
        )
    return Verdict(
        word,
        f"Layer norm's time over RMS norm's, at {join_words([f'{size:,}' for size in sizes], 'and')} elements: {says}.",
        f"{why}Measured on {first['machine']}, in {setting.seeds} rounds. Another machine, or another version of "
        "PyTorch, may give other times.",
    )


EXPERIMENT = Experiment(
    key="speed", title="Speed", claims=("R02",),
    question="Is RMS norm faster than layer norm?",
    claim="RMS norm is “computationally simpler and thus more efficient than” layer norm (Zhang & Sennrich 2019, "
    "abstract).",
    about=lambda setting: f"Random tensors (N, {SIDE}, {SIDE}, {setting.channels}), N = {join_words(EXAMPLES, 'and')}, "
    "timed on this machine; no network is trained.",
    setting=Setting, parts=parts, report=report,
    why="RMS norm computes and subtracts no mean. Yet a layer that runs as one fused operation may be faster than one "
    "that runs as several.",
    rules="Ratios are geometric means over the rounds with 95% intervals (Student's t on logarithms). In each round "
    f"everything is timed {REPEATS} times in turn, and the shortest times count, so that both schemes meet the same "
    "load. A difference is called clear where Holm's correction for the number of comparisons rejects chance at 5%.",
)  # fmt: skip
