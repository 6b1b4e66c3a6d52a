"""What a report shows, as figures."""

import numpy as np

from normviz.experiments.experiment import Heat, Shown
from normviz.ui.chart import Figure
from normviz.ui.curves import curves
from normviz.ui.palette import THEMES
from normviz.ui.style import COLOUR_BAR, finish


def figure_of(shown: Shown, theme: str = "light") -> Figure:
    """The figure of a part of a report."""
    if isinstance(shown.panels, Heat):
        return heat_map(shown.panels, theme)
    return curves(shown.panels, theme)


def heat_map(heat: Heat, theme: str = "light") -> Figure:
    """Numbers by rows and columns, each written in its cell; what is good is strong in colour."""
    colours, figure = THEMES[theme], Figure()
    low, high = heat.ends
    scale = [[0, colours.middle], [1, colours.high]]
    figure.add_heatmap(
        z=np.clip(heat.values, low, high), zmin=low, zmax=high, xgap=2, ygap=2, colorbar=COLOUR_BAR,
        colorscale=scale if heat.good == "high" else [[0, colours.high], [1, colours.middle]],
        text=[["" if np.isnan(each) else heat.written(each) for each in row] for row in heat.values],
        texttemplate="%{text}", textfont={"size": 15}, hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    for update, names, title in (
        (figure.update_xaxes, heat.columns, heat.x),
        (figure.update_yaxes, heat.rows, heat.y),
    ):
        update(title={"text": title, "standoff": 4}, tickvals=[*range(len(names))], ticktext=list(names))
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=False, autorange="reversed", automargin=True)
    return finish(figure, colours, {"t": 10, "b": 60, "l": 70})
