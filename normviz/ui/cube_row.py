"""One tensor in several cubes side by side, one for each scheme."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.charts import cube
from normviz.charts.cube_layout import Layout, compute_layout
from normviz.charts.palette import THEMES, Theme
from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import SCHEMES, Scheme
from normviz.describe import wording
from normviz.describe.notation import TENSOR_SYMBOLS
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import Param, View
from normviz.ui.tensor import store_sent_focus
from normviz.web.components.plot import CubeParts, show_figure

SINGLE_CUBE_HEIGHT = "27rem"
"""Height of a single cube; for several, the browser derives it from the width."""


def make_axis_titles(scheme: Scheme, layout: Layout, colours: Theme) -> tuple[list[str], list[str]]:
    """Return the titles of x, y and z and their colours: averaged axes have the field's colour."""
    along, shape = layout.dimensions[:3], layout.shape
    hues = [colours.field if wording.is_averaged(scheme, axes, shape) else colours.muted for axes in along]
    return [wording.format_axis_title(scheme, axes, shape) for axes in along], hues


def show_cubes(
    schemes: Sequence[Scheme],
    x: np.ndarray,
    xhats: Sequence[np.ndarray],
    levels: np.ndarray,
    legend: dict,
    view: View,
    camera: Param,
    theme: str,
) -> None:
    """Show cubes in a row, in one scene, as the element `cubes`; each highlights its field of the locked element.

    `levels`, `legend`: for all copies together, as for `cube.draw_cube`; `camera`: the page's own.
    """
    layout = compute_layout("folded", x.shape)
    plain = replace(SCHEMES["none"], acts_on=schemes[0].acts_on)
    brief, *titles = (make_axis_titles(scheme, layout, THEMES[theme]) for scheme in (plain, *schemes))
    labels = [scheme.label for scheme in schemes]
    alt = (
        f"The same tensor {wording.format_shape(x.shape)} in {len(schemes)} cubes, one a scheme: {', '.join(labels)}. "
    )
    texts = cube.build_labels_data(
        layout, [words for words, _ in titles], labels, short_titles=brief[0], colours=[hues for _, hues in titles]
    )
    fields, filled = [(scheme.field, scheme.summation) for scheme in schemes], legend["kind"] == "plain"
    show_figure(
        cube.draw_cube(layout, levels, legend, theme),
        key="cubes",
        height=None if len(schemes) > 1 else SINGLE_CUBE_HEIGHT,
        alt=alt + "Lit in each is the field of the chosen element.",
        cube=CubeParts(
            cube.build_hover_data(layout, fields, x, xhats, filled, labels=texts),
            focus=view["focus"],
            index_letters=[AXIS_NAMES[name].letter for name in plain.axes],
            symbol=TENSOR_SYMBOLS.get(plain.acts_on, "x"),
            labels=labels,
            view={"camera": view["camera"]},
            on_focus=lambda: store_sent_focus("cubes plot"),
            on_view=make_view_callback("cubes plot", [camera]),
        ),
    )
