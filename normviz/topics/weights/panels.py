"""The panels of the page "Weight normalization": weight norm under SGD, and spectral norm."""

from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import streamlit as st

from normviz.charts.palette import THEMES
from normviz.core.registry import SCHEMES
from normviz.core.settings import build_settings
from normviz.core.text import capitalize_first, format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.describe import notation
from normviz.describe.notation import WEIGHT_NORM_FORMULAS
from normviz.describe.wording import format_gap
from normviz.topics.weights import state
from normviz.topics.weights.descent import DIGIT_PAIR, STEPS, DescentPath, Setting, compare_losses, measure_growth_gap
from normviz.topics.weights.descent_figures import draw_descent_paths, draw_values_by_step, make_square_grid
from normviz.topics.weights.figures import draw_ellipses, draw_stretch_histograms
from normviz.topics.weights.weights import FIRST_LAYERS, PowerIteration, flatten_to_matrix, run_power_iteration
from normviz.ui.legend import show_legend
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure

FIGURE_HEIGHT = "min(34rem, 95vw, var(--nv-plane, 38vh))"

ABOVE_ONE = 1 + 1e-9
"""Smallest ratio that counts as above 1, beyond rounding."""


def show_weight_norm(view: View, theme: str) -> None:
    """Show SGD with and without weight norm: the paths of w, the losses, and the lengths of w and v."""
    runs = state.get_descent_paths(build_settings(Setting, view))
    Player(state.PREFIX, "step", "Training step", STEPS, speed=5).show(partial(_show_steps, runs, view, theme))
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
    losses = {f"loss, {name}": runs[key].losses for key, name in state.RUN_NAMES.items()}
    columns = {"‖v‖": run.lengths, "g": run.g} | losses
    return {"step": list(range(STEPS + 1))} | {name: values.tolist() for name, values in columns.items()}


def _show_steps(runs: dict[str, DescentPath], view: View, theme: str, step: int) -> None:
    run = runs["weight"]
    drawn, scaled = {name: runs[key] for key, name in state.RUN_NAMES.items()}, state.name_scaled_run(view)
    if is_compared := view["scaled"] and state.is_relevant(view, "scaled"):
        drawn[scaled] = runs["scaled"]
    st.markdown(f"### {_format_headline(runs, step)}")
    if step:
        st.markdown(_compare_scaled_run(runs, scaled) if is_compared else _explain_rate_factor(runs))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _explain_runs([*drawn], theme)
        mark = _find_equal_losses(runs) if step == STEPS else None
        losses = {name: each.losses for name, each in drawn.items()}
        height = f"calc({FIGURE_HEIGHT} - 2rem)"
        _draw_curves(losses, step, "loss", height, theme, has_legend=False, mark=mark)
    with right:
        lighter = "Lighter" if theme == "light" else "Darker"
        st.markdown(f"Arrows: w, the two weights of a classifier.  \n{lighter}: a lower loss.")
        _draw_plane({name: each.w for name, each in drawn.items()}, run.v[0], step, theme)
    if step:
        lengths = [typeset(run.lengths[k], 3) for k in (0, step)]
        st.markdown(f"### v only gets longer: ‖v‖ from {lengths[0]} to {lengths[1]}")
        _draw_curves({"‖v‖": run.lengths, "g": run.g}, step, "length", "18rem", theme, first_style=len(runs))
        st.markdown(_explain_growth(run, view["rate"]))


def _explain_runs(names: list[str], theme: str) -> None:
    line = "repeating-linear-gradient(90deg, {} 0 {}em, transparent 0 {}em) 0 / 100% 4px no-repeat; width: 2.7em"
    dashes = ((1.2, 1.2), (0.75, 1.2), (0.2, 0.4))  # length and period in em: solid, dashed, dotted
    sentences = ("trains w.", "trains v and g.", "trains w.")
    shown = zip(names, THEMES[theme].lines, dashes, sentences, strict=False)  # one each, in their order
    show_legend((line.format(hue, *dash), capitalize_first(name), text) for name, hue, dash, text in shown)


def _format_headline(runs: dict[str, DescentPath], step: int) -> str:
    """Return a sentence with the losses at a step, or, after the last step, with the comparison of both runs."""
    weight, plain = (f"{runs[key].losses[step]:.2f}" for key in ("weight", "plain"))
    if step == 0:
        return f"Before the first step the loss of all runs is {weight}."
    if step < STEPS:
        return f"Step {step}: the loss is {weight} with weight norm, {plain} without."
    early, late = compare_losses(runs["weight"], runs["plain"])
    if not late:
        answer = {-1: "faster", 0: "as fast", 1: "slower"}[early]
        return f"Here it is {answer} at first. After {STEPS} steps both losses are about equal."
    found = _find_equal_losses(runs)
    if found is None:
        return f"Here the loss ends at {weight} with weight norm, at {plain} without."
    answer, (weight_step, plain_step) = ("Yes", found[:2]) if late < 0 else ("No", found[1::-1])
    return f"{answer}, here: the same loss takes {weight_step} steps with weight norm, {plain_step} without."


def _find_equal_losses(runs: dict[str, DescentPath]) -> tuple[int, int, float] | None:
    """Return the steps that the run that ends lower, and the other, take to the final loss of the other; and that loss.

    None if both end about equal, if the other is first there or lower at first, or if it ends no lower than it began.
    """
    early, late = compare_losses(runs["weight"], runs["plain"])
    better, other = (runs[key].losses for key in (("weight", "plain") if late < 0 else ("plain", "weight")))
    step, other_step = (int(np.argmax(losses <= other[-1])) for losses in (better, other))
    return (step, other_step, float(other[-1])) if late and early != -late and 0 < step < other_step else None


def _explain_rate_factor(runs: dict[str, DescentPath]) -> str:
    """Return sentences on the factor by which weight norm multiplies the learning rate of w's direction."""
    run = runs["weight"]
    factor, end_factor = run.rate_factors[[0, -1]]
    is_equal = np.isclose(factor, 1)
    early, late = compare_losses(run, runs["plain"])
    # The factor is a reason only if the run with weight norm is faster where it raises the rate, and slower where not.
    is_reason = early * late >= 0 and (early or late) * ((end_factor if is_equal else factor) - 1) < 0
    why = "**Why? " if is_reason else "**"
    if is_equal:
        change = "shorter" if run.g[-1] < run.g[0] else "longer"
        return (
            f"{why}v is as long as w, so at first w turns as without weight norm.** Then v gets longer, and w gets "
            f"{change}: after {STEPS} steps w turns as with {typeset(end_factor, 2)} times the learning rate."
        )
    v, change, turn, pace = ("long", "smaller", "less", "slower")
    if factor > 1:
        v, change, turn, pace = ("short", "larger", "further", "faster")
    ratio = run.g[0] / run.lengths[0]
    times, ratio = typeset(max(factor, 1 / factor), 3), typeset(max(ratio, 1 / ratio), 4)
    return (
        f"{why}A {v} v acts as a {times} times {change} learning rate for the direction of w.** At first v is {ratio} "
        f"times {v}er than w: the gradient that turns v is {ratio} times {change}, and the same step turns v {ratio} "
        f"times {turn}, so {ratio} × {ratio} = {times}. The length g learns no {pace}."
    )


def _compare_scaled_run(runs: dict[str, DescentPath], name: str) -> str:
    """Return sentences on the run without weight norm at the learning rate at which weight norm first turns w."""
    weight, scaled = (f"{runs[key].losses[-1]:.2f}" for key in ("weight", "scaled"))
    text = f"**Is it the step size?** The loss ends at {weight} with weight norm, at **{scaled}** {name}."
    is_faster = compare_losses(runs["weight"], runs["plain"])[1] < 0 and runs["weight"].rate_factors[0] > 1
    is_matched = compare_losses(runs["scaled"], runs["weight"])[1] <= 0
    return text + (" So larger steps alone explain why training is faster." if is_faster and is_matched else "")


def _draw_curves(
    curves: dict[str, np.ndarray], step: int, quantity: str, height: str, theme: str, **style: Any
) -> None:
    """Draw curves of a quantity up to a step; `height` in CSS, `style` as in `draw_values_by_step`."""
    said = "; ".join(f"{name} from {typeset(each[0], 3)} to {typeset(each[step], 3)}" for name, each in curves.items())
    alt = f"The {quantity} up to step {step} of {STEPS}: {said}."
    show_figure(draw_values_by_step(curves, step, quantity, theme, **style), quantity, alt, height)


def _draw_plane(drawn: dict[str, np.ndarray], v: np.ndarray, step: int, theme: str) -> None:
    """Draw the loss over the plane of the two weights, with named paths (steps + 1, 2) up to a step.

    `v`: the vector v of weight norm at the start, (2,).
    """
    best, start = state.get_best_weights(), next(iter(drawn.values()))[0]
    grid = make_square_grid(np.concatenate([*drawn.values(), best[None], v[None]]))
    places = "; ".join(f"{name} at ({_format_coordinates(points[step])})" for name, points in drawn.items())
    alt = (
        f"The plane of the two weights at step {step}, coloured by the loss, which is lowest at "
        f"({_format_coordinates(best)}). From ({_format_coordinates(start)}): {places}."
    )
    figure = draw_descent_paths(grid, state.get_plane_losses(*grid), best, drawn, v, step, theme)
    show_figure(figure, "plane", alt, FIGURE_HEIGHT)


def _explain_growth(run: DescentPath, rate: float) -> str:
    gap = measure_growth_gap(run, rate)
    checked = "equal up to rounding" if gap <= RELATIVE_TOLERANCES["float64"] else f"within {format_number(gap, 2)}"
    reason = ", although the gradient of v is larger there" if run.turn_angles[-1] > run.turn_angles[0] else ""
    return (
        f"A gradient step is at right angles to v, so by Pythagoras ${WEIGHT_NORM_FORMULAS['growth']}$, with the "
        f"learning rate η (in this run {checked}). The longer v is, the less the same gradient turns it: the first "
        f"step turned v by {typeset(run.turn_angles[0], 2)}°, the last one by "
        f"{typeset(run.turn_angles[-1], 2)}°{reason}."
    )


def _format_coordinates(point: np.ndarray) -> str:
    return ", ".join(typeset(value, 3) for value in point)


def show_spectral_norm(view: View, theme: str) -> None:
    """Show a layer's weights divided by their largest stretch, and pairs of inputs before and after it."""
    w = state.get_layer_weights(view["layer"], view["trained"], view["seed"])
    run = run_power_iteration(flatten_to_matrix(w), state.ITERATION_COUNT, view["seed"])
    pairs, values = state.get_stretch_ratios(w, view["layer"], view["seed"])
    Player(state.PREFIX, "iteration", "Step of the power iteration", state.ITERATION_COUNT, speed=2).show(
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
        show_figure(draw_stretch_histograms(pairs, theme), "ratios", alt, "21rem")
    st.caption(
        "Left: where the weights map inputs of length 1, in the two directions that are stretched the most; σ is the "
        f"estimate of σ₁ after step {step} of power iteration. Right: {len(pairs['after']):,} pairs of digits, before "
        "and after the division by σ₁."
    )


def _describe_bounds(ratios: np.ndarray, singular_values: np.ndarray, overlap: int) -> str:
    """Return sentences on how a layer after spectral norm stretches; a pixel is in `overlap` patches of the layer."""
    above, lost = int((ratios > ABOVE_ONE).sum()), int((singular_values < 1e-9 * singular_values[0]).sum())
    upper = (
        f"**No pair gets further apart**: the largest ratio is {ratios.max():.3g}. Divided by σ₁, the layer is "
        "1-Lipschitz."
        if singular_values[0] <= ABOVE_ONE
        else f"**A convolution may still stretch**: {above:,} of {len(ratios):,} pairs have a ratio above 1, the "
        f"largest is {ratios.max():.3g}. σ₁ is that of the kernel's matrix, which sees one square of pixels. A pixel "
        f"is in up to {overlap} squares, so the whole layer can stretch up to {singular_values[0]:.3g} times, and at "
        f"most √{overlap} = {sqrt(overlap):.3g}."
    )
    weakest = (
        f"{lost} of the {len(singular_values)} directions of the input are mapped to 0"
        if lost
        else f"in its weakest direction the layer shrinks an input to {format_gap(singular_values[-1])} of its length"
    )
    return f"{upper} **Nothing is bounded from below**: {weakest}."


PANELS = {"norm": show_weight_norm, "spectral": show_spectral_norm}
