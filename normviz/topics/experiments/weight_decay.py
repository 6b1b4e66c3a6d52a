"""Weight decay in front of a layer that is invariant to the length of its weights: twins with and without it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, typeset
from normviz.core.theory import predict
from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.digits import DIGITS_DESCRIPTION
from normviz.describe.seeds import compare_seed_by_seed, estimate_mean, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment, declare_schemes, describe_hidden_layers
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    make_band_curve,
    tabulate,
)
from normviz.topics.experiments.weight_decay_jobs import (
    BATCH_SIZE,
    DECAYED,
    LAYER_WIDTHS,
    PLAIN,
    RAISED,
    RANDOM_LABEL_SHARE,
    ROUNDED,
    TRAINING_DIGITS,
    TWIN_NAMES,
    WeightDecayTraining,
)

SHOWN_TWINS = (PLAIN, DECAYED, RAISED)
"""Twins of the figures, in their order."""

JOINED_STYLE = 5
"""Index of the curve style of lines that join twins."""

TWIN_STYLES = (5, 3, 16, -1)
"""Indices of the twins' curve styles: no colour of a scheme."""

EQUALITY_TOLERANCE = 1e-9
"""Largest relative difference of losses that count as equal in float64."""

ROUNDING_MARGIN = 1000
"""Largest ratio of a gap to the gap of one rounding that still counts as rounding."""

MIN_DRAWN_GAP = 2.0**-56
"""Position of a gap of 0 on a logarithmic axis."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the networks and their twins, which train with another weight decay or learning rate."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTHS[0])
    has_scheme_curves: ClassVar[bool] = False

    schemes: tuple[str, ...] = declare_schemes(("none", "batch"))
    eps: float = real(0.0, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    rate: float = real(0.1, 1e-3, 1.0, label="Learning rate η (SGD)", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    decay: float = real(
        0.02, 1e-4, 0.1, label="Weight decay λ", symbol="λ", stops=(0.001, 0.003, 0.01, 0.02, 0.05, 0.1)
    )
    steps: int = integer(500, 20, 1000, label="Steps", stops=(50, 100, 200, 300, 500, 1000), control="stops")

    @property
    def final_raise(self) -> float:
        """The factor by which the higher learning rate is above `rate` in the last step."""
        return (1 - self.rate * self.decay) ** (1 - 2 * self.steps)


def list_jobs(setting: Setting) -> list[WeightDecayTraining]:
    """Return one job per scheme, which trains its networks and their twins."""
    return [WeightDecayTraining.of(setting, row=row) for row in setting.rows]


class Outcome(NamedTuple):
    """The result of one scheme after the training.

    Attributes:
        gaps: the largest relative difference of a twin's losses from those with weight decay, (twins, seeds).
        losses: of the last mini-batches, (twins, seeds).
        errors: the test error rates, (twins, seeds).
    """

    gaps: np.ndarray
    losses: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, result: Arrays) -> "Outcome":
        """Return the outcome from the result of a job that has ended."""
        return cls(result["gaps"][-1], result["losses"][-1], result["errors"][-1])

    @property
    def twin_relation(self) -> Literal["same", "apart", "rounding", "nothing", "diverged"]:
        """Kind of difference between the results at the higher rate without weight decay, and with weight decay.

        "same" or "apart", over all seeds; "rounding" if a single rounding separates twins as far; "nothing" if weight
        decay changes nothing in these networks; "diverged" if losses are not finite.
        """
        plain, raised, rounded = self.gaps[PLAIN], self.gaps[RAISED], self.gaps[ROUNDED]
        if not np.isfinite(rounded).all():
            return "diverged"
        if (raised <= EQUALITY_TOLERANCE).all() and np.array_equal(self.errors[RAISED], self.errors[DECAYED]):
            return "same" if plain.min() > 100 * max(raised.max(), MACHINE_EPSILONS["float64"]) else "nothing"
        return "rounding" if raised.max() <= ROUNDING_MARGIN * rounded.max() else "apart"


def is_length_invariant(setting: Setting, row: SchemeSpec) -> bool:
    """Return True if the scheme's first layer is predicted to be invariant to the length of its weights at ε = 0."""
    return predict(
        row.scheme, TRANSFORMATIONS["weight-matrix-rescaling"], "dense", setting.shape, (1, 1, *LAYER_WIDTHS), eps=0.0
    ).invariant


Outcomes = dict[SchemeSpec, Outcome]
"""Outcomes by scheme."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: test errors and losses of twins, with and without weight decay."""
    jobs = sorted(list_jobs(setting), key=lambda job: job.row.key != "batch")
    found = {job.row: results[job] for job in jobs if job in results}
    ended = {row: Outcome.of(each) for row, each in found.items() if each["share"] == 1}
    signs = _find_decay_signs(ended)
    figures = []
    if ended:
        compared = dict(list(ended.items())[:2])
        rest = {row: each for row, each in ended.items() if row not in compared}
        shown = [("errors", compared, (PLAIN, DECAYED)), ("others", rest, (PLAIN, DECAYED))]
        shown += [("rates", ended, (DECAYED, RAISED))]
        figures = [_draw_errors(setting, *each) for each in shown if each[1]]
    if found:
        figures += [_draw_losses(found), _draw_loss_gaps(found)]
    headline, verdict = _format_headline(setting, ended, signs), _judge_claim(setting, ended, signs)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended))


def _tabulate_results(setting: Setting, ended_outcomes: Outcomes) -> dict[str, list[Any]]:
    return tabulate([
        {
            "scheme": row.key, "seed": seed, "twin": name, "test error": float(each.errors[twin, k]),
            "largest gap": float(each.gaps[twin, k]), "loss at the end": float(each.losses[twin, k]),
        }
        for row, each in ended_outcomes.items()
        for k, seed in enumerate(setting.networks)
        for twin, name in enumerate(TWIN_NAMES)
    ])  # fmt: skip


def _find_decay_signs(ended_outcomes: Outcomes) -> dict[SchemeSpec, int]:
    """Return by scheme −1 if weight decay clearly lowers its test error at the same rate, 1 if it raises it, else 0."""
    found = [compare_seed_by_seed(each.errors[DECAYED], each.errors[PLAIN]) for each in ended_outcomes.values()]
    return dict(zip(ended_outcomes, find_clear_signs(found), strict=True))


def _choose_main_scheme(rows: Iterable[SchemeSpec]) -> SchemeSpec:
    """Return batch norm or, without it, the first scheme."""
    return min(rows, key=lambda row: row.key != "batch")


def _draw_errors(setting: Setting, key: str, outcomes: Outcomes, twins: tuple[int, int]) -> FigureSpec:
    """Return a figure, `key`, of the networks' test errors as two of the twins, joined, a panel for each scheme."""
    panels, said = [], []
    top = max(5.0, *(105 * float(each.errors[[*twins]].max()) for each in outcomes.values()))
    for row, each in outcomes.items():
        errors = 100 * each.errors[[*twins]]
        curves = [Curve("", np.arange(2), pair, JOINED_STYLE, has_markers=True, width=1.5) for pair in errors.T]
        curves.append(Curve("", np.arange(2), errors.mean(-1), -1, width=5))
        names = [f"{TWIN_NAMES[twin]}<br>mean {mean:.1f}%" for twin, mean in zip(twins, errors.mean(-1), strict=True)]
        title = capitalize_first(setting.names[setting.rows.index(row)])
        said.append(f"{title}: {', '.join(names).replace('<br>', ' ')}")
        panels.append(CurvePanel(title, curves, "", "test error, %", span=(0.0, top), marks=range(2), names=names))
    caption = f"Thin lines: {setting.seeds} networks, each trained twice from the same start. Thick line: their mean."
    if RAISED in twins:
        caption = (
            "Why: where the length of the weights does not change the outputs, weight decay acts only like a higher "
            "learning rate. “Higher rate” has no decay, but a learning rate that grows "
            f"{typeset(setting.final_raise, 2)}-fold, as fast as decay shrinks the squared weights. {caption}"
        )
    return FigureSpec(key, panels, f"Test error at the end. {'; '.join(said)}.", caption)


def _draw_losses(found: dict[SchemeSpec, Arrays]) -> FigureSpec:
    """Return a figure of the training loss by step with and without weight decay, a panel for each scheme."""
    losses = {row: each["losses"] for row, each in found.items()}
    panels = _make_twin_panels(found, losses, SHOWN_TWINS, "training loss")
    said = _describe_ends(losses, SHOWN_TWINS)
    return FigureSpec(
        "losses", panels, f"Training loss by step. At the end: {said}.",
        "Training loss by step; geometric means with 95% intervals.",
    )  # fmt: skip


def _draw_loss_gaps(found: dict[SchemeSpec, Arrays]) -> FigureSpec:
    """Return a figure of the relative differences of the twins' losses by step, with a panel for each scheme."""
    gaps = {row: np.clip(each["gaps"], MIN_DRAWN_GAP, 1.0) for row, each in found.items()}
    panels = _make_twin_panels(found, gaps, (PLAIN, RAISED, ROUNDED), "largest gap so far")
    return FigureSpec(
        "gaps", panels, f"The largest gap of the losses so far, by step. At the end: "
                        f"{_describe_ends(gaps, (PLAIN, RAISED))}.",
        "Relative difference of a twin's losses from those with weight decay; geometric means with 95% intervals. “One "
        "rounding” has weight decay too, and starts from weights longer by 2⁻⁵²: smaller gaps mean nothing.",
    )  # fmt: skip


def _describe_ends(values: dict[SchemeSpec, np.ndarray], twins: tuple[int, ...]) -> str:
    """Return the last geometric means of `twins`, by scheme: "Batch: no decay 0.1, higher rate 0.1"."""
    return "; ".join(
        f"{row.scheme.label}: "
        + ", ".join(f"{TWIN_NAMES[twin]} {_format_geometric_mean(each[-1, twin])}" for twin in twins)
        for row, each in values.items()
    )


@np.errstate(invalid="ignore", divide="ignore")
def _make_twin_panels(
    found: dict[SchemeSpec, Arrays], values: dict[SchemeSpec, np.ndarray], twins: tuple[int, ...], axis: str
) -> list[CurvePanel]:
    """Return a panel for each scheme: geometric means of its `values` (measured steps, twins, seeds) for `twins`."""
    panels = []
    for row, each in found.items():
        logarithms = np.log10(values[row])
        curves = [
            make_band_curve(
                TWIN_NAMES[twin], each["measured"], logarithms[:, twin], TWIN_STYLES[twin], lambda logs: 10**logs
            )
            for twin in twins
        ]
        panels.append(CurvePanel(row.scheme.label, curves, "step", axis, "y"))
    return panels


def _format_geometric_mean(values: np.ndarray) -> str:
    """Format the geometric mean of positive numbers with its 95% interval: "2·10⁻¹⁴ (1·10⁻¹⁴ to 4·10⁻¹⁴)"."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, half_width = estimate_mean(np.log10(np.maximum(values, MIN_DRAWN_GAP)))
    middle, low, high = (typeset(float(10**each), 2) for each in (mean, mean - half_width, mean + half_width))
    return middle if "NaN" in (low, high) or low == high else f"{middle} ({low} to {high})"


def _format_headline(setting: Setting, ended_outcomes: Outcomes, signs: dict[SchemeSpec, int]) -> str:
    """Return the headline: the effect of weight decay with batch norm or, without it, with the first trained scheme."""
    if not ended_outcomes:
        return "No scheme is trained yet."
    row = _choose_main_scheme(ended_outcomes)
    name, relation = setting.names[setting.rows.index(row)], ended_outcomes[row].twin_relation
    if relation == "same":
        for other, each in ended_outcomes.items():
            if other.key == "none" and signs[other] < 0 <= signs[row]:
                before, after = (f"{each.errors[twin].mean():.1%}" for twin in (PLAIN, DECAYED))
                return f"No: decay clearly lowers test error only without {name}, from {before} to {after}."
        return f"No: with {name}, weight decay acts only like a higher learning rate."
    if relation == "apart":
        return f"With {name}, weight decay does more than raise the learning rate."
    return f"With {name}, nothing can be said of weight decay here."


def _judge_claim(setting: Setting, ended_outcomes: Outcomes, signs: dict[SchemeSpec, int]) -> Verdict:
    """Return the verdict on whether a higher learning rate replaces weight decay in length-invariant layers."""
    if len(ended_outcomes) < len(setting.rows):
        return Verdict("open", "Not all schemes are trained yet.")
    condition = (
        f"ε = {typeset(setting.eps)}, {setting.steps} steps of plain SGD with η = {typeset(setting.rate)}, and λ = "
        f"{typeset(setting.decay)} on the weights in front of the normalization alone: the classifier, γ and β have "
        "none. The higher rate of these weights is η (1 − ηλ)¹⁻²ᵗ in step t; with momentum or Adam it is another one."
    )
    text = " ".join(_describe_outcome(setting, row, each, signs[row]) for row, each in ended_outcomes.items())
    main = _choose_main_scheme(ended_outcomes)
    why = _REASONS.get(ended_outcomes[main].twin_relation, "").format(
        name=setting.names[setting.rows.index(main)], effect=_RATE_EFFECTS[signs[main]]
    )
    invariant = {row: each for row, each in ended_outcomes.items() if is_length_invariant(setting, row)}
    if invariant and "batch" not in {row.key for row in invariant}:
        text += " Batch norm is not among the schemes: the others are judged in its place."
    strays = [each for each in invariant.values() if each.twin_relation == "apart"]
    if strays:
        nearly = all((each.gaps[RAISED] < each.gaps[PLAIN] / 10).all() for each in strays)
        word: VerdictKey = "wrong" if not setting.eps else "holds-if" if nearly else "open"
        return Verdict(word, text, condition, why, f"nearly, as ε = {typeset(setting.eps)} and not 0")
    judged = [each for row, each in invariant.items() if row.key == "batch"] or list(invariant.values())
    if not any(each.twin_relation == "same" for each in judged):
        return Verdict("open", text, condition)
    lone = [row for row, each in ended_outcomes.items() if row not in invariant and each.twin_relation == "same"]
    return Verdict("wrong" if lone else "holds", text, condition, why)


_REASONS = {
    "same": "With {name}, the size of the weights does not change the outputs. Smaller weights only make each step "
    "relatively larger, like a higher learning rate. This {effect} here.",
    "apart": "With {name}, smaller weights change the outputs, so weight decay and the higher rate differ.",
}

_RATE_EFFECTS = {-1: "lowers the error", 0: "makes no clear difference", 1: "raises the error"}
"""Effects of a higher learning rate, by the sign of the effect of weight decay, which is equal."""

_KINDS = {
    "same": "The losses of the first and the last are equal in every step, up to rounding",
    "apart": "The losses of the first and the last differ{gap}{why}",
    "rounding": "Nothing can be said of the higher rate: training magnifies one rounding to {rounded}",
    "nothing": "Weight decay changes nothing here",
    "diverged": "The networks diverge",
}

_EFFECTS = {-1: "a clear improvement", 0: "no clear difference", 1: "clearly worse with decay"}


def _describe_outcome(setting: Setting, row: SchemeSpec, outcome: Outcome, sign: int) -> str:
    """Return sentences on a scheme's test errors with and without weight decay; `sign`: of the effect of decay."""
    why = ""
    if setting.eps and is_length_invariant(setting, row):
        why = f", since at ε = {typeset(setting.eps)} the output depends on the length"
    gap = (
        f", by up to {_format_geometric_mean(outcome.gaps[RAISED])}" if np.isfinite(outcome.gaps[RAISED]).all() else ""
    )
    kind = _KINDS[outcome.twin_relation].format(gap=gap, rounded=_format_geometric_mean(outcome.gaps[ROUNDED]), why=why)
    name = capitalize_first(setting.names[setting.rows.index(row)])
    if outcome.twin_relation == "diverged":
        return f"{name}: {kind[0].lower()}{kind[1:]}."
    levels = [format_mean_percent(each) for each in outcome.errors]
    return (
        f"{name}: test error {levels[DECAYED]} with weight decay, {levels[PLAIN]} without at the same rate "
        f"({_EFFECTS[sign]}), {levels[RAISED]} without at the higher rate. {kind}."
    )


EXPERIMENT = Experiment.of("weight-decay", Setting, list_jobs, report,
    lambda _: f"{TRAINING_DIGITS} of {DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}.",
    lambda _: f"Networks learn {TRAINING_DIGITS} digits, {RANDOM_LABEL_SHARE:.0%} of them with random labels, which "
    "provokes overfitting. Weight decay shrinks the weights in every step to reduce overfitting (“regularize”). Test "
    "error: misread unseen digits.")  # fmt: skip
