"""The panel "Other examples": the output for one example in many mini-batches, by scheme."""

import numpy as np
import streamlit as st

from normviz.core.registry import SCHEMES
from normviz.describe.wording import format_decimals
from normviz.topics.running import effects
from normviz.topics.running.figures import draw_strips
from normviz.topics.running.state import build_stream_setting
from normviz.ui.link import View
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

cached_outputs = st.cache_data(max_entries=16, show_spinner=False)(
    lambda setting, eps: effects.normalize_in_random_batches(setting, eps=eps)
)


def show(view: View, theme: str) -> None:
    """Show how the output of one example depends on the others in its mini-batch, by scheme."""
    drawn, words = draw_outputs_in_random_batches(view, theme)
    show_figure(drawn.figure, "effect", drawn.alt, drawn.height)
    st.markdown(words)


def draw_outputs_in_random_batches(view: View, theme: str) -> tuple[DrawnFigure, str]:
    """Draw one example's outputs in many mini-batches, by scheme; return the figure and sentences on it."""
    setting, unit = build_stream_setting(view), view["unit"] - 1
    found = {key: outputs[:, unit] for key, outputs in cached_outputs(setting.without_drift, view["eps"]).items()}
    spread = {key: float(np.ptp(outputs)) for key, outputs in found.items()}
    rows = {f"{SCHEMES[key].label}  range {format_decimals(spread[key])}": outputs for key, outputs in found.items()}
    alt = f"Output of one test digit in {effects.DRAW_COUNT} mini-batches: {'; '.join(rows)}."
    axis = f"x̂ of one test digit at neuron {view['unit']}, in {effects.DRAW_COUNT} batches of {setting.batch}"
    drawn = DrawnFigure(draw_strips(rows, axis, theme), alt, "14rem")
    depends = "Batch norm's x̂ depends on the other examples in the batch, layer norm's on this example alone."
    if setting.batch == 1:
        depends = "In batches of one there are no other examples."
    return drawn, f"Range: largest minus smallest x̂. {depends}"
