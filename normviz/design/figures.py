"""The map as a picture: a card for each set of invariances, in rows by their number, and lines to those that hold more.

All of it is placed here, in units of which a line of text takes `LINE`; `ui.components.diagram` only draws it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import Any

from normviz.core.transformations import TRANSFORMATIONS
from normviz.core.turns import one_at_a_time
from normviz.describe.wording import plural
from normviz.design.drawing import Drawing, drawn
from normviz.design.lattice import Order, Trained
from normviz.design.lattice_words import SIGNS, absorbed, labelled
from normviz.design.search import Invariances, Kind

CARD, PAD, LINE = 214, 10, 18
"""The width of a card, what stays free at its edge, and the height of a line of text."""

MARK, MARK_HEIGHT, BETWEEN = 40, 22, 4
"""The size of a mark, and what lies between two."""

HEAD = PAD + 2 * MARK_HEIGHT + BETWEEN + 2
"""Of a card: two rows of marks, and the number of schemes beside them."""

VERDICT = 10 + 2 * LINE
"""Of a card, what training takes: a bar, and two lines."""

GAP, RISE, MARGIN, EDGE = 14, 50, 70, 4
"""Between two cards, between two rows, left of all cards, and around all."""

LETTERS = 25
"""Of a line of names."""

KEY_WIDTH, KEY_HEIGHT = 285, 90
"""Of the key above: a column, and all of it."""

GROUPS = {on: [key for key, each in TRANSFORMATIONS.items() if each.on == on] for on in ("weights", "data")}
"""The transformations of the weights and of the data: a row of marks each."""

READ = "filled: ignored, outlined: not ignored; a line leads up to schemes that ignore all of these and more"
"""How the picture is read."""


def picture(order: Order, chosen: Invariances, trained: Mapping[Invariances, Trained]) -> dict[str, Any]:
    """The picture as `ui.components.diagram` takes it."""
    drawing, where = placed(order), dict(zip(order.sets, rows(order), strict=True))
    lines = {kind.invariances: wrapped(kind) for kind in order.kinds}
    heights = [
        HEAD + LINE * max(len(lines[each]) for each in where if where[each] == row) + VERDICT * bool(trained) + PAD
        for row in range(max(where.values()) + 1)
    ]
    tops = [KEY_HEIGHT + sum(heights[row + 1 :]) + RISE * (len(heights) - 1 - row) for row in range(len(heights))]
    width = MARGIN + max(drawing.width, 3 * KEY_WIDTH) + EDGE
    left = (MARGIN + width - EDGE - drawing.width) / 2
    middles = {each: left + centre for each, centre in zip(order.sets, drawing.centres, strict=True)}
    paths = []
    for (low, high), bends in zip(order.covers, drawing.bends, strict=True):
        points = [(middles[low], tops[where[low]])]
        for row, bend in enumerate(bends, where[low] + 1):
            points += [(left + bend, tops[row] + heights[row]), (left + bend, tops[row])]
        points.append((middles[high], tops[where[high]] + heights[where[high]]))
        paths.append({"low": code(low), "high": code(high), "path": curve(points)})
    return {
        "width": width,
        "height": tops[0] + heights[0] + EDGE,
        "mark": [MARK, MARK_HEIGHT],
        "chosen": code(chosen),
        "key": _key(),
        "levels": [
            {"x": EDGE, "y": tops[row] + heights[row] / 2, "text": str(size)}
            for size, row in {len(some): row for some, row in where.items()}.items()
        ],
        "lines": paths,
        "cards": [
            {
                "x": middles[kind.invariances] - CARD / 2,
                "y": tops[where[kind.invariances]],
                "width": CARD,
                "height": heights[where[kind.invariances]],
                **card(kind, lines[kind.invariances], trained.get(kind.invariances)),
            }
            for kind in order.kinds
        ],
    }


def wrapped(kind: Kind) -> list[str]:
    """Return the names of a set in lines; a line ends between two names only."""
    whole = labelled(kind.names).replace(" ", "\u00a0")
    for end in (",", ";", "\u00a0=", "counted:"):
        whole = whole.replace(f"{end}\u00a0", f"{end} ")
    return [line.replace("\u00a0", " ") for line in wrap(whole, LETTERS, break_on_hyphens=False)]


def code(some: Invariances) -> str:
    """A set as the link and the component have it."""
    return ",".join(some)


def rows(order: Order) -> list[int]:
    """The row of every set: by its number of invariances; numbers that no set has take no row."""
    sizes = sorted({*map(len, order.sets)})
    return [sizes.index(len(each)) for each in order.sets]


@one_at_a_time
@lru_cache(maxsize=64)
def placed(order: Order) -> Drawing:
    """Where the cards of a map stand, from the left."""
    number = {each: k for k, each in enumerate(order.sets)}
    return drawn(rows(order), [(number[low], number[high]) for low, high in order.covers], CARD, GAP)


def curve(points: Sequence[tuple[float, float]]) -> str:
    """A line through points, upright in each of them, as a path of SVG."""
    (x, y), path = points[0], ""
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:g} {middle:g} {x1:g} {middle:g} {x1:g} {y1:g}"
    return f"M{x:g} {y:g}{path}"


def card(kind: Kind, lines: Sequence[str], trained: Trained | None) -> dict[str, Any]:
    """What stands on a card, from its upper left corner, and what is read aloud of it."""
    said = [
        f"Ignored: {absorbed(kind.invariances)}",
        plural(kind.schemes, "scheme"),
        *filter(None, [labelled(kind.names)]),
    ]
    texts = [{"x": PAD, "y": HEAD + LINE * (k + 0.8), "text": line, "kind": "name"} for k, line in enumerate(lines)]
    texts += [
        {"x": CARD - PAD, "y": PAD + 20, "text": f"{kind.schemes:,}", "kind": "count"},
        {"x": CARD - PAD, "y": PAD + 40, "text": plural(kind.schemes, "scheme").rpartition(" ")[2], "kind": "unit"},
    ]
    bar = None
    if trained is not None:
        top = HEAD + LINE * len(lines) + 4
        bar = {"x": PAD, "y": top, "width": CARD - 2 * PAD, "share": trained.done / max(trained.of, 1)}
        told = [trained.predicted]
        counts = (("✘", trained.disagree, "disagree"), ("?", trained.unanswered, "unanswered"))
        told.append(" ".join(f"{mark} {count:,} {what}" for mark, count, what in counts if count))
        texts += [
            {"x": PAD, "y": top + 6 + LINE * (k + 0.8), "text": text, "kind": "verdict"} for k, text in enumerate(told)
        ]
        said.append(f"trained: {trained.words}")
    return {
        "code": code(kind.invariances),
        "title": "; ".join(said),
        "marks": [
            {
                "x": PAD + k * (MARK + BETWEEN),
                "y": PAD + row * (MARK_HEIGHT + BETWEEN),
                "text": SIGNS[key],
                "on": key in kind.invariances,
            }
            for row, keys in enumerate(GROUPS.values())
            for k, key in enumerate(keys)
        ],
        "texts": texts,
        "bar": bar,
        "alert": bool(trained and trained.disagree),
    }


def _key() -> dict[str, Any]:
    """What the marks stand for, arranged as on a card."""
    marks, texts = [], []
    for row, (on, keys) in enumerate(GROUPS.items()):
        y = row * (MARK_HEIGHT + 6)
        texts.append({"x": EDGE, "y": y + 16, "text": on, "kind": "name"})
        for k, key in enumerate(keys):
            x = MARGIN + k * KEY_WIDTH
            marks.append({"x": x, "y": y, "text": SIGNS[key], "on": True})
            texts.append({"x": x + MARK + 8, "y": y + 16, "text": TRANSFORMATIONS[key].name, "kind": "name"})
    texts.append({"x": MARGIN, "y": 2 * (MARK_HEIGHT + 6) + 14, "text": READ, "kind": "unit left"})
    return {"marks": marks, "texts": texts}
