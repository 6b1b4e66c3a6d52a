"""One tensor in several cubes side by side, one for each scheme."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.charts import cube
from normviz.charts.axis_titles import make_axis_titles
from normviz.charts.cube_layout import compute_layout
from normviz.charts.palette import THEMES
from normviz.core.fields import AXIS_NAMES, Index
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.text import format_number, join_words
from normviz.describe.wording import SchemeOnShape, format_scheme_label, format_shape
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import Param, View
from normviz.ui.tensor import store_chosen_element
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import CubeParts, DrawnFigure

SINGLE_CUBE_HEIGHT = "27rem"
"""Height of a single cube; for several, the browser derives it from the width."""

MAX_LISTED_CHANNELS = 6
"""Most channels whose standard deviations are listed over a cube."""

NOTE_NAMES = {"value": "x̂", "mean": "Average of the channel", "std": "Std of each channel"}
"""Names of what stands over each cube, of the chosen element or its example, by the value `note` of a page."""


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
    marked = list_marked_schemes(schemes, view)
    lit = (
        f" {label}: {SchemeOnShape(each, x.shape).describe_lit_elements(view['focus'])}."
        for label, each in zip(labels, marked, strict=True)
    )
    alt = f"The same tensor {format_shape(x.shape)} in {len(schemes)} cubes, one for each scheme.{''.join(lit)}"
    texts = cube.build_labels_data(
        layout, [words for words, _ in titles], labels, short_titles=brief[0], colours=[hues for _, hues in titles],
        notes=[_format_note(view.get("note", ""), xhat, view["focus"]) for xhat in xhats],
        rows=["" if row.any() else "padding" for row in x[0, :, 0]] if view.get("data") == "padded" else (),
    )  # fmt: skip
    fields, filled = [(scheme.field, scheme.summation) for scheme in marked], legend["kind"] == "plain"
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


def list_marked_schemes(schemes: Sequence[Scheme], view: View) -> list[Scheme]:
    """List for each cube the scheme whose field is highlighted: its own, or for the mean of a channel that channel."""
    return [SCHEMES["instance"] if view.get("note") == "mean" else scheme for scheme in schemes]


def _format_note(kind: str, xhat: np.ndarray, focus: Index) -> str:
    """Format a line over a cube, by a key of `NOTE_NAMES`: a blank if "covered"; "" for x̂, which the browser writes."""
    if kind == "covered":
        return "\u00a0"
    example = xhat[focus[0]]
    if kind == "mean":
        return f"average in the frame: {format_number(round(example[..., focus[3]].mean(), 2))}"
    if kind == "std":
        return f"std by channel: {', '.join(f'{std:.2f}' for std in example.std(axis=(0, 1))[:MAX_LISTED_CHANNELS])}"
    return ""
