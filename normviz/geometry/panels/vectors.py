"""The panel on layer norm with three channels: vectors in space, stage by stage, and the numbers behind them."""

import numpy as np
import streamlit as st

from normviz.core.settings import build
from normviz.core.text import typeset
from normviz.geometry.space_figures import stage_figure, step_figure
from normviz.geometry.state import PREFIX, Page
from normviz.geometry.three_channels import (
    CHANNELS,
    RADIUS,
    RATE,
    STAGES,
    Example,
    Forward,
    Step,
    take_step,
    vector_words,
)
from normviz.ui.components.plot import plot
from normviz.ui.link import View, segments
from normviz.ui.saving import save_table
from normviz.ui.settings import Controls

ON_CIRCLE = 5e-4
"""A vector that is shorter than the radius by no more than this part is said to lie on the circle."""

TURNED = 1e-3
"""A step that turns v by fewer degrees is said not to turn it."""


def show(view: View, theme: str) -> None:
    """Show the vectors up to a stage, the numbers of each stage, and the controls of x and ε."""
    example = build(Example, view)
    long, short = (take_step(times * example.x, example.eps) for times in (1.0, 0.5))
    one, controls = long.before, Controls(Page, PREFIX, view)
    st.markdown(f"### {headline(long, short, example.stage)}")
    segments(PREFIX + "stage", "Stage", STAGES)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        step = example.stage == "step"
        figure = step_figure(long, short, theme) if step else stage_figure(one, example.stage, theme)
        plot(figure, "space", _alt(long, short, example.stage), "min(27rem, 72vw)")
    with right:
        st.markdown("\n".join(_lines(long, short, example.eps)[: list(STAGES).index(example.stage) + 1]))
        dragged = st.columns(2)
    save_table(lambda: numbers(long), "layer-norm-vectors")
    for k, name in enumerate(("x1", "x2", "x3", "eps")):  # last: what is dragged is followed by the page
        with dragged[k // 2]:
            controls.draw(name)


def numbers(step: Step) -> dict[str, list]:
    """Return the vectors of all stages, channel by channel."""
    one = step.before
    columns = {"x": one.x, "v": one.v, "x̂": one.xhat, "step": step.change, "x̂ after the step": step.after.xhat}
    return {"channel": list(range(1, CHANNELS + 1))} | {name: each.tolist() for name, each in columns.items()}


def headline(long: Step, short: Step, stage: str) -> str:
    """Return the point of a stage."""
    if stage == "example":
        return "One example of three numbers is one arrow."
    if not long.before.v.any():
        return "All three numbers are equal: without their mean nothing is left."
    if stage == "centre":
        return "Subtracting the mean moves x straight onto the plane."
    if stage == "divide" and not _is_inside(long.before):
        return "Dividing keeps the direction, not the length."
    if stage == "divide":
        return "ε keeps x̂ inside the circle."
    if long.angle < TURNED:
        return "Here a gradient step does not turn the vector."
    return f"Layer norm: a step turns the short vector {typeset(short.angle / long.angle, 2)} times as far."


def _lines(long: Step, short: Step, eps: float) -> list[str]:
    """Return a line of a numbered list for each stage."""
    one, length = long.before, typeset(float(np.linalg.norm(long.before.xhat)), 3)
    place = "It ends on the **circle** of radius √3."
    if _is_inside(one):
        place = f"Its length is **{length}**, less than the radius √3."
    if not one.v.any():
        place = "v is 0, and so is x̂." + ("" if eps else " 0/0 counts as 0 here; PyTorch returns NaN.")
    steps = (long, short)
    turns = [f"{typeset(float(np.linalg.norm(each.change)), 2)} long, **{typeset(each.angle, 2)}°**" for each in steps]
    step = (
        f"Now a gradient step (learning rate {RATE}) moves x. From the long vector v: {turns[0]}. From ½ v, where the "
        f"gradient is larger: {turns[1]}."
    )
    return [
        f"1. **x** = {vector_words(one.x)}: three numbers of one example, one for each channel, drawn as one arrow.",
        f"2. **v** = x − μ = {vector_words(one.v)}: subtract the mean μ = {typeset(one.mean, 3)}. The numbers of v sum "
        "to 0, so v lies on the **plane**.",
        f"3. **x̂** = v / s = {vector_words(one.xhat)}: divide by s = √(variance σ² + ε) = "
        f"{typeset(one.divisor, 3)}. {place}",
        f"4. {step if one.v.any() else 'v has no direction that a step could turn.'}",
    ]


def _alt(long: Step, short: Step, stage: str) -> str:
    """Return the picture in a sentence."""
    one = long.before
    drawn = {"x": one.x, "v on the plane of vectors whose sum is 0": one.v, "x̂ inside or on a circle": one.xhat}
    said = "; ".join(f"{name}: {vector_words(each)}" for name, each in drawn.items())
    turns = f"; a step turns v by {long.angle:.3g}° and ½ v by {short.angle:.3g}°" if stage == "step" else ""
    return f"Vectors in space. {said}{turns}."


def _is_inside(one: Forward) -> bool:
    """Return True if ε keeps x̂ visibly inside the circle."""
    return float(1 - np.linalg.norm(one.xhat) / RADIUS) > ON_CIRCLE
