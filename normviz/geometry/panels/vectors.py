"""The panel on layer norm with three channels: vectors in space, and the numbers behind them."""

from typing import SupportsFloat

import numpy as np
import streamlit as st

from normviz.core.settings import build
from normviz.core.text import typeset
from normviz.geometry.space_figures import backward_figure, forward_figure
from normviz.geometry.state import PREFIX, Page
from normviz.geometry.three_channels import CHANNELS, RADIUS, Backward, Example, Forward, backpropagate, forward
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.settings import Controls

DIGITS = 3

ON_SPHERE = 5e-4
"""A vector that is shorter than the radius by no more than this part is said to lie on the sphere."""

ALONG = 5e-4
"""A part of the gradient along x̂ that is no more than this part of its length is said to be gone."""


def show(view: View, theme: str) -> None:
    """Show the vectors of one pass beside the controls of x and ε, under one sentence."""
    example = build(Example, view)
    one, back = forward(example.x, example.eps), backpropagate(example.x, example.eps)
    sentence = _backward_sentence(one, back) if example.gradient else _forward_sentence(one)
    st.markdown(f"### {sentence}")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        figure = backward_figure(one, back, theme) if example.gradient else forward_figure(one, theme)
        plot(figure, "space", _alt(one, back, example.gradient), "min(27rem, 72vw)")
    with right:
        controls = st.container(gap="small")
        st.markdown(_backward_lines(one, back) if example.gradient else _forward_lines(one, example.eps))
    save_table(lambda: numbers(one, back), "layer-norm-vectors")
    with controls:  # last: what is dragged is followed by the page
        Controls(Page, PREFIX, view).draw("x1", "x2", "x3", "eps", "gradient")


def numbers(one: Forward, back: Backward) -> dict[str, list]:
    """Return the vectors of both passes, channel by channel."""
    columns = {
        "x": one.x, "v": one.v, "x̂": one.xhat, "∂l/∂x̂": back.incoming, "∂l/∂x̂ without its mean": back.centred,
        "and without its part along x̂": back.projected, "∂l/∂x": back.outgoing,
    }  # fmt: skip
    return {"channel": list(range(1, CHANNELS + 1))} | {name: each.tolist() for name, each in columns.items()}


def _forward_sentence(one: Forward) -> str:
    """Return what the forward pass does to x, with μ and the divisor."""
    if not one.v.any():
        return "All three values are equal: after subtracting μ nothing is left, and x̂ = 0."
    place = "onto the sphere" if _gap(one) <= ON_SPHERE else "inside the sphere, because of ε"
    return (
        f"Subtracting μ = {_number(one.mean)} moves x onto the plane. "
        f"Dividing by √(σ² + ε) = {_number(one.divisor)} moves it {place}."
    )


def _forward_lines(one: Forward, eps: float) -> str:
    """Return the numbers of the forward pass, a line for each step."""
    length = _number(np.linalg.norm(one.xhat))
    compared = f"= √3, on the sphere (up to ε = {typeset(eps)})" if 0 < _gap(one) <= ON_SPHERE and eps else "= √3"
    if _gap(one) > ON_SPHERE:
        compared = f"< √3 = {_number(RADIUS)}"
    lines = [
        f"**v** = x − μ = {_vector(one.v)}. The values of v add up to 0.",
        f"**x̂** = v / √(σ² + ε) = {_vector(one.xhat)}",
        f"**‖x̂‖** = {length} {compared}",
    ]
    if not one.v.any() and not eps:
        lines.append("At ε = 0 the division is 0/0: we set x̂ = 0, PyTorch returns NaN.")
    return "\n".join(f"- {line}" for line in lines)


def _backward_sentence(one: Forward, back: Backward) -> str:
    """Return what the backward pass takes from the gradient."""
    if not one.v.any():
        return "All three values are equal, so x̂ = 0: the gradient loses only its mean."
    if _part_along(one, back) <= ALONG:
        return "The gradient loses its mean and its part along x̂. Only the part that turns x̂ is left."
    return "The gradient loses its mean. Because of ε > 0 it keeps some of its part along x̂."


def _backward_lines(one: Forward, back: Backward) -> str:
    """Return the numbers of the backward pass, a line for each step."""
    lengths = [_number(np.linalg.norm(each)) for each in (back.incoming, back.projected, back.outgoing)]
    lines = [
        f"**g** = ∂l/∂x̂ = {_vector(back.incoming)}, an example",
        f"Both subtractions shorten it from {lengths[0]} to {lengths[1]}.",
        f"**∂l/∂x** = the result / √(σ² + ε) = {_vector(back.outgoing)}, of length {lengths[2]}. "
        "The longer v, the larger σ, and the smaller ∂l/∂x.",
    ]
    if not one.divisor:
        lines[2] = "At ε = 0 the division is by 0: we set ∂l/∂x = 0, PyTorch returns NaN."
    return "\n".join(f"- {line}" for line in lines)


def _alt(one: Forward, back: Backward, gradient: bool) -> str:
    """Return the picture in a sentence."""
    place = f"x̂ = {_vector(one.xhat)}, of length {_number(np.linalg.norm(one.xhat))}, and a sphere of radius √3"
    if gradient:
        return f"{place}. At its end the gradient {_vector(back.incoming)}, of which {_vector(back.projected)} is left."
    return f"x = {_vector(one.x)}, v = {_vector(one.v)} on the plane of vectors whose sum is 0, {place}."


def _gap(one: Forward) -> float:
    """Return how far x̂ is inside the sphere, relative to the radius."""
    return float(1 - np.linalg.norm(one.xhat) / RADIUS)


def _part_along(one: Forward, back: Backward) -> float:
    """Return the part of the projected gradient along x̂, relative to the gradient that arrives."""
    along = abs(back.projected @ one.xhat) / np.linalg.norm(one.xhat)
    return float(along / np.linalg.norm(back.incoming))


def _number(value: SupportsFloat) -> str:
    return typeset(float(value), DIGITS)


def _vector(values: np.ndarray) -> str:
    return f"({', '.join(_number(round(value, 9)) for value in values)})"
