"""Gradients back through a recurrent network before training: figures and verdict of the experiment."""

from collections.abc import Sequence

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.text import join_words, typeset
from normviz.describe.seeds import compare_seed_by_seed, estimate_mean, find_clear_differences, format_mean
from normviz.jobs.results import Arrays
from normviz.topics.experiments.experiment import ComparisonSetting
from normviz.topics.experiments.recurrent_jobs import FIRST_GAINS, STEPS_BACK, WEIGHT_SCALES
from normviz.topics.experiments.reports import FigureSpec, Verdict, VerdictKey, describe_extent, make_band_curve

FOLD_LIMIT = 10.0
"""Factor below or above which a gradient has vanished or exploded."""

INVARIANCE_FACTOR = 1.02
"""A scheme whose factors over all scales differ by less than this factor is invariant to the scale."""


def _compute_step_factors(norms: np.ndarray) -> np.ndarray:
    """Return the gradient's growth factor per step back in time, (points, schemes, seeds), from norms by step."""
    return (norms[:, 0] / norms[:, -1]) ** (1 / (STEPS_BACK - 1))


def _make_factor_curves(setting: ComparisonSetting, norms: np.ndarray, x: Sequence[float]) -> list[Curve]:
    """Return one curve for each scheme: the gradient's growth factor per step back at the points `x`."""
    return [
        make_band_curve(label, np.array(x[: len(norms)]), _compute_step_factors(norms)[:, k], style, has_markers=True)
        for k, (label, style) in enumerate(zip(setting.labels, setting.styles, strict=True))
    ]


def draw_gradients_by_gain(setting: ComparisonSetting, together: np.ndarray, apart: np.ndarray | None) -> FigureSpec:
    """Return a figure of the gradient's growth per step back by γ; Wh and Ux are normalized `together` or `apart`."""
    drawn = [("Wh + Ux normalized together", together)]
    drawn += [] if apart is None else [("Wh and Ux normalized apart", apart)]
    means = np.concatenate([estimate_mean(_compute_step_factors(norms))[0].ravel() for _, norms in drawn])
    top = 1.1 * max(means[np.isfinite(means)], default=1.0)
    panels = [
        CurvePanel(
            title, _make_factor_curves(setting, norms, FIRST_GAINS),
            "initial γ", "factor of the gradient, a step back", "x",
            levels=(1.0,), marks=FIRST_GAINS, span=(0.0, max(top, 1.1)),
        )
        for title, norms in drawn
    ]  # fmt: skip
    return FigureSpec(
        "gains", panels, f"Factor of the gradient for each step back, over γ: {_describe_factors(setting, together)}.",
        f"Before training, ‖∂L/∂h‖ over {STEPS_BACK - 1} steps back. At 1 it keeps its size. Means with 95% intervals. "
        f"A gradient vanishes or explodes where it clearly changes more than {FOLD_LIMIT:g}-fold over these steps. "
        "The network without normalization has no γ.",
    )  # fmt: skip


def draw_gradients_by_scale(setting: ComparisonSetting, norms: np.ndarray, gain: float) -> FigureSpec:
    """Return a figure of the gradient's growth per step back by the scale of the initial weights, at γ = `gain`."""
    panel = CurvePanel(
        f"γ = {typeset(gain)}", _make_factor_curves(setting, norms, WEIGHT_SCALES), "initial weights times",
        "factor of the gradient, a step back", "x", levels=(1.0,), marks=(0.25, 0.5, 1, 2, 4),
    )  # fmt: skip
    return FigureSpec(
        "scales", [panel], f"Factor of the gradient for each step back, over the scale: "
                           f"{_describe_factors(setting, norms)}.",
        "Before training. A flat line: the scheme is invariant to the scale of the weights.",
    )  # fmt: skip


def _describe_factors(setting: ComparisonSetting, norms: np.ndarray) -> str:
    """Format the range over the points of each scheme's mean growth factor: "Batch 0.8 to 1.2; Layer 0.7 to 1"."""
    means = estimate_mean(_compute_step_factors(norms))[0]
    return "; ".join(
        f"{label} {typeset(float(low), 2)} to {typeset(float(high), 2)}"
        for label, low, high in zip(setting.labels, means.min(0), means.max(0), strict=True)
    )


def _find_headline_position(setting: ComparisonSetting) -> int | None:
    """Return the position of layer norm in the schemes, or else of the first that normalizes; None if none does."""
    acting = [k for k, row in enumerate(setting.rows) if row.key != "none"]
    return next((k for k in acting if setting.rows[k].key == "layer"), acting[0] if acting else None)


def summarize_gradients(setting: ComparisonSetting, together: np.ndarray) -> str:
    """Return a headline with the range over γ of a scheme's gradient growth per step back; "" if none normalizes."""
    main = _find_headline_position(setting)
    if main is None:
        return ""
    means = estimate_mean(_compute_step_factors(together)[:, main])[0]
    low, high = (typeset(float(each), 2) for each in (means.min(), means.max()))
    return f"Each step back multiplies {setting.names[main]}'s gradient by {low} to {high}."


def judge_gradients(
    setting: ComparisonSetting, gain: float, together: Arrays, apart: Arrays, scaled: Arrays
) -> Verdict:
    """Return the verdict on vanishing or exploding gradients over γ (`together`, `apart`) and weight scales (`scaled`).

    `together`, `apart`: results over γ with Wh + Ux or each normalized; `scaled`: over initial weights at γ = `gain`.
    """
    if any(each.get("share") != 1 for each in (together, apart, scaled)):
        return Verdict("open", "Gradients back in time: not computed yet.")
    factors = _compute_step_factors(scaled["norms"])
    changes = (factors.max(0) / factors.min(0)).mean(-1)
    keys = [row.key for row in setting.rows]
    acting = [k for k, key in enumerate(keys) if key != "none" and np.isfinite(changes[k])]
    same = [k for k in acting if changes[k] < INVARIANCE_FACTOR]
    if "none" not in keys or not acting:
        return Verdict("open", "To judge the gradients, choose No norm and another scheme.")
    none = estimate_mean(factors[:, keys.index("none")])[0]
    span = f"the initial weights times {typeset(WEIGHT_SCALES[0])} to {typeset(WEIGHT_SCALES[-1])}"
    if not same:
        says = f"No scheme keeps a step's factor of the gradient the same over {span}."
        if setting.eps > 1e-3:  # then ε counts beside the variance
            return Verdict("open", f"{says} With ε = {typeset(setting.eps)} they are not invariant to it.")
        return Verdict("wrong", says)
    each = ", ".join(f"{format_mean(factors[0, k], 2)} with {setting.names[k]}" for k in same)
    said = [
        f"Over {span}, a step back multiplies the gradient by {none.min():.2f} to {none.max():.2f} without "
        f"normalization. With it, the scale has no effect: {each} at γ = {typeset(gain)}."
    ]
    fates = _classify_gradients(together["norms"][:, :, same])
    over_gains = _compute_step_factors(together["norms"])
    said += [
        f"From γ = {typeset(FIRST_GAINS[0])} to {typeset(FIRST_GAINS[-1])} the factor of {setting.names[k]} goes from "
        f"{format_mean(over_gains[0, k], 2)} to {format_mean(over_gains[-1, k], 2)}: {_describe_stability(fate)}."
        for k, fate in zip(same, fates, strict=True)
    ]
    main = _find_headline_position(setting)
    k = main if main in same else same[0]
    ends = " to ".join(f"{each:.2f}" for each in estimate_mean(_compute_step_factors(apart["norms"])[[0, -1], k])[0])
    said.append(f"Where Wh and Ux are normalized apart, that of {setting.names[k]} goes from {ends}.")
    kept = fates[same.index(k)] == 0
    word: VerdictKey = "holds" if all(kept) else "holds-if" if any(kept) else "wrong"
    gains = {typeset(gain): 1 for gain, is_kept in zip(FIRST_GAINS, kept, strict=True) if is_kept}
    return Verdict(word, " ".join(said), extent=describe_extent(gains, "at", "γ = "))


def _classify_gradients(norms: np.ndarray) -> np.ndarray:
    """Return −1 for vanishing gradients, 1 for exploding ones, else 0, shape (schemes, points), from norms by step."""
    logs = np.log(norms[:, 0] / norms[:, -1])
    signs = np.sign(logs.mean(-1))
    limits = signs * np.log(FOLD_LIMIT)
    found = [
        compare_seed_by_seed(each, np.full_like(each, limit))
        for each, limit in zip(logs.reshape(-1, logs.shape[-1]), limits.flat, strict=True)
    ]
    beyond = [
        each.mean * sign > 0 and clear
        for each, sign, clear in zip(found, signs.flat, find_clear_differences(found), strict=True)
    ]
    return (signs * np.reshape(beyond, signs.shape)).T


def _describe_stability(fate: np.ndarray) -> str:
    """Return in words at which γ a scheme's gradient vanishes or explodes; `fate`: its row of `_classify_gradients`."""
    places = {
        word: [typeset(gain) for gain, each in zip(FIRST_GAINS, fate, strict=True) if each == sign]
        for word, sign in (("vanishes", -1), ("explodes", 1))
    }
    found = [f"{word} at γ = {join_words(gains, 'and')}" for word, gains in places.items() if gains]
    return (
        f"over {STEPS_BACK - 1} steps the gradient {' and '.join(found) if found else 'neither vanishes nor explodes'}"
    )
