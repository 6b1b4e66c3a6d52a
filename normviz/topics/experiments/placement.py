"""Placement: gradients by depth, warm-up and residual growth, by where a transformer normalizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.fields import Shape, find_divisors
from normviz.core.registry import DEFAULT_EPS, SCHEMES, get_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import choice, integer, number_choice, real, value
from normviz.core.text import join_words, typeset
from normviz.data.digits import DIGIT_SIDE, DIGITS_DESCRIPTION
from normviz.describe.seeds import (
    MeanDifference,
    compare_seed_by_seed,
    estimate_band,
    estimate_mean,
    find_clear_differences,
    format_mean_percent,
)
from normviz.jobs.results import Arrays, Results
from normviz.topics.experiments import experiment
from normviz.topics.experiments.experiment import Experiment
from normviz.topics.experiments.grid_outcome import GridOutcome
from normviz.topics.experiments.placement_jobs import (
    DEPTHS,
    KINDS,
    PLACEMENTS,
    RATES,
    TRAINED,
    WIDE,
    WIDTH,
    Chain,
    Depth,
    Training,
)
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, Word, draw_band, joined

LABELS = {"none": "None", "post": "Post", "pre": "Pre", "peri": "Peri"}
"""The placements in figures."""

FITTING = {key: scheme.label for key, scheme in SCHEMES.items() if scheme.is_activation_scheme}
"""Schemes that can stand in a place between branches: those that normalize activations."""

RATIO = 4
"""The look of a curve that belongs to two placements."""

LEARNS = 0.5
"""A placement learns at a rate where its mean validation error is less than this."""

DOUBLED, EVEN = 0.25, 0.5
"""The largest deviations from a factor of 2 a branch, and from equal growth in both halves of the chain."""


@dataclass(frozen=True)
class Setting(experiment.Setting):
    """The scheme in all places, and its training."""

    scheme: str = choice("layer-channels", FITTING, label="Scheme")
    groups: int = number_choice(2, find_divisors(WIDTH), label="Groups G")
    radius: int = integer(1, 0, WIDTH - 1, label="Radius R", help="Of the windows of divisive normalization.")
    own: str = value("", experiment.read_own)
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    layers: int = integer(4, 1, 8, label="Layers", help="Each is attention, then ReLU units: two branches.")
    batch: int = number_choice(16, (8, 16), label="Batch size N")
    steps: int = integer(400, 20, 800, label="Steps", stops=(100, 200, 400, 800), control="stops")
    warm: int = integer(40, 2, 200, label="Steps of the warm-up", stops=(10, 20, 40, 80, 200), control="stops")
    pairs: int = integer(16, 2, 32, label="Half the branches of the chain")

    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        experiment.refuse_front(self.row)
        self.row.scheme.check(self.shape)

    @property
    def row(self) -> SchemeSpec:
        """The scheme as plain data."""
        own = self.scheme == "custom"
        return SchemeSpec.of(
            experiment.own_scheme(self.own) if own else get_scheme(self.scheme, self.groups, self.radius)
        )

    @property
    def shape(self) -> Shape:
        """(N, tokens, 1, channels), on which a custom scheme is defined."""
        return self.batch, DIGIT_SIDE, 1, WIDTH


def parts(setting: Setting) -> list[Depth | Chain | Training]:
    """Return the gradients by depth, the chain, and a training of each placement."""
    s = setting
    return [
        Depth(s.row, s.networks, s.eps, s.device),
        Chain(s.row, s.networks, s.pairs, s.eps, s.device),
        *(
            Training.of(s, s.row, placement=placement, layers=s.layers, batch=s.batch, warm=s.warm)
            for placement in TRAINED
        ),
    ]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # networks that diverge
def report(setting: Setting, results: Results) -> Report:
    """Return the last layer's gradient by depth, the test error by learning rate, and the growth along a chain."""
    depth, chain, *trained = (results.get(part, {}) for part in parts(setting))
    begun = {name: each for name, each in zip(TRAINED, trained, strict=True) if len(each.get("test", ()))}
    runs = {name: [_find_outcome(name, result, kind) for kind in range(len(KINDS))] for name, result in begun.items()}
    ended = {name: outcomes for name, outcomes in runs.items() if begun[name]["share"] == 1}
    figures = []
    if "norms" in depth:
        figures.append(_draw_depth(depth["norms"]))
    if runs:
        figures.append(_draw_rates(setting, runs))
    if "squares" in chain:
        figures.append(_draw_chain(chain["squares"]))
    found = [_judge_gradients(depth), _judge_warmup(begun, ended), _judge_chain(chain)]
    condition = (
        f"Trained: {setting.layers} layer{'s' * (setting.layers > 1)} of {WIDTH} channels, {setting.row.scheme.name}, "
        f"Adam on batches of {setting.batch} for {setting.steps} steps, a warm-up of {setting.warm} steps. Each "
        f"placement has its best learning rate of {join_words(map(typeset, RATES), 'and')} where no rate is "
        f"named. Before "
        f"training: networks of {WIDE} channels with random weights."
    )
    verdict = Verdict(joined(word for word, _ in found), " ".join(says for _, says in found), condition)
    return Report(_headline(depth, runs), figures, verdict, _tabulate(setting, ended))


def _find_outcome(name: str, result: Arrays, kind: int) -> GridOutcome:
    """Return the outcome of a placement with a warm-up (0) or without (1)."""
    errors = {kept: result[kept][:, kind] for kept in ("validation", "test")}
    return GridOutcome(f"{name} norm", LABELS[name], PLACEMENTS.index(name), RATES, errors)


Runs = Mapping[str, list[GridOutcome]]
"""Outcomes of each placement, with a warm-up and without."""


def _draw_placements(x: np.ndarray, values: Mapping[str, np.ndarray], points: bool = True) -> list[Curve]:
    """Return a curve of each placement, of values (…, seeds)."""
    return [draw_band(LABELS[name], x, each, PLACEMENTS.index(name), points=points) for name, each in values.items()]


def _ratios(norms: np.ndarray) -> np.ndarray:
    """Return the logarithms of the ratio of post to pre, (depths, seeds), of norms (seeds, depths, placements)."""
    logs = np.log(norms)
    return (logs[..., TRAINED.index("post")] - logs[..., TRAINED.index("pre")]).T


def _draw_depth(norms: np.ndarray) -> FigureSpec:
    """Draw the gradient of the last layer over the number of layers, as a ratio and by placement."""
    layers = np.array(DEPTHS)
    ratio = draw_band("Post / pre", layers, _ratios(norms), RATIO, np.exp, points=True)
    root = Curve("√L", layers, np.sqrt(layers), -1)
    each = _draw_placements(layers, {name: norms[..., k].T for k, name in enumerate(TRAINED)})
    panels = [
        CurvePanel("Gradient of the last layer, post / pre", [ratio, root], "layers L", "ratio", "xy", marks=DEPTHS),
        CurvePanel("Gradient of the last layer", each, "layers L", "‖∂l/∂W‖", "xy", marks=DEPTHS),
    ]
    said = ", ".join(f"{typeset(one, 2)} at L = {count}" for one, count in zip(ratio.y, DEPTHS, strict=True))
    return FigureSpec(
        "depth", panels, f"Ratio of the last layer's gradient, post to pre, before training: {said}. Beside it √L.",
        "Before training. W is the last matrix of the last layer. The ratio is a geometric mean over the seeds with "
        "its 95% interval. √L is what the bounds of Xiong et al. (2020) predict.",
    )  # fmt: skip


def _draw_rates(setting: Setting, runs: Runs) -> FigureSpec:
    """Draw the test error over the learning rate, with a warm-up and without."""
    panels = [
        CurvePanel(
            title,
            _draw_placements(np.array(RATES), {name: 100 * each[kind].by_rate for name, each in runs.items()}),
            "learning rate", "test error, %", "x", marks=RATES, span=(0, 100),
        )
        for kind, title in enumerate(("With a warm-up", "Without a warm-up"))
    ]  # fmt: skip
    said = "; ".join(
        f"{LABELS[name]} {', '.join(f'{_level(each, k)} at {typeset(rate)}' for k, rate in enumerate(RATES))}"
        for name, (_, each) in runs.items()
    )
    beyond = ", no shorter than the whole training" if setting.warm >= setting.steps else ""
    return FigureSpec(
        "rates", panels, f"Test error by learning rate. Without a warm-up: {said}.",
        f"Means over the seeds with 95% intervals. The warm-up takes {setting.warm} steps{beyond}.",
    )  # fmt: skip


def _draw_chain(squares: np.ndarray) -> FigureSpec:
    """Draw the mean square of the stream over the branches that it has passed."""
    relative = _relative(squares)
    values = {name: relative[..., k].T for k, name in enumerate(PLACEMENTS)}
    panel = CurvePanel(
        "Mean square along a residual chain", _draw_placements(np.arange(relative.shape[1]), values, False), "branches",
        "relative to the input", "y",
    )  # fmt: skip
    said = ", ".join(f"{LABELS[name]} {typeset(float(estimate_mean(each)[0][-1]), 2)}" for name, each in values.items())
    return FigureSpec(
        "chain", [panel], f"Mean square behind the last of {relative.shape[1] - 1} branches: {said}.",
        "Before training. Means over the seeds with 95% intervals.",
    )  # fmt: skip


def _relative(squares: np.ndarray) -> np.ndarray:
    """Return mean squares (seeds, 1 + branches, placements) relative to the input's."""
    return squares / squares[:, :1]


def _level(outcome: GridOutcome, k: int) -> str:
    """Return the test error at the rate at a position, with its interval."""
    return format_mean_percent(outcome.by_rate[k])


def _headline(depth: Arrays, runs: Runs) -> str:
    """Say the ratio of the gradients in the deepest networks."""
    if "norms" in depth:
        ratio = float(np.exp(np.mean(_ratios(depth["norms"])[-1])))
        return f"At {DEPTHS[-1]} layers, post norm's last-layer gradient is {typeset(ratio, 2)} times pre norm's."
    if runs:
        return f"Training of {join_words([f'{name} norm' for name in runs], 'and')} has begun."
    return "Nothing is trained yet."


def _judge_gradients(depth: Arrays) -> tuple[Word, str]:
    """Say whether the last layer's gradient falls with depth for pre norm in comparison with post norm."""
    if depth.get("share") != 1:
        return "open", "The gradients by depth are not computed yet."
    x = np.log(DEPTHS) - np.mean(np.log(DEPTHS))
    norms = depth["norms"]
    slopes = {name: np.einsum("d,sd->s", x, np.log(norms[..., k])) / (x @ x) for k, name in enumerate(TRAINED)}
    growth = compare_seed_by_seed(slopes["post"], slopes["pre"])
    if np.isnan(growth.p_value):
        return "open", "The gradients by depth are not finite."
    mean, low, high = (np.exp(each[-1]) for each in estimate_band(_ratios(norms)))
    each = {name: compare_seed_by_seed(slope, np.zeros_like(slope)).text() for name, slope in slopes.items()}
    says = (
        f"With {DEPTHS[-1]} layers, the last layer's gradient before training is {typeset(float(mean), 2)} times as "
        f"large for post norm as for pre norm ({typeset(float(low), 2)} to {typeset(float(high), 2)}; √L is "
        f"{typeset(DEPTHS[-1] ** 0.5, 2)}). The ratio grows as L to the power of {growth.text()} (theory 0.5): post "
        f"{each['post']} (theory 0), pre {each['pre']} (theory −0.5)."
    )
    clear = find_clear_differences([growth])[0]
    return "holds" if clear and growth.mean > 0 else "wrong" if clear else "open", says


def _judge_warmup(begun: Mapping[str, Arrays], ended: Runs) -> tuple[Word, str]:
    """Say whether post norm needs a warm-up, and more of one than pre norm, at a large rate and at the best of each."""
    if len(ended) < len(TRAINED):
        return "open", "The networks are not trained yet."
    pair = {name: ended[name] for name in ("post", "pre")}
    large = _choose_large(pair["post"][0])
    if large is None:
        return "open", "Post norm does not learn here, even with the warm-up; more steps may help."
    found = [
        _compare_harm(*(without.by_rate[large] - warm.by_rate[large] for warm, without in pair.values())),
        _compare_harm(*(without.last - warm.last for warm, without in pair.values())),
    ]
    clear = find_clear_differences(found)
    needed = [is_clear and each.mean > 0 for each, is_clear in zip(found, clear, strict=True)]
    words = [
        "post norm clearly needs it more" if each else "post norm does not clearly need it more" for each in needed
    ]
    said = [
        f"At rate {typeset(RATES[large])}, the largest at which post norm learns with the warm-up, {words[0]}: "
        f"{_both_levels(pair, large)}.",
        f"At the best rate of each, {words[1]}: {_both_levels(pair)}.",
        _undertrained(begun, pair),
    ]
    word: Word = "holds" if needed[1] else "holds-if" if needed[0] else "wrong" if any(clear) else "open"
    return word, " ".join(said).rstrip()


def _choose_large(warm: GridOutcome) -> int | None:
    """Return the position of the largest rate at which a placement learns with the warm-up, by validation digits."""
    learning = np.flatnonzero(warm.result["validation"][-1].mean(-1) < LEARNS)
    return int(learning[-1]) if len(learning) else None


def _compare_harm(post: np.ndarray, pre: np.ndarray) -> MeanDifference:
    """Return the rise of post norm's error without the warm-up.

    Its p-value is the larger of its own and that of its excess over pre norm's rise: both have to be clear.
    """
    rise, excess = compare_seed_by_seed(post, np.zeros_like(post)), compare_seed_by_seed(post, pre)
    return rise._replace(p_value=max(rise.p_value, excess.p_value) if rise.mean * excess.mean > 0 else 1.0)


def _both_levels(pair: Runs, k: int | None = None) -> str:
    """Return the test errors with the warm-up and without, at the rate at a position or at the best of each."""
    words = []
    for name, outcomes in pair.items():
        warm, without = (_level(each, each.best if k is None else k) for each in outcomes)
        at = ["", ""] if k is not None else [f" (rate {typeset(each.rate)})" for each in outcomes]
        words.append(f"{name} norm {warm}{at[0]} with it, {without}{at[1]} without")
    return "; ".join(words)


def _undertrained(begun: Mapping[str, Arrays], pair: Runs) -> str:
    """Return a warning that the errors at the best rates still fall at the end; empty where they do not."""
    declines = [each.at_best("test")[-2:][0] - each.last for outcomes in pair.values() for each in outcomes]
    decline = np.mean(declines, axis=0)
    fall = compare_seed_by_seed(decline, np.zeros_like(decline))
    if not find_clear_differences([fall])[0] or fall.mean <= 0:
        return ""
    middle, last = next(iter(begun.values()))["measured"][-2:]
    return (
        f"All are undertrained: from step {middle} to {last} these errors fall by {fall.text(100)} points on average."
    )


def _judge_chain(chain: Arrays) -> tuple[Word, str]:
    """Say whether the mean square doubles without normalization, and grows linearly with pre norm."""
    if chain.get("share") != 1:
        return "open", "The residual chain is not computed yet."
    if not np.isfinite(chain["squares"]).all():
        return "open", "The residual chain overflows."
    relative = _relative(chain["squares"])
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
    return "holds" if doubles and even else "holds-if" if doubles or even else "wrong", says


def _tabulate(setting: Setting, ended: Runs) -> dict[str, list[Any]]:
    """Return all errors at the end, a row for every rate and seed."""
    table: dict[str, list[Any]] = {
        "learning rate": [rate for rate in RATES for _ in setting.networks],
        "seed": [*setting.networks] * len(RATES),
    }
    for name, outcomes in ended.items():
        for kind, outcome in zip(KINDS, outcomes, strict=True):
            table[f"{name}, {kind}, validation error"] = [float(each) for each in outcome.result["validation"][-1].flat]
            table[f"{name}, {kind}, test error"] = [float(each) for each in outcome.by_rate.flat]
    return table if ended else {}


EXPERIMENT = Experiment(
    key="placement", title="Placement", claims=(),
    question="Where to normalize in residual networks?",
    claim="With depth, the last layer's gradient falls for pre norm but not for post norm, which therefore needs a "
    "warm-up (Xiong et al. 2020, arXiv 2002.04745). Without normalization, the scale doubles with each branch (De & "
    "Smith 2020, arXiv 2002.10444).",
    about=lambda setting: f"{DIGITS_DESCRIPTION}, read as {DIGIT_SIDE} rows; transformers, layers: "
                          f"{setting.layers}, channels: {WIDTH}. "
    "Post norm normalizes behind each residual sum, pre norm in front of each branch, peri norm on both sides of it.",
    setting=Setting, parts=parts, report=report,
    why="With layer norm: each branch of pre norm adds to the sum, so the sum grows with depth, and the last norm "
    "divides the gradient by it. Post norm resets the scale behind each sum.",
)  # fmt: skip
