"""Placement: gradients by depth, warm-up and residual growth, by where a transformer normalizes."""

from collections.abc import Iterator, Mapping
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
    MeanDifference,
    compare_seed_by_seed,
    estimate_band,
    estimate_mean,
    find_clear_differences,
    find_clear_signs,
    format_mean_percent,
)
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments import experiment
from normviz.topics.experiments.experiment import Experiment
from normviz.topics.experiments.grid_outcome import GridOutcome, describe_undertraining, make_outcome_curves
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
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    VerdictKey,
    describe_extent,
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

ALIKE = 0.03
"""Difference of mean errors that is too small to call for a warm-up."""

DOUBLED, EVEN = 0.25, 0.5
"""The largest deviations from a factor of 2 a branch, and from equal growth in both halves of the chain."""


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
    warmup, gradients, scale = _judge_warmup(ended), _judge_gradients(depth), _judge_mean_square_growth(chain)
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


PlacementOutcomes = Mapping[str, list[GridOutcome]]
"""Outcomes of each placement, with a warm-up and without."""


def _compute_log_gradient_ratios(norms: np.ndarray) -> np.ndarray:
    """Return log(post norm / pre norm), shape (depths, seeds), from gradient norms (seeds, depths, placements)."""
    logs = np.log(norms)
    return (logs[..., TRAINED_PLACEMENTS.index("post")] - logs[..., TRAINED_PLACEMENTS.index("pre")]).T


def _draw_gradients_by_depth(norms: np.ndarray) -> FigureSpec:
    """Return a figure of the last layer's gradient norm by number of layers, post norm's over pre norm's."""
    layers = np.array(LAYER_COUNTS)
    ratio = make_band_curve(
        "Post / pre", layers, _compute_log_gradient_ratios(norms), len(PLACEMENTS), np.exp, has_markers=True
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
    large = _choose_largest_rate(outcomes[0])
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
    large = _choose_largest_rate(ended_outcomes["post"][0]) if "post" in ended_outcomes else None
    if large is not None:
        warm, without = (each.errors_by_rate[large] for each in ended_outcomes["post"])
        rise, rate = compare_seed_by_seed(without, warm), typeset(LEARNING_RATES[large])
        if not find_clear_differences([rise])[0]:
            return f"At learning rate {rate}, warm-up makes no clear difference to post norm."
        is_only = len(_list_spared_rates(large, *ended_outcomes["post"])) == large > 0
        answer = "No, at" if rise.mean < 0 else "Only at" if is_only else "Yes, at"
        errors = [f"{each.mean():.0%}" for each in (without, warm)]
        return f"{answer} learning rate {rate}: post norm’s error is {errors[0]} without warm-up, {errors[1]} with."
    if "norms" in depth:
        ratio = float(np.exp(np.mean(_compute_log_gradient_ratios(depth["norms"])[-1])))
        return f"At {LAYER_COUNTS[-1]} layers, post norm's last-layer gradient is {typeset(ratio, 2)} times pre norm's."
    return describe_start(f"{name} norm" for name in runs)


def _judge_gradients(depth: Arrays) -> Verdict:
    """Return the verdict on whether the last layer's gradient falls with depth for pre norm, relative to post norm."""
    if depth.get("share") != 1:
        return Verdict("open", "The gradients by depth are not computed yet.")
    x = np.log(LAYER_COUNTS) - np.mean(np.log(LAYER_COUNTS))
    norms = depth["norms"]
    slopes = {
        name: np.einsum("d,sd->s", x, np.log(norms[..., k])) / (x @ x) for k, name in enumerate(TRAINED_PLACEMENTS)
    }
    growth = compare_seed_by_seed(slopes["post"], slopes["pre"])
    if np.isnan(growth.p_value):
        return Verdict("open", "The gradients by depth are not finite.")
    mean, low, high = (np.exp(each[-1]) for each in estimate_band(_compute_log_gradient_ratios(norms)))
    each = {name: compare_seed_by_seed(slope, np.zeros_like(slope)).text() for name, slope in slopes.items()}
    says = (
        f"With {LAYER_COUNTS[-1]} layers, the last layer's gradient before training is "
        f"{typeset(float(mean), 2)} times as large for post norm as for pre norm ({typeset(float(low), 2)} to "
        f"{typeset(float(high), 2)}; √L is {typeset(LAYER_COUNTS[-1] ** 0.5, 2)}). The ratio grows as L to the power "
        f"of {growth.text()} (theory 0.5): post "
        f"{each['post']} (theory 0), pre {each['pre']} (theory −0.5)."
    )
    sign = find_clear_signs([growth])[0]
    return Verdict("holds" if sign > 0 else "wrong" if sign else "open", says)


def _judge_warmup(ended_outcomes: PlacementOutcomes) -> Verdict:
    """Return the verdict on whether post norm needs a warm-up more than pre norm, at a large and at the best rate."""
    if len(ended_outcomes) < len(TRAINED_PLACEMENTS):
        return Verdict("open", "The networks are not trained yet.")
    pair = {name: ended_outcomes[name] for name in ("post", "pre")}
    large = _choose_largest_rate(pair["post"][0])
    if large is None:
        return Verdict("open", "Post norm does not learn here, even with the warm-up; more steps may help.")
    found = [
        _compare_warmup_benefit(
            *(without.errors_by_rate[large] - warm.errors_by_rate[large] for warm, without in pair.values())
        ),
        _compare_warmup_benefit(*(without.final_errors - warm.final_errors for warm, without in pair.values())),
    ]
    clear = find_clear_differences(found)
    needed = [is_clear and each.mean > 0 for each, is_clear in zip(found, clear, strict=True)]
    words = [f"post norm {'clearly needs' if each else 'does not clearly need'} it more" for each in needed]
    said = [
        f"At rate {typeset(LEARNING_RATES[large])}, the largest at which post norm learns with the warm-up, "
        f"{words[0]}: {_format_warmup_errors(pair, large)}.",
        f"At the best rate of each, {words[1]}: {_format_warmup_errors(pair)}."
        f"{describe_undertraining([each for outcomes in pair.values() for each in outcomes])}",
    ]
    word: VerdictKey = "holds" if needed[1] else "holds-if" if needed[0] else "wrong" if any(clear) else "open"
    rate = typeset(LEARNING_RATES[large])
    why = _describe_best_rate(large, *pair["post"])
    if all(_learns(pair["pre"][1])):
        why += f" Pre norm learns at all rates without warm-up{_describe_costs(*pair['pre'])}."
    return Verdict(word, " ".join(said), why=why, extent=f"at learning rate {rate}")


def _list_spared_rates(large: int, warm: GridOutcome, without: GridOutcome) -> list[float]:
    """Return the rates below the one at `large` where warm-up hardly lowers the errors."""
    rises = (without.errors_by_rate - warm.errors_by_rate).mean(-1)
    return [rate for rate, rise in zip(LEARNING_RATES[:large], rises, strict=False) if rise < ALIKE]


def _describe_costs(warm: GridOutcome, without: GridOutcome) -> str:
    """Return the rates where warm-up lowers the errors: " (at 0.03, warm-up lowers its error from 28% to 20%)"."""
    means = zip(LEARNING_RATES, without.errors_by_rate.mean(-1), warm.errors_by_rate.mean(-1), strict=True)
    drops = [
        f"at {typeset(rate)}, warm-up lowers its error from {a:.0%} to {b:.0%}"
        for rate, a, b in means
        if a - b >= ALIKE
    ]
    return f" ({'; '.join(drops)})" if drops else ""


def _describe_best_rate(large: int, warm: GridOutcome, without: GridOutcome) -> str:
    """Return sentences on post norm at its best rate and beyond, if it needs no warm-up there; else ""."""
    if warm.rate not in _list_spared_rates(large, warm, without):
        return ""
    ends = [f"{each.errors_by_rate[warm.best_rate_index].mean():.0%}" for each in (without, warm)]
    both = f"{ends[0]} either way" if ends[0] == ends[1] else f"{ends[0]}, and {ends[1]} with warm-up"
    failed = [typeset(rate) for rate in LEARNING_RATES[large + 1 :]]
    end = f" At {join_words(failed, 'and')} it fails either way." if failed else ""
    return f"Here “essential” is too strong: at {typeset(warm.rate)}, post norm’s error is {both}.{end}"


def _learns(outcome: GridOutcome) -> np.ndarray:
    """Return for each learning rate whether a placement learns at it: its mean validation error is below a half."""
    return outcome.result["validation"][-1].mean(-1) < 0.5


def _choose_largest_rate(warm: GridOutcome) -> int | None:
    """Return the position of the largest rate at which a placement learns with warm-up; None if it learns at none."""
    learning = np.flatnonzero(_learns(warm))
    return int(learning[-1]) if len(learning) else None


def _compare_warmup_benefit(post: np.ndarray, pre: np.ndarray) -> MeanDifference:
    """Return the mean rise of post norm's errors without warm-up, `post`, tested against 0 and against pre norm's.

    Its p-value is the larger one of the rise and of its excess over pre norm's rise: both have to be clear.
    """
    rise, excess = compare_seed_by_seed(post, np.zeros_like(post)), compare_seed_by_seed(post, pre)
    return rise._replace(p_value=max(rise.p_value, excess.p_value) if rise.mean * excess.mean > 0 else 1.0)


def _format_warmup_errors(pair: PlacementOutcomes, k: int | None = None) -> str:
    """Format test errors with and without warm-up, at the rate at position `k`, or at each best rate if it is None."""
    words = []
    for name, outcomes in pair.items():
        warm, without = (
            format_mean_percent(each.errors_by_rate[each.best_rate_index if k is None else k]) for each in outcomes
        )
        at = ["", ""] if k is not None else [f" (rate {typeset(each.rate)})" for each in outcomes]
        words.append(f"{name} norm {warm}{at[0]} with it, {without}{at[1]} without")
    return "; ".join(words)


def _judge_mean_square_growth(chain: Arrays) -> Verdict:
    """Return the verdict on whether the mean square doubles a branch without norm, and grows linearly with pre norm."""
    if chain.get("share") != 1:
        return Verdict("open", "The residual chain is not computed yet.")
    if not np.isfinite(chain["squares"]).all():
        return Verdict("open", "The residual chain overflows.")
    relative = chain["squares"] / chain["squares"][:, :1]
    branches = relative.shape[1] - 1
    half = branches // 2
    none, pre = (relative[..., PLACEMENTS.index(name)] for name in ("none", "pre"))
    factor = compare_seed_by_seed(none[:, -1] ** (1 / branches), np.zeros(len(none)))
    step = compare_seed_by_seed((pre[:, -1] - 1) / branches, np.zeros(len(pre)))
    bend = np.mean((pre[:, -1] - pre[:, half]) / (branches - half)) / np.mean((pre[:, half] - 1) / half)
    doubles, even = abs(factor.mean - 2) < DOUBLED, abs(bend - 1) < EVEN
    says = (
        f"Over {branches} residual branches the mean square is multiplied by {factor.text()} a branch without "
        f"normalization. With pre norm each branch adds {step.text()} times the input's"
        f"{'' if even else ', though not evenly'}."
    )
    word: VerdictKey = "holds" if doubles and even else "holds-if" if doubles or even else "wrong"
    signs = {"no normalization": 1 if doubles else -1, "pre norm": 1 if even else -1}
    return Verdict(word, says, extent=describe_extent(signs, "with"))


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
