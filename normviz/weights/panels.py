"""What the weights page shows: weight norm under SGD, power iteration and the Lipschitz bound, all schemes."""

from collections.abc import Callable
from functools import partial
from math import sqrt

import numpy as np
import streamlit as st

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.core.settings import build
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.data.digits import SIDE
from normviz.describe import notation
from normviz.describe.notation import WEIGHT_NORM
from normviz.describe.wording import gap_text, signed, sources
from normviz.ui.components.plot import plot
from normviz.ui.figures import before_after
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.ui.saving import save_table
from normviz.weights.descent import PAIR, STEPS, Path, Setting, growth_gap
from normviz.weights.descent_figures import by_step, extent, plane
from normviz.weights.figures import LEAST, by_place, divided_values, falling_errors, ratio_histograms
from normviz.weights.state import ITERATIONS, PREFIX, Sampled, gaps_to_torch, paths, plane_losses, sampled, weights_of
from normviz.weights.things import DIRECTION, LENGTH, PLAIN, THINGS, V, W, key_html
from normviz.weights.weights import (
    FIRST_LAYERS,
    WEIGHT_SCHEMES,
    PowerIteration,
    compared,
    matrix,
    power_iteration,
)

SMOOTHED = 10
"""Steps over which the angle is averaged in its curve."""

LEAST_ANGLE = 1e-3
"""In degrees: where its curve ends below."""

ABOVE = 1 + 1e-9
"""A ratio beyond this is above 1, and not rounded."""


def weight_norm_panel(view: View, theme: str) -> None:
    """w = g v/‖v‖ under SGD: the picture, the curves, and what they say."""
    runs = paths(build(Setting, view))
    picture = _plane(runs, theme) if view["inputs"] == "plane" else partial(_pictures, runs, theme)

    def show(step: int) -> None:
        st.html(key_html(THINGS, theme))
        left, right = st.columns([4, 5], gap="medium")
        with left:
            picture(step)
        with right:
            _curves(runs, step, theme)
        _say(runs, view["rate"], step)

    Player(PREFIX, "step", "Step of SGD", STEPS).show(show)
    with st.container(horizontal=True, gap="medium"):
        for name in ("weights", "gradient of g", "gradient of v"):
            st.latex(WEIGHT_NORM[name], width="content")
    save_table(lambda: numbers(runs), "weight-norm")


def numbers(runs: dict[str, Path]) -> dict[str, list]:
    """What there is at every step of the three runs, in columns."""
    run, only, plain = runs["weight"], runs["direction"], runs["plain"]
    columns = {
        "‖v‖": run.lengths,
        "g": run.g,
        "loss": run.losses,
        "‖v‖, only v learned": only.lengths,
        "loss, only v learned": only.losses,
        "loss, plain w": plain.losses,
    }
    return {"step": list(range(STEPS + 1))} | {name: values.tolist() for name, values in columns.items()}


def _say(runs: dict[str, Path], rate: float, step: int) -> None:
    """What the runs say at a step."""
    run, only, plain = runs["weight"], runs["direction"], runs["plain"]
    scheme, gap = SCHEMES["weight"], growth_gap(run, rate)
    if step == 0:
        turns = f"the first step will turn it by {signed(run.turned[0], 2)}°"
    elif step == STEPS:
        turns = f"the first step turned it by {signed(run.turned[0], 2)}°, the last one by {signed(run.turned[-1], 2)}°"
    else:
        turns = (
            f"the first step turned it by {signed(run.turned[0], 2)}°, the next will by {signed(run.turned[step], 2)}°"
        )
    st.markdown(
        f"**‖v‖ never shrinks**: so far it went from {signed(run.lengths[0])} to {signed(run.lengths[step])}. Every "
        f"step of SGD is at right angles to v, so by Pythagoras ${WEIGHT_NORM['growth']}$, with the learning rate η; "
        f"over this run the two sides differ by {_rounded(gap)}. **The longer v, the less one and the same ∂l/∂v turns "
        f"it**. Here {turns}"
        + (", as ∂l/∂v is larger there." if run.turned[min(step, STEPS - 1)] > run.turned[0] else ".")
    )
    before, now, alone, without = (
        signed(loss, 3) for loss in (run.losses[0], run.losses[step], only.losses[step], plain.losses[step])
    )
    st.markdown(
        f"**Weight norm learns both v and g** ([{scheme.reference.text}]({scheme.reference.url}), eq. 3): so far g "
        f"went from 1 to {signed(run.g[step])}, and the loss from {before} to {now}. Where only v is learned, g stays "
        f"1, and the loss is {alone}; that of plain w is {without}."
    )


def _plane(runs: dict[str, Path], theme: str) -> Callable[[int], None]:
    """v and w in the plane of two principal components; what comes back shows them at a step."""
    run, plain = runs["weight"], runs["plain"]
    x, y = extent([run.v, run.w, plain.w])
    losses = plane_losses(x, y)
    tracks = {V: run.v, W: run.w, PLAIN: plain.w}

    def show(step: int) -> None:
        now = min(step, STEPS - 1)
        downhill, length = -run.dv[now], np.linalg.norm(run.dv[now])
        end = run.v[now] + downhill / (length or 1.0) * 0.16 * (x[-1] - x[0])
        arrows = {"−∇<sub>v</sub> l": (run.v[now], end)} if length else {}
        alt = (
            f"The plane of the weights at step {step}: v at ({_pair(run.v[step])}), w on the line through it and the "
            f"origin at length {abs(run.g[step]):.3g}, plain w at ({_pair(plain.w[step])}); the gradient is at right "
            "angles to v."
        )
        plot(plane(x, y, losses, tracks, step, arrows, abs(run.g[step]), theme), "plane", alt, "min(29rem, 95vw)")
        st.caption(
            f"Logistic regression, digit {PAIR[0]} against {PAIR[1]}, on two principal components. Thin lines: equal "
            "loss of w. Circle: where w may be while its length is |g|. Faint: the steps to come."
        )

    return show


def _pictures(runs: dict[str, Path], theme: str, step: int) -> None:
    """Directions of w as pictures of 8 × 8 pixels, in one scale for the whole run."""
    made = {"w/‖w‖, w = g v/‖v‖": _directions(runs["weight"]), "plain w/‖w‖": _directions(runs["plain"])}
    largest = max(float(np.abs(each).max()) for each in made.values())
    before, after = (each[step].reshape(SIDE, SIDE) for each in made.values())
    alt = f"The directions of w = g v/‖v‖ and of plain w at step {step} as pictures of 8 × 8 pixels."
    plot(before_after(before, after, list(made), theme, largest), "pictures", alt, "20rem")
    st.caption(
        f"Directions as pictures: digit {PAIR[1]} where positive, {PAIR[0]} where negative. Lengths: ‖v‖ = "
        f"{signed(runs['weight'].lengths[step])}, g = {signed(runs['weight'].g[step])}; plain ‖w‖ = "
        f"{signed(runs['plain'].lengths[step])}. Faint in the curves: the steps to come."
    )


def _directions(run: Path) -> np.ndarray:
    """w/‖w‖ by step: that of v, or the opposite where g is below 0."""
    return np.copysign(1.0, run.g)[:, None] * run.v / run.lengths[:, None]


def _curves(runs: dict[str, Path], step: int, theme: str) -> None:
    """The curves of the runs up to a step, two beside each other where there is room."""
    run, only, plain = (runs[key] for key in ("weight", "direction", "plain"))
    angles = {V: run, DIRECTION: only, PLAIN: plain}
    smoothed = {thing: _smooth(each.turned) for thing, each in angles.items()}
    panels = {
        "lengths": ("‖v‖", {V: run.lengths, DIRECTION: only.lengths}),
        "turned": (
            "Turned in a step (°)",
            {thing: np.maximum(values, LEAST_ANGLE) for thing, values in smoothed.items()},
        ),
        "gains": ("g, and ‖w‖ of plain w", {LENGTH: run.g, DIRECTION: only.g, PLAIN: plain.g}),
        "losses": ("Loss", {W: run.losses, DIRECTION: only.losses, PLAIN: plain.losses}),
    }
    for row in (("lengths", "turned"), ("gains", "losses")):
        for column, key in zip(st.columns(2), row, strict=True):
            title, curves = panels[key]
            now = [(thing.name, values[: step + 1]) for thing, values in curves.items()]
            ends = [f"{name} from {signed(seen[0], 3)} to {signed(seen[-1], 3)}" for name, seen in now]
            alt = f"{title.replace(' (°)', ', in degrees')}, up to step {step} of {STEPS}: {'; '.join(ends)}."
            with column:
                plot(by_step(title, curves, step, STEPS, theme), key, alt, "13.5rem")
    small = any((values < LEAST_ANGLE).any() for values in smoothed.values())
    st.caption(
        f"The angle is the mean of the last {SMOOTHED} steps."
        + (f" Below {typeset(LEAST_ANGLE)}° it is drawn at that." if small else "")
    )


def _pair(point: np.ndarray) -> str:
    return ", ".join(signed(value, 3) for value in point)


def _rounded(number: float) -> str:
    """A number that is 0 where nothing is rounded."""
    return measured(number, 2, RELATIVE["float64"])


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
        plot(
            divided_values(run.values, sigma, float(run.sigma.min()), "Singular values", theme), "divided", alt, "24rem"
        )
    with right:
        errors = {"σ": (run.error, run.error_law), "v: tan of its angle": (run.turn, run.turn_law)}
        gaps = (gap_text(max(float(error[step]), 0.0)) for error in (run.error, run.turn))
        alt = "Relative error up to step {}: {} of σ, {} of its vector.".format(step, *gaps)
        plot(falling_errors(errors, step, "Relative error of the estimate", theme), "power", alt, "24rem")
    st.markdown(
        f"**Step {step}**: the largest singular value is estimated at σ = {sigma:.4g}; it is σ₁ = {first:.4g}. Divided "
        f"by the estimate, it becomes **{first / sigma:.4f}**, and should become 1. How fast that comes is up to "
        f"σ₂/σ₁ = {ratio:.3f}: in the end every step multiplies the error of the vector by (σ₂/σ₁)² = {ratio**2:.3f}, "
        f"and that of σ by (σ₂/σ₁)⁴ = {ratio**4:.3f}. All singular values are divided by one number, so their ratios "
        "stay as they were."
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
        f"the ratio {_rounded(found.along[-1])}. So this gives no bi-Lipschitz bound. Nor is ‖∇f‖ = 1: it lies between "
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
        f"**A convolution may still stretch**: {above:,} of {len(ratios):,} pairs of pictures have a ratio above 1, "
        f"the largest is {ratios.max():.3g}. What is divided by is the σ₁ of the kernel's matrix, which sees one "
        f"square of pixels; a pixel is in up to {overlap} squares, so the layer's own σ₁ is {found.values[0]:.3g}, and "
        f"at most √{overlap} = {sqrt(overlap):.3g}."
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
            "Largest mean": [_rounded(np.abs(row.means).max()) for row in made.values()],
            "Largest singular value": [f"{row.values[0]:.4g}" for row in made.values()],
            "Smallest": [_rounded(row.values[-1]) for row in made.values()],
        },
        border="horizontal",
    )
    st.caption(f"Logarithmic axes end at {typeset(LEAST)}; of singular values below that the table has the smallest.")
    for scheme in WEIGHT_SCHEMES:
        st.markdown(f"**{scheme.label}**: {scheme.about} {sources(scheme)}")
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
