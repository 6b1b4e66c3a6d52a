"""Speed: RMS norm against layer norm and others on this machine, in PyTorch's layers and in the general form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment, declare_schemes, reject_weight_scheme
from normviz.topics.experiments.experiment_jobs import ExperimentJob
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, judge_signs, tabulate
from normviz.topics.experiments.training_history import make_job_step

EXAMPLES, SIDE = (1, 8, 64), 8
"""N of the normalized tensors, and their H and W."""

IMPLEMENTATION_NAMES = ("PyTorch’s layers", "plain operations")
"""Names of the implementations that `normviz.train.layer_timing` times, in their order."""

PASS_NAMES = ("forward", "forward and backward")

TIMING_REPEATS = 3
"""Timings of everything in a round; the shortest counts, since other processes only lengthen a time."""

SIMPLER, OTHER = "rms", "layer-channels"
"""The two schemes of the claim, both over the channels of a position."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the timing: rounds, schemes and the size of the tensors."""

    seeds: int = integer(
        20, 5, 60, label="Rounds", help=f"In each, everything is timed {TIMING_REPEATS} times, in turn."
    )
    schemes: tuple[str, ...] = declare_schemes(
        ("layer-channels", "rms", "batch", "group"),
        tuple(key for key, scheme in SCHEMES.items() if scheme.is_activation_scheme),
    )
    channels: int = number_choice(256, (16, 64, 256, 512), label="Channels")
    groups: int = number_choice(2, find_divisors(16), label="Groups G")

    weighted: ClassVar[bool] = False
    has_scheme_curves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            reject_weight_scheme(row)

    @property
    def shape(self) -> Shape:
        """The shape (N, H, W, C) of the largest tensor."""
        return max(EXAMPLES), SIDE, SIDE, self.channels


@dataclass(frozen=True)
class SpeedTiming(ExperimentJob, kind="experiments/speed", version=2):
    """Job that times one layer of each scheme, in turn, on one tensor.

    Its result holds the shortest seconds of a round, "copied" (rounds,) and "times" (rounds, ways, schemes, passes).
    `seed` is that of the numbers in the tensor. Another `machine` than that of the request measures anew.
    """

    rows: tuple[SchemeSpec, ...]
    shape: Shape
    rounds: int
    seed: int
    eps: float
    machine: str

    @property
    def seconds(self) -> float:
        """Expected seconds of all rounds; schemes that decompose matrices or slide windows take longer."""
        elements, channels = int(np.prod(self.shape)), self.shape[-1]
        each = len(self.rows) * (3e-3 + 3e-8 * elements)
        for row in self.rows:
            scheme = row.scheme
            if scheme.kind.decomposes:
                each += 0.01 + 2e-7 * elements + 1.5e-9 * channels**3
            elif any(field.windowed_axes for field in scheme.fields):
                each += 3e-7 * elements
        return TIMING_REPEATS * (self.rounds + 1) * each

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Time one round after the other, and yield the result so far after each; a warm-up round is not counted."""
        from normviz.train.layer_timing import LayerBenchmark
        from normviz.train.learning import format_device_name, get_thread_count, open_float32_device

        device = open_float32_device(self.device)
        race = LayerBenchmark([row.scheme for row in self.rows], self.shape, self.eps, self.seed, device)
        race.time_layers(TIMING_REPEATS)
        processor = "a CPU" if device.type == "cpu" else f"the GPU {format_device_name(device)} beside"
        where = f"{processor} ({describe_machine()}, threads: {get_thread_count()})"
        rounds: list[tuple[float, np.ndarray]] = []

        def collect() -> dict[str, np.ndarray]:
            copied, times = map(np.array, zip(*rounds, strict=True))
            return {"copied": copied, "times": times, "operations": race.operations, "machine": np.array(where)}

        for number in range(1, self.rounds + 1):
            rounds.append(race.time_layers(TIMING_REPEATS))
            yield make_job_step(number / self.rounds, device, collect)


def list_jobs(setting: Setting) -> list[SpeedTiming]:
    """Return a job for every tensor size, the smallest first."""
    shapes = ((examples, *setting.shape[1:]) for examples in EXAMPLES)
    return [SpeedTiming.of(setting, shape=shape, rounds=setting.seeds, machine=describe_machine()) for shape in shapes]


class TimeRatio(NamedTuple):
    """Geometric mean of the ratio of two times measured in the same rounds, and the ends of its 95% interval.

    `log` is the mean difference of the natural logarithms. All are NaN without times.
    """

    low: float
    middle: float
    high: float
    log: MeanDifference

    @classmethod
    def from_times(cls, times: np.ndarray, others: np.ndarray) -> "TimeRatio":
        """Return the ratio of `times` to `others`, both (rounds,) and paired.

        Example:
            >>> TimeRatio.from_times(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])).text
            '2 (2 to 2)'
        """
        log = compare_seed_by_seed(np.log(times), np.log(others))
        low, middle, high = (float(np.exp(log.mean + sign * log.half_width)) for sign in (-1, 0, 1))
        return cls(low, middle, high, log)

    @property
    def text(self) -> str:
        """The ratio with its interval: "0.71 (0.68 to 0.75)"."""
        return f"{typeset(self.middle, 2)} ({typeset(self.low, 2)} to {typeset(self.high, 2)})"


TimeRatios = Mapping[tuple[int, int], Sequence[TimeRatio]]
"""RMS norm's times over layer norm's by way and pass, from the smallest to the largest tensor."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the ratio of RMS norm's time to layer norm's, and all times relative to that of copying."""
    found = {part.shape: results[part] for part in list_jobs(setting) if part in results}
    ended = {shape: each for shape, each in found.items() if each["share"] == 1}
    figures = [_draw_times(setting, found)] if found else []
    if compared := _compare_times(setting, found):
        figures = [*_draw_ratios(compared, found), *figures]
    return Report(
        _format_headline(setting, ended), figures, _judge_claim(setting, ended), _tabulate_results(setting, ended)
    )


def _tabulate_results(setting: Setting, ended_results: Mapping[Shape, Arrays]) -> dict[str, list[Any]]:
    keys = [row.key for row in setting.rows]
    rows = []
    for (shape, each), (w, way), (k, key), (p, name) in product(
        ended_results.items(), enumerate(IMPLEMENTATION_NAMES), enumerate(keys), enumerate(PASS_NAMES)
    ):
        times = each["times"][:, w, k, p]
        other = each["times"][:, w, keys.index(OTHER), p] if OTHER in keys else np.full_like(times, np.nan)
        ratios = {
            "over a copy": TimeRatio.from_times(times, each["copied"]),
            "over layer norm": TimeRatio.from_times(times, other),
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
    """Return a figure of times relative to copying, by size and scheme; a panel per implementation and pass."""
    panels, words = [], []
    for w, way in enumerate(IMPLEMENTATION_NAMES):
        for p, which in enumerate(PASS_NAMES):
            ratios = {
                label: [TimeRatio.from_times(of["times"][:, w, k, p], of["copied"]) for of in found.values()]
                for k, label in enumerate(setting.labels)
                if any(of["operations"][w, k] for of in found.values())  # else PyTorch has no such layer
            }
            if ratios:
                styles = [setting.styles[setting.labels.index(label)] for label in ratios]
                title = f"{capitalize_first(way)}, {which}"
                panels.append(_make_ratio_panel(title, ratios, styles, found, "time / copy"))
                last = ", ".join(f"{label} {typeset(each[-1].middle, 2)}" for label, each in ratios.items())
                words.append(f"{way}, {which}: {last}")
    largest = int(np.prod(list(found)[-1]))
    return FigureSpec(
        "times", panels,
        f"Time over that of a copy of the tensor, by size. At {largest:,} elements, in {'; in '.join(words)}.",
        f"Geometric means over the rounds with 95% intervals; the line is a copy of the tensor. Measured on "
        f"{next(iter(found.values()))['machine']}.",
    )  # fmt: skip


def _draw_ratios(time_ratios: TimeRatios, found: Mapping[Shape, Arrays]) -> Iterator[FigureSpec]:
    """Yield a figure of the ratio of RMS norm's time to layer norm's by size for each pass, forward first."""
    first = next(iter(found.values()))
    for p, which in enumerate(PASS_NAMES):
        ratios = {way: time_ratios[w, p] for w, way in enumerate(IMPLEMENTATION_NAMES)}
        ends = [end for of in ratios.values() for each in of for end in (each.low, each.high)]
        span = (min(float(np.log10(min(ends))) - 0.1, -0.31), max(float(np.log10(max(ends))) + 0.1, 0.3))
        title = f"RMS norm’s time / layer norm’s time, {which} pass{'es' * bool(p)}"
        panel = _make_ratio_panel(title, ratios, (16, 17), found, "time ratio")  # no colour of a scheme
        words = (f"{way}: {', '.join(each.text for each in of)}" for way, of in ratios.items())
        yield FigureSpec(
            which, [replace(panel, span=span, level_names=("RMS norm slower ↑<br>RMS norm faster ↓",))],
            f"{title}, from the smallest to the largest tensor. {'; '.join(words)}.",
            f"Geometric means of {len(first['copied'])} rounds, 95% intervals. Measured on {first['machine']}.",
        )  # fmt: skip


def _make_ratio_panel(
    title: str, ratios: Mapping[str, Sequence[TimeRatio]], styles: Sequence[int], shapes: Iterable[Shape], axis: str
) -> CurvePanel:
    """Return a panel with a curve of ratios per name over the tensor shapes; `axis` is the label of the y axis."""
    is_pair = len(ratios) == 2  # then their numbers stand outside
    shift = 0.16 if is_pair else 0.9 / len(ratios)
    each = []
    for place, (style, (label, of)) in enumerate(zip(styles, ratios.items(), strict=True)):
        low, middle, high = (np.array([getattr(ratio, name) for ratio in of]) for name in ("low", "middle", "high"))
        at = np.arange(len(of)) + shift * (place - (len(ratios) - 1) / 2)
        texts = [typeset(number, 2) for number in middle]
        side = f"middle {'left' if is_pair and not place else 'right'}"
        each.append(Curve(label, at, middle, style, low, high, is_scatter=True, texts=texts, text_side=side))
    sizes = [f"{int(np.prod(shape)):,}" for shape in shapes]
    return CurvePanel(
        title, each, "elements of the tensor", axis, "y", (1.0,), marks=tuple(range(len(sizes))), names=sizes
    )


def _compare_times(setting: Setting, found: Mapping[Shape, Arrays]) -> TimeRatios:
    """Return RMS norm's over layer norm's time per size, by (implementation, pass); empty unless both are timed."""
    keys = [row.key for row in setting.rows]
    if not found or not {SIMPLER, OTHER} <= set(keys):
        return {}
    one, other = keys.index(SIMPLER), keys.index(OTHER)
    return {
        (w, p): [TimeRatio.from_times(of["times"][:, w, one, p], of["times"][:, w, other, p]) for of in found.values()]
        for w in range(len(IMPLEMENTATION_NAMES))
        for p in range(len(PASS_NAMES))
    }


def _format_headline(setting: Setting, ended_results: Mapping[Shape, Arrays]) -> str:
    """Return the headline: whether RMS norm is faster in each implementation, or the progress so far."""
    if len(ended_results) < len(EXAMPLES):
        return f"{len(ended_results)} of {len(EXAMPLES)} sizes are timed."
    signs = _find_faster_signs(_compare_times(setting, ended_results))
    if not signs:
        return f"Timed on {len(EXAMPLES)} sizes."
    fused, plain = (_answer_in_words(signs[way, 0]) for way in range(len(IMPLEMENTATION_NAMES)))
    device = "GPU" if "the GPU" in str(next(iter(ended_results.values()))["machine"]) else "CPU"
    return f"On a {device}, RMS norm is {fused} in PyTorch’s layers, {plain} in plain operations."


def _answer_in_words(signs: Sequence[int]) -> str:
    """Return what most of the signs say, 1 for faster: "faster", "mostly slower", … or "not clearly different".

    Example:
        >>> _answer_in_words([1, 1, 0]), _answer_in_words([-1, -1]), _answer_in_words([1, -1])
        ('mostly faster', 'slower', 'not clearly different')
    """
    for sign, answer in ((1, "faster"), (-1, "slower")):
        if 2 * signs.count(sign) > len(signs):
            return answer if signs.count(sign) == len(signs) else f"mostly {answer}"
    return "not clearly different"


def _find_faster_signs(time_ratios: TimeRatios) -> dict[tuple[int, int], list[int]]:
    """Return by (implementation, pass) the signs per size: 1 where RMS norm is clearly faster, −1 where slower."""
    signs = iter(find_clear_signs([each.log for ratios in time_ratios.values() for each in ratios]))
    return {place: [-next(signs) for _ in ratios] for place, ratios in time_ratios.items()}


def _describe_faster_sizes(signs: Sequence[float], sizes: Sequence[int]) -> str:
    """Return where RMS norm is faster (sign 1) or slower (−1) in words: "RMS norm is faster at all sizes"."""
    words = []
    for sign, word in ((1, "faster"), (-1, "slower")):
        here = [f"{size:,}" for size, each in zip(sizes, signs, strict=True) if each == sign]
        if len(here) == len(sizes):
            return f"RMS norm is {word} at all sizes"
        if here:
            words.append(f"{word} at {join_words(here, 'and')} elements")
    return f"RMS norm is {', '.join(words)}" if words else "there is no clear difference"


def _judge_claim(setting: Setting, ended_results: Mapping[Shape, Arrays]) -> Verdict:
    """Return the verdict on whether RMS norm takes less time than layer norm at every size, implementation and pass."""
    keys = [row.key for row in setting.rows]
    if not {SIMPLER, OTHER} <= set(keys):
        return Verdict("open", f"The claim compares {SCHEMES[SIMPLER].name} with {SCHEMES[OTHER].name}: choose both.")
    if len(ended_results) < len(EXAMPLES):
        return Verdict("open", "Not all sizes are timed yet.")
    compared = _compare_times(setting, ended_results)
    signs = _find_faster_signs(compared)
    sizes = [int(np.prod(shape)) for shape in ended_results]
    says = "; ".join(
        f"in {IMPLEMENTATION_NAMES[w]}, {PASS_NAMES[p]}, {', '.join(each.text for each in compared[w, p])}: "
        f"{_describe_faster_sizes(each, sizes)}"
        for (w, p), each in signs.items()
    )
    first = next(iter(ended_results.values()))
    theirs, their_other = first["operations"][0, [keys.index(SIMPLER), keys.index(OTHER)]]
    why = (
        "RMS norm needs fewer operations, as it subtracts no mean. But PyTorch computes layer norm in a single "
        "routine, and RMS norm step by step."
    ) * bool(their_other == 1 < theirs)
    faster = [way for w, way in enumerate(IMPLEMENTATION_NAMES) if min(signs[w, 0]) > 0]
    return Verdict(
        judge_signs([sign for each in signs.values() for sign in each]),
        f"RMS norm's time over layer norm's, at {join_words([f'{size:,}' for size in sizes], 'and')} elements: {says}.",
        f"Measured on {first['machine']}, in {setting.seeds} rounds. Another machine, or another version of PyTorch, "
        "may give other times.",
        why,
        f"only in {join_words(faster, 'and')}" if faster else "",
    )


EXPERIMENT = Experiment.of("speed", Setting, list_jobs, report,
    lambda setting: f"Random tensors (N, H, W, C) = (N, {SIDE}, {SIDE}, {setting.channels}), N = "
    f"{join_words(EXAMPLES, 'and')}; each vector of C numbers is normalized, as in transformers.",
    lambda _: "We time both norms on random tensors of three sizes: by PyTorch’s built-in layers, and by plain "
    "tensor operations (square, mean, divide, …). RMS norm divides by √(mean of x²); layer norm subtracts the mean "
    "first."
)  # fmt: skip
