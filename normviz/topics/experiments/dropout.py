"""Batch norm and dropout: with and without each, where networks learn wrong labels by heart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import lcm
from typing import ClassVar

import numpy as np

from normviz.charts.curves import CurvePanel
from normviz.charts.palette import HUES, LINE_COLOURS
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, typeset
from normviz.data.digits import DIGIT_CLASSES, DIGITS_DESCRIPTION
from normviz.describe.seeds import compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment import (
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
    make_band_curve,
    start_table,
)
from normviz.topics.experiments.training_history import TrainingHistory
from normviz.train.cost import estimate_dense_seconds

LEARNING_RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01)
"""Learning rates of Adam of the grid."""

ONE_COLOUR = lcm(len(LINE_COLOURS), len(HUES))
"""Distance of curve styles of one colour, in both themes; colours stand for schemes."""

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
    """Return names of the scheme at position `k`: "batch norm with dropout", and "batch norm + dropout" for figures."""
    return setting.names[k] + " with dropout" * dropped, setting.labels[k] + " + dropout" * dropped


Outcomes = Mapping[tuple[int, bool], GridOutcome]
"""Outcomes by the position of the scheme, and True with dropout."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error of every scheme by step, with dropout and without."""
    places = product(range(len(setting.rows)), (False, True))
    begun, ended = find_outcomes(
        dict(zip(places, list_jobs(setting), strict=True)), results,
        lambda place, result: GridOutcome(
            *_name_networks(setting, *place), setting.styles[place[0]] + ONE_COLOUR * place[1], LEARNING_RATES, result
        ),
    )  # fmt: skip
    table = start_table(setting.networks, "learning rate", LEARNING_RATES)
    for each in ended.values():
        for name in ("test", "validation", "training"):
            table[f"{each.name}, {name} error"] = each.result[name][-1].ravel().tolist()
    figures = [*_draw_test_errors(setting, begun)] if begun else []
    verdict = _judge_claim(setting, ended)
    return Report(_format_headline(setting, begun, ended, verdict.word), figures, verdict, table)


def _draw_test_errors(setting: Setting, begun_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the last measured test error, and one of the error by step with a panel for every scheme."""
    shown = [*begun_outcomes.values()]
    ends, places = [], [*begun_outcomes]
    for k in dict.fromkeys(k for k, _ in places):
        own = [n for n, place in enumerate(places) if place[0] == k]
        errors = 100 * np.stack([shown[n].final_errors for n in own])
        points = make_band_curve(setting.labels[k], np.array(own), errors, setting.styles[k], is_scatter=True)
        ends.append(replace(points, texts=[f"{mean:.1f}" for mean in points.y]))
    so_far = "" if all(each.is_ended for each in shown) else ", so far"
    title = f"Test error with and without dropout{so_far}"
    names = [each.label.replace(" +", "<br>+") for each in shown]
    levels = ", ".join(f"{each.name} {each.final_error_text}" for each in shown)
    yield FigureSpec(
        "ends", [CurvePanel(title, ends, "", "test error, %", marks=range(len(shown)), names=names, has_legend=False)],
        f"{title}: {levels}.",
        f"Means of {setting.seeds} networks with 95% intervals, at the learning rate that is best for each.",
    )  # fmt: skip
    curves = make_outcome_curves(shown, lambda each: 100 * each.get_at_best_rate("test"))
    panels = [
        CurvePanel("Test error by step", curves[k : k + 2], "step", "test error, %", "y")
        for k in range(0, len(curves), 2)
    ]
    yield FigureSpec("curves", panels, f"Test error by step: {levels}.", "Means over the seeds with 95% intervals.")


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
    answer = {"holds": "Yes", "holds-if": "In part", "wrong": "No"}.get(verdict_word, "Not clearly")
    answer += ", with random labels" * (setting.relabelled > 0)
    return f"{answer}: {setting.names[normed]} alone has {alone} errors, with dropout {both}."


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
    """Return the verdict on whether the first scheme makes dropout superfluous; open until all networks are trained."""
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
    first = others[0]
    return Verdict(
        _judge_scheme(signs[first, False] < 0, signs[first, True] < 0),
        f"Test error: {levels}. Changes in points: {'; '.join(said)}."
        f"{describe_undertraining([*ended_outcomes.values()])}",
        f"{setting.relabelled:.0%} of the labels of {setting.digits} training digits are drawn at random, so "
        f"that learning them by heart costs accuracy. Error on these labels: {learnt}. Networks of "
        f"{len(LAYER_WIDTHS)} × {LAYER_WIDTHS[0]} units, {setting.steps} steps of Adam at the rate that is best for "
        f"each: {rates}.",
        _explain_changes(setting, ended_outcomes, signs, first, plain),
        "in part: dropout still helps",
    )


def _explain_changes(
    setting: Setting, ended_outcomes: Outcomes, signs: Mapping[tuple[int, bool], int], k: int, plain: int
) -> str:
    """Return sentences on the effects of the scheme at position `k` and of dropout, alone and together."""
    name = capitalize_first(setting.names[k])
    alone, both = (np.mean(ended_outcomes[k, drops].get_at_best_rate("training")[-1]) for drops in (False, True))
    wrong = setting.relabelled * (1 - 1 / DIGIT_CLASSES)
    texts = [EXPERIMENT.why]
    if setting.relabelled and alone < both:
        texts = [
            f"{name} alone learns more wrong labels by heart: {wrong:.0%} of training labels are wrong, and it "
            f"misses {alone:.0%}, with dropout {both:.0%}."
        ]
    words = {1: "worse than no norm", 0: "not clearly different from no norm", -1: "better than no norm"}
    texts.append(f"On test digits, {setting.names[k]} alone is {words[signs[k, False]]}.")
    words = {1: "is worse than no norm", 0: "makes no clear difference", -1: "is better than no norm"}
    texts.append(f"Dropout alone {words[signs[plain, True]]}.")
    return " ".join(texts)


EXPERIMENT = Experiment.of("dropout", Setting, list_jobs, report,
    lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}, {setting.relabelled:.0%} with a random label; "
    f"{describe_hidden_layers(LAYER_WIDTHS)}; dropout behind every ReLU.",
    lambda setting: f"Networks learn {setting.digits} handwritten digits. "
    + f"{setting.relabelled:.0%} of the labels are random, which tempts a network to learn them by heart. "
    * (setting.relabelled > 0)
    + f"Dropout sets {setting.share:.0%} of the units to 0 at random in every training step. Error: misread test "
    "digits, whose labels are correct.")  # fmt: skip
