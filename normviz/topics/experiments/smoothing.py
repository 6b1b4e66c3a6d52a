"""Learned smoothing terms ε and an L1 term: their effect on the test error, and ε by layer (Ren et al. 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from normviz.topics.experiments.experiment import Comparison, Experiment, comparing, hidden_layers
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, Word, draw_band, joined
from normviz.topics.experiments.smoothing_jobs import BATCH, PENALTIES, RATES, WIDTH, Part

FIRST = (1.0, 0.1)
"""First values of a learned ε, beside that of the setting."""

PLAIN, SMOOTHING, L1, BOTH = "neither", "learned ε", "L1 term", "both"
VARIANTS = {PLAIN: (False, False), SMOOTHING: (True, False), L1: (False, True), BOTH: (True, True)}
"""Whether ε is learned, and whether there is an L1 term."""

LEAST = 1e-8
"""An ε below this is drawn there."""

APART = 0.15
"""The distance of points that stand beside each other, as a share of the way to the next scheme."""

SMOOTHED = tuple(
    key for key, scheme in SCHEMES.items() if scheme.on_activations and scheme.suppression and scheme.is_general_form
)
"""The schemes that have an ε under a root."""


@dataclass(frozen=True)
class Setting(Comparison):
    """How the networks are trained whose ε is learned."""

    layer: ClassVar[tuple[int, int]] = (BATCH, WIDTH)

    schemes: tuple[str, ...] = comparing(("batch", "layer", "divisive"), SMOOTHED)
    radius: int = integer(4, 0, 63, label="Radius R", help="Of the windows of divisive normalization.")
    eps: float = real(
        0.01, 1e-6, 10.0, label="ε at the start, beside 1 and 0.1", symbol="ε",
        stops=(1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.3, 3.0),
    )  # fmt: skip
    depth: int = integer(4, 2, 8, label="Normalized layers", control="slider")
    digits: int = integer(200, BATCH, 898, label="Digits to train on", stops=(50, 100, 200, 400, 898), control="stops")
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 400, 500), control="stops")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(row.suppression is None for row in self.rows):
            raise InvalidInput("own: a scheme that divides by nothing has no ε to learn; one with a field B would do.")

    @property
    def firsts(self) -> tuple[float, ...]:
        """First values of a learned ε, from the largest."""
        return tuple(sorted({*FIRST, self.eps}, reverse=True))

    def part(self, k: int, first: float | None) -> Part:
        """Return the part of the scheme at a position, with ε learned from `first`; or, without it, fixed."""
        return Part(
            self.rows[k], self.networks, DEFAULT_EPS if first is None else first, first is not None, self.depth,
            self.digits, self.steps, self.device,
        )  # fmt: skip


def parts(setting: Setting) -> list[Part]:
    """Return parts for every scheme: one where ε is fixed, and one for each first value of a learned ε."""
    return [setting.part(k, first) for k in range(len(setting.rows)) for first in (None, *setting.firsts)]


Levels = Mapping[str, np.ndarray]
"""Test errors of a scheme by variant, each by seed."""


def choose_levels(setting: Setting, k: int, results: Results) -> Levels:
    """Return the test errors of a scheme, each variant at its choice with the lowest mean validation error.

    Chosen are the learning rate, and where they apply the first ε and the factor of the L1 term.
    """
    levels = {}
    for name, (learned, sparse) in VARIANTS.items():
        found = [results[setting.part(k, first)] for first in (setting.firsts if learned else (None,))]
        factors = slice(1, None) if sparse else slice(0, 1)
        validation, test = (
            np.concatenate([each[kind][-1, factors].reshape(-1, setting.seeds) for each in found])
            for kind in ("validation", "test")
        )
        levels[name] = test[choose_learning_rate(validation)]
    return levels


def collect_eps(setting: Setting, k: int, results: Results) -> np.ndarray:
    """Return the learned ε of a scheme without an L1 term, (layers, first values, rates, seeds)."""
    return np.stack([results[setting.part(k, first)]["eps"][:, 0] for first in setting.firsts], axis=1)


def correlate_with_depth(eps: np.ndarray) -> np.ndarray:
    """Return the rank correlations (…) of ε (layers, …) with the layer: −1 where each is below the one before.

    Example:
        >>> correlate_with_depth(np.array([[0.3], [0.2], [0.1]])).tolist()
        [-1.0]
    """
    ranks = ((eps[:, None] > eps) + (eps[:, None] == eps) / 2).sum(1)
    ranks[:, ~np.isfinite(eps).all(0)] = np.nan
    layers = np.arange(len(eps)) - (len(eps) - 1) / 2
    return np.tensordot(layers, ranks - ranks.mean(0), 1) / (layers**2).sum()


def report(setting: Setting, results: Results) -> Report:
    """Return the test error of every scheme and variant, and the learned ε by layer."""
    ended = {part for part in parts(setting) if part in results and results[part]["share"] == 1}
    schemes = [
        k
        for k in range(len(setting.rows))
        if ended.issuperset(setting.part(k, first) for first in (None, *setting.firsts))
    ]
    levels = {k: choose_levels(setting, k, results) for k in schemes}
    eps = {k: collect_eps(setting, k, results) for k in schemes}
    figures = [_draw_levels(setting, levels), _draw_eps(setting, eps)] if schemes else []
    verdicts = {"D03": _judge_depth(setting, eps), "D04": _judge_error(setting, levels)}
    table: dict[str, list[Any]] = {
        "scheme": [setting.rows[k].key for k in levels for _ in VARIANTS for _ in setting.networks],
        "variant": [name for _ in levels for name in VARIANTS for _ in setting.networks],
        "seed": [seed for _ in levels for _ in VARIANTS for seed in setting.networks],
        "test error": [float(one) for each in levels.values() for errors in each.values() for one in errors],
    }
    both = Verdict(
        joined(each.word for each in verdicts.values()),
        " ".join(dict.fromkeys(each.says for each in verdicts.values())),
        " ".join(dict.fromkeys(each.condition for each in verdicts.values())),
    )
    return Report(_headline(setting, levels), figures, both, table, verdicts)


def _draw_levels(setting: Setting, levels: Mapping[int, Levels]) -> FigureSpec:
    """Draw the test error by scheme and variant."""
    places = np.arange(len(levels))
    curves = []
    for look, name in enumerate(VARIANTS):
        errors = 100 * np.stack([each[name] for each in levels.values()])
        curves.append(draw_band(name, places + APART * (look - (len(VARIANTS) - 1) / 2), errors, look, apart=True))
    names = [setting.labels[k] for k in levels]
    panel = CurvePanel("Test error at the end", curves, "", "test error, %", marks=places.tolist(), names=names)
    said = "; ".join(
        f"{label}: " + ", ".join(f"{name} {format_mean_percent(errors)}" for name, errors in each.items())
        for label, each in zip(names, levels.values(), strict=True)
    )
    return FigureSpec(
        "levels", [panel], f"Test error by scheme and variant. {said}.",
        f"Means over the seeds with 95% intervals. Where ε is not learned it is {typeset(DEFAULT_EPS)}. The first ε, "
        "the factor of the L1 term and the learning rate are chosen on validation digits.",
    )  # fmt: skip


def _draw_eps(setting: Setting, eps: Mapping[int, np.ndarray]) -> FigureSpec:
    """Draw the learned ε by layer, for every learning rate."""
    panels, said = [], []
    for j, rate in enumerate(RATES):
        curves = []
        for k, each in eps.items():
            means = np.log10(np.maximum(each[:, :, j], LEAST)).mean(1)
            layers = np.arange(1, len(each) + 1)
            curves.append(draw_band(setting.labels[k], layers, means, k, lambda logs: 10**logs, points=True))
        panels.append(
            CurvePanel(f"Learning rate {typeset(rate)}", curves, "layer", "learned ε", "y", marks=curves[0].x.tolist())
        )  # fmt: skip
        ends = ", ".join(f"{each.name} {typeset(each.y[0], 2)} to {typeset(each.y[-1], 2)}" for each in curves)
        said.append(f"At {typeset(rate)}, from the first layer to the last: {ends}")
    return FigureSpec(
        "eps", panels, f"The learned ε by layer. {'; '.join(said)}.",
        f"Geometric means over the first values {_listed(setting.firsts)}, without an L1 term; 95% intervals over the "
        "seeds.",
    )  # fmt: skip


def _headline(setting: Setting, levels: Mapping[int, Levels]) -> str:
    """Say in how many schemes both together lower the test error."""
    if not levels:
        return "Not all networks are trained yet."
    effects = _effects(levels)
    count = sum(both == "better" for _, ((_, both), _, _) in effects)
    return f"Learned ε and L1 term: clear gain in {count} of {len(effects)} schemes."


Effects = list[tuple[int, list[tuple[MeanDifference, str]]]]
"""By the position of a scheme: the change of the error that both together bring, that a learned ε brings, and that the
L1 term adds; each with "better", "worse" or "unclear"."""


def _effects(levels: Mapping[int, Levels]) -> Effects:
    """Return the changes of all schemes, which are clear by Holm's correction for their number."""
    pairs = ((BOTH, PLAIN), (SMOOTHING, PLAIN), (BOTH, SMOOTHING))
    found = [compare_seed_by_seed(each[a], each[b]) for each in levels.values() for a, b in pairs]
    words = {-1: "better", 0: "unclear", 1: "worse"}
    named = [(change, words[sign]) for change, sign in zip(found, find_clear_signs(found), strict=True)]
    return [(k, named[n * len(pairs) : (n + 1) * len(pairs)]) for n, k in enumerate(levels)]


def _judge_error(setting: Setting, levels: Mapping[int, Levels]) -> Verdict:
    """Say whether a learned ε and an L1 term together lower the error of the schemes; the claim is about all."""
    if len(levels) < len(setting.rows):
        return Verdict("open", "Not all networks are trained yet.")
    texts, together = [], []
    for k, (both, alone, more) in _effects(levels):
        plain, learned, all_of_it = (format_mean_percent(levels[k][name]) for name in (PLAIN, SMOOTHING, BOTH))
        texts.append(
            f"{capitalize_first(setting.names[k])}: {plain} with neither, {learned} with a learned ε "
            f"({_change(*alone)}), "
            f"{all_of_it} with both ({_change(*both)}); the L1 term adds {_change(*more)}."
        )
        together.append(both[1])
    shares = {effect: together.count(effect) / len(together) for effect in ("better", "worse")}
    word: Word = "open"
    if shares["better"] > 1 / 2:
        word = "holds" if shares["better"] == 1 else "holds-if"
    elif shares["worse"] > 1 / 2:
        word = "wrong"
    return Verdict(
        word,
        f"Test error: {' '.join(texts)}",
        f"The claim is about all schemes; both together clearly help {together.count('better')} of {len(together)}. "
        f"{setting.depth} layers of {WIDTH} units, {setting.steps} steps of Adam on {setting.digits} digits. The "
        f"learning rate (of {_listed(RATES)}), the first ε (of {_listed(setting.firsts)}) and the factor of the L1 "
        f"term (of {_listed(PENALTIES[1:])}) are chosen on validation digits. Holm's correction is for "
        f"{3 * len(together)} comparisons.",
    )


def _judge_depth(setting: Setting, eps: Mapping[int, np.ndarray]) -> Verdict:
    """Say at which learning rates ε falls with depth; the claim is about divisive normalization."""
    if len(eps) < len(setting.rows):
        return Verdict("open", "Not all networks are trained yet.")
    trends = [each for k in eps for each in correlate_with_depth(eps[k]).mean(0)]
    found = [compare_seed_by_seed(each, 0 * each) for each in trends]
    effects = [{-1: "falls", 0: "has no clear trend", 1: "rises"}[sign] for sign in find_clear_signs(found)]
    texts, judged = [], []
    for n, (k, row) in enumerate(zip(eps, setting.rows, strict=True)):
        own = slice(n * len(RATES), (n + 1) * len(RATES))
        said = ", ".join(
            f"it {effect} at {typeset(rate)} ({trend.text()})"
            for rate, effect, trend in zip(RATES, effects[own], found[own], strict=True)
        )
        texts.append(f"{capitalize_first(setting.names[k])}: {said}.")
        judged += effects[own] if row.key == "divisive" else []
    word: Word = "open"
    if "falls" in judged:
        word = "holds" if set(judged) == {"falls"} else "holds-if"
    elif "rises" in judged:
        word = "wrong"
    missing = "" if judged else " The claim is about divisive normalization, which is not chosen."
    return Verdict(
        word,
        f"The learned ε over the layers, by the learning rate: {' '.join(texts)}{missing}",
        "In brackets the rank correlation of ε with the layer, −1 where every layer has less than the one before; its "
        f"mean over the first values {_listed(setting.firsts)}. It depends on the learning rate. Holm's correction is "
        f"for {len(found)} trends.",
    )


def _listed(numbers: Sequence[float]) -> str:
    """Return numbers as a sentence lists them: "1, 0.1 and 0.01"."""
    return join_words(map(typeset, numbers), "and")


def _change(change: MeanDifference, effect: str) -> str:
    """Return a change in points."""
    return "no clear change" if effect == "unclear" else f"{change.text(100)} points"


EXPERIMENT = Experiment(
    key="smoothing", title="Learned smoothing", claims=("D03", "D04"),
    question="Do a learned ε and an L1 term help?",
    claim="“… a small modification to these normalization schemes, in conjunction with a sparse regularizer on the "
    "activations, leads to significant benefits over standard normalization techniques” (Ren et al. 2017, arXiv "
    "1611.04520, abstract).",
    about=lambda setting: f"{setting.digits} of {DIGITS_DESCRIPTION}; {hidden_layers((WIDTH,) * setting.depth)}; "
    "ε = s² fixed or learned, with an L1 term of the centred inputs or without.",
    setting=Setting, parts=parts, report=report,
    why="A large ε keeps a layer from amplifying small inputs. How far training moves ε depends on the learning rate.",
)  # fmt: skip
