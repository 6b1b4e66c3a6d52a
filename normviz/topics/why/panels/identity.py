"""The panel "γ and β": they can undo the normalization."""

import numpy as np
import streamlit as st

from normviz.core.registry import SCHEMES
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.describe.wording import format_shape
from normviz.topics.why import state
from normviz.topics.why.figures import draw_identity_lines
from normviz.topics.why.identity import SHAPE
from normviz.ui.link import View
from normviz.web.components.plot import show_figure


def show(view: View, theme: str) -> None:
    """Show y over x while γ and β undo batch norm, and a link to the experiment on the initial γ and β."""
    found, start, there = (
        state.get_undone_batch_norm(part, view["eps"], view["seed"]) for part in (view["part"], 0.0, 1.0)
    )
    span = (float(min(start.y.min(), there.y.min())), float(max(start.y.max(), there.y.max())))
    least = RELATIVE_TOLERANCES["float64"] * float(np.abs(found.x).max())
    gap, none = (format_number(each.gap, 2, least) for each in (found, there))
    told = "" if view["part"] == 1 else f" Here, {view['part']:.0%} of the way there, it differs by up to {gap}."
    st.markdown(f"### With γ = √(σ²+ε) and β = μ the layer does nothing: y differs from x by {none}.{told}")
    ends = [np.array([each.min(), each.max()]) for each in found.x]
    made = [np.array([each.min(), each.max()]) for each in found.y]
    left, right = st.columns([3, 2], gap="large")
    with left:
        alt = f"Output over input, a line for each of {SHAPE[3]} channels, and the line y = x: apart by {gap}."
        show_figure(draw_identity_lines(ends, made, span, theme), "lines", alt, "24rem")
    with right:
        columns = {"μ": found.mean, "√(σ²+ε)": found.deviation, "γ": found.gain, "β": found.bias}
        st.table(
            {"c": [str(k) for k in range(SHAPE[3])]}
            | {name: [typeset(each, 4) for each in numbers] for name, numbers in columns.items()},
            border="horizontal",
        )
        st.caption(
            f"Batch norm on feature maps of digits, (N, H, W, C) = {format_shape(SHAPE)}. What normalizing takes from "
            "the layer, γ and β can give back: so a network with it can represent all that one without can "
            f"([{SCHEMES['batch'].reference.text}]({SCHEMES['batch'].reference.url}), section 3)."
        )
    st.markdown(
        "Do the initial values of γ and β matter? An [experiment](experiments?show=start&start_schemes=batch) tries 35 "
        "pairs."
    )
