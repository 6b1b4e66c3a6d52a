"""Figures in the page: one component for all, which redraws in place and keeps camera and zoom."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from normviz.charts.chart import Figure
from normviz.web.components.component import create_component
from normviz.web.script_routes import get_plotly_url

_HTML = """
<div class="nv-plot">
  <div class="nv-readout"></div>
  <div class="nv-frame">
    <div class="nv-graph"></div><svg class="nv-labels" aria-hidden="true"></svg>
    <button type="button" class="nv-home" hidden>Reset view</button>
  </div>
  <div class="nv-stages" hidden></div>
  <div class="nv-under">
    <div class="nv-told"><div class="nv-board" aria-hidden="true"></div><p aria-live="polite"></p></div>
    <div class="nv-legend"></div>
  </div>
  <details class="nv-fold" hidden>
    <summary>Pull apart or cut away</summary>
    <div class="nv-inside"></div>
    <div class="nv-hidden" hidden>The locked element is cut away, but still drawn.</div>
  </details>
  <div class="nv-live" aria-live="polite"></div>
</div>
"""


@dataclass(frozen=True)
class CubeParts:
    """Interactive parts of a figure that shows a cube.

    Attributes:
        hover: result of `cube.build_hover_data`.
        focus: the locked element.
        index_letters, symbol: letters of its indices and of the tensor.
        axes: names of the tensor's axes.
        labels: names of the copies' results in the readout; x̂ for a single copy.
        legend: meaning of the colours, as HTML; hidden while stages are played.
        no_stages_note: reason why `hover` has no stages to play, if it is to be shown.
        view: camera, gaps and cut, by the names of `cube_view`.
        on_focus: called when a click or the keyboard locks another element.
        on_view: called when the browser has changed the view, which is then in `st.session_state[f"{key} plot"].view`.
    """

    hover: dict | None = None
    focus: Sequence[int] | None = None
    index_letters: Sequence[str] = ()
    symbol: str = "x"
    axes: Sequence[str] = ()
    labels: Sequence[str] = ()
    legend: str = ""
    no_stages_note: str = ""
    view: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    on_focus: Callable[[], Any] = lambda: None
    on_view: Callable[[], Any] = lambda: None


NO_CUBE = CubeParts()


def show_figure(figure: Figure, key: str, alt: str, height: str | None = None, cube: CubeParts = NO_CUBE) -> None:
    """Show a figure in an element `st-key-{key}`; the browser draws it again only when it changes.

    Args:
        key: of the element; its state in the session is `st.session_state[f"{key} plot"].focus`.
        alt: the picture in a sentence.
        height: in CSS; by default from style.css.
    """
    # plotly.js keeps its styles in the page's head, where a shadow root does not look.
    show = create_component("plot", _HTML, ("player", "saving"), isolate_styles=False)
    data = {
        "figure": figure.to_message(),
        "library": get_plotly_url(),
        "name": key,
        "alt": alt,
        "height": height,
        "hover": cube.hover,
        "focus": None if cube.focus is None else list(cube.focus),
        "names": list(cube.index_letters),
        "symbol": cube.symbol,
        "labels": list(cube.labels),
        "still": cube.no_stages_note,
        "legend": cube.legend,
        "axes": list(cube.axes),
        "view": {name: list(value) for name, value in cube.view.items()},
    }
    with st.container(key=key):
        show(key=f"{key} plot", data=data, on_focus_change=cube.on_focus, on_view_change=cube.on_view)
