"""The panels of the page "Weight normalization": weight norm under SGD, and spectral norm."""

from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import streamlit as st

from normviz.charts.palette import THEMES
from normviz.core.registry import SCHEMES
from normviz.core.settings import build_settings
from normviz.core.text import capitalize_first, format_number
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.describe import notation
from normviz.describe.notation import WEIGHT_NORM_FORMULAS
from normviz.describe.wording import format_gap, format_signed
from normviz.topics.weights.descent import (
    DIGIT_PAIR,
    STEPS,
    DescentPath,
    Setting,
    compare_losses,
    measure_growth_gap,
)
from normviz.topics.weights.descent_figures import draw_descent_paths, draw_values_by_step, make_square_grid
from normviz.topics.weights.figures import draw_ellipses, draw_ratio_histograms
from normviz.topics.weights.state import (
    ITERATION_COUNT,
    PREFIX,
    RUN_NAMES,
    get_best_weights,
    get_descent_paths,
    get_layer_weights,
    get_plane_losses,
    get_stretch_ratios,
)
from normviz.topics.weights.weights import FIRST_LAYERS, PowerIteration, flatten_to_matrix, run_power_iteration
from normviz.ui.legend import show_legend
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure

ANSWERS = {
    (-1, -1): "Here it does: after {steps} steps the loss is {weight}, without weight norm {plain}.",
    (-1, 0): "Here it is faster at first. After {steps} steps both losses are about equal.",
    (-1, 1): "Here it is faster at first, but its loss is higher after {steps} steps.",
    (0, -1): "Here it is no faster at first, but its loss is lower after {steps} steps.",
    (0, 0): "Here it does not: both losses are about equal.",
    (0, 1): "Here it does not: after {steps} steps the loss is {weight}, without weight norm {plain}.",
    (1, -1): "Here it is slower at first, but its loss is lower after {steps} steps.",
    (1, 0): "Here it is slower at first. After {steps} steps both losses are about equal.",
    (1, 1): "Here it is slower: after {steps} steps the loss is {weight}, without weight norm {plain}.",
}
"""The answer to "Does weight normalization train faster?" by the signs of `compare_losses`."""

STEP_SIZE_ANSWER = "Weight norm is faster here because it turns w {factor} times as fast."
"""The answer if weight norm ends lower, but no lower than plain SGD whose learning rate gives as large steps."""

FIGURE_HEIGHT = "min(34rem, 95vw, var(--nv-plane, 38vh))"

ABOVE_ONE = 1 + 1e-9
"""Smallest ratio that counts as above 1, beyond rounding."""


def show_weight_norm(view: View, theme: str) -> None:
    """Show SGD with and without weight norm: the paths of w, the losses, and the lengths of w and v."""
    runs = get_descent_paths(build_settings(Setting, view))
    Player(PREFIX, "step", "Step of SGD", STEPS, speeds=(5,)).show(partial(_show_steps, runs, view["rate"], theme))
    with st.container(horizontal=True, gap="medium"):
        for name in ("weights", "gradient of g", "gradient of v"):
            st.latex(WEIGHT_NORM_FORMULAS[name], width="content")
    st.caption(
        "Each digit is two numbers, its first principal components x₁ and x₂. "
        f"If w₁x₁ + w₂x₂ > 0, the answer is {DIGIT_PAIR[1]}."
    )
    draw_download_button(lambda: tabulate_descent(runs), "weight-norm")


def tabulate_descent(runs: dict[str, DescentPath]) -> dict[str, list]:
    """Return the lengths and losses of all runs as columns by name, with an element for each step."""
    run = runs["weight"]
    losses = {f"loss, {name}": runs[key].losses for key, name in RUN_NAMES.items()}
    columns = {"‖v‖": run.lengths, "g": run.g} | losses
    return {"step": list(range(STEPS + 1))} | {name: values.tolist() for name, values in columns.items()}


def _show_steps(runs: dict[str, DescentPath], rate: float, theme: str, step: int) -> None:
    """Show the paths, losses and lengths of the runs of SGD up to a step."""
    run = runs["weight"]
    st.markdown(f"### {_format_headline(runs, step)}")
    if step:
        st.markdown(_explain_rate_factor(runs))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        named = _name_runs(runs)
        _explain_runs([*named], theme)
        _draw_curves(
            {name: each.losses for name, each in named.items()},
            step,
            "loss",
            f"calc({FIGURE_HEIGHT} - 2rem)",
            theme,
            has_legend=False,
        )
    with right:
        st.markdown(f"w has two weights here. {'Lighter' if theme == 'light' else 'Darker'}: a lower loss.")
        _draw_plane(runs, step, theme)
    if step:
        lengths = [format_signed(run.lengths[k], 3) for k in (0, step)]
        st.markdown(f"### v only gets longer: ‖v‖ from {lengths[0]} to {lengths[1]}")
        _draw_curves({"‖v‖": run.lengths, "g": run.g}, step, "length", "18rem", theme, first_look=len(runs))
        st.markdown(_explain_growth(run, rate))


def _name_runs(runs: dict[str, DescentPath]) -> dict[str, DescentPath]:
    """Return the drawn runs by name; the plain run at a larger or smaller learning rate is left out if it is equal."""
    named = {name: runs[key] for key, name in RUN_NAMES.items()}
    factor = _format_rate_factor(runs["weight"])
    return named if factor == "1" else named | {f"without, at {factor} times the learning rate": runs["scaled"]}


_SENTENCES = ("SGD changes w itself.", "SGD changes v and g.", "SGD changes w itself.")
"""What each curve's run trains."""

_DASHES = ((1.2, 1.2), (0.75, 1.2), (0.2, 0.4))
"""Length and period of each curve's dashes in the legend, in em: solid, dashed, dotted."""


def _explain_runs(names: list[str], theme: str) -> None:
    """Show what the named runs train, in the style of their curves."""
    line = "repeating-linear-gradient(90deg, {} 0 {}em, transparent 0 {}em) 0 / 100% 4px no-repeat; width: 2.7em"
    shown = zip(names, THEMES[theme].lines, _DASHES, _SENTENCES, strict=False)  # one each, in their order
    show_legend((line.format(hue, *dash), capitalize_first(name), text) for name, hue, dash, text in shown)


def _format_headline(runs: dict[str, DescentPath], step: int) -> str:
    """Return a sentence with the losses at a step, or, after the last step, with the comparison of both runs."""
    weight, plain = (f"{runs[key].losses[step]:.2f}" for key in ("weight", "plain"))
    if step == 0:
        return f"Before the first step the loss of all runs is {weight}."
    if step < STEPS:
        return f"Step {step}: the loss is {weight} with weight norm, {plain} without."
    signs, factor = compare_losses(runs["weight"], runs["plain"]), runs["weight"].rate_factors[0]
    if signs == (-1, -1) and factor > 1 and compare_losses(runs["scaled"], runs["weight"])[1] <= 0:
        return STEP_SIZE_ANSWER.format(factor=_format_rate_factor(runs["weight"]))
    return ANSWERS[signs].format(weight=weight, plain=plain, steps=STEPS)


def _format_rate_factor(run: DescentPath) -> str:
    return format_signed(run.rate_factors[0], 2)


def _explain_rate_factor(runs: dict[str, DescentPath]) -> str:
    """Return sentences on the factor by which weight norm multiplies the learning rate, and on SGD at that rate."""
    factor = _format_rate_factor(runs["weight"])
    weight, plain, scaled = (f"{runs[key].losses[-1]:.2f}" for key in ("weight", "plain", "scaled"))
    if factor == "1":
        return (
            "**Why?** At first v is as long as w, so weight norm changes the direction as much as plain SGD. "
            f"Plain SGD reaches a loss of {plain}, weight norm {weight}."
        )
    turns = "A shorter v makes larger" if runs["weight"].rate_factors[0] > 1 else "A longer v makes smaller"
    return (
        f"**Why?** {turns} turns: at first the direction changes as if the learning rate were "
        f"(g/‖v‖)² = **{factor}** times as large. "
        f"Plain SGD with such steps reaches a loss of **{scaled}**, weight norm {weight}, plain SGD with the "
        f"same learning rate {plain}."
    )


def _draw_curves(
    curves: dict[str, np.ndarray], step: int, quantity: str, height: str, theme: str, **style: Any
) -> None:
    """Draw curves of a quantity up to a step; `height` in CSS, `style` as in `draw_values_by_step`."""
    said = "; ".join(
        f"{name} from {format_signed(each[0], 3)} to {format_signed(each[step], 3)}" for name, each in curves.items()
    )
    alt = f"The {quantity} up to step {step} of {STEPS}: {said}."
    show_figure(draw_values_by_step(curves, step, quantity, theme, **style), quantity, alt, height)


def _draw_plane(runs: dict[str, DescentPath], step: int, theme: str) -> None:
    """Draw the loss over the plane of the two weights, with the paths of the runs up to a step."""
    drawn = {name: run.w for name, run in _name_runs(runs).items()}
    best, start = get_best_weights(), runs["weight"].w[0]
    grid = make_square_grid(np.concatenate([*drawn.values(), best[None]]))
    places = "; ".join(f"{name} at ({_format_coordinates(points[step])})" for name, points in drawn.items())
    alt = (
        f"The plane of the two weights at step {step}, coloured by the loss, which is lowest at "
        f"({_format_coordinates(best)}). From ({_format_coordinates(start)}): {places}."
    )
    show_figure(
        draw_descent_paths(grid, get_plane_losses(*grid), best, drawn, step, theme), "plane", alt, FIGURE_HEIGHT
    )


def _explain_growth(run: DescentPath, rate: float) -> str:
    """Return sentences on why v only gets longer, and why it therefore turns less."""
    gap = measure_growth_gap(run, rate)
    checked = "equal up to rounding" if gap <= RELATIVE_TOLERANCES["float64"] else f"within {format_number(gap, 2)}"
    reason = ", although the gradient of v is larger there" if run.turn_angles[-1] > run.turn_angles[0] else ""
    return (
        f"A step of SGD is at right angles to v, so by Pythagoras ${WEIGHT_NORM_FORMULAS['growth']}$, with the "
        f"learning rate η (in this run {checked}). The longer v is, the less the same gradient turns it: the first "
        f"step turned v by {format_signed(run.turn_angles[0], 2)}°, the last one by "
        f"{format_signed(run.turn_angles[-1], 2)}°{reason}."
    )


def _format_coordinates(point: np.ndarray) -> str:
    return ", ".join(format_signed(value, 3) for value in point)


def show_spectral_norm(view: View, theme: str) -> None:
    """Show a layer's weights divided by their largest stretch, and pairs of inputs before and after it."""
    w = get_layer_weights(view["layer"], view["trained"], view["seed"])
    run = run_power_iteration(flatten_to_matrix(w), ITERATION_COUNT, view["seed"])
    pairs, values = get_stretch_ratios(w, view["layer"], view["seed"])
    Player(PREFIX, "iteration", "Step of the power iteration", ITERATION_COUNT, speeds=(2,)).show(
        partial(_show_division, run, pairs, FIRST_LAYERS[view["layer"]].overlap > 1, theme)
    )
    st.markdown(_describe_bounds(pairs["after"], values, FIRST_LAYERS[view["layer"]].overlap))
    with st.container(horizontal=True, gap="medium"):
        for formula in notation.build_formulas(SCHEMES["spectral"]):
            st.latex(formula.latex, width="content")


def _show_division(run: PowerIteration, pairs: dict[str, np.ndarray], patches: bool, theme: str, step: int) -> None:
    """Show in two figures how far a layer stretches inputs, before and after the division by the estimate of a step.

    `patches`: True for a convolution, whose weights see one patch at a time.
    """
    sigma, first = run.sigma[step], run.values[0]
    outputs = "On one patch, outputs" if patches else "Outputs"
    st.markdown(
        f"### {outputs} are up to {first:.3g} times as long as inputs; divided by σ, up to {first / sigma:.3g} times."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        ends = f"{first:.4g} long before, {first / sigma:.4g} after the division"
        alt = f"Outputs of inputs of length 1 at step {step} of the power iteration: up to {ends}."
        show_figure(draw_ellipses(run.values, sigma, float(run.sigma.min()), theme), "ellipses", alt, "21rem")
    with right:
        most = {name: float(ratios.max()) for name, ratios in pairs.items()}
        alt = f"Histograms of the stretch of pairs of digits: up to {most['before']:.3g}, then {most['after']:.3g}."
        show_figure(draw_ratio_histograms(pairs, theme), "ratios", alt, "21rem")
    st.caption(
        "Left: where the weights map inputs of length 1, in the two directions that are stretched the most; σ is the "
        f"estimate of σ₁ after step {step} of power iteration. Right: {len(pairs['after']):,} pairs of digits, before "
        "and after the division by σ₁."
    )


def _describe_bounds(ratios: np.ndarray, values: np.ndarray, overlap: int) -> str:
    """Return sentences on how much a layer after spectral norm can stretch or shrink distances."""
    above, lost = int((ratios > ABOVE_ONE).sum()), int((values < 1e-9 * values[0]).sum())
    upper = (
        f"**No pair gets further apart**: the largest ratio is {ratios.max():.3g}. Divided by σ₁, the layer is "
        "1-Lipschitz."
        if values[0] <= ABOVE_ONE
        else f"**A convolution may still stretch**: {above:,} of {len(ratios):,} pairs have a ratio above 1, the "
        f"largest is {ratios.max():.3g}. σ₁ is that of the kernel's matrix, which sees one square of pixels. A pixel "
        f"is in up to {overlap} squares, so the whole layer can stretch up to {values[0]:.3g} times, and at most "
        f"√{overlap} = {sqrt(overlap):.3g}."
    )
    weakest = (
        f"{lost} of the {len(values)} directions of the input are mapped to 0"
        if lost
        else f"in its weakest direction the layer shrinks an input to {format_gap(values[-1])} of its length"
    )
    return f"{upper} **Nothing is bounded from below**: {weakest}."


PANELS = {"norm": show_weight_norm, "spectral": show_spectral_norm}
