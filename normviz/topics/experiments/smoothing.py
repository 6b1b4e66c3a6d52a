"""A larger ε, a learned ε and an L1 term: their effect on the test error, and ε by layer (Ren et al. 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.errors import InvalidInput
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.seeds import (
    MeanDifference,
    choose_learning_rate,
    compare_seed_by_seed,
    find_clear_signs,
    format_mean_percent,
)
from normviz.jobs.results import Results
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment, declare_schemes, describe_hidden_layers
from normviz.topics.experiments.reports import (
    NOT_TRAINED,
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    describe_extent,
    judge_signs,
    make_band_curve,
    start_table,
)
from normviz.topics.experiments.smoothing_jobs import (
    BATCH_SIZE,
    L1_FACTORS,
    LAYER_WIDTH,
    LEARNING_RATES,
    LearnedEpsTraining,
)

LARGE_EPS = 1.0
"""The large ε, which is also a first value of a learned ε, beside that of the setting."""

USUAL, LARGE = (f"ε = {typeset(eps)}" for eps in (DEFAULT_EPS, LARGE_EPS))
LEARNED, L1, BOTH = "learned ε", "L1 term", "learned ε and L1 term"
CHANGES = (LARGE, LEARNED, L1, BOTH)
"""The changes of training with `USUAL`, by their words in sentences."""

MIN_DRAWN_EPS = 1e-8
"""Smallest drawn ε; smaller ones are drawn here."""

SMOOTHED_SCHEMES = tuple(
    key for key, scheme in SCHEMES.items() if scheme.activation_part and scheme.suppression and scheme.is_general_form
)
"""The schemes that have an ε under a root."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the trainings with a learned ε."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTH)

    seeds: int = integer(24, 2, 24, label="Networks of each kind", help="Each from a seed of its own.")
    schemes: tuple[str, ...] = declare_schemes(("batch", "layer", "divisive"), SMOOTHED_SCHEMES)
    radius: int = integer(4, 0, 63, label="Radius R", help="Of the windows of divisive normalization.")
    eps: float = real(
        0.01, 1e-6, 10.0, label="ε at the start, beside 1", symbol="ε",
        stops=(1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.3, 3.0),
    )  # fmt: skip
    depth: int = integer(4, 2, 8, label="Normalized layers", control="slider")
    digits: int = integer(
        200, BATCH_SIZE, 898, label="Digits to train on", stops=(50, 100, 200, 400, 898), control="stops"
    )
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 400, 500), control="stops")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(row.suppression is None for row in self.rows):
            raise InvalidInput("own: a scheme that divides by nothing has no ε to learn; one with a field B would do.")

    @property
    def initial_eps_values(self) -> tuple[float, ...]:
        """The initial values of a learned ε, largest first."""
        return tuple(sorted({LARGE_EPS, self.eps}, reverse=True))

    def make_job(self, k: int, eps: float, is_learned: bool) -> LearnedEpsTraining:
        """Return the job that trains the scheme at position `k` with a fixed ε, or one that is learned from `eps`."""
        return LearnedEpsTraining.of(self, row=self.rows[k], first=eps, learned=is_learned)

    def make_learned_jobs(self, k: int) -> list[LearnedEpsTraining]:
        """Return the jobs of the scheme at position `k` that learn ε, one for each initial value."""
        return [self.make_job(k, first, is_learned=True) for first in self.initial_eps_values]

    def make_fixed_jobs(self, k: int) -> list[LearnedEpsTraining]:
        """Return the jobs of the scheme at position `k` with a fixed ε, first the usual ε and then a large one."""
        return [self.make_job(k, eps, is_learned=False) for eps in (DEFAULT_EPS, LARGE_EPS)]

    def make_jobs(self, k: int) -> list[LearnedEpsTraining]:
        """Return the jobs of the scheme at position `k`: with a fixed ε and with a learned one."""
        return [*self.make_fixed_jobs(k), *self.make_learned_jobs(k)]


def list_jobs(setting: Setting) -> list[LearnedEpsTraining]:
    """Return for each scheme two jobs with a fixed ε, and one for each initial value of a learned ε."""
    return [part for k in range(len(setting.rows)) for part in setting.make_jobs(k)]


VariantErrors = Mapping[str, np.ndarray]
"""Test errors of a scheme by variant, each by seed."""


def choose_variant_errors(setting: Setting, k: int, results: Results) -> VariantErrors:
    """Return test errors (seeds,) of the scheme at position k by variant, `USUAL` and `CHANGES`.

    The learning rate, and the initial value of a learned ε, are those with the lowest validation error.
    """
    usual, large = ([results[job]] for job in setting.make_fixed_jobs(k))
    learned = [results[job] for job in setting.make_learned_jobs(k)]
    found = {USUAL: (usual, 0), LEARNED: (learned, 0), LARGE: (large, 0), L1: (usual, 1), BOTH: (learned, 1)}
    return {
        name: np.concatenate([each["test"][-1, factor] for each in trained])[_choose_best(trained, factor)]
        for name, (trained, factor) in found.items()
    }


def _choose_best(trained: Sequence[Mapping[str, np.ndarray]], factor: int = 0) -> int:
    """Return the position of the lowest validation error among all results and their learning rates."""
    return choose_learning_rate(np.concatenate([each["validation"][-1, factor] for each in trained]))


def collect_eps(setting: Setting, k: int, results: Results) -> np.ndarray:
    """Return the ε learned by the scheme at position `k` without an L1 term, (layers, initial values, rates, seeds)."""
    return np.stack([results[job]["eps"][:, 0] for job in setting.make_learned_jobs(k)], axis=1)


ChangeSigns = Mapping[str, Mapping[int, int]]
"""Signs of the changes of the test error by change and position of the scheme, 0 for unclear ones."""


def correlate_with_depth(eps: np.ndarray) -> np.ndarray:
    """Return the rank correlation (…) of ε (layers, …) with depth; −1 if ε falls from every layer to the next.

    Example:
        >>> correlate_with_depth(np.array([[0.3], [0.2], [0.1]])).tolist()
        [-1.0]
    """
    ranks = ((eps[:, None] > eps) + (eps[:, None] == eps) / 2).sum(1)
    ranks[:, ~np.isfinite(eps).all(0)] = np.nan
    layers = np.arange(len(eps)) - (len(eps) - 1) / 2
    return np.tensordot(layers, ranks - ranks.mean(0), 1) / (layers**2).sum()


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error of every scheme and variant, and the learned ε by layer."""
    ended = {part for part in list_jobs(setting) if part in results and results[part]["share"] == 1}
    schemes = [k for k in range(len(setting.rows)) if ended.issuperset(setting.make_jobs(k))]
    errors = {k: choose_variant_errors(setting, k, results) for k in schemes}
    eps = {k: collect_eps(setting, k, results) for k in schemes}
    signs = {name: _find_signs(errors, name) for name in CHANGES}
    lead, both = (_judge_test_error(setting, errors, signs, name) for name in (LARGE, BOTH))
    unclear = [setting.names[k] for k, sign in signs[LARGE].items() if not sign]
    if 0 < len(unclear) < len(setting.rows) == len(errors):
        chance = f"With {join_words(unclear, 'and')}, the change is not clear: it may be chance."
        lead = replace(lead, why=f"{chance} {EXPERIMENT.why}")
    verdicts = {"D03": _judge_eps_over_depth(setting, eps), "D04": both}
    figures = [
        replace(_draw_changes(setting, errors, signs, [LARGE]), key="large"),
        replace(_draw_changes(setting, errors, signs, [LEARNED, L1, BOTH]), caption=f"{both.says} {both.condition}"),
        _draw_learned_eps(setting, eps, verdicts["D03"]),
    ] if schemes else []  # fmt: skip
    table: dict[str, list[Any]] = {
        "scheme": [setting.rows[k].key for k in errors for _ in errors[k] for _ in setting.networks],
        **start_table(setting.networks, "variant", [name for each in errors.values() for name in each]),
        "test error": [float(error) for each in errors.values() for found in each.values() for error in found],
    }
    return Report(_format_headline(setting, errors, signs[LARGE]), figures, lead, table, verdicts)


def _draw_changes(
    setting: Setting, errors: Mapping[int, VariantErrors], signs: ChangeSigns, changes: Sequence[str]
) -> FigureSpec:
    """Return a figure with a panel for each of the `changes`: how it changes every scheme's test error."""
    groups = [
        [_make_change_point(setting, k, place, each, name) for place, (k, each) in enumerate(errors.items())]
        for name in changes
    ]
    ends = np.concatenate([each for curves in groups for curve in curves for each in (curve.low, curve.high)])
    span = (float(min(ends.min(), 0)) - 0.2, float(max(ends.max(), 0)) + 0.2) if np.isfinite(ends).all() else None
    is_single = len(changes) == 1  # then there is room for more words
    panels = [
        CurvePanel(
            f"{'Test error: ' * is_single}{USUAL} → {name}", curves, "", "change of test error, points", span=span,
            levels=(0.0,), level_names=(f"no change{'; below is better' * is_single}",), has_legend=False,
            marks=range(len(errors)),
            names=[
                f"{setting.labels[k]}<br>{100 * each[USUAL].mean():.1f} → {100 * each[name].mean():.1f}%<br>"
                + ("clear<br>change" if signs[name][k] else "may be<br>chance")
                for k, each in errors.items()
            ],
        )
        for name, curves in zip(changes, groups, strict=True)
    ]  # fmt: skip
    said = "; ".join(
        f"{setting.labels[k]} {format_mean_percent(each[USUAL])} with {USUAL}, "
        + join_words([f"{format_mean_percent(each[name])} with {name}" for name in changes], "and")
        for k, each in errors.items()
    )
    return FigureSpec(
        "levels", panels, f"Test error by scheme. {said}.",
        f"Mean changes of {setting.seeds} networks per norm, trained once with each ε, in percentage points; 95% "
        "intervals.",
    )  # fmt: skip


def _make_change_point(setting: Setting, k: int, place: int, errors: VariantErrors, name: str) -> Curve:
    """Return a point at `place` for the mean change of the test error by the change `name`, with its number."""
    changes = 100 * (errors[name] - errors[USUAL])
    point = make_band_curve(setting.labels[k], np.array([place]), changes[None], setting.styles[k], is_scatter=True)
    return replace(point, texts=[f" {changes.mean():+.1f}".replace("-", "−")])


def _draw_learned_eps(setting: Setting, eps: Mapping[int, np.ndarray], verdict: Verdict) -> FigureSpec:
    """Return a figure of the learned ε by layer, with a panel for every learning rate, and the verdict on its trend.

    `eps` is by scheme position.
    """
    panels, said = [], []
    for j, rate in enumerate(LEARNING_RATES):
        curves = []
        for k, each in eps.items():
            means = np.log10(np.maximum(each[:, :, j], MIN_DRAWN_EPS)).mean(1)
            layers = np.arange(1, len(each) + 1)
            label, style = setting.labels[k], setting.styles[k]
            curves.append(make_band_curve(label, layers, means, style, lambda logs: 10**logs, has_markers=True))
        marks = curves[0].x.tolist()
        panels.append(CurvePanel(f"Learning rate {typeset(rate)}", curves, "layer", "learned ε", "y", marks=marks))
        ends = ", ".join(f"{each.name} {typeset(each.y[0], 2)} to {typeset(each.y[-1], 2)}" for each in curves)
        said.append(f"At {typeset(rate)}, from the first layer to the last: {ends}")
    return FigureSpec(
        "eps", panels, f"The learned ε by layer. {'; '.join(said)}.",
        f"Geometric means over the first values {_join_numbers(setting.initial_eps_values)}, without an L1 term; 95% "
        f"intervals over the seeds. {verdict.says} {verdict.condition}",
    )  # fmt: skip


def _format_headline(setting: Setting, errors: Mapping[int, VariantErrors], signs: Mapping[int, int]) -> str:
    """Return the headline: the schemes whose test error a large ε lowers, or raises, and by how many points."""
    if not errors:
        return NOT_TRAINED.says
    for sign, verb in ((-1, "falls"), (1, "rises")):
        if named := [k for k in errors if signs[k] == sign]:
            answer = "No," if sign > 0 else "Yes," if len(named) > 1 or len(errors) == 1 else "Only"
            changes = sorted({f"{100 * abs(_compare(errors[k], LARGE).mean):.1f}" for k in named}, key=float)
            schemes = join_words([setting.names[k] for k in named], "and")
            return f"{answer} for {schemes}: the error {verb} by {' to '.join(changes[:1] + changes[1:][-1:])} points."
    return f"Undecided: with {setting.seeds} networks of each kind, no difference is clear."


def _compare(errors: VariantErrors, variant: str) -> MeanDifference:
    """Return the change of the test error by a variant, compared seed by seed with `USUAL`."""
    return compare_seed_by_seed(errors[variant], errors[USUAL])


def _find_signs(levels: Mapping[int, VariantErrors], variant: str) -> dict[int, int]:
    """Return by scheme the sign of the change by a variant, 0 if unclear; Holm's correction is for the schemes."""
    return dict(zip(levels, find_clear_signs([_compare(each, variant) for each in levels.values()]), strict=True))


def _judge_test_error(setting: Setting, errors: Mapping[int, VariantErrors], signs: ChangeSigns, name: str) -> Verdict:
    """Return the verdict on whether the change `name` lowers the test error of every scheme."""
    if len(errors) < len(setting.rows):
        return NOT_TRAINED
    texts = [
        f"{setting.names[k]} {format_mean_percent(each[USUAL])} and {format_mean_percent(each[name])} "
        f"({f'{_compare(each, name).text(100)} points' if signs[name][k] else 'no clear change'})"
        for k, each in errors.items()
    ]
    lowered = {setting.names[k]: -sign for k, sign in signs[name].items()}
    return Verdict(
        judge_signs([*lowered.values()]),
        f"Test error with {USUAL} and with {name}: {join_words(texts, 'and')}.",
        f"{setting.depth} layers of {LAYER_WIDTH} units, {setting.steps} steps of Adam on {setting.digits} digits. "
        + f"The L1 term is {typeset(L1_FACTORS[1])} times the mean |x − μ|, added to the loss. A learned ε "
        f"starts at {' or '.join(map(typeset, setting.initial_eps_values))}, whichever is better on validation digits. "
        * (name == BOTH)
        + f"The learning rate (of {_join_numbers(LEARNING_RATES)}) is chosen on validation digits. Holm's correction "
        f"is for the {len(errors)} schemes.",
        extent=describe_extent(lowered, "with"),
    )


def _judge_eps_over_depth(setting: Setting, eps: Mapping[int, np.ndarray]) -> Verdict:
    """Return the verdict on whether divisive normalization's learned ε falls with depth at every learning rate."""
    if len(eps) < len(setting.rows):
        return NOT_TRAINED
    trends = [each for k in eps for each in correlate_with_depth(eps[k]).mean(0)]
    found = [compare_seed_by_seed(each, 0 * each) for each in trends]
    words = {-1: "falls", 0: "has no clear trend", 1: "rises"}
    signs = find_clear_signs(found)
    texts, judged = [], {}
    for n, (k, row) in enumerate(zip(eps, setting.rows, strict=True)):
        own = slice(n * len(LEARNING_RATES), (n + 1) * len(LEARNING_RATES))
        said = ", ".join(
            f"it {words[sign]} at {typeset(rate)} ({trend.text()})"
            for rate, sign, trend in zip(LEARNING_RATES, signs[own], found[own], strict=True)
        )
        texts.append(f"{capitalize_first(setting.names[k])}: {said}.")
        if row.key == "divisive":
            judged = {typeset(rate): -sign for rate, sign in zip(LEARNING_RATES, signs[own], strict=True)}
    word: VerdictKey = judge_signs([*judged.values()]) if judged else "open"
    missing = "" if judged else " The claim is about divisive normalization, which is not chosen."
    return Verdict(
        word,
        f"The learned ε over the layers, by the learning rate: {' '.join(texts)}{missing}",
        "In brackets the rank correlation of ε with the layer, −1 where every layer has less than the one before; its "
        f"mean over the first values {_join_numbers(setting.initial_eps_values)}. It depends on the learning "
        f"rate. Holm's correction is for {len(found)} trends.",
        extent=describe_extent(judged, "at", "learning rates of ") if judged else "",
    )


def _join_numbers(numbers: Sequence[float]) -> str:
    """Format numbers as in a sentence: "1, 0.1 and 0.01"."""
    return join_words(map(typeset, numbers), "and")


EXPERIMENT = Experiment.of("smoothing", Setting, list_jobs, report,
    lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}; "
    f"{describe_hidden_layers((LAYER_WIDTH,) * setting.depth)}.",
    lambda setting: "Smoothing is a larger ε: normalization divides by √(variance + ε). Networks learn handwritten "
    f"digits with {LARGE} and with the usual {typeset(DEFAULT_EPS)}. The L1 regularizer and a learned ε follow further "
    "down." + f" Divisive norm is layer norm over windows of {min(2 * setting.radius + 1, LAYER_WIDTH)} units."
    * any(row.key == "divisive" for row in setting.rows))  # fmt: skip
"""The job of the experiment on smoothing: networks with a fixed or learned ε, with and without an L1 term."""
