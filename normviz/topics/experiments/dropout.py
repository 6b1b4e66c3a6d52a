"""Batch norm and dropout: the test error by dropout rate, of networks that learn correct labels and random ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.data.digits import DIGIT_CLASSES, DIGITS_DESCRIPTION
from normviz.describe.seeds import (
    MeanDifference,
    compare_seed_by_seed,
    estimate_band,
    find_clear_signs,
    format_mean_percent,
)
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
)
from normviz.topics.experiments.reports import (
    NOT_TRAINED,
    FigureSpec,
    Report,
    Verdict,
    describe_extent,
    describe_start,
    judge_signs,
    make_band_curve,
    tabulate,
)
from normviz.topics.experiments.training_history import TrainingHistory
from normviz.train.cost import estimate_dense_seconds

LEARNING_RATES = (0.001, 0.003, 0.01)
"""Learning rates of Adam of the grid."""

SHARES_OF_HIGHEST = (0.0, 0.2, 0.5, 1.0)
"""The dropout rates as shares of the highest one."""

MARGIN = 0.01
"""Dropout is not needed where it certainly lowers the test error by less than this."""

LAYER_WIDTHS = (64, 64)
"""Units of the normalized layers."""

BATCH_SIZE = 32
"""Digits of a mini-batch."""

MEASUREMENT_COUNT = 7
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the training with several dropout rates."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTHS[0])

    schemes: tuple[str, ...] = declare_schemes(("none", "batch"))
    share: float = real(0.5, 0.05, 0.9, label="Highest dropout rate", stops=(0.1, 0.2, 0.3, 0.5, 0.7))
    digits: int = integer(
        900, BATCH_SIZE, 1200, label="Digits to train on", stops=(100, 200, 400, 900, 1200), control="stops"
    )
    relabelled: float = real(
        0.3, 0.0, 0.9, label="Random training labels", stops=(0.0, 0.1, 0.2, 0.3, 0.5), shown="{:.0%}".format,
        help="Beside networks with correct labels: the share of training labels that are drawn at random.",
    )  # fmt: skip
    steps: int = integer(500, 20, 1000, label="Steps", stops=(100, 200, 300, 500, 1000), control="stops")

    @property
    def random_shares(self) -> tuple[float, ...]:
        """The compared shares of random labels, each once."""
        return tuple(dict.fromkeys((0.0, self.relabelled)))

    @property
    def dropout_rates(self) -> np.ndarray:
        """The dropout rates, from 0 to the highest one."""
        return self.share * np.array(SHARES_OF_HIGHEST)


@dataclass(frozen=True)
class DropoutTraining(SchemeJob, kind="experiments/dropout", version=5):
    """Job that trains networks of one scheme with all dropout rates up to `share`, learning rates and seeds.

    Its result holds "losses", "training", "validation" and "test", each (measured steps, dropout rates, rates, seeds).
    """

    share: float
    digits: int
    relabelled: float

    @property
    def seconds(self) -> float:
        count = len(SHARES_OF_HIGHEST) * len(LEARNING_RATES) * len(self.networks)
        return estimate_dense_seconds(
            [self.row.scheme], count, LAYER_WIDTHS, BATCH_SIZE, self.length, MEASUREMENT_COUNT
        )

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import Dense
        from normviz.train.dropout import Dropout
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device
        from normviz.train.small_training_set import SmallTrainingSet

        device = open_float32_device(self.device)
        shares, rates, seeds = (
            each.ravel()
            for each in np.meshgrid(
                self.share * np.array(SHARES_OF_HIGHEST), LEARNING_RATES, np.array(self.networks), indexing="ij"
            )
        )
        shape = (len(SHARES_OF_HIGHEST), len(LEARNING_RATES), len(self.networks))
        few = SmallTrainingSet(seeds.tolist(), self.digits, BATCH_SIZE, device, self.relabelled)
        network = Dense([self.row.scheme], seeds.tolist(), LAYER_WIDTHS, BATCH_SIZE, self.eps, device)
        learner = Trainer(network.parameters, "adam", rates[None])
        dropout, course = Dropout(seeds.tolist(), shares), TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for step, (x, labels) in enumerate(few.iterate_batches(self.length)):
            if step == 0:
                network.initialize_from_data(x)
            loss = cross_entropy(network.compute_logits(x, transform=dropout), labels)
            learner.step(loss)
            course.add_losses(loss)
            if course.is_measurement_due:
                course.add_errors(**few.measure_errors(network, Dropout(seeds.tolist(), shares)))
            yield course.make_step(device)


def list_jobs(setting: Setting) -> list[DropoutTraining]:
    """Return a job for every share of random labels and every scheme."""
    return [
        DropoutTraining.of(setting, row=row, relabelled=relabelled)
        for relabelled in setting.random_shares
        for row in setting.rows
    ]


class Outcome(GridOutcome):
    """The result of a `DropoutTraining`: its arrays have an axis of dropout rates."""

    @property
    def by_dropout_rate(self) -> list[GridOutcome]:
        """The outcomes at each dropout rate."""
        return [
            GridOutcome(
                self.name, self.label, self.style, self.rates,
                {name: self.result[name][:, k] for name in ("validation", "test", "training")},
            )
            for k in range(len(SHARES_OF_HIGHEST))
        ]  # fmt: skip

    @property
    def errors_by_dropout(self) -> np.ndarray:
        """The final test error rates, each at the best learning rate, shape (dropout rates, seeds)."""
        return np.stack([each.final_errors for each in self.by_dropout_rate])


Outcomes = Mapping[tuple[int, int], Outcome]
"""Outcomes by the positions of the share of random labels and of the scheme."""

LABELS = ("correct labels", "random labels")
"""Names of the training labels, by the position of the share of random ones."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error of every scheme by dropout rate, for correct and for random labels."""
    places = product(range(len(setting.random_shares)), range(len(setting.rows)))
    begun, ended = find_outcomes(
        dict(zip(places, list_jobs(setting), strict=True)), results,
        lambda place, result: Outcome.of(setting, LEARNING_RATES, place[1], result),
    )  # fmt: skip
    effects = _compare_dropout_rates(ended)
    table = tabulate([
        {
            "random labels": setting.random_shares[m], "scheme": setting.rows[k].key, "dropout rate": float(rate),
            "seed": seed,
        } | {f"{name} error": float(each.get_at_best_rate(name)[-1, s]) for name in ("test", "validation", "training")}
        for (m, k), outcome in ended.items()
        for rate, each in zip(setting.dropout_rates, outcome.by_dropout_rate, strict=True)
        for s, seed in enumerate(setting.networks)
    ])  # fmt: skip
    figures = [_draw_test_errors(setting, begun, effects)] if begun else []
    return Report(
        _format_headline(setting, begun, ended, effects), figures, _judge_claim(setting, ended, effects), table
    )


class DropoutEffect(NamedTuple):
    """The effect of dropout on the test error of one scheme.

    Attributes:
        changes: of the test error by each dropout rate above 0.
        signs: of these changes, 0 for unclear ones.
        best: the position of the dropout rate with the lowest error among those that clearly lower it; 0 for none.
    """

    changes: list[MeanDifference]
    signs: list[int]
    best: int

    @property
    def is_small(self) -> bool:
        """True if dropout certainly lowers the error by less than `MARGIN`."""
        return all(change.mean - change.half_width > -MARGIN for change in self.changes)


Effects = Mapping[tuple[int, int], DropoutEffect]
"""Effects of dropout, by place as in `Outcomes`."""


def _compare_dropout_rates(ended_outcomes: Outcomes) -> Effects:
    """Return the effect of dropout on every scheme, with Holm's correction for all comparisons with no dropout."""
    errors = {place: each.errors_by_dropout for place, each in ended_outcomes.items()}
    changes = [compare_seed_by_seed(each, all_of[0]) for all_of in errors.values() for each in all_of[1:]]
    signs, count = find_clear_signs(changes), len(SHARES_OF_HIGHEST) - 1
    found = {}
    for n, place in enumerate(errors):
        own = slice(n * count, (n + 1) * count)
        helpful = [k for k, sign in enumerate(signs[own], 1) if sign < 0]
        best = min(helpful, key=lambda k: changes[own][k - 1].mean, default=0)
        found[place] = DropoutEffect(changes[own], signs[own], best)
    return found


def _find_compared_schemes(setting: Setting) -> tuple[int, int] | None:
    """Return the positions of no normalization and of the first other scheme; None without one of them."""
    plain = next((k for k, row in enumerate(setting.rows) if row.key == "none"), None)
    judged = next((k for k, row in enumerate(setting.rows) if row.key != "none"), None)
    return None if plain is None or judged is None else (plain, judged)


def _find_claim_signs(setting: Setting, effects: Effects) -> list[int]:
    """Return for each kind of labels whether the compared scheme replaces dropout: 1, −1, or 0 if this is not decided.

    It does not if dropout clearly lowers its error. It does if dropout clearly helps no normalization, and helps the
    scheme by less than `MARGIN`. The list is empty until all networks of the two are trained.
    """
    compared, sides = _find_compared_schemes(setting), range(len(setting.random_shares))
    if compared is None or not all((m, k) in effects for m in sides for k in compared):
        return []
    pairs = [[effects[m, k] for k in compared] for m in sides]
    return [-1 if judged.best else int(plain.best > 0 and judged.is_small) for plain, judged in pairs]


def _clip_to_range(percent: np.ndarray) -> np.ndarray:
    return np.clip(percent, 0, 100)


def _draw_test_errors(setting: Setting, begun_outcomes: Outcomes, effects: Effects) -> FigureSpec:
    """Return a figure of the last measured test error by dropout rate, with a panel for each kind of labels.

    Two means stand at the curve of the compared scheme where dropout helps it: without dropout, and at the best rate.
    """
    percent, compared = 100 * setting.dropout_rates, _find_compared_schemes(setting)
    # The error bars of the schemes stand beside each other.
    shifts = 0.016 * percent[-1] * (np.arange(len(setting.rows)) - (len(setting.rows) - 1) / 2)
    panels, said, top = [], [], 1.0
    for m, relabelled in enumerate(setting.random_shares):
        title, curves = f"{relabelled:.0%} random labels" if m else capitalize_first(LABELS[m]), []
        for k, each in ((k, each) for (side, k), each in begun_outcomes.items() if side == m):
            errors, places = 100 * each.errors_by_dropout, percent + shifts[k]
            curves.append(make_band_curve(each.label, places, errors, each.style, _clip_to_range, has_markers=True))
            said.append(f"{title}, {each.name}: {', '.join(map(format_mean_percent, errors / 100))}")
            top = max(top, 1.05 * np.nanmax(_clip_to_range(estimate_band(errors)[2]), initial=0.0))
            if compared and k == compared[1] and (best := effects[m, k].best if (m, k) in effects else 0):
                means = errors.mean(-1)[[0, best]]
                x = np.append(places[[0, best]] + 0.03 * percent[-1], 1.15 * percent[-1])  # the last one makes room
                texts = [*(f"{mean:.1f}" for mean in means), ""]
                curves.append(Curve("", x, np.append(means, means[-1]), -1, is_scatter=True, size=0, texts=texts))
        panels.append(CurvePanel(title, curves, "dropout rate, %", "test error, %", marks=percent.tolist()))
    panels = [replace(each, span=(0.0, float(top))) for each in panels]
    rates = ", ".join(f"{rate:g}%" for rate in percent)
    return FigureSpec(
        "errors", panels, f"Test error at dropout rates of {rates}. {'; '.join(said)}.",
        f"Means of {setting.seeds} networks with 95% intervals, at the learning rate that is best on validation "
        "digits.",
    )  # fmt: skip


def _format_headline(setting: Setting, begun_outcomes: Outcomes, ended_outcomes: Outcomes, effects: Effects) -> str:
    """Return the headline: with which labels the compared scheme replaces dropout, or how much dropout still helps."""
    if not ended_outcomes:
        return describe_start(dict.fromkeys(each.name for each in begun_outcomes.values()))
    signs, compared = _find_claim_signs(setting, effects), _find_compared_schemes(setting)
    if not signs or compared is None:
        each = next(iter(ended_outcomes.values()))
        return f"Test error without dropout: {each.errors_by_dropout[0].mean():.1%} with {each.name}."
    judged = compared[1]
    if min(signs) < 0:
        m = max(m for m, sign in enumerate(signs) if sign < 0)
        before, after = (
            f"{mean:.1%}" for mean in ended_outcomes[m, judged].errors_by_dropout.mean(-1)[[0, effects[m, judged].best]]
        )
        answer = "No: " if max(signs) < 0 else f"Not always: with {LABELS[m]}, "
        return f"{answer}dropout lowers {setting.names[judged]}’s error from {before} to {after}."
    if max(signs) > 0:
        labels = join_words([LABELS[m] for m, sign in enumerate(signs) if sign > 0], "and")
        return f"Yes, with {labels}: there dropout lowers only the error without normalization."
    return "Undecided: dropout clearly helps none of these networks."


def _judge_claim(setting: Setting, ended_outcomes: Outcomes, effects: Effects) -> Verdict:
    """Return the verdict on whether the first scheme makes dropout superfluous; open until all networks are trained."""
    compared = _find_compared_schemes(setting)
    if compared is None:
        return Verdict("open", "To judge the claim, choose No norm and another scheme.")
    if len(ended_outcomes) < len(setting.random_shares) * len(setting.rows):
        return NOT_TRAINED
    said = []
    for (m, k), each in ended_outcomes.items():
        levels = ", ".join(
            f"{rate:.0%} {format_mean_percent(errors)}"
            for rate, errors in zip(setting.dropout_rates, each.errors_by_dropout, strict=True)
        )
        changes = ", ".join(
            change.text(100) + " (no clear difference)" * (sign == 0)
            for change, sign in zip(effects[m, k].changes, effects[m, k].signs, strict=True)
        )
        said.append(f"{capitalize_first(LABELS[m])}, {each.name}: {levels}. Changes by dropout in points: {changes}.")
        learnt = ", ".join(f"{one.get_at_best_rate('training')[-1].mean():.1%}" for one in each.by_dropout_rate)
        said.append(f"Error on their training labels: {learnt}.")
    signs = dict(zip(LABELS, _find_claim_signs(setting, effects), strict=False))
    outcomes = [one for each in ended_outcomes.values() for one in each.by_dropout_rate]
    return Verdict(
        judge_signs([*signs.values()]),
        f"Test error by dropout rate. {' '.join(said)}{describe_undertraining(outcomes)}",
        f"{setting.digits} training digits. Networks of {len(LAYER_WIDTHS)} × {LAYER_WIDTHS[0]} units, {setting.steps} "
        f"steps of Adam at the rate of {', '.join(map(typeset, LEARNING_RATES))} that is best for each. The claim "
        f"holds where dropout clearly helps without normalization, and where with the scheme no 95% interval reaches a "
        f"gain of {MARGIN:.0%} of the digits.",
        _explain(setting, ended_outcomes, effects, compared[1]),
        describe_extent(signs, "with"),
    )


def _explain(setting: Setting, ended_outcomes: Outcomes, effects: Effects, judged: int) -> str:
    """Return sentences: why dropout helps the scheme at position `judged`, and with which labels it helps no scheme."""
    last = len(setting.random_shares) - 1
    outcomes, best = ended_outcomes[last, judged].by_dropout_rate, effects[last, judged].best
    alone, both = (outcomes[k].get_at_best_rate("training")[-1].mean() for k in (0, best))
    texts = [EXPERIMENT.why]
    if last and alone < min(both, setting.relabelled * (1 - 1 / DIGIT_CLASSES)):
        name = setting.names[judged]
        texts = [f"The likely reason: networks with {name} learn some wrong labels by heart. Dropout hinders this."]
    texts += [
        f"With {LABELS[m]}, dropout helps {'neither' if len(setting.rows) == 2 else 'no'} network, so there is nothing "
        "to replace."
        for m in range(last + 1)
        if not any(effects[m, k].best for k in range(len(setting.rows)))
    ]
    return " ".join(texts)


EXPERIMENT = Experiment.of("dropout", Setting, list_jobs, report,
    lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}, with correct labels"
    + f" and with {setting.relabelled:.0%} random ones" * (setting.relabelled > 0)
    + f"; {describe_hidden_layers(LAYER_WIDTHS)}; dropout behind every ReLU.",
    lambda setting: f"Networks learn {setting.digits} handwritten digits, "
    + f"once with correct labels, once with {setting.relabelled:.0%} random ones. " * (setting.relabelled > 0)
    + "with correct labels. " * (setting.relabelled == 0)
    + "Dropout sets a share of the units, the dropout rate, to 0 at random in every training step. Error: misread test "
    "digits, whose labels are correct.")  # fmt: skip
