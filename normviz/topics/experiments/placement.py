"""Placement: gradients by depth, warm-up and residual growth, by where a transformer normalizes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.fields import Shape, find_divisors
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import choice, integer, number_choice, real, value
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, DIGITS_DESCRIPTION
from normviz.describe.seeds import (
    compare_seed_by_seed,
    estimate_mean,
    find_clear_differences,
    format_mean_percent,
)
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments import experiment
from normviz.topics.experiments.experiment import Experiment
from normviz.topics.experiments.grid_outcome import GridOutcome, make_outcome_curves
from normviz.topics.experiments.placement_jobs import (
    LAYER_COUNTS,
    LEARNING_RATES,
    PLACEMENTS,
    TRAINED_PLACEMENTS,
    WARMUP_KINDS,
    WIDE,
    WIDTH,
    DepthGradients,
    PlacementTraining,
    ResidualChain,
)
from normviz.topics.experiments.placement_verdict import (
    PlacementOutcomes,
    choose_largest_rate,
    compute_log_gradient_ratios,
    judge_gradient_growth,
    judge_mean_square_growth,
    judge_warmup,
    list_spared_rates,
)
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    describe_start,
    make_band_curve,
    start_table,
)

PLACEMENT_LABELS = {"none": "no norm", "post": "post norm", "pre": "pre norm", "peri": "peri norm"}
"""Names of the placements in figures."""

WARMUP_LABELS, WARMUP_STYLES = ("with warm-up", "without warm-up"), (0, 1)
"""Names in figures of the trainings with a warm-up and without, and the indices of their curve styles."""

GUESSING_ERROR = 100 * (1 - 1 / DIGIT_CLASSES)
"""Test error of guessing the digit, in per cent."""


@dataclass(frozen=True)
class Setting(experiment.Setting):
    """Settings of the comparison of post norm and pre norm: the scheme and the training."""

    scheme: str = choice(
        "layer-channels",
        {key: each.label for key, each in SCHEMES.items() if each.is_activation_scheme},
        label="Scheme",
    )
    groups: int = number_choice(2, find_divisors(WIDTH), label="Groups G")
    radius: int = integer(1, 0, WIDTH - 1, label="Radius R", help="Of the windows of divisive normalization.")
    own: str = value("", experiment.validate_custom_scheme)
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    layers: int = integer(4, 1, 8, label="Layers", help="Each is attention, then ReLU units: two branches.")
    batch: int = number_choice(16, (8, 16), label="Batch size N")
    steps: int = integer(400, 20, 800, label="Steps", stops=(100, 200, 400, 800), control="stops")
    warm: int = integer(40, 2, 200, label="Steps of the warm-up", stops=(10, 20, 40, 80, 200), control="stops")
    pairs: int = integer(16, 2, 32, label="Half the branches of the chain")

    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        experiment.reject_weight_scheme(self.row)
        self.row.scheme.check(self.shape)

    @property
    def row(self) -> SchemeSpec:
        """The chosen scheme as plain data, with its parameters."""
        return experiment.specify_scheme(self.scheme, self.own, self.groups, self.radius)

    @property
    def shape(self) -> Shape:
        """The shape (N, tokens, 1, channels) of the normalized values, on which a custom scheme is defined."""
        return self.batch, DIGIT_SIDE, 1, WIDTH


def list_jobs(setting: Setting) -> list[DepthGradients | ResidualChain | PlacementTraining]:
    """Return a job on gradients by depth, one on the residual stream's mean square, and one training per placement."""
    trainings = (PlacementTraining.of(setting, placement=placement) for placement in TRAINED_PLACEMENTS)
    return [DepthGradients.of(setting), ResidualChain.of(setting), *trainings]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # networks that diverge
def report(setting: Setting, results: Results) -> Report:
    """Return a report: gradients by depth, test errors by learning rate, and mean squares along residual blocks."""
    depth, chain, *trained = (results.get(part, {}) for part in list_jobs(setting))
    begun = {name: each for name, each in zip(TRAINED_PLACEMENTS, trained, strict=True) if len(each.get("test", ()))}
    runs = {
        name: [_make_placement_outcome(name, result, kind) for kind in range(len(WARMUP_KINDS))]
        for name, result in begun.items()
    }
    ended = {name: outcomes for name, outcomes in runs.items() if begun[name]["share"] == 1}
    figures = [
        *_draw_errors_by_rate(setting, runs, "rates", ("post", "pre")),
        *([_draw_gradients_by_depth(depth["norms"])] if "norms" in depth else []),
        *([_draw_mean_squares(chain["squares"])] if "squares" in chain else []),
        *_draw_errors_by_rate(setting, runs, "peri", ("pre", "peri")),
    ]
    condition = (
        f"Trained: {setting.layers} layer{'s' * (setting.layers > 1)} of {WIDTH} channels, {setting.row.scheme.name}, "
        f"Adam on batches of {setting.batch} for {setting.steps} steps, a warm-up of {setting.warm} steps. Each "
        f"placement has its best learning rate of {join_words(map(typeset, LEARNING_RATES), 'and')} where no rate is "
        f"named. Adam rescales gradients, so their size may matter less here. Before training: networks of {WIDE} "
        "channels with random weights."
    )
    warmup, gradients, scale = judge_warmup(ended), judge_gradient_growth(depth), judge_mean_square_growth(chain)
    others = (
        f"The paper also claims that {claim}. This {each.text[0].lower()}{each.text[1:]}: {each.says}"
        for claim, each in (
            ("post norm’s gradients near the output are larger", gradients),
            ("the scale grows evenly with pre norm and doubles with each branch without norm", scale),
        )
    )
    verdict = replace(warmup, says=" ".join([warmup.says, *others]), condition=condition)
    return Report(_format_headline(depth, runs, ended), figures, verdict, _tabulate_results(setting, ended))


def _make_placement_outcome(name: str, result: Arrays, warmup_index: int) -> GridOutcome:
    """Make the outcome of a placement, `name`, from its result, with a warm-up (index 0) or without (1)."""
    errors = {kept: result[kept][:, warmup_index] for kept in ("validation", "test")}
    label, style = WARMUP_LABELS[warmup_index], WARMUP_STYLES[warmup_index]
    return GridOutcome(f"{name} norm", label, style, LEARNING_RATES, errors)


def _draw_gradients_by_depth(norms: np.ndarray) -> FigureSpec:
    """Return a figure of the last layer's gradient norm by number of layers, post norm's over pre norm's."""
    layers = np.array(LAYER_COUNTS)
    ratio = make_band_curve(
        "Post / pre", layers, compute_log_gradient_ratios(norms), len(PLACEMENTS), np.exp, has_markers=True
    )
    root = Curve("√L", layers, np.sqrt(layers), -1)
    panel = CurvePanel(
        "Gradient of the last layer, post / pre", [ratio, root], "layers L", "ratio", "xy", marks=LAYER_COUNTS
    )
    said = ", ".join(f"{typeset(one, 2)} at L = {count}" for one, count in zip(ratio.y, LAYER_COUNTS, strict=True))
    return FigureSpec(
        "depth", [panel], f"Ratio of the last layer's gradient, post to pre, before training: {said}. Beside it √L.",
        "Before training. W is the last matrix of the last layer. The ratio is a geometric mean over the seeds with "
        "its 95% interval. √L is what the bounds of Xiong et al. (2020, Theorem 1) predict.",
    )  # fmt: skip


def _draw_errors_by_rate(
    setting: Setting, runs: PlacementOutcomes, key: str, placements: tuple[str, str]
) -> Iterator[FigureSpec]:
    """Yield a figure, `key`, of two placements' test errors, with and without warm-up; none before training begins."""
    runs = {name: runs[name] for name in placements if name in runs}
    if not runs:
        return
    panels = [
        CurvePanel(
            capitalize_first(PLACEMENT_LABELS[name]),
            [
                *make_outcome_curves(outcomes[::-1], lambda run: 100 * run.errors_by_rate, LEARNING_RATES),
                *(_label_errors_of_headline(outcomes) if name == "post" else ()),
            ],
            "learning rate", "test error, %", "x", marks=LEARNING_RATES, span=(0, 100),
            levels=(GUESSING_ERROR,), level_names=(f"guessing: {GUESSING_ERROR:.0f}%",),
        )
        for name, outcomes in runs.items()
    ]  # fmt: skip
    said = []
    for name, (_, each) in runs.items():
        by_rate = zip(each.errors_by_rate, LEARNING_RATES, strict=True)
        words = ", ".join(f"{format_mean_percent(errors)} at {typeset(rate)}" for errors, rate in by_rate)
        said.append(f"{PLACEMENT_LABELS[name]} {words}")
    yield FigureSpec(
        key, panels, f"Test error by learning rate. Without a warm-up: {'; '.join(said)}.",
        f"Means of {setting.seeds} networks with 95% intervals."
        f"{' Pre norm computes x + f(N(x)), peri norm x + N(f(N(x))).' if 'peri' in placements else ''}",
    )  # fmt: skip


def _label_errors_of_headline(outcomes: list[GridOutcome]) -> Iterator[Curve]:
    """Yield a label of the mean errors at the largest rate at which the placement learns; none if it learns at none."""
    large = choose_largest_rate(outcomes[0])
    if large is not None:
        errors = np.array([100 * each.errors_by_rate[large].mean() for each in outcomes])
        x, texts = np.full(len(errors), LEARNING_RATES[large]), [f"{each:.0f}%\u2002" for each in errors]
        yield Curve("", x, errors, -1, is_scatter=True, size=0, texts=texts, text_side="top left")


def _draw_mean_squares(squares: np.ndarray) -> FigureSpec:
    """Return a figure of the residual stream's mean `squares` (seeds, 1 + branches, placements) by passed branches."""
    relative = squares / squares[:, :1]  # the input's
    values = {name: relative[..., k].T for k, name in enumerate(PLACEMENTS)}
    branches = np.arange(relative.shape[1])
    curves = [
        make_band_curve(PLACEMENT_LABELS[name], branches, each, k) for k, (name, each) in enumerate(values.items())
    ]
    panel = CurvePanel("Mean square along a residual chain", curves, "branches", "relative to the input", "y")
    last = {name: float(estimate_mean(each)[0][-1]) for name, each in values.items()}
    said = ", ".join(f"{PLACEMENT_LABELS[name]} {typeset(each, 2)}" for name, each in last.items())
    return FigureSpec(
        "chain", [panel], f"Mean square behind the last of {relative.shape[1] - 1} branches: {said}.",
        "Before training. Means over the seeds with 95% intervals. Without norm the scale doubles with each branch "
        "(De & Smith 2020, section 2), with pre norm it grows linearly (Xiong et al. 2020, Lemma 2).",
    )  # fmt: skip


def _format_headline(depth: Arrays, runs: PlacementOutcomes, ended_outcomes: PlacementOutcomes) -> str:
    """Return the headline: post norm's test errors by warm-up, or the ratio of gradients until it is trained."""
    large = choose_largest_rate(ended_outcomes["post"][0]) if "post" in ended_outcomes else None
    if large is not None:
        warm, without = (each.errors_by_rate[large] for each in ended_outcomes["post"])
        rise, rate = compare_seed_by_seed(without, warm), typeset(LEARNING_RATES[large])
        if not find_clear_differences([rise])[0]:
            return f"At learning rate {rate}, warm-up makes no clear difference to post norm."
        is_only = len(list_spared_rates(large, *ended_outcomes["post"])) == large > 0
        answer = "No, at" if rise.mean < 0 else "Only at" if is_only else "Yes, at"
        errors = [f"{each.mean():.0%}" for each in (without, warm)]
        return f"{answer} learning rate {rate}: post norm’s error is {errors[0]} without warm-up, {errors[1]} with."
    if "norms" in depth:
        ratio = float(np.exp(np.mean(compute_log_gradient_ratios(depth["norms"])[-1])))
        return f"At {LAYER_COUNTS[-1]} layers, post norm's last-layer gradient is {typeset(ratio, 2)} times pre norm's."
    return describe_start(f"{name} norm" for name in runs)


def _tabulate_results(setting: Setting, ended_outcomes: PlacementOutcomes) -> dict[str, list[Any]]:
    table = start_table(setting.networks, "learning rate", LEARNING_RATES)
    for name, outcomes in ended_outcomes.items():
        for kind, outcome in zip(WARMUP_KINDS, outcomes, strict=True):
            for errors in ("validation", "test"):
                table[f"{name}, {kind}, {errors} error"] = outcome.result[errors][-1].ravel().tolist()
    return table if ended_outcomes else {}


EXPERIMENT = Experiment.of("placement", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}, each row a token; transformers of {setting.layers} layers, {WIDTH} "
    f"channels, Adam; {setting.row.scheme.name}.",
    lambda setting: "Each block has a branch f (attention or MLP) and a normalization N. Post norm computes "
    "N(x + f(x)), pre norm x + f(N(x)). With warm-up, the learning rate grows over the first "
    f"{min(setting.warm, setting.steps)} of {setting.steps} steps; without, it is full at once."
    .replace(" + ", "\u00a0+\u00a0"))  # fmt: skip
