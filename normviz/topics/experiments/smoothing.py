"""Learned smoothing terms ε and an L1 term: their effect on the test error, and ε by layer (Ren et al. 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

FIRST_EPS = (1.0, 0.1)
"""First values of a learned ε, beside that of the setting."""

PLAIN, SMOOTHING, L1, BOTH = "neither", "learned ε", "L1 term", "both"
VARIANTS = {PLAIN: (False, False), SMOOTHING: (True, False), L1: (False, True), BOTH: (True, True)}
"""The variants: is ε learned, is there an L1 term."""

CHANGED = (SMOOTHING, L1, BOTH)
"""The variants with a change."""

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
        0.01, 1e-6, 10.0, label="ε at the start, beside 1 and 0.1", symbol="ε",
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
        return tuple(sorted({*FIRST_EPS, self.eps}, reverse=True))

    def make_job(self, k: int, first: float | None) -> LearnedEpsTraining:
        """Return the job that trains the scheme at position `k` with ε learned from `first`, or fixed if it is None."""
        start = DEFAULT_EPS if first is None else first
        return LearnedEpsTraining.of(self, row=self.rows[k], first=start, learned=first is not None)

    def make_jobs(self, k: int) -> list[LearnedEpsTraining]:
        """Return the jobs of the scheme at position `k`: one with a fixed ε, and one for each initial value of ε."""
        return [self.make_job(k, first) for first in (None, *self.initial_eps_values)]


def list_jobs(setting: Setting) -> list[LearnedEpsTraining]:
    """Return for each scheme a job with a fixed ε, and one for each initial value of a learned ε."""
    return [part for k in range(len(setting.rows)) for part in setting.make_jobs(k)]


VariantErrors = Mapping[str, np.ndarray]
"""Test errors of a scheme by variant, each by seed."""


def choose_variant_errors(setting: Setting, k: int, results: Results) -> VariantErrors:
    """Return test errors (seeds,) of the scheme at position k by key of `VARIANTS`, at the lowest validation error.

    The choice is of the learning rate and, if they apply, of the first ε and the factor of the L1 term.
    """
    levels = {}
    for name, (learned, sparse) in VARIANTS.items():
        found = [results[setting.make_job(k, first)] for first in (setting.initial_eps_values if learned else (None,))]
        factors = slice(1, None) if sparse else slice(0, 1)
        validation, test = (
            np.concatenate([each[kind][-1, factors].reshape(-1, setting.seeds) for each in found])
            for kind in ("validation", "test")
        )
        levels[name] = test[choose_learning_rate(validation)]
    return levels


def collect_eps(setting: Setting, k: int, results: Results) -> np.ndarray:
    """Return the ε learned by the scheme at position `k` without an L1 term, (layers, initial values, rates, seeds)."""
    return np.stack([results[setting.make_job(k, first)]["eps"][:, 0] for first in setting.initial_eps_values], axis=1)


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
    levels = {k: choose_variant_errors(setting, k, results) for k in schemes}
    eps = {k: collect_eps(setting, k, results) for k in schemes}
    learned = {k: float(np.exp(np.log(np.maximum(each, MIN_DRAWN_EPS)).mean())) for k, each in eps.items()}
    verdicts = {"D03": _judge_eps_over_depth(setting, eps), "D04": _judge_test_error(setting, levels, learned)}
    figures = [_draw_changes(setting, levels), _draw_learned_eps(setting, eps, verdicts["D03"])] if schemes else []
    table: dict[str, list[Any]] = {
        "scheme": [setting.rows[k].key for k in levels for _ in VARIANTS for _ in setting.networks],
        **start_table(setting.networks, "variant", [*VARIANTS] * len(levels)),
        "test error": [float(error) for each in levels.values() for errors in each.values() for error in errors],
    }
    return Report(_format_headline(setting, levels), figures, verdicts["D04"], table, verdicts)


def _draw_changes(setting: Setting, levels: Mapping[int, VariantErrors]) -> FigureSpec:
    """Return a figure of the changes of the test error by a learned ε, an L1 term and both, with a panel per scheme."""
    curves: list[Curve] = []
    panels: list[CurvePanel] = []
    for k, errors in levels.items():
        changes = 100 * np.stack([errors[name] - errors[PLAIN] for name in CHANGED])
        curves.append(
            make_band_curve(setting.labels[k], np.arange(len(CHANGED)), changes, setting.styles[k], is_scatter=True)
        )
    ends = np.concatenate([each for curve in curves for each in (curve.low, curve.high) if each is not None])
    span = (float(ends.min()) - 0.2, float(ends.max()) + 0.2) if np.isfinite(ends).all() else None
    for (k, errors), curve in zip(levels.items(), curves, strict=True):
        names = [f"{name}<br>{100 * errors[name].mean():.1f}%" for name in CHANGED]
        title = f"{capitalize_first(setting.labels[k])}, fixed ε: {100 * errors[PLAIN].mean():.1f}% error"
        panels.append(
            CurvePanel(
                title, [curve], "", "" if panels else "change of test error, points", levels=(0.0,), span=span,
                marks=range(len(names)), names=names, has_legend=False,
            )
        )  # fmt: skip
    said = "; ".join(
        f"{setting.labels[k]}: " + ", ".join(f"{name} {format_mean_percent(errors)}" for name, errors in each.items())
        for k, each in levels.items()
    )
    return FigureSpec(
        "levels", panels, f"Test error by scheme and variant. {said}.",
        f"Below 0 is better. Mean changes of the test error of {setting.seeds} networks, with 95% intervals.",
        3,
    )  # fmt: skip


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


def _format_headline(setting: Setting, levels: Mapping[int, VariantErrors]) -> str:
    """Return the headline: the schemes whose test error a learned ε with an L1 term lowers, or raises."""
    if not levels:
        return NOT_TRAINED.says
    signs, alone = (_find_signs(levels, name) for name in (BOTH, SMOOTHING))
    for sign, change in ((-1, "lower"), (1, "raise")):
        if named := [k for k in levels if signs[k] == sign]:
            variant = SMOOTHING if all(alone[k] == sign for k in named) else BOTH
            cause = f"a learned ε {change}s" if variant == SMOOTHING else f"both {change}"
            before, after = (f"{100 * levels[named[0]][name].mean():.1f}%" for name in (PLAIN, variant))
            schemes = join_words([setting.names[k] for k in named], "and")
            answer = "No" if sign > 0 else "Yes" if len(named) == len(levels) else f"Clear only for {schemes}"
            return f"{answer}: {cause} error from {before} to {after}."
    return f"Undecided: with {setting.seeds} networks of each kind, no difference is clear."


def _compare(errors: VariantErrors, variant: str) -> MeanDifference:
    """Return the change of the test error by a variant, compared seed by seed with neither."""
    return compare_seed_by_seed(errors[variant], errors[PLAIN])


def _find_signs(levels: Mapping[int, VariantErrors], variant: str) -> dict[int, int]:
    """Return by scheme the sign of the change by a variant, 0 if unclear; Holm's correction is for the schemes."""
    return dict(zip(levels, find_clear_signs([_compare(each, variant) for each in levels.values()]), strict=True))


def _judge_test_error(
    setting: Setting, errors: Mapping[int, VariantErrors], learned_eps: Mapping[int, float]
) -> Verdict:
    """Return the verdict on whether a learned ε with an L1 term lowers the test `errors` of every scheme.

    `learned_eps`: geometric means over layers, first values, learning rates and seeds.
    """
    if len(errors) < len(setting.rows):
        return NOT_TRAINED
    signs = {name: _find_signs(errors, name) for name in CHANGED}
    texts = []
    for k, each in errors.items():
        changes = [
            f"{format_mean_percent(each[name])} with {words} "
            f"({f'{_compare(each, name).text(100)} points' if signs[name][k] else 'no clear change'})"
            for name, words in ((SMOOTHING, "a learned ε"), (L1, "an L1 term"), (BOTH, "both"))
        ]
        before = f"{format_mean_percent(each[PLAIN])} with neither"
        texts.append(f"{capitalize_first(setting.names[k])}: {join_words([before, *changes], 'and')}.")
    together = {setting.names[k]: -sign for k, sign in signs[BOTH].items()}
    lowered = [k for k, sign in signs[SMOOTHING].items() if sign < 0 and learned_eps[k] > DEFAULT_EPS]
    reasons = [
        f"{capitalize_first(setting.names[k])} learns ε ≈ {typeset(learned_eps[k], 1)} "
        f"instead of {typeset(DEFAULT_EPS)}, so that inputs of small variance are amplified less."
        for k in lowered[:1]
    ] or [EXPERIMENT.why]
    reasons += ["The L1 term alone has no clear effect."] * (not any(signs[L1].values()))
    unclear = [setting.names[k] for k in errors if not any(each[k] for each in signs.values())]
    if 0 < len(unclear) < len(errors):
        reasons.append(f"With {join_words(unclear, 'and')}, no change is clear.")
    return Verdict(
        judge_signs([*together.values()]),
        f"Test error: {' '.join(texts)}",
        f"{setting.depth} layers of {LAYER_WIDTH} units, {setting.steps} steps of Adam on {setting.digits} digits. The "
        f"learning rate (of {_join_numbers(LEARNING_RATES)}), the first ε (of "
        f"{_join_numbers(setting.initial_eps_values)}) and the factor of the L1 "
        f"term (of {_join_numbers(L1_FACTORS[1:])}) are chosen on validation digits. Holm's correction is for the "
        f"{len(errors)} schemes.",
        " ".join(reasons),
        describe_extent(together, "with"),
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
    lambda setting: f"Normalization divides by √(variance + ε). Usually ε = {typeset(DEFAULT_EPS)} is fixed; we "
    "learn it, or add an L1 term (mean absolute activation) to the loss, or both. "
    + "Divisive norm averages over neighbouring units. " * any(row.key == "divisive" for row in setting.rows)
    + "Error: misread test digits.")  # fmt: skip
