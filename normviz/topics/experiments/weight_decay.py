"""Weight decay in front of a layer that is invariant to the length of its weights: twins with and without it."""

from collections.abc import Callable, Iterable, Iterator
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
from normviz.describe.seeds import compare_seed_by_seed, estimate_mean, find_clear_differences
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment, declare_schemes, describe_hidden_layers
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, VerdictKey, make_band_curve, tabulate
from normviz.topics.experiments.training_history import StackableArrays, choose_measured_steps, make_job_step

LAYER_WIDTHS = (32, 32)
"""Units of the normalized layers."""

BATCH_SIZE = 64
"""Digits of a mini-batch."""

TWIN_NAMES = ("weight decay", "no decay", "no decay, raised rate", "one rounding")
"""The twins; the last one has weight decay, and its first weights are longer by one rounding."""
DECAYED, PLAIN, MATCHED, ROUNDED = range(4)

TWIN_STYLES = (5, 3, 16, -1)
"""Indices of the twins' curve styles: no colour of a scheme."""

EQUALITY_TOLERANCE = 1e-9
"""Largest relative difference of losses that count as equal in float64."""

ROUNDING_MARGIN = 1000
"""Largest ratio of a gap to the gap of one rounding that still counts as rounding."""

MIN_DRAWN_GAP = 2.0**-56
"""Position of a gap of 0 on a logarithmic axis."""

MEASUREMENT_COUNT = 100
"""Number of measured steps of a training."""

LAST_BATCHES = 20
"""Mini-batches at the end whose losses are averaged."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the networks and their twins, which train with another weight decay or learning rate."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTHS[0])
    has_scheme_curves: ClassVar[bool] = False

    schemes: tuple[str, ...] = declare_schemes(("none", "batch"))
    eps: float = real(0.0, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    rate: float = real(0.1, 1e-3, 1.0, label="Learning rate η (SGD)", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    decay: float = real(
        0.05, 1e-4, 0.1, label="Weight decay λ", symbol="λ", stops=(0.001, 0.003, 0.01, 0.03, 0.05, 0.1)
    )
    steps: int = integer(200, 20, 1000, label="Steps", stops=(50, 100, 200, 300, 500, 1000), control="stops")


@dataclass(frozen=True)
class WeightDecayTraining(SchemeJob, kind="experiments/weight-decay", version=4):
    """Job that trains networks of one scheme with weight decay, and twins with another weight decay or learning rate.

    Its result holds, for the "measured" steps, "gaps", the largest relative difference of the losses from those with
    weight decay so far, "effective", η/‖W‖² of the first layer, and "losses", the means of the last mini-batches so
    far, each (measured steps, twins, seeds).
    """

    rate: float
    decay: float

    @property
    def seconds(self) -> float:
        return self.length * (2e-3 + 2.5e-4 * len(TWIN_NAMES) * len(self.networks))

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train with w ← w − η (∂L/∂w + λw) and with each twin's rule, and yield the result so far after every step."""
        from normviz.train.dense import COMPARISON_DTYPE, Dense, load_digit_rows
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches, to_numpy

        device = open_float32_device(self.device)
        x, labels = (each.to(device) for each in load_digit_rows(dtype=COMPARISON_DTYPE))
        network = Dense(
            [self.row.scheme] * len(TWIN_NAMES), self.networks, LAYER_WIDTHS, BATCH_SIZE, self.eps, device,
            COMPARISON_DTYPE
        )  # fmt: skip
        normalized = network.weights[: len(LAYER_WIDTHS)]
        for weights in normalized:
            weights[ROUNDED] *= 1 + MACHINE_EPSILONS["float64"]
        decays = x.new_tensor([self.decay, 0.0, 0.0, self.decay])[:, None]
        rates = [x.new_full((len(TWIN_NAMES), len(self.networks)), self.rate) for _ in network.parameters]
        learner = Trainer(network.parameters, "sgd", rates)
        losses: list[np.ndarray] = []
        means: list[np.ndarray] = []
        gaps: list[np.ndarray] = []
        effective: list[np.ndarray] = []
        largest = np.zeros((len(TWIN_NAMES), len(self.networks)))
        measured = choose_measured_steps(self.length, MEASUREMENT_COUNT)

        def collect() -> dict[str, StackableArrays]:
            return {"measured": measured[: len(gaps)], "losses": means, "gaps": gaps, "effective": effective}

        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, BATCH_SIZE), 1):
            squares = [weights.detach().square().sum((-2, -1)) for weights in normalized]
            for rate, square in zip(rates, squares, strict=False):
                rate[MATCHED] = self.rate / (1 - self.rate * self.decay) * square[MATCHED] / square[DECAYED]
            loss = cross_entropy(network.compute_logits(x[chosen]), labels[chosen])
            penalty = sum(weights.square().sum((-2, -1)) for weights in normalized)
            learner.step(loss + decays / 2 * penalty)
            losses.append(to_numpy(loss))
            largest = np.maximum(largest, compute_twin_gaps(losses[-1]))
            if step in measured:
                means.append(np.mean(losses[-LAST_BATCHES:], axis=0))
                gaps.append(largest)
                effective.append(to_numpy(rates[0] / squares[0]))
            yield make_job_step(step / self.length, device, collect)


def list_jobs(setting: Setting) -> list[WeightDecayTraining]:
    """Return one job per scheme, which trains its networks and their twins."""
    return [WeightDecayTraining.of(setting, row=row) for row in setting.rows]


class Outcome(NamedTuple):
    """The result of one scheme: the differences in loss between twins after the training.

    Attributes:
        gaps: the largest relative difference of a twin's losses from those with weight decay, (twins, seeds).
        losses: of the last mini-batches, (twins, seeds).
        ratio: η/‖W‖² with weight decay over η/‖W‖² without it at the same rate, in the last step, (seeds,).
    """

    gaps: np.ndarray
    losses: np.ndarray
    ratio: np.ndarray

    @classmethod
    def of(cls, result: Arrays) -> "Outcome":
        """Return the outcome from a job's result, at its last measured step."""
        effective = result["effective"][-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = effective[DECAYED] / effective[PLAIN]
        return cls(result["gaps"][-1], result["losses"][-1], ratio)

    @property
    def twin_relation(self) -> Literal["same", "apart", "rounding", "nothing", "diverged"]:
        """Kind of difference between losses without weight decay, at the rate matched to the weights, and with it.

        "same" or "apart", over all seeds; "rounding" if a single rounding separates twins as far; "nothing" if weight
        decay changes nothing in these networks; "diverged" if losses are not finite.
        """
        plain, matched, rounded = self.gaps[PLAIN], self.gaps[MATCHED], self.gaps[ROUNDED]
        if not np.isfinite(rounded).all():
            return "diverged"
        if (matched <= EQUALITY_TOLERANCE).all():
            return "same" if plain.min() > 100 * max(matched.max(), MACHINE_EPSILONS["float64"]) else "nothing"
        return "rounding" if matched.max() <= ROUNDING_MARGIN * rounded.max() else "apart"


def compute_twin_gaps(losses: np.ndarray) -> np.ndarray:
    """Return |L − L'| / max(L, L') for losses L (twins, seeds), where L' is the loss of the twin with weight decay.

    The gap is infinite if a loss is not finite.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        other = losses[DECAYED]
        gap = np.abs(losses - other) / np.maximum(np.maximum(np.abs(losses), np.abs(other)), np.finfo(float).tiny)
    return np.where(np.isfinite(gap), gap, np.inf)


def is_length_invariant(setting: Setting, row: SchemeSpec) -> bool:
    """Return True if the scheme's first layer is predicted to be invariant to the length of its weights at ε = 0."""
    return predict(
        row.scheme, TRANSFORMATIONS["weight-matrix-rescaling"], "dense", setting.shape, (1, 1, *LAYER_WIDTHS), eps=0.0
    ).invariant


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the loss differences of twins from networks with weight decay, and effective learning rates."""
    found = {part.row: results[part] for part in list_jobs(setting) if part in results}
    outcomes = {row: Outcome.of(each) for row, each in found.items()}
    ended = {row: each for row, each in outcomes.items() if found[row]["share"] == 1}
    figures = []
    if found:
        rows = sorted(found, key=lambda row: row.key != "batch")
        figures = [
            *(
                _draw_losses(setting, key, {row: found[row] for row in shown}, outcomes)
                for key, shown in (("losses", rows[:2]), ("others", rows[2:]))
                if shown
            ),
            _draw_loss_gaps(found, outcomes),
            _draw_effective_rates(found, outcomes),
        ]
    headline, verdict = _format_headline(setting, ended), _judge_claim(setting, ended)
    return Report(headline, figures, verdict, _tabulate_gaps_and_losses(setting, outcomes))


def _tabulate_gaps_and_losses(setting: Setting, outcomes: dict[SchemeSpec, Outcome]) -> dict[str, list[Any]]:
    return tabulate([
        {
            "scheme": row.key, "seed": seed, "twin": name, "largest gap": float(each.gaps[twin, k]),
            "loss at the end": float(each.losses[twin, k]),
        }
        for row, each in outcomes.items()
        for k, seed in enumerate(setting.networks)
        for twin, name in enumerate(TWIN_NAMES)
    ])  # fmt: skip


def _describe_ends(
    outcomes: dict[SchemeSpec, Outcome], twins: tuple[int, ...], format_end: Callable[[Outcome, int], str]
) -> str:
    """Return `format_end(outcome, twin)` of twins, by scheme: "Batch: weight decay 0.1, matched rate 0.1"."""
    return "; ".join(
        f"{row.scheme.label}: " + ", ".join(f"{TWIN_NAMES[twin]} {format_end(each, twin)}" for twin in twins)
        for row, each in outcomes.items()
    )


def _choose_main_scheme(rows: Iterable[SchemeSpec]) -> SchemeSpec:
    """Return batch norm or, without it, the first scheme."""
    return min(rows, key=lambda row: row.key != "batch")


def _draw_losses(
    setting: Setting, key: str, found: dict[SchemeSpec, Arrays], outcomes: dict[SchemeSpec, Outcome]
) -> FigureSpec:
    """Return a figure, `key`, of the training loss by step with and without weight decay, a panel for each scheme."""
    twins = (PLAIN, DECAYED, MATCHED)
    panels = [
        CurvePanel(
            f"{capitalize_first(setting.names[setting.rows.index(row)])}"
            f"{_RELATION_TITLES.get(outcomes[row].twin_relation, '')}",
            [
                make_band_curve(TWIN_NAMES[twin], each["measured"], each["losses"][:, twin], TWIN_STYLES[twin])
                for twin in twins
            ]
            + [_label_common_curve(each)] * (outcomes[row].twin_relation == "same"),
            "step", "training loss", "y",
        )
        for row, each in found.items()
    ]  # fmt: skip
    drawn = {row: outcomes[row] for row in found}
    said = _describe_ends(drawn, twins, lambda each, twin: typeset(each.losses[twin].mean(), 2))
    return FigureSpec(key, panels, f"Training loss by step. At the end: {said}.")


def _label_common_curve(result: Arrays) -> Curve:
    """Return a label below the common curve of weight decay and the raised rate, at three quarters of the steps."""
    place = [3 * len(result["measured"]) // 4]
    x, y = result["measured"][place], result["losses"][place, DECAYED].mean(-1)
    return Curve("", x, y, -1, is_scatter=True, size=0, texts=["decay = raised rate ↗"], text_side="bottom left")


def _draw_loss_gaps(found: dict[SchemeSpec, Arrays], outcomes: dict[SchemeSpec, Outcome]) -> FigureSpec:
    """Return a figure of the relative differences of the twins' losses by step, with a panel for each scheme."""
    gaps = {row: np.clip(each["gaps"], MIN_DRAWN_GAP, 1.0) for row, each in found.items()}
    panels = _make_twin_panels(found, gaps, (PLAIN, MATCHED, ROUNDED), "largest gap so far")
    said = _describe_ends(outcomes, (PLAIN, MATCHED), lambda each, twin: _format_geometric_mean(each.gaps[twin]))
    return FigureSpec(
        "gaps", panels, f"The largest gap of the losses so far, by step. At the end: {said}.",
        "Relative difference of a twin's losses from those with weight decay; geometric means with 95% intervals. “One "
        "rounding” has weight decay too, and starts from weights longer by 2⁻⁵²: smaller gaps mean nothing.",
    )  # fmt: skip


def _draw_effective_rates(found: dict[SchemeSpec, Arrays], outcomes: dict[SchemeSpec, Outcome]) -> FigureSpec:
    """Return a figure of effective learning rates η/‖W‖² by step, with and without decay, by scheme."""
    rates = {row: each["effective"] for row, each in found.items()}
    panels = _make_twin_panels(found, rates, (DECAYED, PLAIN, MATCHED), "η/‖W‖²")
    said = "; ".join(f"{row.scheme.label} {_format_geometric_mean(each.ratio)}" for row, each in outcomes.items())
    return FigureSpec(
        "rates", panels, f"Effective learning rate by step. At the end, with weight decay over without: {said} times.",
        "The effective learning rate η/‖W‖² of the first layer: η is the learning rate, W the weights. "
        "Weight decay keeps W short. The raised rate η makes it equal without weight decay.",
    )  # fmt: skip


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


def _format_headline(setting: Setting, ended_outcomes: dict[SchemeSpec, Outcome]) -> str:
    """Return the headline: the effect of weight decay with batch norm or, without it, with the first trained scheme."""
    if not ended_outcomes:
        return "No scheme is trained yet."
    row = _choose_main_scheme(ended_outcomes)
    each, name = ended_outcomes[row], setting.names[setting.rows.index(row)]
    if each.twin_relation == "same":
        return f"Yes: with {name}, weight decay only acts like a higher learning rate."
    if each.twin_relation == "apart":
        return f"No: with {name}, weight decay does more than raise the learning rate."
    return f"With {name}, nothing can be said of weight decay here."


def _judge_claim(setting: Setting, ended_outcomes: dict[SchemeSpec, Outcome]) -> Verdict:
    """Return the verdict on whether a matched learning rate replaces weight decay in length-invariant layers."""
    if len(ended_outcomes) < len(setting.rows):
        return Verdict("open", "Not all schemes are trained yet.")
    condition = (
        f"ε = {typeset(setting.eps)}, {setting.steps} steps of plain SGD with η = {typeset(setting.rate)}, and λ = "
        f"{typeset(setting.decay)} on the weights in front of the normalization alone: the classifier, γ and β have "
        "none. The raised rate keeps η/‖W‖² as with weight decay; with momentum or Adam it is another one. Losses are "
        f"those of the last {min(LAST_BATCHES, setting.steps)} mini-batches."
    )
    clear = find_clear_differences(
        [compare_seed_by_seed(each.losses[PLAIN], each.losses[DECAYED]) for each in ended_outcomes.values()]
    )
    text = " ".join(
        _describe_outcome(setting, row, ended_outcomes[row], is_clear)
        for row, is_clear in zip(ended_outcomes, clear, strict=True)
    )
    main = _choose_main_scheme(ended_outcomes)
    name = setting.names[setting.rows.index(main)]
    why = _REASONS.get(ended_outcomes[main].twin_relation, "").format(name=name)
    if main.key != "none" and any(
        row.key == "none" and each.twin_relation == "apart" for row, each in ended_outcomes.items()
    ):
        why += " Without normalization, smaller weights change the outputs."
    invariant = {row: each for row, each in ended_outcomes.items() if is_length_invariant(setting, row)}
    if invariant and "batch" not in {row.key for row in invariant}:
        text += " Batch norm is not among the schemes: the others are judged in its place."
    strays = [each for each in invariant.values() if each.twin_relation == "apart"]
    if strays:
        nearly = all((each.gaps[MATCHED] < each.gaps[PLAIN] / 10).all() for each in strays)
        word: VerdictKey = "wrong" if not setting.eps else "holds-if" if nearly else "open"
        return Verdict(word, text, condition, why, f"nearly, as ε = {typeset(setting.eps)} and not 0")
    judged = [each for row, each in invariant.items() if row.key == "batch"] or list(invariant.values())
    if not any(each.twin_relation == "same" for each in judged):
        return Verdict("open", text, condition)
    lone = [row for row, each in ended_outcomes.items() if row not in invariant and each.twin_relation == "same"]
    return Verdict("wrong" if lone else "holds", text, condition, why)


_REASONS = {
    "same": "With {name}, the size of the weights is divided out. Decay only shrinks them, so that steps are larger "
    "relative to them, as with the raised rate. So decay regularizes nothing.",
    "apart": "With {name}, smaller weights change the outputs, so weight decay and the raised rate differ.",
}

_RELATION_TITLES = {"same": ": decay = raised rate", "apart": ": decay ≠ raised rate"}

_KINDS = {
    "same": "The last and the first are equal in every step, up to rounding",
    "apart": "The last and the first differ{gap}{why}",
    "rounding": "Nothing can be said of the raised rate: training magnifies one rounding to {rounded}",
    "nothing": "Weight decay changes nothing here",
    "diverged": "The networks diverge",
}


def _describe_outcome(setting: Setting, row: SchemeSpec, outcome: Outcome, is_clear: bool) -> str:
    """Return sentences on a scheme's losses with and without weight decay; `is_clear`: the change is significant."""
    why = ""
    if setting.eps and is_length_invariant(setting, row):
        why = f", since at ε = {typeset(setting.eps)} the output depends on the length"
    gap = (
        f", by up to {_format_geometric_mean(outcome.gaps[MATCHED])}"
        if np.isfinite(outcome.gaps[MATCHED]).all()
        else ""
    )
    kind = _KINDS[outcome.twin_relation].format(gap=gap, rounded=_format_geometric_mean(outcome.gaps[ROUNDED]), why=why)
    name = capitalize_first(setting.names[setting.rows.index(row)])
    if outcome.twin_relation == "diverged":
        return f"{name}: {kind[0].lower()}{kind[1:]}."
    levels = [
        f"{mean:.3f} ± {half:.3f}" if np.isfinite(mean) else "infinite (diverged)"
        for mean, half in zip(*estimate_mean(outcome.losses), strict=True)
    ]
    difference = "a clear difference" if is_clear else "no clear difference"
    return (
        f"{name}: loss {levels[DECAYED]} with weight decay, {levels[PLAIN]} without at the same rate ({difference}), "
        f"{levels[MATCHED]} without at the raised rate. {kind}."
    )


EXPERIMENT = Experiment.of("weight-decay", Setting, list_jobs, report,
    lambda _: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}.",
    lambda _: "Three trainings from one start: with weight decay, which shrinks the weights; with no decay; and with "
    "no decay at a raised learning rate. It is raised so that every step changes the weights by the same fraction as "
    "with decay.")  # fmt: skip
