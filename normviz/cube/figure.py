"""The cube: a tensor's cells in 3-D, one mesh for all of them, drawn from arrays that say what each cell is worth.

Traces, in order: the cells; the lines between them; the field, its edges and the element; the names of the blocks. The
browser fills in the corners of cells, field and element from `hover_data`: here the cells have their levels only.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from normviz.core.fields import Box, Field, Shape
from normviz.cube.layout import Layout, gathered, grid_lines, layout_of, pitch, repeated
from normviz.ui.chart import Figure
from normviz.ui.palette import HUES, NOT_FINITE, THEMES, Theme

FINE_LINES_UP_TO = 80  # cells along a side; beyond, the lines would hide them
OUTLINED_UP_TO = 1_000  # blocks, or parts of a field; outlines and names of more would hide them, and weigh more
EYE, ROW_EYE = (1.1, -1.5, 0.8), (0.5, -1.8, 0.7)  # where the camera stands at first, before one cube and before a row
FRAME = 1.7  # height of the frame that the cube fills at first
FRAME_RATIO, ROW_RATIO = 1.25, 1.75  # its width to its height
BESIDE = 0.08  # of the width, for the colour bar, also where there is none: the cube stays where it is
SWELL, SWELL_RATIO = 0.07, 0.004  # how far the element stands out of its cell: by itself, and by the longest side
NAME_HEIGHT = 0.5  # of a block's name over the block, in cells
BAND = 24  # levels per hue, and from what is not finite (0) to the lowest value: WebGL blurs narrower ones


class Stage(NamedTuple):
    """What a computation has of every element at one of its stages.

    Attributes:
        symbol: of the numbers.
        says: what is done, in a sentence.
        values: of every element, in the shape of the tensor; what it shares with others is repeated.
        line: the formula that says so, by its key; empty where none does.
        gathered: the field whose elements stand together in one cell; None where every element has its own.
        slides: whether the values come one by one, as a window moves on.
        scale: stages of one scale share their colours.
    """

    symbol: str
    says: str
    values: np.ndarray
    line: str = ""
    gathered: Field | None = None
    slides: bool = False
    scale: int = 0


def plain_levels(shape: Shape) -> tuple[np.ndarray, dict]:
    """Every cell alike, translucent, so that the field shows in its inside."""
    return np.ones(shape, np.uint8), {"kind": "plain"}


def statistic_levels(shape: Shape, field: Field) -> tuple[np.ndarray, dict]:
    """One hue per shared statistic; statistics that are neighbours along an axis differ in hue."""
    weights = (3, 5, 2, 1)  # all different and not 0 modulo the number of hues
    counts = field.statistics_shape(shape)
    ids = (np.arange(n) * count // n * weight for n, count, weight in zip(shape, counts, weights, strict=True))
    return (reduce(np.add, np.ix_(*ids)) % len(HUES) + 1).astype(np.uint8) * BAND, {"kind": "hues"}


def value_levels(x: np.ndarray) -> tuple[np.ndarray, dict]:
    """Levels of a scale that is symmetric about 0; level 0 marks NaN and Inf."""
    finite = np.isfinite(x)
    largest = float(np.abs(x, where=finite, out=np.zeros(x.shape)).max()) or 1.0
    scaled = np.divide(x, largest, where=finite, out=np.zeros(x.shape))
    levels = np.where(finite, np.round((scaled + 1) / 2 * (255 - BAND)) + BAND, 0).astype(np.uint8)
    return levels, {"kind": "scale", "largest": largest, "gaps": not finite.all()}


def cube_figure(
    shape: Shape,
    view: str,
    levels: np.ndarray,
    legend: dict,
    titles: Sequence[str],
    theme: str = "light",
    roles: tuple[int, int, int, int] = (0, 1, 2, 3),
    block_name: str = "example",
    copies: Sequence[str] = (),
) -> Figure:
    """The figure of a tensor of this shape, once or several times in a row.

    Args:
        shape: (N, H, W, C).
        view: "folded" or "unfolded".
        levels, legend: what `plain_levels`, `statistic_levels` or `value_levels` returned.
        titles: of the x, y and z axis.
        theme: "light" or "dark".
        roles: which axis is drawn in the place of N, H, W and C.
        block_name: what a block of the unfolded view is.
        copies: the names of the copies, over each; `levels` are then those of one after the other.
    """
    colours = THEMES[theme]
    layout = layout_of(view, shape, roles)
    if copies:
        layout = repeated(layout, len(copies))
    fine = layout.extent.max() <= FINE_LINES_UP_TO * max(len(copies), 1)
    outlined = len(layout.origins) <= OUTLINED_UP_TO
    named = list(copies)
    if len(layout.origins) > 1 and not copies:
        named = [f"{block_name} {number}" for number in range(len(layout.origins))]
    name_at = layout.block[2] + 0.02 * layout.extent[2] if copies else -NAME_HEIGHT  # below a row, over blocks
    traces = [
        _cells(levels, legend, colours),
        _grid(grid_lines(layout, fine) if outlined else np.empty((0, 2, 3)), colours),
        _EMPTY_MESH | {"name": "field", "color": colours.field},
        _EMPTY_LINES | {"name": "edges", "line": {"color": colours.ink, "width": 7}},
        _EMPTY_LINES | {"name": "summation", "line": {"color": colours.ink, "width": 4, "dash": "dash"}},
        _EMPTY_MESH | {"name": "element", "color": colours.element},
        _block_names(layout, colours, named, name_at),
    ]
    return Figure(traces, _frame(layout, shape, titles, colours, name_at if named else 0.0, bool(copies)))


def hover_data(
    shape: Shape,
    view: str,
    fields: Sequence[tuple[Field | None, Field | None]],
    x: np.ndarray,
    xhats: Sequence[np.ndarray],
    roles: tuple[int, int, int, int] = (0, 1, 2, 3),
    filled: bool = True,
    stages: dict | None = None,
) -> dict:
    """What the browser needs to draw the cells, and to light up any element's field by itself.

    offsets: position of an index along each axis, to be summed. swell: how far the element stands out, in cells.
    order: the axes, finest steps first. dimensions: the axes along x, y, z and from block to block, for the keyboard.
    x: of every element, to be read out. copies: for each, how far it is along x, its field's range at each index of
    each axis (bounds), the same for a summation field that differs (dashed), and x̂. filled: whether the field is
    filled, or framed only. framed: the largest number of parts that are framed.

    Args:
        shape, view, roles: as for `cube_figure`; `fields`: of each copy the field and the summation field.
        x, xhats: the tensor, and the normalized one of each copy.
        filled: as above.
        stages: what `stages_data` gave of what becomes of the elements, for the browser to play.
    """
    layout = layout_of(view, shape, roles)
    return {
        "shape": shape,
        "swell": swell(layout),
        "offsets": layout.offsets,
        "order": [roles[role] for role in (2, 1, 3, 0)],
        "dimensions": layout.dimensions,
        "x": _readout(x),
        "copies": [
            {
                "along": k * pitch(layout),
                "bounds": None if field is None else field.bounds(shape),
                "dashed": _apart(field, summation, shape),
                "xhat": _readout(xhat),
            }
            for k, ((field, summation), xhat) in enumerate(zip(fields, xhats, strict=True))
        ],
        "filled": filled,
        "framed": OUTLINED_UP_TO,
        "stages": stages,
    }


def stages_data(stages: Sequence[Stage], layout: Layout, shape: Shape, theme: str = "light") -> dict:
    """What the browser needs to play the stages of a computation: how they look, and where the cells stand in each.

    list: for each, its words, values, the numbers of its place and of its look. places: offsets and size of the cells,
    at first as they stand in the layout. looks: properties of the cells' trace, and the largest value.
    """
    places: list[tuple[tuple[np.ndarray, ...], np.ndarray]] = [(layout.offsets, np.ones(3))]
    looks: list[dict] = []
    listed = []
    for number, stage in enumerate(stages):
        place = 0
        if stage.gathered is not None:
            place = len(places)
            places.append(gathered(layout, stage.gathered, shape))
        if number == 0 or stage.scale != stages[number - 1].scale:
            alike = np.stack([each.values for each in stages if each.scale == stage.scale])
            legend = value_levels(alike)[1]
            looks.append({"largest": legend["largest"], "trace": look(legend, THEMES[theme])})
        listed.append(
            {
                "symbol": stage.symbol,
                "says": stage.says,
                "line": stage.line,
                "values": _readout(stage.values),
                "place": place,
                "look": len(looks) - 1,
                "slides": stage.slides,
            }
        )
    return {
        "list": listed,
        "places": [{"offsets": [o.astype(np.float32) for o in offsets], "size": size} for offsets, size in places],
        "looks": looks,
        "band": BAND,
    }


def swell(layout: Layout) -> float:
    """How far the element stands out of its cell, in cells, so that it is seen in front of its field."""
    return SWELL + SWELL_RATIO * float(layout.extent.max())


def _readout(values: np.ndarray) -> np.ndarray:
    """In the type of the readout; what it cannot hold becomes infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).ravel()


def _apart(field: Field | None, summation: Field | None, shape: Shape) -> Sequence[np.ndarray] | None:
    """The bounds of a summation field that is not the field itself."""
    if field is None or summation is None or summation.canonical(shape) == field.canonical(shape):
        return None
    return summation.bounds(shape)


def cells_in(layout: Layout, box: Box) -> set[tuple[float, float, float]]:
    """Positions of all elements in a field's box: what must be lit when one of them is under the pointer."""
    n, h, w, c = (layout.offsets[axis][lo:hi] for axis, (lo, hi) in enumerate(box))
    positions = n[:, None, None, None] + h[:, None, None] + w[:, None] + c
    return set(map(tuple, positions.reshape(-1, 3).tolist()))


_EMPTY_MESH = {
    "type": "mesh3d",
    "x": [],
    "y": [],
    "z": [],
    "i": [],
    "j": [],
    "k": [],
    "hoverinfo": "skip",
    "flatshading": True,
}
_EMPTY_MESH |= {"lighting": {"ambient": 0.75, "diffuse": 0.4, "specular": 0.05}}
_EMPTY_LINES = {
    "type": "scatter3d",
    "x": [],
    "y": [],
    "z": [],
    "mode": "lines",
    "hoverinfo": "skip",
    "showlegend": False,
}


def _cells(levels: np.ndarray, legend: dict, colours: Theme) -> dict:
    """A level for every element; corners and triangles follow from `hover_data`."""
    return dict(
        type="mesh3d",
        name="cells",
        **{"x": [], "y": [], "z": [], "i": [], "j": [], "k": []},
        intensity=levels.ravel(),
        **look(legend, colours),
        flatshading=True,
        lighting=_LIGHTING,
        hoverinfo="none",
    )


_LIGHTING = {"ambient": 0.82, "diffuse": 0.3, "specular": 0, "roughness": 1, "fresnel": 0}
_LIGHTING |= {"facenormalsepsilon": 0, "vertexnormalsepsilon": 0}  # slices of a collapsed field are lit as well


def look(legend: dict, colours: Theme) -> dict:
    """How the cells' levels become colours, in the properties of their trace."""
    scale, bar = _scale(legend, colours)
    return {
        "cmin": BAND if legend.get("gaps") is False else 0,
        "cmax": 255,
        "colorscale": scale,
        "showscale": bar is not None,
        "colorbar": bar,
        "opacity": 0.22 if legend["kind"] == "plain" else 1,
    }


def _scale(legend: dict, colours: Theme) -> tuple[list, dict | None]:
    """The colours of levels 0..255 and the colour bar, if there is one."""
    if legend["kind"] == "plain":
        return [[0, colours.muted], [1, colours.muted]], None
    if legend["kind"] == "hues":
        edges = [(level - 0.5) * BAND / 255 for level in range(1, len(HUES) + 2)]
        steps = [[edge, hue] for i, hue in enumerate(HUES) for edge in (edges[i], edges[i + 1])]
        return [[0, NOT_FINITE], *steps, [1, HUES[-1]]], None
    largest = f"{legend['largest']:.3g}"
    middle = (BAND + 255) / 2
    levels, names = [BAND, middle, 255], [f"−{largest}", "0", largest]
    scale = colours.diverging
    if legend["gaps"]:
        edge = BAND / 2 / 255
        scale = [[0, NOT_FINITE], [edge, NOT_FINITE], [edge, colours.low], [2 * edge, colours.low]]
        scale += [[middle / 255, colours.middle], [1, colours.high]]
        levels, names = [0, *levels], ["NaN, Inf", *names]
    font = {"size": 15, "color": colours.ink}
    bar = {"thickness": 14, "len": 0.45, "x": 1, "xanchor": "right", "y": 1, "yanchor": "top"}
    bar |= {"outlinewidth": 0, "tickfont": font}
    return scale, bar | {"tickvals": levels, "ticktext": names, "ticklabelposition": "outside left"}


def _grid(lines: np.ndarray, colours: Theme) -> dict:
    x, y, z = _polyline(lines)
    line = {"color": colours.grid, "width": 1.5}
    return {
        "type": "scatter3d",
        "name": "grid",
        "x": x,
        "y": y,
        "z": z,
        "mode": "lines",
        "line": line,
        "hoverinfo": "skip",
    }


def _polyline(lines: np.ndarray) -> np.ndarray:
    """Segments (lines, 2, 3) as x, y, z with a gap after each."""
    gaps = np.full((len(lines), 1, 3), np.nan)
    return np.concatenate([lines, gaps], axis=1).reshape(-1, 3).T.astype(np.float32)


def _block_names(layout: Layout, colours: Theme, names: Sequence[str], height: float) -> dict:
    """What each block is, at this height, where blocks have names."""
    text = names if len(names) <= OUTLINED_UP_TO else []
    named = layout.origins[:: len(layout.origins) // len(text)] if text else np.empty((0, 3))
    x, y, z = np.add(named, [layout.block[0] / 2, 0, height]).T
    below = height > 0
    font = {"size": 17 if below else 15, "color": colours.ink}
    at = {"x": x, "y": y, "z": z, "text": text, "textposition": "bottom center" if below else "middle center"}
    return dict(type="scatter3d", name="blocks", mode="text", textfont=font, hoverinfo="skip", **at)


def _frame(layout: Layout, shape: Shape, titles: Sequence[str], colours: Theme, name_at: float, row: bool) -> dict:
    extent = layout.extent
    eye, ratio = (ROW_EYE, ROW_RATIO) if row else (EYE, FRAME_RATIO)

    def axis(dimension: int, title: str) -> dict:
        along = layout.dimensions[dimension]
        length = int(np.prod([shape[a] for a in along]))
        margin = max(0.02 * extent[dimension] + 0.02, 1.2 * swell(layout))  # an element at the border keeps its face
        above, below = margin, margin
        if dimension == 2:
            above, below = margin + max(-name_at, 0.0), margin + (0.12 * extent[2] if row else 0)
        repeated = extent[dimension] > length  # several blocks: an index has no one place
        ticks = [] if repeated or not 1 < length <= 12 else list(range(length))
        return {
            "title": {"text": title, "font": {"size": 17, "color": colours.ink}},
            "tickvals": [t + 0.5 for t in ticks],
            "ticktext": [str(t) for t in ticks],
            "tickfont": {"size": 13, "color": colours.muted},
            "range": [-above, extent[dimension] + below][:: -1 if dimension == 2 else 1],  # first row on top
            "showbackground": False,
            "showgrid": False,
            "zeroline": False,
            "showspikes": False,
        }

    return {
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "scene": {
            "domain": {"x": [0, 1 - BESIDE]},
            **{f"{d}axis": axis(i, titles[i]) for i, d in enumerate("xyz")},
            "aspectmode": "manual",
            "aspectratio": dict(zip("xyz", _proportions(extent, eye, ratio * (1 - BESIDE)).tolist(), strict=True)),
            "camera": {"eye": dict(zip("xyz", eye, strict=True)), "projection": {"type": "orthographic"}},
            "dragmode": "turntable",
        },
    }


def _proportions(extent: np.ndarray, eye: tuple[float, float, float], ratio: float) -> np.ndarray:
    """Lengths of the sides on the screen: long ones shortened, and all so that the first view fits the frame."""
    sides = np.maximum((extent / extent.max()) ** 0.6, 0.15)
    right = np.array([-eye[1], eye[0], 0]) / np.hypot(*eye[:2])
    up = np.cross(np.array(eye) / np.linalg.norm(eye), right)
    width, height = np.abs(right) @ sides, np.abs(up) @ sides
    return sides * FRAME / max(width / ratio, height)
