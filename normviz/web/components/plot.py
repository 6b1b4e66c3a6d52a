"""Figures in the page: one component for all, which redraws in place and keeps camera and zoom."""

import streamlit as st

from normviz.charts.chart import Figure
from normviz.web.components.component import create_component
from normviz.web.plot_message import NO_CUBE, PLOT_HTML, PLOT_STYLES, CubeParts, build_plot_message
from normviz.web.script_routes import get_plotly_url, get_saved_page_url


def show_figure(figure: Figure, key: str, alt: str, height: str | None = None, cube: CubeParts = NO_CUBE) -> None:
    """Show a figure in an element `st-key-{key}`; the browser draws it again only when it changes.

    Args:
        key: of the element; its state in the session is `st.session_state[f"{key} plot"].focus`.
        alt: the picture in a sentence.
        height: in CSS; by default from pages.css.
    """
    # plotly.js keeps its styles in the page's head, where a shadow root does not look.
    show = create_component("plot", PLOT_HTML, PLOT_STYLES[:-1], isolate_styles=False)
    data = build_plot_message(figure, key, alt, height, cube, get_plotly_url(), get_saved_page_url())
    with st.container(key=key):
        show(key=f"{key} plot", data=data, on_focus_change=cube.on_focus, on_view_change=cube.on_view)
