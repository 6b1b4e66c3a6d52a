"""Panels of the page "Same or different?", one at a time, on the tensor of the link."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.topics.same.panels.detection import show_detector
from normviz.topics.same.panels.own_pair import show_own_pair
from normviz.topics.same.panels.pair_questions import show_pair
from normviz.topics.same.panels.variants import show_variants
from normviz.topics.same.state import PANELS, PREFIX
from normviz.topics.same.variants import VARIANTS
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import wait_for_turn
from normviz.ui.link import View, draw_segments
from normviz.ui.tensor import get_view_shape, make_tensor
from normviz.ui.tensor_controls import draw_fit_button

Panel = Callable[[View, np.ndarray, str], None]
"""Function (view, tensor, theme) that shows a panel."""


def show(view: View, theme: str) -> None:
    """Show the open panel, or an error if its tensor cannot be shown."""
    draw_segments(PREFIX + "panel", "Show", PANELS)
    with st.container():
        if view["panel"] == "detect":
            show_detector(view)
        else:
            panels = {"same": (show_pair, 2), "variants": (show_variants, len(VARIANTS)), "own": (show_own_pair, 2)}
            _show_tensor_panel(view, theme, *panels[view["panel"]])


def _show_tensor_panel(view: View, theme: str, panel: Panel, copies: int) -> None:
    """Show a panel that draws `copies` cubes of the page's tensor, or suggest a smaller shape if that is too much."""
    limit = MAX_DRAWN_ELEMENTS // copies
    try:
        check_shape(get_view_shape(view), AXES["activation"], limit)
        x = make_tensor(view)
    except InvalidInput as error:
        show_error(error)
        draw_fit_button(view, limit)
        return
    with wait_for_turn(copies * x.size):
        panel(view, x, theme)
