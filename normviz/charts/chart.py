"""Figures as plain dictionaries with Plotly's names, as `plotly.graph_objects` builds them, but without its checks.

Plotly's checks of every value took most of a page's time. The tests pass all figures to them instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partialmethod
from typing import Any

from normviz.charts.packing import pack_message

PANEL_TITLE_STYLE = {"showarrow": False, "xanchor": "center", "xref": "paper", "yanchor": "bottom", "yref": "paper"}
"""Position of a panel's title relative to the panel."""

TEMPLATE = {"data": {"scatter": [{"marker": {"line": {"width": 0}}}]}}
"""Defaults of all figures: markers have no border, even where their sizes differ."""


class Figure:
    """Figure for plotly.js: traces and a layout, each a plain dictionary.

    Attributes:
        data: the traces, in the order in which they are drawn.
        layout: axes, titles, shapes and everything else.
    """

    def __init__(self, data: Sequence[Mapping[str, Any]] = (), layout: Mapping[str, Any] | None = None) -> None:
        self.data, self.layout = [merge_dictionaries({}, trace) for trace in data], merge_dictionaries({}, layout or {})
        self._panels: dict[tuple[int, int], str] = {}

    def add(self, kind: str, row: int | None = None, col: int | None = None, **values: Any) -> None:
        """Add a trace of a Plotly type, to the panel (row, col) if the figure has panels; values None are dropped."""
        place = {}
        if row is not None and col is not None:
            number = self._panels[row, col]
            place = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        self.data.append(merge_dictionaries({}, {"type": kind, **values, **place}))

    add_scatter = partialmethod(add, "scatter")
    add_bar = partialmethod(add, "bar")
    add_heatmap = partialmethod(add, "heatmap")
    add_contour = partialmethod(add, "contour")

    def add_annotation(self, **values: Any) -> None:
        """Add a text, given by Plotly's annotation properties, to the layout."""
        self.layout.setdefault("annotations", []).append(merge_dictionaries({}, values))

    def add_shape(self, **values: Any) -> None:
        """Add a line or a rectangle, given by Plotly's shape properties, to the layout."""
        self.layout.setdefault("shapes", []).append(merge_dictionaries({}, values))

    def add_picture(self, **values: Any) -> None:
        """Add a picture, given by Plotly's image properties, to the layout."""
        self.layout.setdefault("images", []).append(values)

    def add_vline(self, x: float, line: dict, row: int | None = None, col: int | None = None) -> None:
        """Add a vertical line over the full height at x, to the panel (row, col), or to all panels."""
        for number in self._list_axis_suffixes(row, col):
            self.add_shape(type="line", x0=x, x1=x, xref=f"x{number}", y0=0, y1=1, yref=f"y{number} domain", line=line)

    def add_hline(self, y: float, line: dict, row: int | None = None, col: int | None = None) -> None:
        """Add a horizontal line over the full width at y, to the panel (row, col), or to all panels."""
        for number in self._list_axis_suffixes(row, col):
            self.add_shape(type="line", x0=0, x1=1, xref=f"x{number} domain", y0=y, y1=y, yref=f"y{number}", line=line)

    def update_layout(self, **values: Any) -> None:
        """Merge values into the layout's dictionary, recursively."""
        merge_dictionaries(self.layout, values)

    def update_axes(self, axis: str, row: int | None = None, col: int | None = None, **values: Any) -> None:
        """Merge values into the "x" or "y" axes of all panels, of a row, of a column or of one panel."""
        if isinstance(values.get("title"), str):
            values["title"] = {"text": values["title"]}
        for number in self._list_axis_suffixes(row, col):
            merge_dictionaries(self.layout.setdefault(f"{axis}axis{number}", {}), values)

    update_xaxes = partialmethod(update_axes, "x")
    update_yaxes = partialmethod(update_axes, "y")

    def update_annotations(self, **values: Any) -> None:
        """Merge values into every text of the layout."""
        for each in self.layout.get("annotations", []):
            merge_dictionaries(each, values)

    def to_dict(self) -> dict:
        """Return the figure as the argument of `plotly.graph_objects.Figure`."""
        return {"data": self.data, "layout": self.layout}

    def to_message(self) -> bytes:
        """Return the figure with Plotly's template as bytes, packed by `pack_message`, for the browser."""
        return pack_message({"data": self.data, "layout": self.layout | {"template": TEMPLATE}})

    def _list_axis_suffixes(self, row: int | None, col: int | None) -> Iterator[str]:
        """Yield the axis suffixes ("", "2", "3", …) of the panels in a row, a column, or all."""
        if not self._panels:
            yield ""
        for (r, c), number in self._panels.items():
            if row in (None, r) and col in (None, c):
                yield number


def make_subplots(
    rows: int,
    cols: int,
    subplot_titles: Sequence[str],
    shared_xaxes: bool = False,
    shared_yaxes: bool = False,
    horizontal_spacing: float = 0.0,
    vertical_spacing: float = 0.0,
) -> Figure:
    """Return a figure with a grid of empty panels, each below its title; rows and columns count from 1.

    Shared x axes move together in a column and have ticks in the lowest row only; shared y axes move together in a row
    and have ticks in the first column only. Spacings are fractions of the whole width and height.
    """
    figure = Figure()
    width, height = ((1 - space * (n - 1)) / n for n, space in ((cols, horizontal_spacing), (rows, vertical_spacing)))
    for row in range(rows):
        for col in range(cols):
            number, low = _format_axis_suffix(row * cols + col), rows - 1 - row
            left, bottom = col * (width + horizontal_spacing), low * (height + vertical_spacing)
            figure._panels[row + 1, col + 1] = number
            x: dict[str, Any] = {"anchor": f"y{number}", "domain": [left, left + width]}
            y: dict[str, Any] = {"anchor": f"x{number}", "domain": [bottom, bottom + height]}
            if shared_xaxes and low:
                x |= {"matches": f"x{_format_axis_suffix((rows - 1) * cols + col)}", "showticklabels": False}
            if shared_yaxes and col:
                y |= {"matches": f"y{_format_axis_suffix(row * cols)}", "showticklabels": False}
            figure.layout |= {f"xaxis{number}": x, f"yaxis{number}": y}
    for title, number in zip(subplot_titles, figure._panels.values(), strict=False):
        (left, right), (_, top) = (figure.layout[f"{axis}axis{number}"]["domain"] for axis in "xy")
        figure.add_annotation(text=title, x=(left + right) / 2, y=top, font={"size": 16}, **PANEL_TITLE_STYLE)
    return figure


def merge_dictionaries(target: dict, values: Mapping[str, Any]) -> dict:
    """Merge values recursively into the dictionary `target`, in place, and return it; None removes a key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            target[key] = merge_dictionaries(target.get(key) or {}, value)
        elif value is not None:
            target[key] = value
        else:
            target.pop(key, None)
    return target


def _format_axis_suffix(place: int) -> str:
    """Return Plotly's axis suffix of the panel at an index from 0: "", "2", "3", …"""
    return str(place + 1) if place else ""
