"""Learning rate: the largest at which a network still learns, with and without normalization (Ioffe & Szegedy 2015)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from normviz.charts.curves import CurvePanel
from normviz.core.fields import Shape
from normviz.core.settings import choice, integer, real
from normviz.core.text import capitalize_first, typeset
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.seeds import MeanDifference, compare_seed_by_seed, find_clear_signs
from normviz.jobs.results import Results
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment, declare_schemes, describe_hidden_layers
from normviz.topics.experiments.grid_outcome import (
    GridOutcome,
    describe_undertraining,
    find_outcomes,
    make_outcome_curves,
)
from normviz.topics.experiments.reports import (
    FigureSpec,
    HeatMap,
    Report,
    Verdict,
    describe_extent,
    describe_start,
    format_percent,
    make_network_points,
    start_table,
)
from normviz.topics.experiments.training_history import clip_to_percent


def _list_rates(low: float, high: float) -> tuple[float, ...]:
    """Return learning rates from `low` to `high`, both powers of ten, with four rates per power of ten."""
    powers = np.arange(4 * round(np.log10(low)), 4 * round(np.log10(high)) + 1) / 4
    return tuple(float(f"{10**power:.2g}") for power in powers)


RATES_BY_OPTIMIZER = {"sgd": _list_rates(0.01, 100), "momentum": _list_rates(0.001, 10), "adam": _list_rates(0.0001, 1)}
"""The learning rates of the grid, by the optimizer."""

LOG_RATE_SPACING = 0.25
"""The distance of neighbouring rates, in powers of ten."""

OPTIMIZER_NAMES = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}

LAYER_WIDTH = 32


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the training at many learning rates, and of when a network counts as trained."""

    schemes: Sequence[str] = declare_schemes(("none", "batch", "layer"))
    optimizer: str = choice("sgd", OPTIMIZER_NAMES, label="Optimizer")
    depth: int = integer(4, 1, 8, label="Normalized layers")
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 400, 500), control="stops")
    batch: int = integer(32, 4, 128, label="Batch size", stops=(4, 8, 16, 32, 64, 128), control="stops")
    most: float = real(
        0.2, 0.02, 0.5, label="Trains, up to a validation error of", stops=(0.05, 0.1, 0.2, 0.5),
        shown="{:.0%}".format,
    )  # fmt: skip

    @property
    def shape(self) -> Shape:
        """The shape (N, 1, 1, units) of every normalized layer."""
        return self.batch, 1, 1, LAYER_WIDTH


def list_jobs(setting: Setting) -> list[DenseGrid]:
    """Return one job per scheme, which trains networks at all learning rates."""
    rates, widths = RATES_BY_OPTIMIZER[setting.optimizer], (LAYER_WIDTH,) * setting.depth
    return [DenseGrid.of(setting, row=row, rates=rates, widths=widths) for row in setting.rows]


@dataclass(frozen=True)
class Outcome(GridOutcome):
    """The result of one scheme: test errors by learning rate, and the largest rate at which each network trains.

    Attributes:
        most: the largest validation error at which a network trains.
    """

    most: float

    @property
    def largest_rates(self) -> np.ndarray:
        """The largest rate at which each seed's network trains, shape (seeds,); NaN if it trains at none."""
        trains = self.result["validation"][-1] <= self.most
        largest = np.where(trains, np.array(self.rates)[:, None], 0).max(0)
        return np.where(largest > 0, largest, np.nan)

    @property
    def log_largest_rates(self) -> np.ndarray:
        """The log₁₀ of `largest_rates`; networks that train at no rate have a value below the smallest rate."""
        return np.log10(
            np.where(np.isnan(self.largest_rates), self.rates[0] * 10**-LOG_RATE_SPACING, self.largest_rates)
        )

    @property
    def mean_largest_rate(self) -> float:
        """The geometric mean of `largest_rates` over the seeds; NaN if one of them is."""
        return float(10 ** np.mean(np.log10(self.largest_rates)))


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error by scheme and learning rate, and by step at each scheme's best rate."""
    rates = RATES_BY_OPTIMIZER[setting.optimizer]
    outcomes, ended = find_outcomes(
        dict(enumerate(list_jobs(setting))), results,
        lambda k, result: Outcome(setting.names[k], setting.labels[k], setting.styles[k], rates, result, setting.most),
    )  # fmt: skip
    table = start_table(setting.networks, "learning rate", rates)
    for k, each in ended.items():
        for name, key in (("validation error", "validation"), ("test error", "test"), ("training loss", "losses")):
            table[f"{setting.rows[k].key}, {name}"] = each.result[key][-1].ravel().tolist()
    figures = [*_draw_largest_rates(setting, ended)] if ended else []
    figures += [_draw_errors_by_step(outcomes), _draw_error_map(setting, outcomes)] if outcomes else []
    return Report(_format_headline(setting, outcomes, ended), figures, _judge_claim(setting, ended), table)


def _draw_error_map(setting: Setting, outcomes: dict[int, Outcome]) -> FigureSpec:
    rates = RATES_BY_OPTIMIZER[setting.optimizer]
    values = np.full((len(setting.rows), len(rates)), np.nan)
    for k, each in outcomes.items():
        values[k] = np.mean(each.errors_by_rate, axis=1)
    heat = HeatMap(
        "Test error at the end", values, setting.labels, [typeset(rate) for rate in rates], x="learning rate",
        ends=(0.0, 0.9), written=lambda error: f"{100 * error:.0f}",
    )  # fmt: skip
    return FigureSpec(
        "map", heat, f"Test error of every scheme by learning rate. At the best rates: "
                     f"{_format_test_errors(outcomes.values())}.",
        f"Means over {setting.seeds} seeds, in per cent. 90 is guessing; 100: the networks diverged.",
    )  # fmt: skip


def _draw_largest_rates(setting: Setting, ended_outcomes: dict[int, Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the largest rate of each network, and one of the mean test error over the learning rate."""
    shown, rates = ended_outcomes.values(), RATES_BY_OPTIMIZER[setting.optimizer]
    points = [
        curve
        for k, each in enumerate(shown)
        for curve in make_network_points(k, len(shown), each.largest_rates, each.style, each.mean_largest_rate)
    ]
    means = ("none" if np.isnan(each.mean_largest_rate) else typeset(each.mean_largest_rate, 2) for each in shown)
    names = [f"{each.label}: {mean}" for each, mean in zip(shown, means, strict=True)]
    errors = [
        replace(curve, has_markers=False)
        for curve in make_outcome_curves(
            shown, lambda each: each.errors_by_rate, rates, lambda errors: np.clip(100 * errors, 0, 100)
        )
    ]
    ends = np.concatenate([each.log_largest_rates for each in shown])
    largest = CurvePanel(
        "Largest allowed learning rate of each network", points, "", "largest rate", "y", marks=range(len(names)),
        names=names, span=(float(ends.min()) - 0.1, float(ends.max()) + 0.25),
    )  # fmt: skip
    yield FigureSpec(
        "rates", [largest], f"The largest rate that trains: {', '.join(map(_describe_largest_rate, shown))}.",
        f"Points: {setting.seeds} networks of each scheme, from different seeds. Lines: their geometric means.",
    )  # fmt: skip
    by_rate = CurvePanel(
        "Mean error at the end, by learning rate", errors, "learning rate", "misread, %", "x",
        levels=(100 * setting.most,), level_names=(f"limit: {setting.most:.0%}",),
    )  # fmt: skip
    yield FigureSpec(
        "errors", [by_rate], f"Test error over the learning rate. At the best rate: {_format_test_errors(shown)}.",
        "Means over the seeds with 95% intervals.",
    )  # fmt: skip


def _draw_errors_by_step(outcomes: dict[int, Outcome]) -> FigureSpec:
    course = make_outcome_curves(outcomes.values(), lambda each: each.get_at_best_rate("test"), scale=clip_to_percent)
    return FigureSpec(
        "curves", [CurvePanel("Test error by step, at each scheme's best rate", course, "step", "test error, %", "y")],
        f"Test error by step at the best rate, at the end: {_format_test_errors(outcomes.values())}.",
        "Means over the seeds with 95% intervals. Guessing has 90% error, and a network that diverges 100%.",
    )  # fmt: skip


def _format_test_errors(outcomes: Iterable[Outcome]) -> str:
    """Format the test error of each scheme at its best rate: "batch norm 3.2 ± 0.7% at 0.18, …"."""
    return ", ".join(f"{each.name} {each.final_error_text} at {typeset(each.rate)}" for each in outcomes)


def _format_headline(setting: Setting, outcomes: dict[int, Outcome], ended_outcomes: dict[int, Outcome]) -> str:
    """Return the headline: the scheme whose largest learning rate exceeds that of no normalization most."""
    plain, others = _split_by_normalization(setting, ended_outcomes)
    if plain is None or not others:
        return describe_start(each.name for each in outcomes.values())
    gains = [
        (each, compare_seed_by_seed(each.log_largest_rates, plain.log_largest_rates, LOG_RATE_SPACING))
        for each in others
    ]
    name = OPTIMIZER_NAMES[setting.optimizer]
    if np.isnan(plain.mean_largest_rate):
        return f"Without normalization, some networks train at none of these {name} rates."
    best, gain = max(gains, key=lambda one: one[1].mean)
    if find_clear_signs([gain for _, gain in gains])[gains.index((best, gain))] <= 0:
        return "No scheme clearly trains at larger learning rates than without normalization."
    if np.isnan(best.mean_largest_rate):
        return capitalize_first(f"{best.name} allows higher learning rates, but some networks train at none.")
    levels = [typeset(each.mean_largest_rate, 2) for each in (best, plain)]
    return f"On average, {best.name} allows rates up to {levels[0]}, no normalization up to {levels[1]}."


def _split_by_normalization(
    setting: Setting, ended_outcomes: dict[int, Outcome]
) -> tuple[Outcome | None, list[Outcome]]:
    """Return the outcome without normalization, or None, and a list of all other outcomes."""
    plain = next((each for k, each in ended_outcomes.items() if setting.rows[k].key == "none"), None)
    return plain, [each for k, each in ended_outcomes.items() if setting.rows[k].key != "none"]


def _judge_claim(setting: Setting, ended_outcomes: dict[int, Outcome]) -> Verdict:
    """Return the verdict on whether batch norm, or if not chosen all schemes, train at larger rates than no norm."""
    if len(ended_outcomes) < len(setting.rows):
        return Verdict("open", "Not all schemes are trained yet.")
    plain, others = _split_by_normalization(setting, ended_outcomes)
    if plain is None or not others:
        return Verdict("open", "To judge the claim, choose No norm and another scheme.")
    condition = (
        f"It depends on the optimizer, here {OPTIMIZER_NAMES[setting.optimizer]}, and on the depth, here "
        f"{setting.depth}. A network counts as trained if its validation error is at most {setting.most:.0%} after "
        f"{setting.steps} steps on batches of {setting.batch}."
    )
    if all(np.isnan(each.largest_rates).all() for each in (plain, *others)):
        return Verdict("open", "No scheme trains at any of these rates; more steps may help.", condition)
    gains = [compare_seed_by_seed(each.log_largest_rates, plain.log_largest_rates, LOG_RATE_SPACING) for each in others]
    signs = find_clear_signs(gains)
    said = [
        _describe_largest_rate(plain),
        *(_describe_rate_gain(*each, plain) for each in zip(others, gains, signs, strict=True)),
    ]
    found, keys = [plain, *others], [row.key for row in setting.rows if row.key != "none"]
    says = (
        f"The largest rate that trains: {'; '.join(said)}. Test error at the best rate: "
        f"{_format_test_errors(found)}.{describe_undertraining(found)}"
    )
    measured = f"Largest allowed rates: {', '.join(map(_describe_largest_rate, found))}."
    why = EXPERIMENT.why if "batch" in keys else measured
    rates = [each.mean_largest_rate for k, each in ended_outcomes.items() if setting.rows[k].key in ("batch", "layer")]
    if {"batch", "layer"} <= set(keys) and plain.mean_largest_rate < min(rates) == rates[-1] < rates[0]:
        why += " Layer norm lies in between."
    # The claim is on batch norm. Without batch norm in the comparison, all schemes count.
    judged = [sign for key, sign in zip(keys, signs, strict=True) if key == "batch"] or signs
    if max(judged) > 0:
        extent = describe_extent({each.name: sign for each, sign in zip(others, signs, strict=True)})
        return Verdict("holds" if min(judged) > 0 else "holds-if", says, condition, why, extent)
    return Verdict("wrong" if max(judged) < 0 else "open", says, condition, measured)


def _describe_largest_rate(outcome: Outcome) -> str:
    """Format the mean largest rate of a scheme, "batch norm 3.2", or the share of its networks that never train."""
    missing = np.isnan(outcome.largest_rates).mean()
    if missing:
        return f"{outcome.name} none of these for {format_percent(missing)} of the seeds"
    return f"{outcome.name} {typeset(outcome.mean_largest_rate, 2)}"


def _describe_rate_gain(outcome: Outcome, gain: MeanDifference, sign: int, plain: Outcome) -> str:
    """Format a scheme's largest rate and its ratio to the rate of `plain`; `sign` is 0 if the `gain` is not clear."""
    # A rate below all of the grid is no number to divide by.
    if np.isnan([*outcome.largest_rates, *plain.largest_rates]).any():
        return f"{_describe_largest_rate(outcome)}{'' if sign else ' (no clear difference)'}"
    low, mean, high = (typeset(10 ** (gain.mean + sign * gain.half_width), 2) for sign in (-1, 0, 1))
    times = f"{mean} times as large, {low} to {high}" if sign else "no clear difference"
    return f"{_describe_largest_rate(outcome)} ({times})"


def _describe_test(setting: Setting) -> str:
    rates = RATES_BY_OPTIMIZER[setting.optimizer]
    return (
        f"Networks learn handwritten digits in {setting.steps} steps of {OPTIMIZER_NAMES[setting.optimizer]}, at "
        f"{len(rates)} learning rates from {typeset(rates[0])} to {typeset(rates[-1])}. A rate is allowed if the "
        f"network then misreads at most {setting.most:.0%} of digits that it was not trained on."
    )


EXPERIMENT = Experiment.of("learning-rate", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers((LAYER_WIDTH,) * setting.depth)}.",
    _describe_test)  # fmt: skip
