"""The cube: a tensor's cells in 3-D as one mesh, coloured by one level for each cell.

Traces, in order: the cells, the lines between them, the field, the lines between its cells, its edges, and the
element. The browser adds the corners of cells, field and element from `build_hover_data`. It also scales the picture to
its frame, writes titles, numbers and names around it, and repeats it for every copy.
"""

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.cube_layout import Layout, compute_side_lengths
from normviz.charts.palette import HUES, NOT_FINITE_COLOUR, THEMES, Theme
from normviz.core.fields import Field, Shape
from normviz.core.text import format_number

MAX_SIDE_WITH_GRID = 80  # cells along a side; lines between more of them would hide the cells
MAX_OUTLINED_BOXES = 1_000  # blocks, or parts of a field, that are outlined and named; lines would hide more of them
INITIAL_CAMERA_EYE = (1.1, -1.5, 0.8)  # position of the camera on the first visit
MAX_TICKED_COPIES = 3  # cubes in a row with numbers along their axes
MAX_TICKS = 1_000  # most numbers along an axis; the browser omits those without room
OVERHANG, OVERHANG_RATIO = 0.05, 0.004  # how far the element sticks out at least, and per cell of the longest side
LEVELS_PER_HUE = 24  # also between level 0 (not finite) and the lowest value: WebGL blurs narrower bands


class CubeStage(NamedTuple):
    """Values of every element at one stage of the normalization, for the animation of the cube.

    Attributes:
        symbol: of the values, as "x̂".
        says: the step in a sentence.
        values: one for each element, in the shape of the tensor, or a statistic in the shape of its field's statistics.
        line: key of the matching line of the formula; empty if there is none.
        gathered: the field whose elements are moved into one cell; None if every element keeps its own cell.
        slides: True if the values appear one by one, as a window moves.
        axes: for a statistic, for each axis its length and the operation along it.
        scale: stages with the same scale share their colours.
    """

    symbol: str
    says: str
    values: np.ndarray
    line: str = ""
    gathered: Field | None = None
    slides: bool = False
    axes: Sequence[tuple[int, str]] = ()
    scale: int = 0


def make_uniform_levels(shape: Shape, is_opaque: bool = False) -> tuple[np.ndarray, dict]:
    """Return the same colour level (uint8) for all cells, and the legend's data; cells are faint unless `is_opaque`."""
    return np.ones(shape, np.uint8), {"kind": "plain", "opaque": is_opaque}


def compute_hue_levels(shape: Shape, field: Field) -> tuple[np.ndarray, dict]:
    """Return colour levels (uint8), one hue for all cells that share a statistic, and the legend's data."""
    weights = (3, 5, 2, 1)  # all different and not 0 modulo the number of hues
    counts = field.compute_statistics_shape(shape)
    ids = (np.arange(n) * count // n * weight for n, count, weight in zip(shape, counts, weights, strict=True))
    return (reduce(np.add, np.ix_(*ids)) % len(HUES) + 1).astype(np.uint8) * LEVELS_PER_HUE, {"kind": "hues"}


def compute_value_levels(x: np.ndarray, name: str = "") -> tuple[np.ndarray, dict]:
    """Return colour levels (uint8) on a scale symmetric about 0, and the legend's data; level 0 marks NaN and Inf.

    `name`: of the values, over the colour bar.
    """
    finite = np.isfinite(x)
    largest = float(np.abs(x, where=finite, out=np.zeros(x.shape)).max()) or 1.0
    scaled = np.divide(x, largest, where=finite, out=np.zeros(x.shape))
    levels = np.where(finite, np.round((scaled + 1) / 2 * (255 - LEVELS_PER_HUE)) + LEVELS_PER_HUE, 0).astype(np.uint8)
    return levels, {"kind": "scale", "largest": largest, "gaps": not finite.all(), "name": name}


def compute_grey_levels(x: np.ndarray) -> tuple[np.ndarray, dict]:
    """Return colour levels (uint8) of values from black to white, and the legend's data; level 0 marks NaN and Inf.

    With three channels the legend also holds each element's pixel colour ("rgb").
    """
    finite = np.isfinite(x)
    held = x[finite]
    least, most = (float(held.min()), float(held.max())) if held.size else (0.0, 1.0)
    low, high = (0.0, 1.0) if least >= 0 and most <= 1 else (least, most)
    halves = np.where(finite, x, low) / 2 - low / 2  # the full difference of huge numbers would overflow
    shares = halves / (high / 2 - low / 2 or 1.0)
    levels = np.where(finite, np.round(shares * (255 - LEVELS_PER_HUE)) + LEVELS_PER_HUE, 0).astype(np.uint8)
    legend: dict = {"kind": "grey", "low": low, "high": high, "gaps": not finite.all()}
    if x.shape[3] == 3 and finite.all():
        pixels = np.rint(255 * shares).astype(np.uint8)
        legend["rgb"] = np.repeat(pixels[..., None, :], 3, axis=3).reshape(-1, 3)
    return levels, legend


def draw_cube(layout: Layout, levels: np.ndarray, legend: dict, theme: str = "light") -> Figure:
    """Return a figure of a tensor as a cube of cells.

    `levels`, `legend`: the result of one of the functions for levels above; for several copies, their levels
    concatenated.
    """
    colours = THEMES[theme]
    hues = {"field": colours.field, "mean": colours.mean, "divides": colours.divides}
    traces = [
        _make_cell_trace(levels, legend, colours),
        _EMPTY_LINES | {"name": "grid", "line": {"color": colours.grid, "width": 1.5}},
        _EMPTY_MESH | {"name": "field", "color": colours.field, "meta": hues},
        _EMPTY_LINES | {"name": "divisions", "line": {"color": colours.grid, "width": 1.5}},
        _EMPTY_LINES | {"name": "edges", "line": {"color": colours.ink, "width": 7}},
        _EMPTY_LINES | {"name": "summation", "line": {"color": colours.ink, "width": 4, "dash": "dash"}},
        _EMPTY_MESH | {"name": "element", "color": colours.element if legend["kind"] == "plain" else colours.ink},
    ]
    return Figure(traces, _make_scene_axes(layout))


def build_hover_data(
    layout: Layout,
    fields: Sequence[tuple[Field | None, Field | None]],
    x: np.ndarray,
    xhats: Sequence[np.ndarray],
    filled: bool = True,
    stages: dict | None = None,
    labels: dict | None = None,
) -> dict:
    """Build the data with which the browser draws cells and highlights the field of an element, `filled` or outlined.

    offsets: position of each index along each axis, to be summed. overhang: how far the element sticks out, in cells.
    order: the axes, finest steps first. dimensions: the axes along x, y, z and between blocks, for the keyboard.
    x: the values to read out. copies: for each, the field's range at each index of each axis (bounds), the same for a
    different summation field (dashed), and x̂. filled: True if the field is filled, False if only outlined. fine:
    True if there are lines between the cells. framed: the largest number of parts or blocks that are outlined.

    Args:
        fields: for each copy, the field and the summation field.
        x, xhats: the tensor, and the normalized tensor of each copy.
        stages: the result of `build_stages_data`, for the animation.
        labels: the result of `build_labels_data`; without it nothing is written around the copies.
    """
    shape = layout.shape
    return {
        "shape": shape,
        "overhang": compute_overhang(layout),
        "offsets": layout.offsets,
        "order": [layout.roles[role] for role in (2, 1, 3, 0)],
        "dimensions": layout.dimensions,
        "x": _convert_to_readout(x),
        "copies": [
            {
                "bounds": None if field is None else field.compute_bounds(shape),
                "dashed": _find_summation_bounds(field, summation, shape),
                "xhat": _convert_to_readout(xhat),
            }
            for (field, summation), xhat in zip(fields, xhats, strict=True)
        ],
        "filled": filled,
        "fine": bool(layout.extent.max() <= MAX_SIDE_WITH_GRID),
        "framed": MAX_OUTLINED_BOXES,
        "stages": stages,
        "labels": labels or build_labels_data(layout, [("", "", "")] * len(fields), [""] * len(fields)),
    }


def build_stages_data(stages: Sequence[CubeStage], shape: Shape, theme: str = "light") -> dict:
    """Build the data with which the browser plays the stages of the normalization.

    list: for each stage its words, its values and their shape, and the indices of its place and its look; the browser
    copies a statistic to the elements that share it. places: for each axis the index ranges whose cells are merged, or
    None for unmoved cells. looks: properties of the cells' trace, and the largest value.
    """
    places: list[list[np.ndarray] | None] = [None]
    looks: list[dict] = []
    listed = []
    for number, stage in enumerate(stages):
        place = 0
        if stage.gathered is not None:
            place = len(places)
            places.append(stage.gathered.with_own_windows.compute_bounds(shape))
        if number == 0 or stage.scale != stages[number - 1].scale:
            alike = np.concatenate([each.values.ravel() for each in stages if each.scale == stage.scale])
            legend = compute_value_levels(alike)[1]
            looks.append({"largest": legend["largest"], "trace": style_cells(legend, THEMES[theme])})
        listed.append(
            {
                "symbol": stage.symbol,
                "says": stage.says,
                "line": stage.line,
                "values": _convert_to_readout(stage.values),
                "shape": stage.values.shape,
                "place": place,
                "look": len(looks) - 1,
                "slides": stage.slides,
                "axes": stage.axes,
            }
        )
    return {"list": listed, "places": places, "looks": looks, "band": LEVELS_PER_HUE}


def compute_overhang(layout: Layout) -> float:
    """Return how far the chosen element extends beyond its cell, in cells, to be visible in front of its field."""
    return max(OVERHANG, OVERHANG_RATIO * float(layout.extent.max()))


def _convert_to_readout(values: np.ndarray) -> np.ndarray:
    """Flatten values to float32, which the readout shows; values beyond its range become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).ravel()


def _find_summation_bounds(field: Field | None, summation: Field | None, shape: Shape) -> Sequence[np.ndarray] | None:
    """Return the index ranges of the mean's field if it differs from the highlighted field; else None."""
    if field is None or summation is None or summation.simplify(shape) == field.simplify(shape):
        return None
    return summation.compute_bounds(shape)


_EMPTY_MESH = {"type": "mesh3d", "hoverinfo": "skip", "flatshading": True} | {name: [] for name in "xyzijk"}
_EMPTY_MESH |= {"lighting": {"ambient": 0.75, "diffuse": 0.4, "specular": 0.05}}
_EMPTY_LINES = {
    "type": "scatter3d",
    "mode": "lines",
    "hoverinfo": "skip",
    "showlegend": False,
    "x": [],
    "y": [],
    "z": [],
}


def _make_cell_trace(levels: np.ndarray, legend: dict, colours: Theme) -> dict:
    """Return Plotly's mesh trace of the cells with one colour level each; the browser adds corners and triangles."""
    return {
        **_EMPTY_MESH,
        **style_cells(legend, colours),
        "name": "cells",
        "intensity": levels.ravel(),
        "meta": legend.get("rgb"),
        "lighting": _LIGHTING if legend["kind"] == "plain" else _EVEN_LIGHT,
        "hoverinfo": "none",
    }


_LIGHTING = {"ambient": 0.82, "diffuse": 0.3, "specular": 0, "roughness": 1, "fresnel": 0}
_LIGHTING |= {"facenormalsepsilon": 0, "vertexnormalsepsilon": 0}  # slices of a collapsed field are lit as well
_EVEN_LIGHT = _LIGHTING | {"ambient": 1, "diffuse": 0}  # the same value has the same colour on every face


def style_cells(legend: dict, colours: Theme) -> dict:
    """Return the Plotly properties of the cells' trace that map colour levels to colours."""
    scale, bar = _make_colour_scale(legend, colours)
    return {
        "cmin": LEVELS_PER_HUE if legend.get("gaps") is False else 0,
        "cmax": 255,
        "colorscale": scale,
        "showscale": bar is not None,
        "colorbar": bar,
        "opacity": 0.22 if legend["kind"] == "plain" and not legend.get("opaque") else 1,
    }


def _make_colour_scale(legend: dict, colours: Theme) -> tuple[list, dict | None]:
    """Return Plotly's colour scale for levels 0 to 255, and its colour bar, or None without a bar."""
    if legend["kind"] == "plain":
        return [[0, colours.muted], [1, colours.muted]], None
    if legend["kind"] == "hues":
        edges = [(level - 0.5) * LEVELS_PER_HUE / 255 for level in range(1, len(HUES) + 2)]
        steps = [[edge, hue] for i, hue in enumerate(HUES) for edge in (edges[i], edges[i + 1])]
        return [[0, NOT_FINITE_COLOUR], *steps, [1, HUES[-1]]], None
    edge, grey = LEVELS_PER_HUE / 2 / 255, [[0, "#000000"], [1, "#ffffff"]]
    if legend["kind"] == "grey":
        if "rgb" in legend:
            return grey, None
        ends = [format_number(legend["low"], 3), format_number(legend["high"], 3)]
        if not legend["gaps"]:
            return grey, _make_colour_bar([LEVELS_PER_HUE, 255], ends, colours)
        scale = [
            [0, NOT_FINITE_COLOUR],
            [edge, NOT_FINITE_COLOUR],
            [edge, "#000000"],
            [2 * edge, "#000000"],
            [1, "#ffffff"],
        ]
        return scale, _make_colour_bar([0, LEVELS_PER_HUE, 255], ["NaN, Inf", *ends], colours)
    middle = (LEVELS_PER_HUE + 255) / 2
    largest = format_number(legend["largest"], 3)
    levels, names = [LEVELS_PER_HUE, middle, 255], [f"−{largest}", "0", largest]
    scale = colours.diverging_scale
    if legend["gaps"]:
        scale = [[0, NOT_FINITE_COLOUR], [edge, NOT_FINITE_COLOUR], [edge, colours.low], [2 * edge, colours.low]]
        scale += [[middle / 255, colours.middle], [1, colours.high]]
        levels, names = [0, *levels], ["NaN, Inf", *names]
    return scale, _make_colour_bar(levels, names, colours) | {
        "title": {"text": legend["name"], "side": "top", "font": {"color": colours.ink}}
    }


def _make_colour_bar(levels: Sequence[float], names: Sequence[str], colours: Theme) -> dict:
    font = {"size": 15, "color": colours.ink}
    bar = {"thickness": 14, "len": 0.45, "x": 1, "xanchor": "right", "y": 1, "yanchor": "top"}
    bar |= {"outlinewidth": 0, "tickfont": font}
    return bar | {"tickvals": levels, "ticktext": names, "ticklabelposition": "outside left"}


def build_labels_data(
    layout: Layout,
    titles: Sequence[Sequence[str]],
    headings: Sequence[str] = ("",),
    block_name: tuple[str, str] = ("example", "n"),
    short_titles: Sequence[str] = (),
    colours: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
    rows: Sequence[str] = (),
) -> dict:
    """Build the data with which the browser scales the cube and writes each copy's axis titles, heading, block names.

    extent, sides: number of cells along x, y and z, and the lengths drawn. each: for every copy the titles of x, y
    and z, their colours, short titles (brief), the lengths of the axes whose indices are its ticks, the heading and
    the names of its blocks.

    Args:
        titles: for each copy, the titles of the x, y and z axes.
        headings: one for each copy.
        block_name: name of a block of the unfolded view, and the letter of its index.
        short_titles: titles for narrow frames, for all copies.
        colours: colours of the titles for each copy; by default the page's text colour.
        notes: for each copy the line below its heading; "" for the result of the chosen element, then outlined.
        rows: names of cells along z, in place of their indices; "" keeps the index.
    """
    blocks = {"name": block_name[0], "letter": block_name[1], "origins": layout.origins, "size": layout.block}
    several, count = len(layout.origins) > 1, len(titles)
    ticks = [_list_ticked_axis_sizes(layout, dimension) for dimension in range(3)]
    if count > 1:  # small cubes have no room for pairs of indices
        ticks = [lengths if len(lengths) == 1 and count <= MAX_TICKED_COPIES else [] for lengths in ticks]
    return {
        "extent": layout.extent,
        "sides": compute_side_lengths(layout.extent),
        "each": [
            {
                "titles": list(words),
                "brief": list(short_titles or words),
                "colours": list(hues),
                "ticks": ticks,
                "rows": list(rows),
                "heading": heading,
                "note": note,
                "blocks": blocks if several else None,
            }
            for words, heading, hues, note in zip(
                titles, headings, colours or [[""] * 3] * count, notes or [""] * count, strict=True
            )
        ],
    }


def _list_ticked_axis_sizes(layout: Layout, dimension: int) -> list[int]:
    """List the lengths of the tensor axes whose indices are ticks along a dimension, the innermost axis last.

    Empty if an index is in several places, or if there are too many ticks.
    """
    axes = layout.dimensions[dimension]
    lengths = [layout.shape[axis] for axis in axes if layout.shape[axis] > 1 or len(axes) == 1]
    return lengths if layout.extent[dimension] == prod(lengths) <= MAX_TICKS else []


def _make_scene_axes(layout: Layout) -> dict:
    def axis(dimension: int) -> dict:
        extent = float(layout.extent[dimension])
        margin = max(0.02 * extent + 0.02, 1.2 * compute_overhang(layout))  # an element at the border keeps its face
        return {
            "range": [-margin, extent + margin][:: -1 if dimension == 2 else 1],  # first row on top
            "visible": False,
            "showspikes": False,
        }

    return {
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "scene": {
            **{f"{d}axis": axis(i) for i, d in enumerate("xyz")},
            "aspectmode": "manual",
            "aspectratio": {"x": 1.0, "y": 1.0, "z": 1.0},  # the browser fits it into the frame
            "camera": {
                "eye": dict(zip("xyz", INITIAL_CAMERA_EYE, strict=True)),
                "projection": {"type": "orthographic"},
            },
            "dragmode": "turntable",
        },
    }
