"""What the weights page shows: weight norm under SGD, power iteration and the Lipschitz bound, all schemes."""

from collections.abc import Callable
from functools import partial
from math import sqrt

import numpy as np
import streamlit as st

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.core.settings import build
from normviz.data.digits import SIDE
from normviz.describe import notation
from normviz.describe.notation import WEIGHT_NORM
from normviz.describe.wording import gap_text, signed
from normviz.ui.components.plot import plot
from normviz.ui.figures import before_after
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.weights.descent import PAIR, PARAMETRIZATIONS, STEPS, Path, Setting, growth_gap
from normviz.weights.descent_figures import by_step, extent, line_moved_to, plane
from normviz.weights.figures import by_place, divided_values, falling_errors, ratio_histograms
from normviz.weights.state import ITERATIONS, PREFIX, Sampled, gaps_to_torch, paths, plane_losses, sampled, weights_of
from normviz.weights.weights import (
    FIRST_LAYERS,
    WEIGHT_SCHEMES,
    PowerIteration,
    compared,
    matrix,
    power_iteration,
)

TITLE = (
    "# What do weight normalizations do to a weight matrix?\n"
    "They change the weights before any data come: the same for every batch, in training and afterwards."
)
SMOOTHED = 10
"""Steps over which the angle is averaged in its curve."""

ABOVE = 1 + 1e-9
"""A ratio beyond this is above 1, and not rounded."""


def weight_norm_panel(view: View, theme: str) -> None:
    """w = g v/‖v‖ under SGD: the picture, the curves, and what they say."""
    runs = paths(build(Setting, view))
    picture = _plane(runs, view["rate"], theme) if view["inputs"] == "plane" else partial(_pictures, runs, theme)
    curves = _curves(runs, theme)

    def show(step: int) -> None:
        left, right = st.columns([4, 5], gap="medium")
        with left:
            picture(step)
        with right:
            curves(step)
        _say(runs, view["rate"], step)

    Player(PREFIX, "step", "Step of SGD", STEPS).show(show)
    with st.container(horizontal=True, gap="medium"):
        for name in ("weights", "gradient of g", "gradient of v"):
            st.latex(WEIGHT_NORM[name], width="content")


def _say(runs: dict[str, Path], rate: float, step: int) -> None:
    """What the runs say at a step."""
    run = runs["weight"]
    only, scheme = runs["direction"], SCHEMES["weight"]
    now = min(step, STEPS - 1)
    st.markdown(
        f"**‖v‖ only grows**, from {run.lengths[0]:.4g} to {run.lengths[step]:.4g}: a step of SGD is at right angles "
        f"to v, so ${WEIGHT_NORM['growth']}$, here to {gap_text(growth_gap(run, rate))} in every step. **That "
        f"damps the steps**: the longer v, the less the same gradient turns it; the first step turned it by "
        f"{run.turned[0]:.2g}°, this one by {run.turned[now]:.2g}°."
    )
    st.markdown(
        f"**Both v and g are learned** ([{scheme.reference.text}]({scheme.reference.url}), eq. 3), not v alone: g went "
        f"from {run.g[0]:.4g} to {signed(run.g[step])}, the loss to {run.losses[step]:.3g}. With v alone, g stays "
        f"{only.g[step]:.4g}, and the loss is {only.losses[step]:.3g}."
    )


def _plane(runs: dict[str, Path], rate: float, theme: str) -> Callable[[int], None]:
    """v and w in the plane of two principal components; what comes back shows them at a step."""
    run, plain = runs["weight"], runs["plain"]
    x, y = extent([run.v, run.w, plain.w])
    losses = plane_losses(x, y)

    def show(step: int) -> None:
        drawn = {"v": run.v, "w = g v/‖v‖": run.w, PARAMETRIZATIONS["plain"].name: plain.w}
        tracks = {name: points[: step + 1] for name, points in drawn.items()}
        now = min(step, STEPS - 1)
        along = -run.dv[now] / (np.linalg.norm(run.dv[now]) or 1.0)
        arrows = {"−∂l/∂v": (run.v[now], run.v[now] + along * 0.16 * (x[-1] - x[0]))}
        alt = (
            f"The plane of the weights at step {step}: v at ({run.v[step, 0]:.3g}, {run.v[step, 1]:.3g}), w on its ray "
            f"at length {abs(run.g[step]):.3g}; the gradient is at right angles to v."
        )
        plot(plane(x, y, losses, tracks, arrows, abs(run.g[step]), theme), "plane", alt, "29rem")
        st.caption(
            f"Logistic regression, digit {PAIR[0]} against {PAIR[1]}, on two principal components. Thin lines: equal "
            "loss of w."
        )

    return show


def _pictures(runs: dict[str, Path], theme: str, step: int) -> None:
    """Directions as pictures of 8 × 8 pixels."""
    run, plain = runs["weight"], runs["plain"]
    v, w = ((each[step] / np.linalg.norm(each[step])).reshape(SIDE, SIDE) for each in (run.v, plain.v))
    alt = f"The directions v/‖v‖ and plain w/‖w‖ at step {step} as pictures of 8 × 8 pixels."
    plot(before_after(v, w, ("v/‖v‖", "plain w/‖w‖"), theme), "pictures", alt, "20rem")
    st.caption(
        f"Directions as pictures: digit {PAIR[1]} where positive, {PAIR[0]} where negative. Lengths: ‖v‖ = "
        f"{run.lengths[step]:.4g}, g = {signed(run.g[step])}; plain ‖w‖ = {plain.lengths[step]:.4g}."
    )


def _curves(runs: dict[str, Path], theme: str) -> Callable[[int], None]:
    """The curves of the runs; what comes back shows them with a line at a step."""

    def of(values: Callable[[Path], np.ndarray]) -> dict[str, np.ndarray]:
        return {PARAMETRIZATIONS[key].name: values(run) for key, run in runs.items()}

    turn, length = "Turned in a step (°)", "g, or plain ‖w‖"
    panels = {
        "‖v‖": {
            PARAMETRIZATIONS[key].name: run.lengths for key, run in runs.items() if PARAMETRIZATIONS[key].normalized
        },
        turn: of(lambda run: np.maximum(_smooth(run.turned), 1e-3)),
        length: of(lambda run: run.g),
        "Loss": of(lambda run: run.losses),
    }
    run = runs["weight"]
    alt = (
        f"Four curves over {STEPS} steps: ‖v‖ grows from {run.lengths[0]:.3g} to {run.lengths[-1]:.3g}, the angle of a "
        f"step falls from {run.turned[0]:.3g} to {run.turned[-1]:.3g} degrees, g ends at {run.g[-1]:.3g}, the loss at "
        f"{run.losses[-1]:.3g}."
    )
    figure = by_step(panels, (turn,), 0, theme)  # to build it takes far longer than to move its line
    return lambda step: plot(line_moved_to(figure, step), "descent", alt, "33rem")


def _smooth(values: np.ndarray) -> np.ndarray:
    """The mean of every number and up to nine before it."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    start = np.maximum(np.arange(len(values)) + 1 - SMOOTHED, 0)
    return (total[1:] - total[start]) / (np.arange(len(values)) + 1 - start)


def spectral_panel(view: View, theme: str) -> None:
    """Power iteration by step, and the Lipschitz bound on pairs."""
    w = weights_of(view["layer"], view["trained"], view["seed"])
    iteration = Player(PREFIX, "iteration", "Step of the power iteration", ITERATIONS, "iteration_pace")
    iteration.show(partial(_power, power_iteration(matrix(w), ITERATIONS, view["seed"]), theme))
    _bound(w, view, theme)
    with st.container(horizontal=True, gap="medium"):
        for formula in notation.formulas(SCHEMES["spectral"]):
            st.latex(formula.latex, width="content")


def _power(run: PowerIteration, theme: str, step: int) -> None:
    """Singular values over the estimate of a step, and the errors of the steps so far."""
    sigma, first, ratio = run.sigma[step], run.values[0], run.values[1] / run.values[0]
    left, right = st.columns(2, gap="medium")
    with left:
        alt = f"Singular values, largest {first:.4g}, and divided by the estimate: {first / sigma:.4g}."
        plot(divided_values(run.values, sigma, "Singular values", theme), "divided", alt, "24rem")
    with right:
        errors = {"σ": (run.error, run.error_law), "v: tan of its angle": (run.turn, run.turn_law)}
        alt = f"Relative error up to step {step}: {run.error[step]:.1g} of σ, {run.turn[step]:.1g} of its vector."
        plot(falling_errors(errors, step, "Relative error of the estimate", theme), "power", alt, "24rem")
    st.markdown(
        f"Step {step}: the estimate is {sigma:.6g}, the largest singular value {first:.6g}; divided by the estimate, "
        f"it becomes **{first / sigma:.6g}**. The ratio σ₂/σ₁ = {ratio:.4f} sets the pace: in the end a step shrinks "
        f"the vector's error to (σ₂/σ₁)² = {ratio**2:.3f} of it, that of σ to (σ₂/σ₁)⁴ = {ratio**4:.3f}. All singular "
        "values are divided by one number: their ratios stay as they were."
    )


def _bound(w: np.ndarray, view: View, theme: str) -> None:
    """Pairs of inputs, and how far the layer moves them apart."""
    after = normalize(w, SCHEMES["spectral"]).xhat
    found = sampled(after, view["layer"], view["relu"], view["seed"])
    bound = float(found.values[0])
    bounds = {"1": 1.0} | ({"σ₁ of the layer": bound} if bound > ABOVE else {})
    ratios, steep = (np.concatenate(list(kinds.values())) for kinds in (found.ratios, found.slopes))
    above = int((ratios > ABOVE).sum())
    function = "layer and ReLU" if view["relu"] else "the layer"
    for column, key, kinds, title, every in zip(
        st.columns(2, gap="medium"),
        ("ratios", "slopes"),
        (found.ratios, found.slopes),
        (f"‖f(x) − f(y)‖ / ‖x − y‖, f: {function}", "‖∇f(x)‖, f: a critic behind ReLU"),
        (ratios, steep),
        strict=True,
    ):
        with column:
            alt = f"Histograms of {title}: {len(every)}, from {every.min():.2f} to {every.max():.2f}."
            plot(ratio_histograms(kinds, found.values, bounds, title, theme), key, alt, "24rem")
    st.markdown(_upper(above, ratios, found, FIRST_LAYERS[view["layer"]].overlap))
    lost = int((found.values < 1e-9 * bound).sum())
    weakest = (
        f"{lost} of the {len(found.values)} singular directions of the input are mapped to nothing"
        if lost
        else f"the smallest singular value of the layer is {gap_text(found.values[-1])}"
    )
    st.markdown(
        f"**The division bounds nothing from below**: {weakest}, and a pair that differs along the last direction has "
        f"the ratio {gap_text(found.along[-1])}. So this gives no bi-Lipschitz bound. Nor is ‖∇f‖ = 1: it lies between "
        f"{steep.min():.2g} and {steep.max():.2g}."
    )


def _upper(above: int, ratios: np.ndarray, found: Sampled, overlap: int) -> str:
    """What the pairs say of the upper bound."""
    if found.values[0] <= ABOVE:
        return (
            f"**No pair is stretched**: {above} of {len(ratios):,} pairs have a ratio above 1, the largest is "
            f"{ratios.max():.3g}; a pair that differs along the first singular direction has {found.along[0]:.3g}. "
            "Divided by σ₁, the layer is 1-Lipschitz."
        )
    return (
        f"**A convolution may still stretch**: {above:,} of {len(ratios):,} pairs of pictures have a ratio above 1, up "
        f"to {ratios.max():.3g}. What is divided by is the σ₁ of the kernel's matrix, which sees one square of pixels; "
        f"a pixel is in up to {overlap} squares, so the layer's own σ₁ is {found.values[0]:.3g}, and at most "
        f"√{overlap} = {sqrt(overlap):.3g}."
    )


def all_panel(view: View, theme: str) -> None:
    """What every scheme on weights makes of the same ones."""
    w = weights_of(view["layer"], view["trained"], view["seed"])
    made = compared(w)
    names = {"none": "before"} | {scheme.key: scheme.label for scheme in WEIGHT_SCHEMES}
    order = np.argsort(-made["none"].lengths, kind="stable")
    panels = (
        ("lengths", "Length of each unit's vector", "unit, longest first", True, lambda row: row.lengths[order]),
        ("means", "Mean of each unit's weights", "unit, longest first", False, lambda row: row.means[order]),
        ("values", "Singular values", "place", True, lambda row: row.values),
    )
    for column, (name, title, axis, logarithmic, of) in zip(st.columns(len(panels)), panels, strict=True):
        with column:
            curves = {names[key]: of(row) for key, row in made.items()}
            alt = f"{title}, before and after every scheme; the numbers stand in the table below."
            plot(by_place(curves, title, axis, logarithmic, theme), name, alt, "26rem")
    st.table(
        {
            "": [names[key] for key in made],
            "Vector lengths": [_range(row.lengths) for row in made.values()],
            "Largest mean": [gap_text(np.abs(row.means).max()) for row in made.values()],
            "Largest singular value": [f"{row.values[0]:.4g}" for row in made.values()],
            "Smallest": [gap_text(row.values[-1]) for row in made.values()],
        },
        border="horizontal",
    )
    for scheme in WEIGHT_SCHEMES:
        st.markdown(f"**{scheme.label}**: {scheme.about} [{scheme.reference.text}]({scheme.reference.url})")
        with st.container(horizontal=True, gap="medium"):
            for formula in notation.formulas(scheme):
                if formula.name not in ("where", "centred"):
                    st.latex(formula.latex, width="content")
    with st.container():
        if view["torch"]:
            _torch(w)


def _range(values: np.ndarray) -> str:
    least, most = f"{values.min():.3g}", f"{values.max():.3g}"
    return least if least == most else f"{least} to {most}"


def _torch(w: np.ndarray) -> None:
    """The same weights through PyTorch's own parametrizations."""
    lines = ["Largest relative difference from the weights that PyTorch makes:"]
    for key, gap in gaps_to_torch(w).items():
        code = SCHEMES[key].torch
        if code:
            lines.append(f"- `{code.format(layer='layer')}`: {gap_text(gap)}")
    st.markdown("\n".join(lines))


PANELS = {"norm": weight_norm_panel, "spectral": spectral_panel, "all": all_panel}
