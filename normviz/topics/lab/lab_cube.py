"""The tensor lab's cube as plain data, for the app and for web pages: its figure, its legend and its stages."""

from typing import Any, NamedTuple

import numpy as np

from normviz.charts import cube
from normviz.charts.axis_titles import make_axis_titles
from normviz.charts.colourings import format_colouring_name
from normviz.charts.cube_layout import PLAIN_ROLES, AxisRoles, compute_layout, count_gapless_boxes
from normviz.charts.palette import NOT_FINITE_COLOUR, THEMES
from normviz.core.fields import AXIS_NAMES, Index, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import LayerScalars
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.describe.wording import SchemeOnShape, find_windowed_axes, format_scheme_name
from normviz.topics.lab.stages import MAX_ANIMATED_ELEMENTS, build_stages
from normviz.web.plot_message import CubeParts, DrawnFigure

HIGHLIGHT_WORDS = {
    "lock": "the chosen element"
    '<span class="nv-keys">: click another, or use the arrow keys</span><span class="nv-taps">: tap another</span>',
    "pointer": "the element under the pointer",
    "window": "the element whose window it is",
}
"""Words as HTML for the highlighted element, by the reason of the highlight, which plot.js sets."""

AXIS_ROLES: dict[str, AxisRoles] = {"activation": PLAIN_ROLES, "weight": (2, 0, 1, 3)}
"""Axes drawn in the places of N, H, W and C, by tensor: the input channels of weights take the place of examples."""


class CubeLook(NamedTuple):
    """Visitor's choices for a cube: "folded" or "unfolded", a key of `COLOURING_NAMES`, and the locked element.

    If `is_picture`, values are drawn as brightness.
    """

    view: str
    colour: str
    focus: Index
    is_picture: bool = False


def draw_lab_cube(
    scheme_on_shape: SchemeOnShape, x: np.ndarray, result: NormalizationResult, layer: LayerScalars,
    look: CubeLook, theme: str,
    **parts: Any,
) -> DrawnFigure:  # fmt: skip
    """Draw the cube of x with the elements that share statistics with the chosen one, its legend and its stages.

    `layer` holds ε, γ, β and τ, `parts` further attributes of `CubeParts`.
    """
    scheme, colour = scheme_on_shape.scheme, look.colour
    roles = AXIS_ROLES[scheme.tensor]
    levels, legend = _compute_colour_levels(look, scheme, x, result)
    layout = compute_layout(look.view, x.shape, roles)
    titles, hues = make_axis_titles(scheme_on_shape, layout, THEMES[theme])
    block = AXIS_NAMES[scheme.axes[roles[0]]]
    note = f"Up to {MAX_ANIMATED_ELEMENTS:,} elements it can be watched step by step."
    still = "" if x.size <= MAX_ANIMATED_ELEMENTS else note
    played = [] if still else list(build_stages(scheme, x, result, layer))
    count = 0 if scheme.field is None else count_gapless_boxes(layout, scheme.field.find_box(look.focus, x.shape))
    words = format_cube_legend(colour, scheme_on_shape, theme, count <= cube.MAX_OUTLINED_BOXES, legend)
    stages = cube.build_stages_data(played, x.shape, theme) if len(played) > 1 else None
    labels = cube.build_labels_data(layout, [titles], block_name=(block.one, block.letter), colours=[hues])
    fields, filled = [(scheme.field, scheme.summation)], legend["kind"] == "plain"
    name = capitalize_first(format_scheme_name(scheme))
    cube_parts = CubeParts(
        title=f"{name}, {' × '.join(scheme.axes)} = {' × '.join(map(str, x.shape))}",
        hover=cube.build_hover_data(layout, fields, x, [result.xhat], filled, stages, labels),
        focus=look.focus, index_letters=[AXIS_NAMES[name].letter for name in scheme.axes],
        symbol=scheme.symbol, axes=scheme.axes,
        legend=describe_layout(look.view, scheme_on_shape) + words, no_stages_note=still, **parts,
    )  # fmt: skip
    alt = scheme_on_shape.describe_cube(look.focus, look.view, format_colouring_name(colour, scheme).lower())
    return DrawnFigure(cube.draw_cube(layout, levels, legend, theme), alt, None, cube_parts)


def choose_cube_view(scheme: Scheme) -> str:
    """Return the view that suits a scheme: "unfolded" for windows, else "folded"."""
    windows = any(rule.kind == "window" for field in scheme.fields for rule in field.rules)
    return "unfolded" if windows else "folded"


def _compute_colour_levels(
    look: CubeLook, scheme: Scheme, x: np.ndarray, result: NormalizationResult
) -> tuple[np.ndarray, dict]:
    values = {"value": x, "normalized": result.xhat, "output": result.y}
    colour = look.colour
    if colour == "value" and look.is_picture:
        return cube.compute_grey_levels(x)
    if colour in values:
        return cube.compute_value_levels(values[colour], format_colouring_name(colour, scheme))
    if colour == "field" or scheme.field is None:
        return cube.make_uniform_levels(x.shape, is_opaque=scheme.field is None)
    return cube.compute_hue_levels(x.shape, scheme.field)


def has_pictures(scheme: Scheme, shape: Shape) -> bool:
    """Return True if a tensor of this shape holds examples with rows and columns, and no weights."""
    return "N" in scheme.axes and min(shape[1:3]) > 1


def describe_layout(shown: str, scheme_on_shape: SchemeOnShape) -> str:
    """Return HTML on how axes share the sides of the cube in the view `shown`; "" if each axis has its own side."""
    scheme, shape = scheme_on_shape.scheme, scheme_on_shape.shape
    block, rows, columns, _ = AXIS_ROLES[scheme.tensor]
    called = [AXIS_NAMES[name] for name in scheme.axes]
    if shown == "unfolded":
        return f"<p>One block for each {called[block].one}.</p>" if shape[block] > 1 else ""
    if min(shape[rows], shape[columns]) == 1:
        return ""
    both = capitalize_first(f"{called[rows].length} and {called[columns].length}")
    letters = f"{called[rows].letter}, {called[columns].letter}"
    return f"<p>{both} share one side: {letters} = 0, 0 to {shape[rows] - 1}, {shape[columns] - 1}.</p>"


def format_cube_legend(colour: str, scheme_on_shape: SchemeOnShape, theme: str, framed: bool, drawn: dict) -> str:
    """Format the cube's legend as HTML: a patch and words for each colour, and how to choose an element."""
    colours = THEMES[theme]
    shown = "".join(f'<span class="nv-by-{by}">{words}</span>' for by, words in HIGHLIGHT_WORDS.items())
    entries = [(colours.element if drawn["kind"] == "plain" else colours.ink, f'<span class="nv-by">{shown}</span>')]
    hue = colours.field if colour == "field" else colours.ink
    filled = "filled and " * (colour == "field" and framed) or "filled" * (colour == "field")
    how = filled + "framed" * framed
    how = how or f"not framed, as it has more than {cube.MAX_OUTLINED_BOXES:,} parts"
    taken = scheme_on_shape.statistics
    if len(taken) == 2:
        entries += [
            (hue, f"{how}: the field of its {taken[1].names[0]}"),
            (colours.ink, "dashed: the field of its mean"),
        ]
    elif taken:
        verb = "set" if find_windowed_axes(taken[0].field, scheme_on_shape.shape) else "share"
        field = f"its field: elements that {verb} its {join_words(taken[0].names, 'and')}"
        entries.append((hue, field if colour == "field" and framed else f"{field}, {how}"))
    text = {
        "field": "",
        "statistic": "Cells of one hue that touch share a statistic; hues come round again."
        if scheme_on_shape.scheme.field
        else "No elements share a statistic.",
        "value": "Colour is the value x.",
        "normalized": "Colour is the normalized value x̂.",
        "output": "Colour is what comes out, y.",
    }[colour]
    if drawn["kind"] == "grey":
        low, high = (typeset(drawn[end], 3) for end in ("low", "high"))
        text = f"Brightness is the value x: {low} is black, {high} white."
        if "rgb" in drawn:
            text = f"Every cell has the colour of its pixel, mixed of three channels: {low} is none of one, {high} all."
    if drawn.get("gaps"):
        entries.append((NOT_FINITE_COLOUR, "NaN or infinite"))
    patches = "".join(f'<span><i style="background:{hue}"></i>{words}</span>' for hue, words in entries)
    return f"<div>{patches}<span>{text}</span></div>"
