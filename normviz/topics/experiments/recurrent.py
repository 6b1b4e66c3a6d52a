"""Recurrent networks: gradients by γ, and digits read in sequences of unequal length (Ba et al. 2016, section 3.1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.fields import Shape
from normviz.core.settings import integer, number_choice, real
from normviz.core.text import typeset
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.seeds import choose_learning_rate, compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments.experiment import (
    ComparisonSetting,
    Experiment,
    averages_over_examples,
    declare_schemes,
)
from normviz.topics.experiments.grid_outcome import MAX_LEARNED_ERROR, GridOutcome
from normviz.topics.experiments.recurrent_gradients import (
    draw_gradients_by_gain,
    draw_gradients_by_scale,
    judge_gradients,
    summarize_gradients,
)
from normviz.topics.experiments.recurrent_jobs import (
    DIGIT_PIXELS,
    FIRST_GAINS,
    LEARNING_RATES,
    STATE_UNITS,
    WEIGHT_SCALES,
    LayoutTraining,
    SequenceTraining,
    StateGradients,
    list_leading_step_counts,
)
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    describe_start,
    make_band_curve,
    start_table,
)


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the schemes, the sequences and the training."""

    schemes: Sequence[str] = declare_schemes(("none", "batch", "layer"))
    inputs: int = number_choice(8, (8, 4), label="Pixels a step", help="8 is a row of the picture.")
    wait: int = number_choice(
        3, (0, 1, 3, 7), label="Empty steps ahead, at most", help="In training; each number as often."
    )
    batch: int = number_choice(64, (8, 16, 32, 64), label="Batch size N")
    steps: int = integer(300, 20, 800, label="Steps", stops=(50, 100, 200, 300, 400, 600, 800), control="stops")
    gain: float = real(1.0, 0.05, 3.0, label="Initial γ", symbol="γ", stops=(0.1, 0.3, 0.5, 1.0, 1.5, 2.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            if row.scheme.activation_part:
                row.scheme.check((self.batch // (self.wait + 1), *self.shape[1:]))

    @property
    def shape(self) -> Shape:
        """The shape (N, 1, 1, units) of the states of a mini-batch at one step, which the schemes normalize."""
        return self.batch, 1, 1, STATE_UNITS

    @property
    def steps_per_digit(self) -> int:
        """The number of time steps in which a network reads a digit."""
        return DIGIT_PIXELS // self.inputs

    @property
    def running_statistics_flags(self) -> tuple[bool, ...]:
        """True for each scheme that averages over examples and therefore stores statistics for inference."""
        return tuple(averages_over_examples(row, self.shape) for row in self.rows)


def list_jobs(setting: Setting) -> list[StateGradients | SequenceTraining | LayoutTraining]:
    """Return three jobs on gradients, a training of every scheme, and a job on two layouts of the sequences."""
    by_gain = tuple((1.0, gain) for gain in FIRST_GAINS)
    by_scale = tuple((scale, setting.gain) for scale in WEIGHT_SCALES)
    return [
        StateGradients.of(setting, points=by_gain, apart=False),
        StateGradients.of(setting, points=by_gain, apart=True),
        StateGradients.of(setting, points=by_scale, apart=False),
        *(SequenceTraining.of(setting, row=row) for row in setting.rows),
        LayoutTraining.of(setting),
    ]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # networks that diverge
def report(setting: Setting, results: Results) -> Report:
    """Return a report: gradients by γ and weight scale, test errors by sequence length, and two layouts."""
    together, apart, scaled, *readings, layouts = (results.get(part, {}) for part in list_jobs(setting))
    begun = {k: each for k, each in enumerate(readings) if "losses" in each}
    runs = {
        k: SequenceOutcome(
            setting.names[k], setting.labels[k], setting.styles[k], LEARNING_RATES, each, setting.wait + 1
        )
        for k, each in begun.items()
        if "by_step" in each
    }
    figures = [
        *([_draw_errors_by_length(setting, runs)] if runs else []),
        *([_draw_training(setting, begun, runs)] if begun else []),
        *([draw_gradients_by_gain(setting, together["norms"], apart.get("norms"))] if "norms" in together else []),
        *([draw_gradients_by_scale(setting, scaled["norms"], setting.gain)] if "norms" in scaled else []),
        *([_draw_losses_by_layout(layouts)] if "losses" in layouts else []),
    ]
    condition = f"{CONDITION_NOTE} Trained for {setting.steps} steps of Adam on batches of {setting.batch}."
    reading = _judge_sequences(setting, runs, layouts)
    memory = judge_gradients(setting, setting.gain, together, apart, scaled)
    headline, table = _format_headline(setting, together, begun, runs, reading), _tabulate_results(setting, runs)
    shown = replace(reading, says=f"{reading.says} {memory.says}", condition=condition)
    verdicts = {"B15": replace(reading, condition=condition), "L02": replace(memory, condition=condition)}
    return Report(headline, figures, shown, table, verdicts)


LAYOUT_NOTE = (
    "BatchNorm1d takes the second axis for the channels. Fed with (B, T, C) it normalizes every step over all examples "
    "and units. Right, before training: batch norm gives all units one standard deviation. A layer that keeps the "
    "steps has as many statistics as there are steps, so it accepts sequences of no other length."
)

CONDITION_NOTE = (
    "The networks have 32 tanh units and Gaussian initial weights. Where Wh + Ux is normalized, a small γ leaves Wh a "
    "small share of the sum, and gradients vanish. Where Wh and Ux are normalized apart, Wh keeps its share. "
    "Cooijmans et al. (2016, arXiv 1603.09025) normalize them apart, in an LSTM, and start at γ = 0.1. Errors on "
    "longer sequences depend on the lengths of the training."
)

EXTENTS = {
    "longer": "only in part: batch norm works up to the lengths of training, but errs more on longer sequences",
    "shared": "only where all time steps share their mean and variance",
}
"""Words on the extent of a claim that holds only in part."""


@dataclass(frozen=True)
class SequenceOutcome(GridOutcome):
    """The result of one scheme: test errors with statistics of each time step, and with the same at all steps.

    Attributes:
        trained: number of lengths that the training has.
    """

    trained: int

    @property
    def best_rate_index(self) -> int:
        """The position of the learning rate with the lowest validation error, averaged over the seeds."""
        return choose_learning_rate(self.result["validation"])

    @property
    def known_length_errors(self) -> np.ndarray:
        """The test error rates on sequence lengths that occur in training, shape (seeds,)."""
        return self.get_at_best_rate("by_step")[: self.trained].mean(0)

    @property
    def longest_errors(self) -> np.ndarray:
        """The test error rates on the longest sequences, longer than any in training, shape (seeds,)."""
        return self.get_at_best_rate("by_step")[-1]

    @property
    def pooled_statistic_errors(self) -> np.ndarray:
        """The test error rates on lengths of the training with the same statistics at all steps, shape (seeds,)."""
        return self.get_at_best_rate("together")[: self.trained].mean(0)

    @property
    def error_text(self) -> str:
        """The mean test errors on lengths of the training and on the longest sequences: "3.2 ± 0.7% and 8.1 ± 1.2%"."""
        return f"{format_mean_percent(self.known_length_errors)} and {format_mean_percent(self.longest_errors)}"


SequenceOutcomes = Mapping[int, SequenceOutcome]
"""Outcomes by the position of the scheme."""


def _make_loss_panel(losses: Iterable[tuple[str, int, np.ndarray]]) -> CurvePanel:
    """Return a panel of the training loss by step, averaged over up to thirty intervals of steps.

    `losses`: the name of each curve, the number of its colour, and its values (steps, seeds).
    """
    lines = []
    for name, style, each in losses:
        cut = np.array_split(each, min(30, len(each)))
        steps = np.cumsum([len(stretch) for stretch in cut])
        means = np.stack([stretch.mean(0) for stretch in cut])
        lines.append(make_band_curve(name, steps, means, style))
    return CurvePanel("Training loss", lines, "step of the training", "loss", "y")


def _list_lengths(setting: Setting) -> np.ndarray:
    return setting.steps_per_digit + np.array(list_leading_step_counts(setting.wait))


def _take_points(line: Curve, points: slice) -> Curve:
    """Return some points of a curve as markers, with their intervals if it has them."""
    low, high = (None if each is None else each[points] for each in (line.low, line.high))
    return replace(line, name="", x=line.x[points], y=line.y[points], low=low, high=high, is_scatter=True)


def _draw_errors_by_length(setting: Setting, runs: SequenceOutcomes) -> FigureSpec:
    """Return a figure of the test error by sequence length, with lengths of the training marked on the axis."""
    lengths = _list_lengths(setting)
    lines = [
        make_band_curve(run.label, lengths, 100 * run.get_at_best_rate("by_step").astype(float), run.style)
        for run in runs.values()
    ]
    ends = [
        replace(_take_points(line, slice(-1, None)), x=line.x[-1:] + 0.06 * (k - (len(lines) - 1) / 2))
        for k, line in enumerate(lines)
    ]
    lowest = min(float(line.y[-1]) for line in lines)
    numbers = [
        Curve(
            "", line.x[-1:] + 0.15, line.y[-1:], is_scatter=True, size=0, texts=[f"{line.name} {line.y[-1]:.1f}%"],
            text_side="bottom right" if line.y[-1] == lowest else "top right",
        )
        for line in lines
    ]  # fmt: skip
    plain = [replace(line, low=None, high=None) for line in lines]
    points = [_take_points(line, slice(-1)) for line in plain]
    top = max(float(np.nanmax(line.y[-1] if line.high is None else line.high[-1])) for line in lines)
    longest = lengths[setting.wait]
    limit = Curve("", np.full(2, longest), np.array([0, top]), -1)
    # An invisible text widens the axis for the names of the lines.
    room = Curve("", lengths[-1:] + 1.5, np.zeros(1), is_scatter=True, size=0, texts=[" "])
    words = [f" longest in training: {longest} steps"]
    name = Curve("", np.array([longest]), np.array([0.86 * top]), is_scatter=True, size=0, texts=words)
    panel = CurvePanel(
        "Misread test digits",
        [*plain, *points, *ends, *numbers, limit, name, room],
        "length of the sequence, steps", "misread, %", marks=lengths.tolist(), has_legend=len(lines) > 3,
    )  # fmt: skip
    said = "; ".join(f"{run.name} {run.error_text}" for run in runs.values())
    return FigureSpec(
        "reading", [panel], f"Test error on lengths of the training, and on the longest: {said}.",
        f"Means of {setting.seeds} networks. Bars: 95% intervals of these means at {lengths[-1]} steps.",
    )  # fmt: skip


def _draw_training(setting: Setting, begun_results: Mapping[int, Arrays], runs: SequenceOutcomes) -> FigureSpec:
    """Return a figure of the loss by step at each scheme's best rate, and of errors with the same statistics at all."""
    best = {k: runs[k].best_rate_index if k in runs else len(LEARNING_RATES) // 2 for k in begun_results}
    losses = ((setting.labels[k], setting.styles[k], each["losses"][:, best[k]]) for k, each in begun_results.items())
    lines = [
        make_band_curve(label, _list_lengths(setting), 100 * run.get_at_best_rate(name).astype(float), style)
        for k, run in runs.items()
        if setting.running_statistics_flags[k]
        for style, name, label in ((run.style, "by_step", run.label), (-1, "together", f"{run.label}, shared"))
    ]
    shared = CurvePanel("Statistics of each step, or shared", lines, "length of the sequence", "test error, %")
    return FigureSpec(
        "training", [_make_loss_panel(losses), *([shared] if lines else [])],
        "Training loss by step; test error of batch norm by length, with statistics of each step or of all.",
        "Shared: the statistics are the same for all steps of a sequence; elsewhere each step has its own.",
    )  # fmt: skip


def _draw_losses_by_layout(layouts: Arrays) -> FigureSpec:
    """Return a figure of the loss in the layouts (B, C, T) and (B, T, C), and of their units' standard deviations."""
    names = ("(B, C, T)", "(B, T, C)")
    best = (
        [choose_learning_rate(each) for each in layouts["validation"]]
        if "validation" in layouts
        else [len(LEARNING_RATES) // 2] * 2
    )
    units = np.arange(1, STATE_UNITS + 1)
    lines = [make_band_curve(name, units, layouts["spreads"][k].T, k) for k, name in enumerate(names)]
    losses = [layouts["losses"][:, k, place] for k, place in enumerate(best)]
    panels = [
        _make_loss_panel(zip(names, range(len(names)), losses, strict=True)),
        CurvePanel("Spread of each unit", lines, "unit, by its spread", "standard deviation"),
    ]
    ends = (f"{name} {typeset(float(each[-1].mean()), 2)}" for name, each in zip(names, losses, strict=True))
    return FigureSpec("layouts", panels, f"Loss after {len(layouts['losses'])} steps: {', '.join(ends)}.", LAYOUT_NOTE)


def _format_headline(
    setting: Setting, together: Arrays, begun_results: Mapping[int, Arrays], runs: SequenceOutcomes, verdict: Verdict
) -> str:
    """Return the headline: errors on the longest sequences, or before the range of gradient factors in `together`."""
    other = _choose_other_scheme(setting, runs)
    batch = next((run for k, run in runs.items() if setting.rows[k].key == "batch"), None)
    if verdict.word == "holds" and batch is not None:
        return f"No: batch norm misreads {batch.known_length_errors.mean():.1%} of the sequences."
    if verdict.why and batch is not None and other is not None:
        levels = [f"{100 * each.longest_errors.mean():.1f}%" for each in (batch, runs[other])]
        start = "Yes, but" if verdict.extent == EXTENTS["longer"] else "Yes:"
        return f"{start} batch norm misreads {levels[0]} of the longest sequences, {setting.names[other]} {levels[1]}."
    gains = summarize_gradients(setting, together["norms"]) if "norms" in together else ""
    return gains or describe_start(setting.names[k] for k in begun_results)


def _choose_other_scheme(setting: Setting, runs: SequenceOutcomes) -> int | None:
    """Return the position of a scheme that learns without stored statistics, preferably layer norm, or None."""
    others = [
        k
        for k in runs
        if not setting.running_statistics_flags[k] and runs[k].known_length_errors.mean() <= MAX_LEARNED_ERROR
    ]
    return next((k for k in others if setting.rows[k].key == "layer"), others[-1] if others else None)


def _judge_sequences(setting: Setting, runs: SequenceOutcomes, layouts: Arrays) -> Verdict:
    """Return the verdict on whether batch norm can be used on sequences; open until all networks are trained."""
    keys = [row.key for row in setting.rows]
    if "batch" not in keys:
        return Verdict("open", "Batch norm is not among the schemes.")
    if len(runs) < len(keys) or "test" not in layouts:
        return Verdict("open", "Batch norm on sequences: not trained yet.")
    batch = runs[keys.index("batch")]
    if min(run.known_length_errors.mean() for run in runs.values()) > MAX_LEARNED_ERROR:
        return Verdict("open", "No scheme learns here; more steps may help.")
    if batch.known_length_errors.mean() > MAX_LEARNED_ERROR:
        errors = format_mean_percent(batch.known_length_errors)
        return Verdict("holds", f"Batch norm step by step does not learn: {errors} errors.")
    other = _choose_other_scheme(setting, runs)
    right, trap = (layouts["test"][k, choose_learning_rate(each)] for k, each in enumerate(layouts["validation"]))
    found = [
        compare_seed_by_seed(batch.pooled_statistic_errors, batch.known_length_errors),
        compare_seed_by_seed(trap, right),
    ]
    if other is not None:
        rise, other_rise = (each.longest_errors - each.known_length_errors for each in (batch, runs[other]))
        found.append(compare_seed_by_seed(rise, other_rise))
    signs = find_clear_signs(found)
    rises = [
        f"{each.text(100)} points" if sign else "no clear difference" for each, sign in zip(found, signs, strict=True)
    ]
    known = format_mean_percent(batch.known_length_errors)
    said = [f"Batch norm step by step: test error {known} on lengths of the training."]
    if other is not None:
        said.append(
            "On the longest sequences, which have steps without statistics, "
            f"{format_mean_percent(batch.longest_errors)}; {setting.names[other]} {runs[other].error_text} "
            f"(difference of the rises: {rises[2]})."
        )
    said.append(f"With one statistic for all steps {format_mean_percent(batch.pooled_statistic_errors)} ({rises[0]}).")
    said.append(
        f"Layout (B, T, C) in place of (B, C, T) raises no error: {format_mean_percent(trap)} against "
        f"{format_mean_percent(right)} ({rises[1]})."
    )
    harms = [signs[0], *signs[2:]]
    word: VerdictKey = "holds-if" if max(harms) > 0 else "wrong" if all(harms) else "open"
    extent = EXTENTS["longer" if max(harms[1:], default=0) > 0 else "shared"]
    last = setting.steps_per_digit + setting.wait
    why = (
        f"Batch norm has no mean and variance for steps after step {last}, and reuses those of step {last}. Layer norm "
        "computes its own at every step."
    )
    return Verdict(word, " ".join(said), why=why, extent=extent)


def _tabulate_results(setting: Setting, runs: SequenceOutcomes) -> dict[str, list[Any]]:
    if not runs:
        return {}
    steps = [setting.steps_per_digit + wait for wait in list_leading_step_counts(setting.wait)]
    table = start_table(setting.networks, "steps", steps)
    for k, run in runs.items():
        key = setting.rows[k].key
        table[f"{key}, learning rate"] = [run.rate] * (len(steps) * setting.seeds)
        table[key] = run.get_at_best_rate("by_step").ravel().tolist()
        if setting.running_statistics_flags[k]:
            table[f"{key}, one for all steps"] = run.get_at_best_rate("together").ravel().tolist()
    return table


def _describe_test(setting: Setting) -> str:
    digit, longest = setting.steps_per_digit, list_leading_step_counts(setting.wait)[-1]
    return (
        f"A recurrent network reads a digit in {digit} steps of {setting.inputs} pixels. Blank steps "
        f"before it make longer sequences: {digit} to {digit + setting.wait} steps in training, {digit} to "
        f"{digit + longest} in the test. Batch norm averages over the examples, and stores a mean and variance for "
        "each step."
    )


EXPERIMENT = Experiment.of("recurrent", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; a recurrent layer of {STATE_UNITS} tanh units.",
    _describe_test)  # fmt: skip
