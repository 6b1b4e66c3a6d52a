"""Charts of the Table 1 page: the twins' losses and their gap."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from normviz.ui.chart import Figure, make_subplots
from normviz.ui.palette import THEMES
from normviz.ui.style import FLOOR, finish, rule

DIVERGES = 100.0
"""Losses beyond this are drawn on a logarithmic axis."""


class Twin(NamedTuple):
    """One network's curves, by step: its losses, and their gap to the original; None for the original itself."""

    name: str
    losses: np.ndarray
    gaps: np.ndarray | None


def training_curves(twins: Sequence[Twin], rounding: float, theme: str = "light") -> Figure:
    """The losses above, the gaps on a logarithmic axis below, over the steps; each twin in its colour and dash.

    `rounding`: the gap up to which rounding explains it, a line; NaN and infinity: none.
    """
    colours = THEMES[theme]
    styles = [
        {"color": colours.original, "width": 7},
        {"color": colours.transformed, "width": 3, "dash": "dash"},
        {"color": colours.matched, "width": 3, "dash": "dot"},
    ]
    titles = ("Loss", "Gap to the original, relative")
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.13, subplot_titles=titles)
    diverges = False
    for twin, style in zip(twins, styles, strict=False):
        steps = np.arange(1, len(twin.losses) + 1)
        loss = np.where(np.isfinite(twin.losses), twin.losses, np.nan)
        diverges |= bool(np.nanmax(loss, initial=0.0) > DIVERGES)
        figure.add_scatter(x=steps, y=loss, name=twin.name, line=style, mode="lines", row=1, col=1)
        if twin.gaps is not None:
            gaps = np.where(np.isfinite(twin.gaps), np.maximum(twin.gaps, FLOOR), np.nan)
            shown = {"line": style, "mode": "lines", "showlegend": False}
            figure.add_scatter(x=steps, y=gaps, name=twin.name, **shown, row=2, col=1)
    if np.isfinite(rounding):
        figure.add_hline(rounding, line=rule(colours), row=2, col=1)
        figure.add_annotation(
            text="rounding, up to here", x=1, xref="x2 domain", xanchor="right",
            y=np.log10(rounding), yref="y2", yanchor="bottom", showarrow=False,
        )  # fmt: skip
    figure.update_xaxes(title={"text": "step", "standoff": 4}, row=2, col=1)
    figure.update_yaxes(exponentformat="power")
    figure.update_yaxes(type="log" if diverges else "linear", row=1, col=1)
    figure.update_yaxes(type="log", dtick=4, range=[-17.5, 2.5], row=2, col=1)
    return finish(figure, colours, {"t": 30, "b": 30, "l": 60}, {"y": -0.22})
