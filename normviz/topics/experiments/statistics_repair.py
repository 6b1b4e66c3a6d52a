"""Batch norm on shifted test pictures: the error with statistics of training, and with new ones (Li et al. 2016)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from normviz.charts.curves import Curve, CurvePanel, encode_picture
from normviz.core.arrays import Array
from normviz.core.registry import SCHEMES
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import choice, integer
from normviz.core.text import join_words, typeset
from normviz.data.digits import DIGITS_DESCRIPTION, load_digit_split
from normviz.describe.seeds import MeanDifference, compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments.dense_grid import LAYER_WIDTHS, LEARNING_RATES, DenseGrid
from normviz.topics.experiments.experiment import SCHEME_STYLES, Experiment, describe_hidden_layers
from normviz.topics.experiments.experiment import Setting as Seeded
from normviz.topics.experiments.grid_outcome import GridOutcome
from normviz.topics.experiments.reports import (
    NOT_TRAINED,
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    make_band_curve,
    start_table,
)

if TYPE_CHECKING:
    import torch

    from normviz.train.dense import Dense, Digits

SHIFT_NAMES = {"bright": "Brighter", "washed": "Paler", "dim": "Darker"}
"""Shifts of the test pictures."""

SHIFT_WORDS = {
    "bright": "a pixel x (0 to 1) becomes min(x + s, 1)",
    "washed": "a pixel x (0 to 1) becomes (1 − s) x + s",
    "dim": "a pixel x (0 to 1) becomes (1 − s) x",
}
"""The shifts in sentences."""

SHIFT_LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8)

HEADLINE_LEVEL = 0.4
"""The strength that the headline is about."""

TEST_BATCH_SIZES = (2, 4, 8, 16, 32, 64)
"""Test pictures that are normalized together by their own statistics."""

SHOWN_BATCH_SIZE = 16
"""The size in the first figure."""

LINE_STYLES = {
    "stored statistics": SCHEME_STYLES["batch"],
    "new statistics": 3,
    f"new statistics of {SHOWN_BATCH_SIZE} pictures": 4,
    "layer norm": SCHEME_STYLES["layer"],
}
"""Index of the curve style of each line over the strength, by its name; the first figure has the first two."""

BATCH_SIZE = 32
"""Digits of a mini-batch in training."""


@dataclass(frozen=True)
class Setting(Seeded):
    """Settings of the training and of the shift of the test pictures."""

    shift: str = choice("bright", SHIFT_NAMES, label="Shift", help="Of all test pictures, in the same way.")
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 400, 500), control="stops")


def shift_pictures(x: Array, shift: str, level: float) -> Array:
    """Return pictures with values from 0 to 1, changed in brightness, contrast or both; `level` 0 changes nothing.

    "bright" is min(x + s, 1), "washed" (1 − s)x + s, "dim" (1 − s)x.
    """
    if shift == "bright":
        return (x + level).clip(max=1)
    return (1 - level) * x + (level if shift == "washed" else 0)


@dataclass(frozen=True, kw_only=True)
class StatisticsRepairTraining(DenseGrid, kind="experiments/repair", version=1):
    """Job that trains networks of one scheme, and tests them on shifted pictures with old and new statistics.

    Its result also holds errors on test digits: "running" with the statistics of training and "recalculated" with those
    of shifted validation digits, (levels, rates, seeds); "own" with those of a few test digits, (sizes, levels, rates,
    seeds).
    """

    shift: str

    def measure_extra_results(self, network: "Dense", digits: "Digits") -> Arrays:
        """Return the error rates on shifted test digits by kind of statistics, with last axes (rates, seeds)."""
        from normviz.train.learning import to_numpy

        def as_grid(errors: list["torch.Tensor"]) -> np.ndarray:
            return np.stack([to_numpy(each) for each in errors]).reshape(-1, len(self.rates), len(self.networks))

        (x, _), (others, _), (test, answers) = digits
        shifted, tests = (
            [shift_pictures(each, self.shift, level) for level in SHIFT_LEVELS] for each in (others, test)
        )  # fmt: skip
        running = network.measure_errors(x, self.batch, [(each, answers) for each in tests])
        new = [
            network.measure_errors(like, self.batch, [(each, answers)])[0]
            for like, each in zip(shifted, tests, strict=True)
        ]
        orders = np.stack([np.random.default_rng([seed, 6]).permutation(len(test)) for seed in self.networks])
        orders = np.tile(orders, (len(self.rates), 1))
        own = [
            [network.measure_errors_in_training_mode(each, answers, size, orders) for each in tests]
            for size in TEST_BATCH_SIZES
        ]
        return {
            "running": as_grid(running), "recalculated": as_grid(new), "own": np.stack([as_grid(each) for each in own]),
        }  # fmt: skip


def list_jobs(setting: Setting) -> list[StatisticsRepairTraining]:
    """Return a job for batch norm and one for layer norm."""
    rows = (SchemeSpec.of(SCHEMES[key]) for key in ("batch", "layer"))
    return [StatisticsRepairTraining.of(setting, row=row, batch=BATCH_SIZE) for row in rows]


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error by strength of the shift, and by number of test pictures in a batch."""
    ended = {
        part.row.key: GridOutcome(
            f"{part.row.key} norm", f"{part.row.key} norm", SCHEME_STYLES[part.row.key], LEARNING_RATES, results[part]
        )
        for part in list_jobs(setting)
        if part in results and results[part]["share"] == 1
    }
    figures = []
    if ended:
        figures = [*_draw_errors_by_strength(setting, ended), _draw_errors_by_batch_size(setting, ended)]
    table = start_table(setting.networks, "strength", SHIFT_LEVELS)
    for key, each in ended.items():
        running, recalculated, own = map(each.get_at_best_rate, ("running", "recalculated", "own"))
        names = ("running averages", "recalculated", *(f"own, of {size}" for size in TEST_BATCH_SIZES))
        for name, errors in zip(names, (running, recalculated, *own), strict=True):
            table[f"{key}, {name}"] = errors.ravel().tolist()
    return Report(_format_headline(setting, ended), figures, _judge_claim(setting, ended), table)


def _collect_errors_by_level(ended_outcomes: Mapping[str, GridOutcome]) -> dict[str, np.ndarray]:
    """Return test errors (levels, seeds) by curve name: batch norm with each kind of statistics, and layer norm."""
    lines, (stored, recalculated, own, layer) = {}, LINE_STYLES
    if batch := ended_outcomes.get("batch"):
        lines[stored] = batch.get_at_best_rate("running")
        lines[recalculated] = batch.get_at_best_rate("recalculated")
        shown = TEST_BATCH_SIZES.index(SHOWN_BATCH_SIZE)
        lines[own] = batch.get_at_best_rate("own")[shown]
    if "layer" in ended_outcomes:
        lines[layer] = ended_outcomes["layer"].get_at_best_rate("running")
    return lines


def _draw_errors_by_strength(setting: Setting, ended_outcomes: Mapping[str, GridOutcome]) -> Iterator[FigureSpec]:
    """Yield figures of the test error by strength: stored and new statistics with their numbers, and all lines."""
    middle, lines = SHIFT_LEVELS.index(HEADLINE_LEVEL), _collect_errors_by_level(ended_outcomes)
    curves = [
        make_band_curve(name, np.array(SHIFT_LEVELS), 100 * errors, LINE_STYLES[name], has_markers=True)
        for name, errors in lines.items()
    ]
    digit = load_digit_split(test=True)[0][0]
    pictures = [encode_picture(shift_pictures(digit, setting.shift, level)) for level in SHIFT_LEVELS]
    numbers = [
        Curve(
            "", curve.x[[middle]] - left, curve.y[[middle]] + up, is_scatter=True, size=0,
            texts=[f"{curve.y[middle]:.0f}%"], text_side=side,
        )
        for curve, (left, up, side) in zip(curves[:2], ((0.02, 0, "middle left"), (0, 2, "top center")), strict=False)
    ]  # fmt: skip
    said = [f"{name} {format_mean_percent(errors[middle])}" for name, errors in lines.items()]
    caption = f"Means of {setting.seeds} networks with 95% intervals."
    reason = (
        "Layer norm stores no statistics, so that none can be renewed."
        if setting.shift == "dim"
        else "Layer norm subtracts a mean over units, but the change differs from unit to unit."
    )
    title = f"Test error on {SHIFT_NAMES[setting.shift].lower()} pictures"
    for key, drawn, words, text in (
        ("levels", [*curves[:2], *numbers], said[:2], caption),
        ("all lines", curves, said, f"{caption} {reason}"),
    ):
        panel = CurvePanel(
            title, drawn, "strength s", "misread digits, %", marks=SHIFT_LEVELS, span=(-4, 100), pictures=pictures
        )
        alt = f"Test error over the strength of the shift. At {typeset(HEADLINE_LEVEL)}: {', '.join(words)}."
        yield FigureSpec(key, [panel], alt, text)


def _draw_errors_by_batch_size(setting: Setting, ended_outcomes: Mapping[str, GridOutcome]) -> FigureSpec:
    middle = SHIFT_LEVELS.index(HEADLINE_LEVEL)
    sizes = {each.name: each.get_at_best_rate("own") for each in ended_outcomes.values()}
    panels = [
        CurvePanel(
            f"Own statistics, strength {typeset(SHIFT_LEVELS[level])}",
            [
                make_band_curve(
                    each.name, np.array(TEST_BATCH_SIZES), 100 * sizes[each.name][:, level], each.style,
                    has_markers=True,
                )
                for each in ended_outcomes.values()
            ],
            "test pictures in a batch", "test error, %", "x", marks=TEST_BATCH_SIZES,
        )
        for level in (0, middle)
    ]  # fmt: skip
    said = "; ".join(
        f"{name}, {format_mean_percent(errors[0, middle])} of {TEST_BATCH_SIZES[0]} and "
        f"{format_mean_percent(errors[-1, middle])} of {TEST_BATCH_SIZES[-1]}"
        for name, errors in sizes.items()
    )
    return FigureSpec(
        "sizes", panels, f"Test error over the size of a test batch, at strength {typeset(HEADLINE_LEVEL)}: {said}.",
        "Batch norm in training mode: each batch of test pictures has its own mean and variance. Layer norm depends on "
        "no batch.",
    )  # fmt: skip


def _compare_statistics(ended_outcomes: Mapping[str, GridOutcome]) -> tuple[list[MeanDifference], list[int]]:
    """Return differences of test errors, and their signs, 0 where not clear by Holm's correction for their number.

    First the gain by recalculated statistics at every strength above 0. Then, at the strength of the headline:
    recalculated statistics against no shift, own against recalculated statistics, and layer norm against batch norm.
    """
    middle = SHIFT_LEVELS.index(HEADLINE_LEVEL)
    running, recalculated, own, layer = _collect_errors_by_level(ended_outcomes).values()
    found = [
        *(compare_seed_by_seed(running[k], recalculated[k]) for k in range(1, len(SHIFT_LEVELS))),
        compare_seed_by_seed(recalculated[middle], running[0]),
        compare_seed_by_seed(own[middle], recalculated[middle]),
        compare_seed_by_seed(layer[middle], running[middle]),
    ]
    return found, find_clear_signs(found)


def _format_headline(setting: Setting, ended_outcomes: Mapping[str, GridOutcome]) -> str:
    """Return the headline: the test errors with stored and with recalculated statistics, at `HEADLINE_LEVEL`."""
    if len(ended_outcomes) < len(list_jobs(setting)):
        return NOT_TRAINED.says
    middle, (_, signs) = SHIFT_LEVELS.index(HEADLINE_LEVEL), _compare_statistics(ended_outcomes)
    answer = {1: "Yes: at", 0: "Not clearly: at", -1: "No: at"}[signs[middle - 1]]
    before, after, *_ = (
        100 * float(np.mean(each[middle])) for each in _collect_errors_by_level(ended_outcomes).values()
    )
    level, change = typeset(HEADLINE_LEVEL), "lower" if signs[middle - 1] > 0 else "change"
    return f"{answer} strength {level}, new statistics {change} errors from {before:.0f}% to {after:.0f}%."


def _judge_claim(setting: Setting, ended_outcomes: Mapping[str, GridOutcome]) -> Verdict:
    """Return the verdict on whether recalculated statistics lower the test error at every strength of the shift."""
    if len(ended_outcomes) < len(list_jobs(setting)):
        return NOT_TRAINED
    middle = SHIFT_LEVELS.index(HEADLINE_LEVEL)
    running, recalculated, own, layer = _collect_errors_by_level(ended_outcomes).values()
    rates = [typeset(each.rate) for each in ended_outcomes.values()]
    found, signs = _compare_statistics(ended_outcomes)
    shifted = len(SHIFT_LEVELS) - 1
    lower = signs[:shifted]
    word: VerdictKey = "wrong" if min(lower) < 0 else "holds" if all(lower) else "holds-if" if any(lower) else "open"
    texts = [
        f"a difference of {each.text(100)} points" if sign else "no clear difference"
        for each, sign in zip(found[shifted:], signs[shifted:], strict=True)
    ]
    shown = (running[middle], recalculated[middle], running[0], own[middle], layer[middle])
    levels = [*map(format_mean_percent, shown)]
    says = (
        f"Test error at strength {typeset(HEADLINE_LEVEL)}: {levels[0]} with stored statistics "
        f"and {levels[1]} with new ones; without a shift it is {levels[2]} ({texts[0]}). With the own "
        f"statistics of {SHOWN_BATCH_SIZE} test pictures: {levels[3]} ({texts[1]} from new ones). Layer norm: "
        f"{levels[4]} ({texts[2]} from stored statistics). New statistics lower the error clearly at "
        f"{lower.count(1)} of {shifted} strengths."
    )
    condition = (
        f"{SHIFT_NAMES[setting.shift]} pictures, all by the same amount; statistics are recalculated on 449 "
        f"digits without labels that have this shift too. Networks are trained for {setting.steps} steps of Adam on "
        f"pictures without it, at the best rate on validation digits: {join_words(rates, 'and')}. Holm's "
        f"correction is for {len(signs)} comparisons."
    )
    why = (
        f"{SHIFT_NAMES[setting.shift]} pictures change the mean and variance of a layer’s inputs, so that the stored "
        "ones no longer fit. With new ones, batch norm cancels most of the change. The weights stay the same."
    )
    return Verdict(word, says, condition, why, f"at {lower.count(1)} of {shifted} strengths of the shift")


EXPERIMENT = Experiment.of("repair", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}.",
    lambda setting: f"Networks learn digits, then read {SHIFT_NAMES[setting.shift].lower()} ones: with strength s, "
    f"{SHIFT_WORDS[setting.shift]}. Batch norm uses the statistics (mean, variance) stored in training, or new ones of "
    "449 unlabelled digits of the same strength."
)  # fmt: skip
