"""Learned smoothing terms ε and an L1 term: their effect on the test error, and ε by layer (Ren et al. 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import CurvePanel
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
    verdicts = {"D03": _judge_eps_over_depth(setting, eps), "D04": _judge_test_error(setting, levels)}
    figures = (
        [_draw_errors_by_variant(setting, levels), _draw_learned_eps(setting, eps, verdicts["D03"])] if schemes else []
    )
    table: dict[str, list[Any]] = {
        "scheme": [setting.rows[k].key for k in levels for _ in VARIANTS for _ in setting.networks],
        **start_table(setting.networks, "variant", [*VARIANTS] * len(levels)),
        "test error": [float(error) for each in levels.values() for errors in each.values() for error in errors],
    }
    return Report(_format_headline(setting, levels), figures, verdicts["D04"], table, verdicts)


def _draw_errors_by_variant(setting: Setting, levels: Mapping[int, VariantErrors]) -> FigureSpec:
    curves, marks, names = [], [], []
    for n, (k, errors) in enumerate(levels.items()):
        values = 100 * np.stack([*errors.values()])
        places = (len(VARIANTS) + 1) * n + np.arange(len(VARIANTS))
        marks += [*places[:2], places.mean(), *places[2:]]
        names += ["neither", "learned<br>ε", f"<br><br>{capitalize_first(setting.names[k])}", "L1<br>term", "both"]
        curve = make_band_curve(setting.labels[k], places, values, setting.styles[k], is_scatter=True)
        curves.append(replace(curve, texts=[f"{mean:.1f}" for mean in curve.y]))
    title = "Test error, by scheme and change"
    panel = CurvePanel(title, curves, "", "test error, %", marks=marks, names=names, has_legend=False)
    said = "; ".join(
        f"{setting.labels[k]}: " + ", ".join(f"{name} {format_mean_percent(errors)}" for name, errors in each.items())
        for k, each in levels.items()
    )
    return FigureSpec(
        "levels", [panel], f"Test error by scheme and variant. {said}.",
        f"Means of {setting.seeds} networks with 95% intervals. Where ε is not learned it is {typeset(DEFAULT_EPS)}."
        + " Divisive norm averages over neighbouring units." * any(row.key == "divisive" for row in setting.rows),
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
    """Return the headline: the number of schemes whose test error a learned ε with an L1 term lowers, or raises."""
    if not levels:
        return NOT_TRAINED.says
    effects = [both for _, ((_, both), _, _) in _compare_variants(levels)]
    for effect, answer, change in (("better", "Yes", "lower"), ("worse", "No", "raise")):
        if count := effects.count(effect):
            answer = "In part" if "worse" in effects and "better" in effects else answer
            return f"{answer}: both clearly {change} the test error in {count} of {len(effects)} schemes."
    return f"Undecided: with {setting.seeds} networks of each kind, no difference is clear."


VariantEffects = list[tuple[int, list[tuple[MeanDifference, str]]]]
"""Changes of the error by the position of a scheme: by both together, by a learned ε alone, and by the
additional L1 term; each with "better", "worse" or "unclear"."""


def _compare_variants(errors: Mapping[int, VariantErrors]) -> VariantEffects:
    """Return by scheme how a learned ε and an L1 term change its test error: both − plain, ε − plain, both − ε."""
    pairs = ((BOTH, PLAIN), (SMOOTHING, PLAIN), (BOTH, SMOOTHING))
    found = [compare_seed_by_seed(each[a], each[b]) for each in errors.values() for a, b in pairs]
    words = {-1: "better", 0: "unclear", 1: "worse"}
    named = [(change, words[sign]) for change, sign in zip(found, find_clear_signs(found), strict=True)]
    return [(k, named[n * len(pairs) : (n + 1) * len(pairs)]) for n, k in enumerate(errors)]


def _judge_test_error(setting: Setting, errors: Mapping[int, VariantErrors]) -> Verdict:
    """Return the verdict on whether a learned ε with an L1 term lowers the test `errors` of every scheme."""
    if len(errors) < len(setting.rows):
        return NOT_TRAINED
    texts, together = [], {}
    for k, (both, alone, more) in _compare_variants(errors):
        plain, learned, all_of_it = (format_mean_percent(errors[k][name]) for name in (PLAIN, SMOOTHING, BOTH))
        texts.append(
            f"{capitalize_first(setting.names[k])}: {plain} with neither, {learned} with a learned ε "
            f"({_format_change(*alone)}), {all_of_it} with both ({_format_change(*both)}); the L1 term adds "
            f"{_format_change(*more)}."
        )
        together[setting.names[k]] = {"better": 1, "unclear": 0, "worse": -1}[both[1]]
    signs = [*together.values()]
    better, worse = (signs.count(sign) / len(signs) for sign in (1, -1))
    mixed: VerdictKey = "holds-if" if better > 1 / 2 else "wrong" if worse > 1 / 2 else "open"
    return Verdict(
        "holds" if better == 1 else mixed,
        f"Test error: {' '.join(texts)}",
        f"The claim is about all schemes; both together clearly help {signs.count(1)} of {len(signs)}. "
        f"{setting.depth} layers of {LAYER_WIDTH} units, {setting.steps} steps of Adam on {setting.digits} digits. The "
        f"learning rate (of {_join_numbers(LEARNING_RATES)}), the first ε (of "
        f"{_join_numbers(setting.initial_eps_values)}) and the factor of the L1 "
        f"term (of {_join_numbers(L1_FACTORS[1:])}) are chosen on validation digits. Holm's correction is for "
        f"{3 * len(signs)} comparisons.",
        f"{EXPERIMENT.why} {_describe_largest_change(setting, errors)}",
        describe_extent(together),
    )


def _describe_largest_change(setting: Setting, errors: Mapping[int, VariantErrors]) -> str:
    """Return a sentence on the scheme whose mean error both together change most, if that change is not clear."""
    k, ((_, effect), *_) = max(_compare_variants(errors), key=lambda each: abs(each[1][0][0].mean))
    if effect != "unclear":
        return ""
    before, after = (f"{100 * float(np.mean(errors[k][name])):.1f}%" for name in (PLAIN, BOTH))
    return f"The largest change by both together is {setting.names[k]}’s, from {before} to {after}: within chance."


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


def _format_change(change: MeanDifference, effect: str) -> str:
    """Format a change of the test error, "-0.6 ± 0.2 points"; "no clear change" for the effect "unclear"."""
    return "no clear change" if effect == "unclear" else f"{change.text(100)} points"


EXPERIMENT = Experiment.of("smoothing", Setting, list_jobs, report,
    lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}; "
    f"{describe_hidden_layers((LAYER_WIDTH,) * setting.depth)}; ε fixed or learned, with an L1 term of the centred "
    "inputs or without.",
    lambda setting: f"Networks learn {setting.digits} digits. Learned: the ε that is added to the variance. Sparse "
    "regularizer: an L1 term in the loss pulls centred inputs (minus their mean) to 0. Error: share of misread test "
    "digits.")  # fmt: skip
