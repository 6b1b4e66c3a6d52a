"""Batch norm and dropout: with and without each, where networks learn wrong labels by heart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np

from normviz.charts.curves import CurvePanel
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, typeset
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.seeds import compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment import (
    SCHEME_STYLES,
    ComparisonSetting,
    Experiment,
    declare_schemes,
    describe_hidden_layers,
)
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.grid_outcome import (
    GridOutcome,
    describe_undertraining,
    find_outcomes,
    make_outcome_curves,
)
from normviz.topics.experiments.reports import (
    NOT_TRAINED,
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    describe_start,
    join_verdicts,
    make_band_curve,
    start_table,
)
from normviz.topics.experiments.training_history import TrainingHistory
from normviz.train.cost import estimate_dense_seconds

LEARNING_RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01)
"""Learning rates of Adam of the grid."""

LAYER_WIDTHS = (64, 64)
"""Units of the normalized layers."""

BATCH_SIZE = 32
"""Digits of a mini-batch."""

MEASUREMENT_COUNT = 12
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the training with and without dropout."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTHS[0])

    schemes: tuple[str, ...] = declare_schemes(("none", "batch"))
    share: float = real(0.5, 0.05, 0.9, label="Dropped share", stops=(0.1, 0.2, 0.3, 0.5, 0.7))
    digits: int = integer(
        900, BATCH_SIZE, 1200, label="Digits to train on", stops=(100, 200, 400, 900, 1200), control="stops"
    )
    relabelled: float = real(
        0.3, 0.0, 0.9, label="Random training labels", stops=(0.0, 0.1, 0.2, 0.3, 0.5), shown="{:.0%}".format,
        help="The share of training labels that are drawn at random.",
    )  # fmt: skip
    steps: int = integer(500, 20, 1000, label="Steps", stops=(100, 200, 300, 500, 1000), control="stops")


@dataclass(frozen=True)
class DropoutTraining(SchemeJob, kind="experiments/dropout", version=4):
    """Job that trains networks of one scheme with one dropout rate, `share`, at all learning rates and seeds.

    Its result holds "losses", "training", "validation" and "test", each (measured steps, rates, seeds).
    """

    share: float
    digits: int
    relabelled: float

    @property
    def seconds(self) -> float:
        count = len(LEARNING_RATES) * len(self.networks)
        return estimate_dense_seconds(
            [self.row.scheme], count, LAYER_WIDTHS, BATCH_SIZE, self.length, MEASUREMENT_COUNT
        )

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import Dense
        from normviz.train.dropout import Dropout
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device
        from normviz.train.small_training_set import SmallTrainingSet

        device = open_float32_device(self.device)
        shape, seeds = (len(LEARNING_RATES), len(self.networks)), self.networks * len(LEARNING_RATES)
        few = SmallTrainingSet(seeds, self.digits, BATCH_SIZE, device, self.relabelled)
        network = Dense([self.row.scheme], seeds, LAYER_WIDTHS, BATCH_SIZE, self.eps, device)
        learner = Trainer(network.parameters, "adam", np.repeat(LEARNING_RATES, shape[1])[None])
        dropout, course = Dropout(seeds, self.share), TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for step, (x, labels) in enumerate(few.iterate_batches(self.length)):
            if step == 0:
                network.initialize_from_data(x)
            loss = cross_entropy(network.compute_logits(x, transform=dropout), labels)
            learner.step(loss)
            course.add_losses(loss)
            if course.is_measurement_due:
                course.add_errors(**few.measure_errors(network, Dropout(seeds, self.share)))
            yield course.make_step(device)


def list_jobs(setting: Setting) -> list[DropoutTraining]:
    """Return two jobs for every scheme, without dropout and with it."""
    return [DropoutTraining.of(setting, row=row, share=share) for row in setting.rows for share in (0.0, setting.share)]


def _name_networks(setting: Setting, k: int, dropped: bool) -> tuple[str, str]:
    """Return names of the scheme at position `k`: "batch norm with dropout", and "Batch + dropout" for figures."""
    if setting.rows[k].key == "none":
        return ("dropout alone", "Dropout") if dropped else ("neither", "Neither")
    return setting.names[k] + " with dropout" * dropped, setting.labels[k] + " + dropout" * dropped


def _choose_style(setting: Setting, k: int, dropped: bool) -> int:
    """Return the index of the curve style of the scheme at position `k`, or if `dropped`, of a style of no scheme."""
    return max(*SCHEME_STYLES.values(), *setting.styles) + 1 + k if dropped else setting.styles[k]


Outcomes = Mapping[tuple[int, bool], GridOutcome]
"""Outcomes by the position of the scheme, and True with dropout."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error of every scheme by step, with dropout and without."""
    places = product(range(len(setting.rows)), (False, True))
    begun, ended = find_outcomes(
        dict(zip(places, list_jobs(setting), strict=True)), results,
        lambda place, result: GridOutcome(
            *_name_networks(setting, *place), _choose_style(setting, *place), LEARNING_RATES, result
        ),
    )  # fmt: skip
    table = start_table(setting.networks, "learning rate", LEARNING_RATES)
    for each in ended.values():
        for name in ("test", "validation", "training"):
            table[f"{each.name}, {name} error"] = each.result[name][-1].ravel().tolist()
    figures = [_draw_test_errors(setting, begun)] if begun else []
    verdict = _judge_claim(setting, ended)
    return Report(_format_headline(setting, begun, ended, verdict.word), figures, verdict, table)


def _draw_test_errors(setting: Setting, begun_outcomes: Outcomes) -> FigureSpec:
    """Return a figure of the last measured test error and the error by step, with two panels for every two schemes."""
    ends = [
        make_band_curve(each.label, np.array([k % 4]), 100 * each.final_errors[None], each.style, is_scatter=True)
        for k, each in enumerate(begun_outcomes.values())
    ]
    title = "Test error at the end" if all(each.is_ended for each in begun_outcomes.values()) else "Test error so far"
    curves = make_outcome_curves(begun_outcomes.values(), lambda each: 100 * each.get_at_best_rate("test"))
    panels = [
        panel
        for k in range(0, len(curves), 4)
        for panel in (
            CurvePanel(title, ends[k : k + 4], "", "test error, %", marks=range(4), names=[""] * 4),
            CurvePanel("Test error by step", curves[k : k + 4], "step", "test error, %", "y"),
        )
    ]
    levels = ", ".join(f"{each.name} {each.final_error_text}" for each in begun_outcomes.values())
    return FigureSpec(
        "curves", panels, f"{title}, and by step: {levels}.",
        "Means over the seeds with 95% intervals, at the learning rate that is best for each.",
        note=f"{setting.relabelled:.0%} of the training labels are random. Test labels are correct.",
    )  # fmt: skip


def _format_headline(
    setting: Setting, begun_outcomes: Outcomes, ended_outcomes: Outcomes, verdict_word: VerdictKey
) -> str:
    """Return the headline: whether the first scheme replaces dropout, and its test errors without and with dropout."""
    if not ended_outcomes:
        return describe_start(each.name for each in begun_outcomes.values())
    normed = next((k for k, row in enumerate(setting.rows) if row.key != "none" and (k, False) in ended_outcomes), None)
    if normed is None or (normed, True) not in ended_outcomes:
        each = next(iter(ended_outcomes.values()))
        return f"Test error: {np.mean(each.final_errors):.1%} with {each.name}."
    alone, both = (f"{np.mean(ended_outcomes[normed, drops].final_errors):.1%}" for drops in (False, True))
    answer = {"holds": "Yes: ", "wrong": "No: "}.get(verdict_word, "")
    return capitalize_first(f"{answer}{setting.names[normed]} alone has {alone} test error, with dropout {both}.")


def _judge_scheme(regularizes: bool, dropout_helps: bool) -> VerdictKey:
    """Return the key of the verdict on the claim that a scheme makes dropout superfluous.

    Args:
        regularizes: True if the scheme alone clearly lowers the test error.
        dropout_helps: True if dropout clearly lowers it further.
    """
    if regularizes:
        return "holds-if" if dropout_helps else "holds"
    return "wrong" if dropout_helps else "open"


def _judge_claim(setting: Setting, ended_outcomes: Outcomes) -> Verdict:
    """Return the verdict on whether normalization makes dropout superfluous; open until all networks are trained."""
    if len(ended_outcomes) < 2 * len(setting.rows):
        return NOT_TRAINED
    plain = next((k for k, row in enumerate(setting.rows) if row.key == "none"), None)
    others = [k for k in range(len(setting.rows)) if k != plain]
    if plain is None or not others:
        return Verdict("open", "To judge the claim, choose No norm and another scheme.")
    pairs = {(plain, True): (plain, False)}
    for k in others:
        pairs |= {(k, False): (plain, False), (k, True): (k, False)}
    changes = {
        place: compare_seed_by_seed(ended_outcomes[place].final_errors, ended_outcomes[base].final_errors)
        for place, base in pairs.items()
    }
    signs = dict(zip(changes, find_clear_signs([*changes.values()]), strict=True))
    said = [
        f"{ended_outcomes[place].name} against {ended_outcomes[base].name} {changes[place].text(100)}"
        f"{'' if signs[place] else ' (no clear difference)'}"
        for place, base in pairs.items()
    ]
    levels = ", ".join(f"{each.name} {each.final_error_text}" for each in ended_outcomes.values())
    learnt = ", ".join(
        f"{each.name} {format_mean_percent(each.get_at_best_rate('training')[-1])}" for each in ended_outcomes.values()
    )
    rates = ", ".join(f"{each.name} {typeset(each.rate)}" for each in ended_outcomes.values())
    judged = {
        setting.names[k]: Verdict(
            _judge_scheme(signs[k, False] < 0, signs[k, True] < 0), "", extent="in part: dropout still helps"
        )
        for k in others
    }
    return replace(
        join_verdicts(judged),
        says=f"Test error: {levels}. Changes in points: {'; '.join(said)}."
        f"{describe_undertraining([*ended_outcomes.values()])}",
        condition=f"{setting.relabelled:.0%} of the labels of {setting.digits} training digits are drawn at random, so "
        f"that learning them by heart costs accuracy. Error on these labels: {learnt}. Networks of "
        f"{len(LAYER_WIDTHS)} × {LAYER_WIDTHS[0]} units, {setting.steps} steps of Adam at the rate that is best for "
        f"each: {rates}.",
    )


EXPERIMENT = Experiment.of("dropout", Setting, list_jobs, report,
    lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}, {setting.relabelled:.0%} with a random label; "
    f"{describe_hidden_layers(LAYER_WIDTHS)}; dropout behind every ReLU.")  # fmt: skip
