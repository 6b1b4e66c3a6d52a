"""The tensor lab's cube: its figure for the state of the page, and its legend in words."""

import numpy as np

from normviz.charts import cube
from normviz.charts.cube_layout import PLAIN_ROLES, AxisRoles, compute_layout, count_gapless_boxes
from normviz.charts.palette import NOT_FINITE_COLOUR, THEMES
from normviz.core.fields import AXIS_NAMES
from normviz.core.kinds.base import NormalizationResult
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first, join_words
from normviz.describe.wording import BoundScheme, find_windowed_axes, format_signed
from normviz.topics.lab.stages import MAX_ANIMATED_ELEMENTS, build_stages
from normviz.topics.lab.state import LOOK_PARAMS, get_affine_values, get_cube_view
from normviz.ui.cube_row import make_axis_titles
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import View
from normviz.ui.scheme import get_effective_eps
from normviz.ui.tensor import format_colour_name, is_picture, store_sent_focus
from normviz.web.components.plot import CubeParts, show_figure

HIGHLIGHT_WORDS = {
    "lock": "the chosen element"
    '<span class="nv-keys">: click another, or use the arrow keys</span><span class="nv-taps">: tap another</span>',
    "pointer": "the element under the pointer",
    "window": "the element whose window it is",
}
"""Words as HTML for the highlighted element, by the reason of the highlight, which plot.js sets."""

STILL_NOTE = f"Up to {MAX_ANIMATED_ELEMENTS:,} elements it can be watched step by step."
"""Note on a cube that is too large to be animated."""

AXIS_ROLES: dict[bool, AxisRoles] = {False: PLAIN_ROLES, True: (2, 0, 1, 3)}
"""Axes drawn in the places of N, H, W and C, True for weights: their input channels take the place of examples."""


def show_lab_cube(view: View, bound: BoundScheme, x: np.ndarray, result: NormalizationResult, theme: str) -> None:
    """Show the cube with the elements that share statistics with the chosen one, and a legend."""
    scheme = bound.scheme
    shown = get_cube_view(view, scheme)
    roles = AXIS_ROLES[scheme.is_weight_scheme]
    levels, legend = _compute_colour_levels(view, scheme, x, result)
    layout = compute_layout(shown, x.shape, roles)
    titles, hues = make_axis_titles(bound, layout, THEMES[theme])
    block = AXIS_NAMES[scheme.axes[roles[0]]]
    colour = format_colour_name(view["colour"], scheme).lower()
    still = "" if x.size <= MAX_ANIMATED_ELEMENTS else STILL_NOTE
    affine = *get_affine_values(view, scheme), view["threshold"]
    played = [] if still else list(build_stages(scheme, x, result, get_effective_eps(view, scheme), *affine))
    parts = 0 if scheme.field is None else count_gapless_boxes(layout, scheme.field.find_box(view["focus"], x.shape))
    words = format_cube_legend(view["colour"], bound, theme, parts <= cube.MAX_OUTLINED_BOXES, legend)
    stages = cube.build_stages_data(played, x.shape, theme) if len(played) > 1 else None
    labels = cube.build_labels_data(layout, [titles], block_name=(block.one, block.letter), colours=[hues])
    fields, filled = [(scheme.field, scheme.summation)], legend["kind"] == "plain"
    alt = bound.describe_picture(view["focus"], shown, colour)
    cube_parts = CubeParts(
        cube.build_hover_data(layout, fields, x, [result.xhat], filled, stages, labels),
        focus=view["focus"], index_letters=[AXIS_NAMES[name].letter for name in scheme.axes],
        symbol=scheme.symbol, axes=scheme.axes,
        legend=describe_layout(shown, bound) + words, no_stages_note=still,
        view={param.name: view[param.name] for param in LOOK_PARAMS}, on_focus=lambda: store_sent_focus("cube plot"),
        on_view=make_view_callback("cube plot", LOOK_PARAMS),
    )  # fmt: skip
    show_figure(cube.draw_cube(layout, levels, legend, theme), key="cube", alt=alt, cube=cube_parts)


def _compute_colour_levels(
    view: View, scheme: Scheme, x: np.ndarray, result: NormalizationResult
) -> tuple[np.ndarray, dict]:
    values = {"value": x, "normalized": result.xhat, "output": result.y}
    colour = view["colour"]
    if colour == "value" and is_picture(view, x.shape) and not scheme.is_weight_scheme:
        return cube.compute_grey_levels(x)
    if colour in values:
        return cube.compute_value_levels(values[colour])
    if colour == "field" or scheme.field is None:
        return cube.make_plain_levels(x.shape)
    return cube.compute_statistic_levels(x.shape, scheme.field)


def describe_layout(shown: str, bound: BoundScheme) -> str:
    """Describe as HTML how axes share the sides of the cube; empty if each has a side of its own."""
    scheme, shape = bound.scheme, bound.shape
    block, rows, columns, _ = AXIS_ROLES[scheme.is_weight_scheme]
    called = [AXIS_NAMES[name] for name in scheme.axes]
    if shown == "unfolded":
        return f"<p>One block for each {called[block].one}.</p>" if shape[block] > 1 else ""
    if min(shape[rows], shape[columns]) == 1:
        return ""
    both = capitalize_first(f"{called[rows].length} and {called[columns].length}")
    letters = f"{called[rows].letter}, {called[columns].letter}"
    return f"<p>{both} share one side: {letters} = 0, 0 to {shape[rows] - 1}, {shape[columns] - 1}.</p>"


def format_cube_legend(colour: str, bound: BoundScheme, theme: str, framed: bool, drawn: dict) -> str:
    """Format the cube's legend as HTML: a patch and words for each colour, and how to choose an element."""
    colours = THEMES[theme]
    shown = "".join(f'<span class="nv-by-{by}">{words}</span>' for by, words in HIGHLIGHT_WORDS.items())
    entries = [(colours.element, f'<span class="nv-by">{shown}</span>')]
    hue = colours.field if colour == "field" else colours.ink
    filled = "filled and " * (colour == "field" and framed) or "filled" * (colour == "field")
    how = filled + "framed" * framed
    how = how or f"not framed, as it has more than {cube.MAX_OUTLINED_BOXES:,} parts"
    taken = bound.statistics
    if len(taken) == 2:
        entries += [
            (hue, f"{how}: the field of its {taken[1].names[0]}"),
            (colours.ink, "dashed: the field of its mean"),
        ]
    elif taken:
        verb = "set" if find_windowed_axes(taken[0].field, bound.shape) else "share"
        field = f"its field: elements that {verb} its {join_words(taken[0].names, 'and')}"
        entries.append((hue, field if colour == "field" and framed else f"{field}, {how}"))
    text = {
        "field": "",
        "statistic": "Cells of one hue that touch share a statistic; hues come round again."
        if bound.scheme.field
        else "No elements share a statistic.",
        "value": "Colour is the value x.",
        "normalized": "Colour is the normalized value x̂.",
        "output": "Colour is what comes out, y.",
    }[colour]
    if drawn["kind"] == "grey":
        low, high = (format_signed(drawn[end], 3) for end in ("low", "high"))
        text = f"Brightness is the value x: {low} is black, {high} white."
        if "rgb" in drawn:
            text = f"Every cell has the colour of its pixel, mixed of three channels: {low} is none of one, {high} all."
    if drawn.get("gaps"):
        entries.append((NOT_FINITE_COLOUR, "NaN or infinite"))
    patches = "".join(f'<span><i style="background:{hue}"></i>{words}</span>' for hue, words in entries)
    return f"<div>{patches}<span>{text}</span></div>"
