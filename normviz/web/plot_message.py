"""The message from which plot.js draws a figure, and the markup that it fills.

Without Streamlit, so that a web page of its own is built from it, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from normviz.charts.chart import Figure

PLOT_HTML = """
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
"""The markup of a figure; a part stays hidden or empty where a figure does not need it."""

PLOT_STYLES = ("button", "player", "saving", "plot")
"""The names of its style sheets."""


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
        title: heading of the cube in a web page of its own.
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
    title: str = ""
    view: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    on_focus: Callable[[], Any] = lambda: None
    on_view: Callable[[], Any] = lambda: None


NO_CUBE = CubeParts()


class DrawnFigure(NamedTuple):
    """A figure in one theme, ready to be shown: its alternative text, its height in CSS, and the parts of a cube."""

    figure: Figure
    alt: str
    height: str | None = None
    cube: CubeParts = NO_CUBE


def build_plot_message(
    figure: Figure,
    key: str,
    alt: str,
    height: str | None = None,
    cube: CubeParts = NO_CUBE,
    library: str = "",
    page: str = "",
) -> dict[str, Any]:
    """Return a figure's `PlotMessage`, from arguments as for `show_figure`.

    `library`: the address of plotly.js, empty for a page that already holds it. `page`: that of the web page that a
    figure is saved as, empty if it cannot be saved as one.
    """
    return {
        "figure": figure.to_message(),
        "library": library,
        "page": page,
        "name": key,
        "title": cube.title,
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
