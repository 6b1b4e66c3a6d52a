"""The panel on layer norm with three channels: vectors in space, stage by stage."""

import numpy as np
import streamlit as st

from normviz.core.settings import build_settings
from normviz.core.text import typeset
from normviz.topics.geometry.space_figures import draw_gradient, draw_normalization, draw_step
from normviz.topics.geometry.state import PREFIX, Page, is_relevant
from normviz.topics.geometry.three_channels import (
    CIRCLE_RADIUS,
    INCOMING_GRADIENT,
    LEARNING_RATE,
    STAGES,
    DescentStep,
    ForwardPass,
    ThreeChannelExample,
    format_vector,
    normalize_example,
)
from normviz.ui.link import View, draw_segments
from normviz.ui.settings import Controls
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

TURN_TOLERANCE = 1e-3
"""A step that turns v by fewer degrees counts as no turn."""


def show(view: View, theme: str) -> None:
    """Show one example's three channels as a vector in space, at a stage of layer norm, with controls of x and ε."""
    example = build_settings(ThreeChannelExample, view)
    controls = Controls(Page, PREFIX, view, is_relevant)
    _choose_stage(example.stage)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        drawn = draw_vectors(example, theme)
        show_figure(drawn.figure, "space", drawn.alt, drawn.height)
        dragged = st.columns(4)
    with right:
        st.markdown(f"### {format_stage_headline(example)}")
        st.markdown(format_stage_explanation(example))
        if example.stage == "normalize":
            st.table(tabulate_vectors(example), border="horizontal")
    for column, name in zip(dragged, ("x1", "x2", "x3", "eps"), strict=True):  # last: the page follows what is dragged
        with column:
            controls.draw(name)


def draw_vectors(example: ThreeChannelExample, theme: str) -> DrawnFigure:
    """Draw the vectors of the example's stage in space, with a text alternative."""
    long, short = example.take_steps()
    if example.stage == "normalize":
        figure = draw_normalization(long.before, theme)
    elif example.stage == "gradient":
        figure = draw_gradient(long, theme)
    else:
        figure = draw_step(long, short, theme)
    return DrawnFigure(figure, _format_alt_text(long, short, example.stage), "min(25rem, 60vw, 50vh)")


def tabulate_vectors(example: ThreeChannelExample) -> dict[str, list[str]]:
    """Return {title: cells} of a table of x, v and x̂: their three numbers, mean and length."""
    one = normalize_example(example.x, example.eps)
    arrows = {"**x**": one.x, "**v** = x − μ": one.v, "**x̂** = v / s": one.xhat}
    return {
        "Arrow": list(arrows),
        "Three numbers": [format_vector(each) for each in arrows.values()],
        "Mean": [typeset(round(float(each.mean()), 9), 3) for each in arrows.values()],
        "Length": [typeset(float(np.linalg.norm(each)), 3) for each in arrows.values()],
    }


def _choose_stage(stage: str) -> None:
    order = list(STAGES)
    follows = order[(order.index(stage) + 1) % len(order)]
    label, icon = ("Start again", "replay") if follows == order[0] else ("Next stage", "arrow_forward")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="stages"):
        st.button(
            label, PREFIX + "next", type="primary", icon=f":material/{icon}:",
            on_click=st.session_state.update, args=({PREFIX + "stage": follows},),
        )  # fmt: skip
        draw_segments(PREFIX + "stage", "Stage", STAGES)


def format_stage_headline(example: ThreeChannelExample) -> str:
    """Return the headline of the example's stage: what it does to the vectors, with numbers."""
    (long, short), stage = example.take_steps(), example.stage
    if not long.before.v.any():
        return "All three numbers are equal: without their mean nothing is left."
    if stage == "normalize":
        is_inside = _is_shortened_by_eps(long.before)
        return "ε keeps x̂ inside the circle." if is_inside else "Layer norm keeps only the direction of v = x − μ."
    if long.angle < TURN_TOLERANCE:
        return "Here a gradient step does not turn the vector."
    if stage == "gradient":
        is_inside = _is_shortened_by_eps(long.before)
        return "∂L/∂x lies in the plane." if is_inside else "∂L/∂x is at a right angle to v."
    return f"A step turns the short vector {typeset(short.angle / long.angle, 2)} times as far."


def format_stage_explanation(example: ThreeChannelExample) -> str:
    """Return the explanation of the example's stage below its picture, in sentences."""
    (long, short), stage = example.take_steps(), example.stage
    one = long.before
    if stage == "normalize":
        is_inside = _is_shortened_by_eps(one)
        about = "" if is_inside else ", nearly the standard deviation σ"
        return (
            f"- Subtract the mean μ = {typeset(one.mean, 3)} from each number: x moves straight to **v**, in the "
            f"**plane** of arrows with sum 0.\n- Divide by s = √(σ² + ε) = {typeset(one.divisor, 3)}{about}: "
            + _describe_xhat_position(one, example.eps)
        )
    if not one.v.any():
        return "v is 0 and has no direction that a step could turn."
    if stage == "gradient":
        scaled = np.array(INCOMING_GRADIENT) / one.divisor
        centred = scaled - scaled.mean()
        shift = "Adding the same number to all x does not change x̂"
        part, why = (
            ("some of the part", f"{shift}. Because of ε, a longer v does, but little.")
            if _is_shortened_by_eps(one)
            else (
                "the part",
                f"{shift}, nor does a longer v. So ∂L/∂x has no part along (1, 1, 1) or v = {format_vector(one.v)}.",
            )
        )
        return (
            f"{why} For example, from ∂L/∂x̂ = {format_vector(np.array(INCOMING_GRADIENT))}:\n\n"
            f"1. Divide by s = √(σ² + ε) = {typeset(one.divisor, 3)}: {format_vector(scaled)}.\n"
            f"2. First projection, subtract the mean: {format_vector(centred)}, the thin arrow.\n"
            f"3. Second projection, subtract {part} along v, {format_vector(centred - long.gradient)}: "
            f"**∂L/∂x** = {format_vector(long.gradient)}, the thick arrow."
        )
    turns = [
        f"- **{name}**: the step is {typeset(float(np.linalg.norm(each.change)), 2)} long and turns it by "
        f"**{typeset(each.angle, 2)}°**\n"
        for name, each in {"v": long, "½ v": short}.items()
    ]
    reason = "Layer norm divides the gradient by s, too. For ½ v, s is smaller, so the step is longer."
    return (
        f"**½ v** has the direction of **v** and half its length. Both make a gradient step (learning rate "
        f"{LEARNING_RATE}):\n\n"
        f"{''.join(turns)}\n{reason if long.angle >= TURN_TOLERANCE else ''}"
    )


def _describe_xhat_position(forward: ForwardPass, eps: float) -> str:
    """Describe in a clause where x̂ ends: on the circle of radius √3, inside it or at the origin."""
    if not forward.v.any():
        return "v is 0, and so is x̂." + ("" if eps else " 0/0 counts as 0 here; PyTorch returns NaN.")
    if _is_shortened_by_eps(forward):
        return f"x̂ has the length {typeset(float(np.linalg.norm(forward.xhat)), 3)}, less than the circle’s radius √3."
    return (
        "v becomes **x̂**, which ends on the **circle** of radius √3 = 1.73.\n- Every x in the blue wall has the same x̂."
    )


def _format_alt_text(long: DescentStep, short: DescentStep, stage: str) -> str:
    one = long.before
    drawn = {"x": one.x, "v on the plane of vectors whose sum is 0": one.v, "x̂ inside or on a circle": one.xhat}
    said = "; ".join(f"{name}: {format_vector(each)}" for name, each in drawn.items())
    turns = f"; a step turns v by {long.angle:.3g}° and ½ v by {short.angle:.3g}°" if stage == "step" else ""
    return f"Vectors in space. {said}{turns}."


def _is_shortened_by_eps(forward: ForwardPass) -> bool:
    """Return True if x̂ is clearly inside the circle."""
    return float(1 - np.linalg.norm(forward.xhat) / CIRCLE_RADIUS) > 5e-4
