"""Placement: where a transformer normalizes, whether it needs a warm-up, and what a long residual chain does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape, divisors
from normviz.core.rows import Row
from normviz.core.schemes import DEFAULT_EPS, SCHEMES, get_scheme
from normviz.core.settings import among, choice, real, value, whole
from normviz.core.text import typeset
from normviz.data.digits import SIDE
from normviz.experiments import experiment
from normviz.experiments.experiment import Arrays, Experiment, Report, Results, Shown, Verdict, Word, paired, spread
from normviz.experiments.placement_jobs import PLACEMENTS, TRAINED, WIDTH, Chain, Start, Training
from normviz.ui.curves import Curve, Panel

LABELS = {"none": "None", "post": "Post", "pre": "Pre", "peri": "Peri"}
"""Of the placements."""

FITTING = {key: scheme.label for key, scheme in SCHEMES.items() if scheme.acts_on == "activation"}
"""Schemes that can stand in a place between branches: those that normalize activations."""

SLOWER = 0.3
"""The smaller learning rate over the larger one."""


@dataclass(frozen=True)
class Setting(experiment.Setting):
    """What is normalized in all places, and how it is trained."""

    scheme: str = choice("layer-channels", FITTING, label="Scheme")
    groups: int = among(2, divisors(WIDTH), label="Groups G")
    radius: int = whole(1, 0, WIDTH - 1, label="Radius R", help="Of the windows of divisive normalization.")
    own: str = value("", experiment.read_own)
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))
    layers: int = whole(4, 1, 8, label="Layers", help="Each is attention, then ReLU units: two branches.")
    batch: int = among(16, (8, 16), label="Batch size N")
    steps: int = whole(120, 20, 500, label="Steps", stops=(50, 100, 120, 200, 500), control="stops")
    warm: int = whole(40, 2, 200, label="Steps of the warm-up", stops=(10, 20, 40, 80, 200), control="stops")
    rate: float = real(0.01, 1e-4, 0.1, label="Learning rate (Adam)", stops=(0.003, 0.005, 0.01, 0.02))
    pairs: int = whole(16, 2, 32, label="Half the branches of the chain")

    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        experiment.refuse_front(self.row)
        self.row.scheme.check(self.shape)

    @property
    def row(self) -> Row:
        """The scheme as plain data."""
        own = self.scheme == "custom"
        return Row.of(experiment.own_scheme(self.own) if own else get_scheme(self.scheme, self.groups, self.radius))

    @property
    def shape(self) -> Shape:
        """(N, tokens, 1, channels): what a scheme of one's own is laid out on."""
        return self.batch, SIDE, 1, WIDTH

    @property
    def rates(self) -> tuple[float, float]:
        """The two learning rates, the larger one first."""
        return self.rate, SLOWER * self.rate


def parts(setting: Setting) -> list[Training | Start | Chain]:
    """The start, the chain, and a training at each of the rates."""
    s = setting
    return [
        Start(s.row, s.networks, s.layers, s.batch, s.eps, s.device),
        Chain(s.row, s.networks, s.pairs, s.eps, s.device),
        *(Training(s.row, s.networks, s.layers, s.batch, s.steps, s.warm, each, s.eps, s.device) for each in s.rates),
    ]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # of networks that give no numbers
def report(setting: Setting, results: Results) -> Report:
    """Losses with a warm-up and without, gradients by depth and the chain, before training."""
    start, chain, *trained = (results.get(part, {}) for part in parts(setting))
    figures = []
    begun = [(rate, each["losses"]) for rate, each in zip(setting.rates, trained, strict=True) if "losses" in each]
    if begun:
        panels = [_losses(rate, losses) for rate, losses in begun]
        said = " ".join(f"At rate {typeset(rate)}, {_ends(losses)}." for rate, losses in begun)
        beyond = ", no fewer than the whole training" if setting.warm >= setting.steps else ""
        figures.append(Shown("training", panels, said, f"The warm-up takes {setting.warm} steps{beyond}. {BANDS}"))
    at_start = []
    if "norms" in start:
        at_start.append(_depth(start["norms"]))
    if "squares" in chain:
        at_start.append(_chain(chain["squares"]))
    if at_start:
        said = " ".join(_last(panel) for panel in at_start)
        figures.append(Shown("start", at_start, said, f"Before training. {BANDS}"))
    found: list[tuple[Word, str]] = [_warmup(setting, trained), _growth(chain)]
    words = {word for word, _ in found}
    word: Word = found[0][0] if len(words) == 1 else "open" if "open" in words else "holds-if"
    says = " ".join([*(text for _, text in found), *_gradients(start)])
    condition = (
        f"{setting.layers} layer{'s' * (setting.layers > 1)} of {WIDTH} channels, {setting.row.scheme.name}; whether a "
        "warm-up is needed depends on the learning rate and, as others report, on the depth. ± is the 95% interval "
        f"over {setting.seeds} seeds."
    )
    return Report(_headline(setting, trained), figures, Verdict(word, says, condition), _table(setting, trained))


BANDS = "Lines are medians over the seeds, bands reach from the least to the largest."

KINDS = ("warm-up", "no warm-up")
"""Of every placement's two trainings, in their order."""


def _curves(
    names: Iterable[str], x: np.ndarray, values: Iterable[np.ndarray], axis: int, points: bool = False
) -> list[Curve]:
    return [
        Curve(name, x, middle, k, low, high, points=points)
        for k, (name, each) in enumerate(zip(names, values, strict=True))
        for middle, low, high in [spread(each, axis)]
    ]


def _losses(rate: float, losses: np.ndarray) -> Panel:
    """Means over twenty stretches of the training, or fewer, of losses (steps, placements × warm-up, seeds)."""
    cut = np.array_split(losses, min(20, len(losses)))
    means = np.stack([each.mean(0) for each in cut])
    names = [f"{LABELS[placement]}, {kind}" for placement in TRAINED for kind in KINDS]
    lines = _curves(names, np.cumsum([len(each) for each in cut]), np.moveaxis(means, 1, 0), -1)
    return Panel(f"Learning rate {typeset(rate)}", lines, "step", "loss", "y")


def _depth(norms: np.ndarray) -> Panel:
    """Norms (mini-batches, branches, placements, seeds) by branch."""
    means = np.moveaxis(norms.mean(0), 1, 0)
    names = [LABELS[placement] for placement in PLACEMENTS]
    return Panel("‖∂l/∂W‖", _curves(names, np.arange(1, means.shape[1] + 1), means, -1, True), "branch", "", "y")


def _chain(squares: np.ndarray) -> Panel:
    """Mean squares (seeds, 1 + branches, placements), over that of the input."""
    relative = np.moveaxis(squares / squares[:, :1], 2, 0)
    names = [LABELS[placement] for placement in PLACEMENTS]
    return Panel(
        "Mean square along a chain", _curves(names, np.arange(relative.shape[2]), relative, 0), "branches", "", "y"
    )


def _ends(losses: np.ndarray) -> str:
    middle = np.median(losses[-10:].mean(0), -1)
    return "loss at the end, with a warm-up and without: " + "; ".join(
        f"{LABELS[placement]} {typeset(float(middle[2 * k]), 2)} and {typeset(float(middle[2 * k + 1]), 2)}"
        for k, placement in enumerate(TRAINED)
    )


def _last(panel: Panel) -> str:
    ends = (f"{c.name} {typeset(float(c.y[0]), 2)} to {typeset(float(c.y[-1]), 2)}" for c in panel.curves)
    return f"{panel.title.replace('‖∂l/∂W‖', 'Gradient by depth')}, first to last: {', '.join(ends)}."


def _warmup(setting: Setting, trained: Sequence[Arrays]) -> tuple[Word, str]:
    """Whether post needs a warm-up, and more of one than pre."""
    said, needs, ruled_out = [], [], []
    for rate, each in zip(setting.rates, trained, strict=True):
        if "errors" not in each:
            return "open", "The networks are not trained yet."
        losses = {placement: each["errors"][2 * k + 1] - each["errors"][2 * k] for k, placement in enumerate(TRAINED)}
        change = {placement: paired(loss, np.zeros_like(loss)) for placement, loss in losses.items()}
        more = paired(losses["post"], losses["pre"])
        harmed = {placement: one.clear and one.mean > 0 for placement, one in change.items()}
        needs.append(harmed["post"] and more.clear and more.mean > 0 and not harmed["pre"])
        ruled_out.append(change["post"].clear and change["post"].mean <= 0)
        noise = {placement: "" if one.clear else " (within the noise)" for placement, one in change.items()}
        of = ", ".join(f"{LABELS[p]} {change[p].said(100)}{noise[p]}" for p in TRAINED)
        said.append(f"At rate {typeset(rate)}: {of}.")
    word: Word = "holds" if all(needs) else "holds-if" if any(needs) else "wrong" if all(ruled_out) else "open"
    return word, "What leaving out the warm-up changes in the test error, in points. " + " ".join(said)


def _headline(setting: Setting, trained: Sequence[Arrays]) -> str:
    """What leaving out the warm-up changes with post and with pre, at the first rate that is trained."""
    for rate, each in zip(setting.rates, trained, strict=True):
        if "errors" in each:
            post, pre = (
                paired(each["errors"][2 * k + 1], each["errors"][2 * k]).said(100)
                for k in map(TRAINED.index, ("post", "pre"))
            )
            at = f"at rate {typeset(rate)}"
            return f"Without a warm-up the test error changes by {post} points (post) and {pre} (pre) {at}."
    return "Nothing is trained yet."


def _growth(chain: Arrays) -> tuple[Word, str]:
    """Whether the chain doubles without normalization, and grows linearly with it in front of the branch."""
    if chain.get("share") != 1:
        return "open", "The residual chain is not computed yet."
    if not np.isfinite(chain["squares"]).all():
        return "open", "The residual chain overflows."
    branches = chain["squares"].shape[1] - 1
    relative = np.moveaxis(chain["squares"] / chain["squares"][:, :1], 2, 0)
    factor = relative[0][:, -1] ** (1 / branches)
    steps = (relative[PLACEMENTS.index("pre")][:, -1] - 1) / branches
    half = (relative[PLACEMENTS.index("pre")][:, branches // 2] - 1) / (branches // 2)
    bent = steps / half
    doubles = bool(np.all(abs(factor - 2) < 0.25))
    linear = bool(np.all(abs(bent - 1) < 0.5))
    says = (
        f"Over {branches} residual branches the mean square is multiplied by {typeset(float(np.median(factor)), 3)} a "
        f"branch without normalization; with it in front of each, every branch adds "
        f"{typeset(float(np.median(steps)), 2)} times that of the input{'' if linear else ', though not evenly'}."
    )
    return "holds" if doubles and linear else "holds-if" if doubles or linear else "wrong", says


def _gradients(start: Arrays) -> list[str]:
    """How the gradients of the last layer compare, before training."""
    if start.get("share") != 1:
        return []
    means = np.median(start["norms"].mean(0), -1)
    post, pre = (means[:, PLACEMENTS.index(placement)] for placement in ("post", "pre"))
    return [
        f"Before training, the gradient of the last branch is {typeset(float(post[-1] / pre[-1]), 2)} times as large "
        f"with post as with pre, that of the first branch {typeset(float(post[0] / pre[0]), 2)} times."
    ]


def _table(setting: Setting, trained: Sequence[Arrays]) -> dict[str, list[Any]]:
    """Test errors by rate and seed."""
    ended = [(rate, each["errors"]) for rate, each in zip(setting.rates, trained, strict=True) if "errors" in each]
    table: dict[str, list[Any]] = {
        "rate": [rate for rate, _ in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
    }
    for k, placement in enumerate(TRAINED):
        for j, kind in enumerate(KINDS):
            table[f"{placement}, {kind}"] = [float(each) for _, errors in ended for each in errors[2 * k + j]]
    return table


EXPERIMENT = Experiment(
    key="placement",
    title="Placement",
    question="Where in a residual network should one normalize?",
    claims=(),
    claim="A transformer that normalizes behind each residual sum (post) needs a learning rate that warms up, one that "
    "normalizes in front of each branch (pre) does not: its gradients are smaller near the output at the start (Xiong "
    "et al. 2020, arXiv 2002.04745). And the variance along residual branches doubles with each of them without "
    "normalization, but grows linearly with it (De & Smith 2020, arXiv 2002.10444).",
    about="Transformers on the rows of digits, eight tokens of eight pixels, trained with Adam at two learning rates, "
    "with a linear warm-up and without; peri normalizes in front of and behind each branch (arXiv 2502.02732).",
    setting=Setting,
    parts=parts,
    report=report,
)
