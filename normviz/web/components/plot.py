"""Figures in the page: one component for all, which redraws in place and keeps camera and zoom."""

from collections.abc import Callable, Mapping, Sequence
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


def show_figure(
    figure: Figure,
    key: str,
    alt: str,
    height: str | None = None,
    hover: dict | None = None,
    focus: Sequence[int] | None = None,
    index_letters: Sequence[str] = (),
    symbol: str = "x",
    labels: Sequence[str] = (),
    on_focus: Callable[[], Any] | None = None,
    no_stages_note: str = "",
    axes: Sequence[str] = (),
    view: Mapping[str, Sequence[Any]] | None = None,
    on_view: Callable[[], Any] | None = None,
    legend: str = "",
) -> None:
    """Show a figure in an element of the class `st-key-{key}`.

    Args:
        figure: drawn again only when it changes.
        key: of the element; its state in the session is `st.session_state[f"{key} plot"].focus`.
        alt: the picture in a sentence.
        height: in CSS; by default from style.css.
        hover, focus, index_letters, symbol: result of `cube.build_hover_data`, the locked element, the letters of its
            indices and of the tensor; without them there is no highlight.
        labels: names of the copies' results in the readout; x̂ for a single copy.
        on_focus: called when a click or the keyboard locks another element.
        axes: names of the tensor's axes.
        view: camera, gaps and cut of a cube, by the names of `cube_view`.
        on_view: called when the browser has changed the view, which is then in `st.session_state[f"{key} plot"].view`.
        legend: meaning of the cube's colours, as HTML; hidden while stages are played.
        no_stages_note: reason why `hover` has no stages to play, if it is to be shown.
    """
    # plotly.js keeps its styles in the page's head, where a shadow root does not look.
    show = create_component("plot", _HTML, ("player", "saving"), isolate_styles=False)
    data = {
        "figure": figure.to_message(),
        "library": get_plotly_url(),
        "name": key,
        "alt": alt,
        "height": height,
        "hover": hover,
        "focus": None if focus is None else list(focus),
        "names": list(index_letters),
        "symbol": symbol,
        "labels": list(labels),
        "still": no_stages_note,
        "legend": legend,
        "axes": list(axes),
        "view": {name: list(value) for name, value in (view or {}).items()},
    }
    with st.container(key=key):
        show(key=f"{key} plot", data=data, on_focus_change=on_focus or _nothing, on_view_change=on_view or _nothing)


def _nothing() -> None: ...
