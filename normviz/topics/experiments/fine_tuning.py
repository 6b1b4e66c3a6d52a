"""Fine-tuning with batch norm: the running averages move although parameters are frozen, and the cost of each mode."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.settings import choice, integer, multiple_choice, number_choice, real
from normviz.core.text import typeset
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.comparisons import Comparisons
from normviz.describe.seeds import choose_learning_rate, compare_seed_by_seed, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments.experiment import Experiment, describe_hidden_layers
from normviz.topics.experiments.experiment import Setting as Seeded
from normviz.topics.experiments.fine_tuning_jobs import (
    BEFORE_MOMENTUM,
    LAYER_WIDTHS,
    LEARNED_PARAMETERS,
    LEARNING_RATES,
    MOMENTA,
    TuningJob,
)
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    describe_extent,
    make_band_curve,
    tabulate,
)
from normviz.topics.experiments.training_history import clip_to_percent

MODE_NAMES = {"train": "training mode", "infer": "evaluation mode"}
"""The mode of batch norm while a network is tuned."""

TASK_NAMES = {
    "faint": "Brighter pictures",
    "inverted": "Inverted pictures",
    "digits": "Digits 5 to 9 after 0 to 4",
    "same": "No other task",
}
"""The task that a network is tuned to."""

LEARNED_NAMES = {"nothing": "frozen", "head": "classifier learns", "weights": "all but γ, β learn", "all": "all learn"}
"""Names of the learned parameters on the page, by the keys of `LEARNED_PARAMETERS`."""

TUNING_WAYS = {
    f"{mode}-{learned}": f"{MODE_NAMES[mode]}, {LEARNED_NAMES[learned]}"
    for mode in MODE_NAMES
    for learned in LEARNED_PARAMETERS
}
"""The ways to tune a network: a mode, and the learned parameters."""

TASK_WORDS = {
    "faint": ("digits", "the same digits, made brighter"),
    "inverted": ("digits", "the same digits with black and white exchanged"),
    "digits": ("the digits 0 to 4", "the digits 5 to 9"),
    "same": ("digits", "the same digits again"),
}
"""The first and the new task in sentences, by the new task."""

TASK_TITLES = {"old": "First task", "new": "New task"}
"""The two tasks on which errors are measured."""


@dataclass(frozen=True)
class Setting(Seeded):
    """Settings of the fine-tuning: the new task, the ways to fine-tune, and the training."""

    task: str = choice("faint", TASK_NAMES, label="New task", control="menu")
    ways: Sequence[str] = multiple_choice(
        ("train-nothing", "train-all", "infer-nothing", "infer-all"), TUNING_WAYS, label="Shown",
        help="The mode of batch norm, and what is learned of the network.",
    )  # fmt: skip
    momentum: float = real(
        0.1, 0.001, 1.0, label="Momentum", stops=MOMENTA, help="The share of a new batch in the running averages."
    )
    examples: int = integer(128, 64, 384, label="Examples of the new task", stops=(64, 128, 256, 384), control="stops")
    batch: int = number_choice(32, (4, 8, 16, 32, 64), label="Batch size N")
    steps: int = integer(100, 10, 1000, label="Steps", stops=(20, 50, 100, 200, 500, 1000), control="stops")


def make_tuning_job(setting: Setting, mode: str, task: str) -> TuningJob:
    """Return the job that tunes networks to a task; `mode` is a key of `MODE_NAMES`, "train" or "infer"."""
    momentum = setting.momentum if mode == "train" else BEFORE_MOMENTUM
    return TuningJob.of(setting, mode=mode, task=task, momentum=momentum)


def list_jobs(setting: Setting) -> list[TuningJob]:
    """Return a job per mode and task: the setting's new task, and the first task again ("same")."""
    tasks = dict.fromkeys((setting.task, "same"))
    return [make_tuning_job(setting, mode, task) for task in tasks for mode in MODE_NAMES]


@dataclass(frozen=True)
class Outcome:
    """The result of one of `TUNING_WAYS`: test errors on both tasks at the best learning rate.

    `result` is that of all networks in its mode. `row` and `best_rate_index` are the positions of its learned
    parameters and of the best rate.
    """

    name: str
    result: Arrays
    row: int
    best_rate_index: int
    style: int

    @classmethod
    def of(cls, way: str, result: Arrays, style: int = 0) -> "Outcome":
        """Return the outcome of a key of `TUNING_WAYS` from the result of its job; `style` as in `Curve`."""
        row = [*LEARNED_PARAMETERS].index(way.partition("-")[2])
        return cls(TUNING_WAYS[way], result, row, choose_learning_rate(result["validation"][-1, row]), style)

    def get_errors(self, name: str) -> np.ndarray:
        """Return the test errors on the task `name`, "old" or "new", shape (measured steps, seeds)."""
        return self.result[name][:, self.row, self.best_rate_index]

    def get_errors_by_momentum(self) -> np.ndarray:
        """Return the final test errors on the first task by momentum of running averages, shape (momenta, seeds)."""
        return self.result["old by momentum"][:, self.row, self.best_rate_index]

    def format_errors_by_momentum(self, momenta: Sequence[float]) -> list[str]:
        """Return two texts, "3.2 ± 0.7% at 0.1": the first task's error at the smallest and the largest momentum."""
        errors = self.get_errors_by_momentum()
        return [f"{format_mean_percent(errors[k])} at {typeset(momenta[k])}" for k in (0, -1)]

    def format_error(self, name: str, step: int = -1) -> str:
        """Format the test error on a task, "old" or "new", at a measured step, by default the last: "3.2 ± 0.7%"."""
        return format_mean_percent(self.get_errors(name)[step])


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the errors on both tasks by step, by learning rate and by momentum."""
    found = {mode: results.get(make_tuning_job(setting, mode, setting.task), {}) for mode in MODE_NAMES}
    begun = {mode: each for mode, each in found.items() if len(each.get("measured", ()))}
    shown = [
        Outcome.of(way, begun[mode], style)
        for style, way in enumerate(dict.fromkeys(setting.ways))
        for mode in [way.partition("-")[0]]
        if mode in begun
    ]
    ended = [each for each in shown if each.result["share"] == 1]
    whole: dict[str, dict[str, Arrays]] = {part.task: {} for part in list_jobs(setting)}  # by task and mode
    for part in list_jobs(setting):
        if part in results and results[part]["share"] == 1:
            whole[part.task][part.mode] = results[part]
    figures = [*_draw_final_errors(shown), *_draw_error_curves(shown), *_draw_errors_by_momentum(setting, ended)]
    headline, verdict = _judge_claim(setting, whole)
    return Report(headline, figures, verdict, _tabulate_results(setting, whole))


def _make_error_curve(outcome: Outcome, x: np.ndarray, shares: np.ndarray, has_markers: bool = False) -> Curve:
    """Return a curve over x of mean error rates in per cent with intervals, from `shares` (values of x, seeds)."""
    return make_band_curve(outcome.name, x, 100 * shares, outcome.style, has_markers=has_markers)


def _draw_final_errors(outcomes: Sequence[Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of test errors on both tasks before and after the tuning, with frozen parameters if shown."""
    outcomes = [each for each in outcomes if not each.row] or outcomes
    if not outcomes:
        return
    places = np.arange(1 + len(outcomes))
    curves = []
    for k, (name, title) in enumerate(TASK_TITLES.items()):
        errors = np.stack([outcomes[0].get_errors(name)[0], *(each.get_errors(name)[-1] for each in outcomes)])
        points = make_band_curve(
            title,
            places + min(0.3, 0.06 * len(places)) * (k - 0.5),
            errors,
            16 + k,  # no colour of a scheme, circles and squares
            clip_to_percent,
            is_scatter=True,
        )
        curves.append(replace(points, texts=[f"{mean:.0%}" for mean in errors.mean(-1)]))
    names = ["before", *(f"after a pass in<br>{each.name.removesuffix(', frozen')}" for each in outcomes)]
    is_ended = all(each.result["share"] == 1 for each in outcomes)
    title = f"Test errors on both tasks{'' if is_ended else ', so far'}"
    panel = CurvePanel(title, curves, "", "test error, %", marks=places.tolist(), names=names, span=(-6, 102))
    said = "; ".join(
        f"{each.name} {each.format_error('old')} on the first task, {each.format_error('new')} on the new one"
        for each in outcomes
    )
    yield FigureSpec(
        "ends", [panel], f"{title}: {said}.",
        f"Means of {outcomes[0].get_errors('old').shape[-1]} networks with 95% intervals. All errors are "
        "measured in evaluation mode, with the running averages.",
    )  # fmt: skip


def _draw_error_curves(outcomes: Sequence[Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the test errors on both tasks by step; none without outcomes."""
    if not outcomes:
        return
    panels = []
    for name, title in TASK_TITLES.items():
        curves = [_make_error_curve(each, each.result["measured"], each.get_errors(name)) for each in outcomes]
        panels.append(CurvePanel(f"{title}: test error", curves, "step", "test error, %"))
    yield FigureSpec(
        "curves", panels, "Test errors by step, at the best learning rate of each way.",
        "Tested in evaluation mode, by the running averages. Each way has its best learning rate.",
    )  # fmt: skip


def _draw_errors_by_momentum(setting: Setting, outcomes: Sequence[Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the error on the first task by momentum; none without outcomes at several momenta."""
    trained = [each for each in outcomes if len(each.result["old by momentum"]) > 1]
    if not trained:
        return
    momenta = make_tuning_job(setting, "train", setting.task).momenta
    curves = [
        _make_error_curve(each, np.array(momenta), each.get_errors_by_momentum(), has_markers=True) for each in trained
    ]
    panel = CurvePanel("First task: test error at the end", curves, "momentum", "test error, %", "x", marks=MOMENTA)
    said = "; ".join(f"{each.name}: {', '.join(each.format_errors_by_momentum(momenta))}" for each in trained)
    yield FigureSpec(
        "momenta", [panel], f"Error on the first task over the momentum of the running averages. {said}.",
        "The momentum is the share of a new mini-batch, as in PyTorch. In training mode it changes no weight: the "
        "averages are used in the test only.",
    )  # fmt: skip


def _judge_claim(setting: Setting, results_by_task: Mapping[str, Mapping[str, Arrays]]) -> tuple[str, Verdict]:
    """Return the headline and the verdict, both on networks with frozen and with learned parameters."""
    if any(len(each) < len(MODE_NAMES) for each in results_by_task.values()):
        waiting = "Not all networks are tuned yet."
        return waiting, Verdict("open", waiting)
    now, again = (
        {way: Outcome.of(way, results_by_task[task][way.partition("-")[0]]) for way in TUNING_WAYS}
        for task in (setting.task, "same")
    )
    frozen, kept = now["train-nothing"], now["infer-nothing"]
    train, infer = now["train-all"], now["infer-all"]
    found = Comparisons.of(
        {
            "frozen": compare_seed_by_seed(frozen.get_errors("old")[-1], frozen.get_errors("old")[0]),
            "old": compare_seed_by_seed(train.get_errors("old")[-1], infer.get_errors("old")[-1]),
            "new": compare_seed_by_seed(infer.get_errors("new")[-1], train.get_errors("new")[-1]),
            "same": compare_seed_by_seed(
                again["infer-all"].get_errors("new")[-1], again["train-all"].get_errors("new")[-1]
            ),
        }
    )
    moved = frozen.result["moved"][-1, frozen.row, 0]
    nothing_learned = not any(
        values[frozen.row].any()
        for each in (frozen, kept)
        for name, values in each.result.items()
        if name.startswith("changed")
    )
    still = not kept.result["moved"][:, kept.row].any()
    says = (
        f"All parameters frozen, in training mode: the running means move by {typeset(np.mean(moved), 2)} standard "
        f"deviations. The error on the first task goes from {frozen.format_error('old', 0)} to "
        f"{frozen.format_error('old')} ({found.text('frozen', 100, ' points')}), on the new one from "
        f"{frozen.format_error('new', 0)} to {frozen.format_error('new')}. "
        f"In evaluation mode {'nothing moves' if still else 'the averages move too'}. "
        f"{_describe_learning(now, again, found)}"
    )
    word: VerdictKey = "holds" if found.sides["frozen"] == "more" else "holds-if"
    count = len(found.differences)
    condition = f"{_describe_conditions(setting, frozen)} Holm's correction is for {count} comparisons."
    agrees = nothing_learned and still and (moved > 0).all()
    before, after = (float(frozen.get_errors("new")[step].mean()) for step in (0, -1))
    fall = f", whose errors fall from {before:.0%} to {after:.0%}" * bool(after < before)
    why = (
        "The running averages are not parameters. In training mode, every batch moves them towards the new task"
        f"{fall}. In evaluation mode they stay unchanged."
    ) * bool(agrees)
    extent = describe_extent({"the running averages": 1, "a higher error on the first task": found.get_sign("frozen")})
    verdict = Verdict(word if agrees else "wrong", says, condition, why, extent)
    return _format_headline(verdict.word, frozen), verdict


def _format_headline(word: VerdictKey, frozen: Outcome) -> str:
    """Return the headline: the first task's error of frozen networks in training mode, if it clearly rises."""
    if word == "wrong":
        return "No: here frozen parameters freeze batch norm."
    if word == "holds-if":
        return "Yes: training mode moves a frozen network’s running averages."
    before, after = (frozen.get_errors("old")[step].mean() for step in (0, -1))
    return f"Yes: in training mode, first-task errors rise from {before:.0%} to {after:.0%}."


def _describe_learning(
    new_task: Mapping[str, Outcome], same_task: Mapping[str, Outcome], comparisons: Comparisons
) -> str:
    """Return sentences on networks that learn all parameters, from outcomes by way: on a new and on the same task."""
    train, infer = new_task["train-all"], new_task["infer-all"]
    differences = (
        compare_seed_by_seed(infer.result["new"][-1, infer.row, k], train.result["new"][-1, train.row, k])
        for k in range(len(LEARNING_RATES))
    )
    compared = zip(differences, LEARNING_RATES, strict=True)
    rates = ", ".join(f"{difference.text(100)} at {typeset(rate)}" for difference, rate in compared)
    return (
        f"All parameters learned, each mode at its best rate: the error on the first task is "
        f"{train.format_error('old')} in training mode and {infer.format_error('old')} in evaluation mode "
        f"(training mode {comparisons.text('old', 100, ' points')}). On the new task it is "
        f"{train.format_error('new')} and "
        f"{infer.format_error('new')} (evaluation mode {comparisons.text('new', 100, ' points')}). "
        f"At the same rate, evaluation mode differs on the new task by {rates}. Tuned to the first task "
        f"again, the errors are {same_task['train-all'].format_error('new')} and "
        f"{same_task['infer-all'].format_error('new')} ({comparisons.text('same', 100, ' points')})."
    )


def _describe_conditions(setting: Setting, frozen: Outcome) -> str:
    """Return sentences on the task, steps, digits and momentum behind the verdict's numbers."""
    momenta = make_tuning_job(setting, "train", setting.task).momenta
    ends = frozen.format_errors_by_momentum(momenta)
    cancelled = (
        " The new pictures are 0.6 + 0.4 x, which batch norm cancels: in training mode there is nothing new to learn."
    ) * (setting.task == "faint")
    return (
        f"{TASK_NAMES[setting.task]}; {setting.steps} steps of Adam on batches of {setting.batch} of "
        f"{setting.examples} digits, momentum {typeset(setting.momentum)}. By the momentum, all frozen, the error on "
        f"the first task ends at {ends[0]} and {ends[1]}.{cancelled}"
    )


def _tabulate_results(setting: Setting, results_by_task: Mapping[str, Mapping[str, Arrays]]) -> dict[str, list[Any]]:
    rows = [
        {
            "task": TASK_NAMES[task], "mode": MODE_NAMES[mode], "learned": words,
            "learning rate": LEARNING_RATES[each.best_rate_index], "seed": seed,
            **{
                f"{title.lower()}, error {when}": float(each.get_errors(name)[step, k])
                for name, title in TASK_TITLES.items()
                for when, step in (("before", 0), ("after", -1))
            },
            "running means moved": float(result["moved"][-1, each.row, each.best_rate_index, k]),
            **{
                name: float(values[each.row, each.best_rate_index, k])
                for name, values in result.items()
                if name.startswith("changed")
            },
        }
        for task, modes in results_by_task.items()
        for mode, result in modes.items()
        for learned, words in LEARNED_NAMES.items()
        for each in [Outcome.of(f"{mode}-{learned}", result)]
        for k, seed in enumerate(setting.networks)
    ]  # fmt: skip
    return tabulate(rows)


def _describe_test(setting: Setting) -> str:
    first, new = TASK_WORDS[setting.task]
    return (
        f"Networks learn {first} (first task). Then all parameters are frozen, and {new} (new task), pass through: "
        "either in training mode, where batch norm updates its running averages of mean and variance, or in evaluation "
        "mode."
    )


EXPERIMENT = Experiment.of("fine-tuning", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)} with batch norm; "
    f"{setting.examples} examples of the new task.",
    _describe_test)  # fmt: skip
