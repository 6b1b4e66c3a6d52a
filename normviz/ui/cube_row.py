"""One tensor in several cubes side by side, one for each scheme."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.charts import cube
from normviz.charts.axis_titles import make_axis_titles
from normviz.charts.cube_layout import compute_layout
from normviz.charts.palette import THEMES
from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import Scheme
from normviz.core.text import join_words
from normviz.describe.wording import SchemeOnShape, format_scheme_label, format_shape
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import Param, View
from normviz.ui.tensor import store_chosen_element
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import CubeParts, DrawnFigure

SINGLE_CUBE_HEIGHT = "27rem"
"""Height of a single cube; for several, the browser derives it from the width."""


def show_cubes(
    schemes: Sequence[Scheme], x: np.ndarray, xhats: Sequence[np.ndarray], view: View, camera: Param, theme: str,
    colouring: tuple[np.ndarray, dict] | None = None,
) -> None:  # fmt: skip
    """Show cubes in a row, in one scene; each highlights the elements that share statistics with the chosen one.

    `camera`: the page's own; the others as for `draw_cube_row`.
    """
    drawn = draw_cube_row(schemes, x, xhats, view, theme, colouring)
    on_view = make_view_callback("cubes plot", [camera])
    parts = replace(drawn.cube, on_focus=lambda: store_chosen_element("cubes plot"), on_view=on_view)
    show_figure(drawn.figure, key="cubes", height=drawn.height, alt=drawn.alt, cube=parts)


def draw_cube_row(
    schemes: Sequence[Scheme], x: np.ndarray, xhats: Sequence[np.ndarray], view: View, theme: str,
    colouring: tuple[np.ndarray, dict] | None = None,
) -> DrawnFigure:  # fmt: skip
    """Draw cubes in a row, in one scene; each highlights the elements that share statistics with the chosen one.

    `colouring`: levels and legend of all copies together, as for `cube.draw_cube`, by default plain.
    """
    levels, legend = colouring or cube.make_uniform_levels((len(schemes), *x.shape))
    layout = compute_layout("folded", x.shape)
    plain = schemes[0].remove_normalization()
    brief, *titles = (
        make_axis_titles(SchemeOnShape(each, x.shape), layout, THEMES[theme]) for each in (plain, *schemes)
    )
    labels = [format_scheme_label(scheme) for scheme in schemes]
    lit = (f" {each.label}: {SchemeOnShape(each, x.shape).describe_lit_elements(view['focus'])}." for each in schemes)
    alt = f"The same tensor {format_shape(x.shape)} in {len(schemes)} cubes, one for each scheme.{''.join(lit)}"
    texts = cube.build_labels_data(
        layout, [words for words, _ in titles], labels, short_titles=brief[0], colours=[hues for _, hues in titles]
    )
    fields, filled = [(scheme.field, scheme.summation) for scheme in schemes], legend["kind"] == "plain"
    parts = CubeParts(
        title=f"{join_words(labels, 'and')}, {' × '.join(plain.axes)} = {' × '.join(map(str, x.shape))}",
        hover=cube.build_hover_data(layout, fields, x, xhats, filled, labels=texts),
        focus=view["focus"],
        index_letters=[AXIS_NAMES[name].letter for name in plain.axes],
        symbol=plain.symbol,
        labels=labels,
        view={"camera": view["camera"]},
    )
    figure = cube.draw_cube(layout, levels, legend, theme)
    height = None if len(schemes) > 1 else SINGLE_CUBE_HEIGHT
    return DrawnFigure(figure, alt, height, parts)
