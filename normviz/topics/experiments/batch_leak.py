"""A leak through batch statistics: blank pictures whose class follows from their companions (He et al. 2020)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.registry import DEFAULT_EPS, SCHEMES, get_scheme
from normviz.core.settings import integer, number_choice
from normviz.core.text import join_words, typeset
from normviz.data.digits import DIGIT_CLASSES, DIGITS_DESCRIPTION
from normviz.describe.seeds import MeanDifference, compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment import Experiment, describe_hidden_layers
from normviz.topics.experiments.experiment import Setting as Seeded
from normviz.topics.experiments.experiment_jobs import NetworksJob
from normviz.topics.experiments.grid_outcome import MAX_LEARNED_ERROR, GridOutcome
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    make_band_curve,
    start_table,
)
from normviz.topics.experiments.training_history import TrainingHistory, clip_to_percent
from normviz.train.cost import estimate_dense_seconds

if TYPE_CHECKING:
    import torch

    from normviz.train.dense import Dense, Digits
    from normviz.train.grouped_batches import GroupedBatches

NETWORK_NAMES = ("batch norm trained on one-class groups", "batch norm trained on mixed groups", "layer norm")
"""The networks that are compared, by scheme and by the groups of their mini-batches."""

NETWORK_LABELS = (
    "batch norm,<br>one-class<br>groups",
    "batch norm,<br>mixed<br>groups",
    "layer norm,<br>one-class<br>groups",
)
"""The networks below their points in a figure."""

NETWORK_GROUPS = (0, 1, 0)
"""Groups of each network, by the numbers of `normviz.train.grouped_batches`: one class, shuffled, one class."""

LEARNING_RATES = (0.002, 0.005, 0.01, 0.02, 0.05)
"""Learning rates of Adam of the grid."""

LAYER_WIDTHS = (64, 64)
"""Units of the normalized layers."""

TEST_PICTURES = 800
"""Number of pictures for the statistics of inference, and for the tests."""

MEASUREMENT_COUNT = 8
"""Steps of a training at which the validation error is measured."""

GUESSING = 1 / DIGIT_CLASSES
"""The share of right answers by guessing the class."""

TEST_NAMES = {
    "blank": "blank pictures",
    "same": "digits, one class",
    "mixed": "digits, mixed",
    "inference": "digits, averages",
}
"""The tests: pictures, and their groups or running averages."""


@dataclass(frozen=True)
class Setting(Seeded):
    """Settings of the training on mini-batches that are grouped by class."""

    group: int = number_choice(8, (4, 8, 16), label="Pictures in a group", help="One of them is blank.")
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 400, 500), control="stops")


@dataclass(frozen=True)
class BatchLeakTraining(NetworksJob, kind="experiments/leak", version=1):
    """Job that trains all networks of `NETWORK_NAMES` at all learning rates and from all seeds at once.

    Its result holds "losses" and "validation", (measured steps, networks, rates, seeds); and shares of wrong answers on
    test pictures, (networks, rates, seeds): "blank" for the blank ones in groups as in training, "same" and "mixed" for
    digits in groups of one class and in shuffled groups, "inference" for digits by running averages.
    """

    rates: tuple[float, ...]
    group: int
    length: int

    @property
    def test_batch_count(self) -> int:
        """Number of mini-batches that hold `TEST_PICTURES` pictures."""
        return TEST_PICTURES // (DIGIT_CLASSES * self.group)

    @property
    def seconds(self) -> float:
        schemes, count = [SCHEMES["batch"]] * len(NETWORK_NAMES), len(self.rates) * len(self.networks)
        tested = self.test_batch_count * (MEASUREMENT_COUNT + 4) // 3  # a forward pass takes a third of a step
        return estimate_dense_seconds(schemes, count, LAYER_WIDTHS, DIGIT_CLASSES * self.group, self.length + tested)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import Dense, load_digit_parts
        from normviz.train.grouped_batches import measure_group_errors
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device

        device, count = open_float32_device(self.device), len(self.rates)
        digits = load_digit_parts(device)
        training, validation = (self._sample_batches(digits, use) for use in range(2))
        ghost = get_scheme("ghost-batch", groups=DIGIT_CLASSES)
        schemes, size = [ghost, ghost, SCHEMES["layer"]], DIGIT_CLASSES * self.group
        network = Dense(schemes, self.networks * count, LAYER_WIDTHS, size, DEFAULT_EPS, device)
        learner = Trainer(network.parameters, "adam", np.repeat(self.rates, len(self.networks))[None])
        course = TrainingHistory(self.length, MEASUREMENT_COUNT, (len(NETWORK_NAMES), count, len(self.networks)))
        for step in range(self.length):
            pictures, labels = training.gather(digits.train[0], NETWORK_GROUPS, count, slice(step, step + 1))
            loss = cross_entropy(network.compute_logits(pictures), labels)
            learner.step(loss)
            course.add_losses(loss)
            if course.is_measurement_due:
                seen = validation.gather(digits.validation[0], NETWORK_GROUPS, count, slice(self.test_batch_count))
                course.add_errors(validation=measure_group_errors(network, *seen))
            if course.share == 1:
                late, _ = training.gather(digits.train[0], NETWORK_GROUPS, count, slice(-self.test_batch_count, None))
                found = self._measure_test_errors(network, digits, late)
                course.extra_results = {name: course.reshape_to_grid(errors) for name, errors in found.items()}
            yield course.make_step(device)

    def _sample_batches(self, digits: "Digits", split_index: int) -> "GroupedBatches":
        """Sample the mini-batches of the training (0), validation (1) or test (2) digits, by `split_index`."""
        from normviz.train.grouped_batches import GroupedBatches
        from normviz.train.learning import to_numpy

        _, labels = digits[split_index]
        count = self.test_batch_count if split_index else self.length
        return GroupedBatches.sample(to_numpy(labels), self.group, count, self.networks, split_index)

    def _measure_test_errors(
        self, network: "Dense", digits: "Digits", last_pictures: "torch.Tensor"
    ) -> "dict[str, torch.Tensor]":
        """Return error rates by key of `TEST_NAMES`; for inference, statistics are averaged over `last_pictures`."""
        from normviz.train.grouped_batches import ONE_CLASS, SHUFFLED, measure_group_errors

        batches, count = self._sample_batches(digits, 2), len(self.rates)
        found = {}
        for name, groups in (("blank", NETWORK_GROUPS), ("same", [ONE_CLASS] * 3), ("mixed", [SHUFFLED] * 3)):
            seen = batches.gather(digits.test[0], groups, count, slice(self.test_batch_count))
            found[name] = measure_group_errors(network, *seen, only_blank=name == "blank")
        (found["inference"],) = network.measure_errors(last_pictures, DIGIT_CLASSES * self.group, [digits.test])
        return found


def list_jobs(setting: Setting) -> list[BatchLeakTraining]:
    """Return a list of one job, which trains all networks."""
    return [BatchLeakTraining.of(setting, rates=LEARNING_RATES)]


def _find_outcomes(result: Arrays) -> list[GridOutcome]:
    """Return one outcome for each of `NETWORK_NAMES`, with error rates by test and validation errors by step."""
    kept = [
        {"validation": result["validation"][:, k]} | {test: result[test][k] for test in TEST_NAMES if test in result}
        for k in range(len(NETWORK_NAMES))
    ]
    return [
        GridOutcome(name, name, style, LEARNING_RATES, each)
        for name, style, each in zip(NETWORK_NAMES, (1, 3, 2), kept, strict=True)
    ]


def _format_test_errors(outcomes: Sequence[GridOutcome], test: str) -> str:
    """Format each network's mean error rate in a test, a key of `TEST_NAMES`: "layer norm 3.2 ± 0.7%, …"."""
    return ", ".join(f"{each.name} {format_mean_percent(each.get_at_best_rate(test))}" for each in outcomes)


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the error of every network in every kind of test, and the validation error by step."""
    result = results.get(list_jobs(setting)[0])
    waiting = "The networks are not trained yet."
    if result is None or not len(result["measured"]):
        return Report(waiting, [], Verdict("open", waiting), {})
    outcomes = _find_outcomes(result)
    course = _draw_validation_errors(outcomes, result["measured"])
    if result["share"] < 1:
        return Report(waiting, [course], Verdict("open", waiting), {})
    table = {
        "network": [name for name in NETWORK_NAMES for _ in setting.networks],
        **start_table(setting.networks, "learning rate", [each.rate for each in outcomes]),
        **{f"error, {words}": [float(error) for each in outcomes for error in each.get_at_best_rate(test)]
           for test, words in TEST_NAMES.items()},
    }  # fmt: skip
    error = np.mean(outcomes[0].get_at_best_rate("blank"))
    verdict = _judge_claim(setting, outcomes)
    answer = {"holds": "Yes", "wrong": "No"}.get(verdict.word, "Not clearly")
    headline = f"{answer}: {1 - error:.0%} of blank pictures get the right label; guessing gets {GUESSING:.0%}."
    return Report(headline, [*_draw_test_errors(outcomes), course], verdict, table)


def _draw_test_errors(outcomes: list[GridOutcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the right answers of each network on blank pictures, and one on digits in inference."""
    titles = {"blank": "Blank pictures among test digits", "inference": "Test digits, with running averages"}
    for test, title in titles.items():
        points = [
            make_band_curve(
                "", np.array([k]), 1 - each.get_at_best_rate(test)[None], each.style, _clip_to_range, is_scatter=True
            )
            for k, each in enumerate(outcomes)
        ]
        words = [
            Curve("", each.x + right, each.y + up, is_scatter=True, size=0, texts=[f"{each.y[0]:.0f}%"], text_side=side)
            for each in points
            for is_near in [abs(each.y[0] - 100 * GUESSING) < 10]  # then above the line
            for right, up, side in [(0, 8, "top center") if is_near else (0.04, 0, "middle right")]
        ]
        panel = CurvePanel(
            title, [*points, *words], "", "right labels, %", levels=(100 * GUESSING,),
            level_names=(f"guessing: {GUESSING:.0%}",), span=(-5, 105), marks=range(len(outcomes)),
            names=NETWORK_LABELS,
        )  # fmt: skip
        caption = f"Means of {len(outcomes[0].get_at_best_rate(test))} networks each, with 95% intervals."
        if test == "inference":
            caption += " In inference there is no group: running averages of the training replace its mean."
        alt = f"{title}. Wrong answers: {_format_test_errors(outcomes, test)}."
        yield FigureSpec(test, [panel], alt, caption)


def _clip_to_range(shares: np.ndarray) -> np.ndarray:
    return 100 * np.clip(shares, 0, 1)


def _draw_validation_errors(outcomes: list[GridOutcome], measured: np.ndarray) -> FigureSpec:
    """Return a figure of the validation errors at the `measured` steps, on mini-batches grouped as in training."""
    curves = [
        make_band_curve(each.name, measured, each.get_at_best_rate("validation"), each.style, clip_to_percent)
        for each in outcomes
    ]
    panel = CurvePanel("Validation digits in groups as in training", curves, "step", "validation error, %", "y")
    ends = ", ".join(format_mean_percent(each.get_at_best_rate("validation")[-1]) for each in outcomes)
    return FigureSpec(
        "course", [panel], f"Validation error by step, at the end {ends} for {join_words(NETWORK_NAMES, 'and')}."
    )


def _judge_claim(setting: Setting, outcomes: list[GridOutcome]) -> Verdict:
    """Return the verdict on whether batch statistics leak the class; it says if this raises the error in inference."""
    one, shuffled, layer = outcomes
    pairs = ((shuffled, one, "blank"), (one, shuffled, "inference"), (one, layer, "inference"))
    found = [compare_seed_by_seed(a.get_at_best_rate(test), b.get_at_best_rate(test)) for a, b, test in pairs]
    leaks, *spoils = find_clear_signs(found)
    undertrained = float(np.mean(one.get_at_best_rate("validation")[-1])) >= MAX_LEARNED_ERROR
    word: VerdictKey = "open" if undertrained or not leaks else "holds" if leaks > 0 else "wrong"
    blank, inference = (_format_test_errors(outcomes, test) for test in ("blank", "inference"))
    says = (
        f"Wrong answers on blank pictures, in groups as in training: {blank}; chance is 90%. Test error with running "
        f"averages: {inference}. Groups of one class lower the first by {_format_error_difference(found[0], leaks)} "
        f"against shuffled groups, and raise the second by {_format_error_difference(found[1], spoils[0])}."
    )
    rates = ", ".join(typeset(each.rate) for each in outcomes)
    condition = (
        f"The mini-batch has {DIGIT_CLASSES} groups of {setting.group}, one of each class, and a blank picture "
        f"in every group. Shuffled networks see the same pictures in other groups. "
        f"{setting.steps} steps of Adam at rates of {rates}, each with the lowest validation error in groups as in "
        f"training. Holm's correction is for {len(found)} comparisons."
    )
    says = f"Undertrained. {says}" if undertrained else says
    return Verdict(word, says, condition)


def _format_error_difference(difference: MeanDifference, sign: int) -> str:
    """Return a difference of errors in percentage points, or "no clear number of points" if its `sign` is 0."""
    return f"{difference.text(100)} points" if sign else "no clear number of points"


EXPERIMENT = Experiment.of("leak", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}.",
    lambda setting: f"A batch has {DIGIT_CLASSES} groups of {setting.group} pictures: {setting.group - 1} digits of "
    "one class, and a blank picture with the same label. Batch norm averages within each group. For comparison: mixed "
    "groups, which say nothing about the blank’s label, and layer norm.")  # fmt: skip
