"""The cubes of a step for print: a tensor from outside, with the elements that share a statistic with one element."""

from collections.abc import Callable, Iterator
from html import escape
from itertools import product
from math import prod

from normviz.classroom.lessons.lesson_links import list_page_params, split_page_link
from normviz.core.fields import Index, Shape
from normviz.core.registry import SCHEMES
from normviz.core.scheme import Scheme
from normviz.describe.interface_words import Words, fill_words
from normviz.topics.same.variants import VARIANTS
from normviz.ui.cube_row import list_marked_schemes
from normviz.ui.link import View, clean_values
from normviz.ui.scheme import build_scheme, build_schemes
from normviz.ui.tensor import SIZE_NAMES

COLOURS = {"other": "#e8ebee", "shared": "#0072b2", "marked": "#d55e00"}
WIDTH, DEPTH, RISE = 11.0, 7.0, 4.5
"""Width of a cell, and the shift of each further example, to the right and up."""

MAX_LENGTHS = {"examples": 16, "positions": 64, "channels": 32}
"""The largest tensor that is drawn; a larger one could not be read in print."""

Point = tuple[float, float]

PAGE_SCHEMES: dict[str, Callable[[View], list[Scheme]]] = {
    "tensor_lab": lambda view: [build_scheme(view)],
    "compare": build_schemes,
    "identities": lambda view: [SCHEMES[key] for key in VARIANTS] if view["panel"] == "variants" else [],
}
"""The schemes whose cubes a page shows, by the name of its script."""


def draw_step_cubes(link: str, words: Words) -> str:
    """Return an SVG of the cubes that a link's page shows, with alt texts from the interface texts `words`.

    "" for pages without cubes and large tensors.
    """
    page, values = split_page_link(link)
    if page not in PAGE_SCHEMES:
        return ""
    view, _ = clean_values(list_page_params(page), values)
    shape: Shape = tuple(view[name] for name in SIZE_NAMES)
    lengths = shape[0], shape[1] * shape[2], shape[3]
    if any(n > most for n, most in zip(lengths, MAX_LENGTHS.values(), strict=True)):
        return ""
    schemes = [scheme for scheme in PAGE_SCHEMES[page](view) if scheme.activation_part]
    marked = list_marked_schemes(schemes, view)
    return "".join(
        _draw_cube(scheme.label, each, shape, view["focus"], words)
        for scheme, each in zip(schemes, marked, strict=True)
    )


def _draw_cube(label: str, scheme: Scheme, shape: Shape, focus: Index, words: Words) -> str:
    """Return an SVG of a cube that marks the element at `focus` and its field, with an alt text from `words`."""
    examples, rows, columns, channels = shape
    positions = rows * columns
    height = round(max(3.0, min(9.0, 150 / positions)), 1)
    box = scheme.fields[-1].find_box(focus, shape) if scheme.fields else tuple((i, i + 1) for i in focus)

    def find_colour(n: int, place: int, c: int) -> str:
        index = (n, *divmod(place, columns), c)
        if index == tuple(focus):
            return COLOURS["marked"]
        is_shared = all(lo <= i < hi for i, (lo, hi) in zip(index, box, strict=True))
        return COLOURS["shared" if is_shared else "other"]

    def project(n: float, place: float, c: float) -> Point:
        return 34 + c * WIDTH + n * DEPTH, 26 + examples * RISE + place * height - n * RISE

    def list_cells() -> Iterator[tuple[str, list[Point]]]:
        for place, c in product(range(positions), range(channels)):
            corners = ((0, 0), (0, 1), (1, 1), (1, 0))
            yield find_colour(0, place, c), [project(0, place + p, c + q) for p, q in corners]
        for n, c in product(range(examples), range(channels)):
            yield find_colour(n, 0, c), [project(n + p, 0, c + q) for p, q in ((0, 0), (0, 1), (1, 1), (1, 0))]
        for n, place in product(range(examples), range(positions)):
            corners = ((0, 0), (1, 0), (1, 1), (0, 1))
            colour = find_colour(n, place, channels - 1)
            yield colour, [project(n + p, place + q, channels) for p, q in corners]

    outlines = dict.fromkeys(COLOURS.values(), "")
    for colour, corners in list_cells():
        outlines[colour] += f"M{' '.join(f'{x:g},{y:g}' for x, y in corners)}Z"
    cells = "".join(f'<path d="{outline}" fill="{colour}"/>' for colour, outline in outlines.items())
    right, bottom = project(examples, 0, channels)[0] + 30, project(0, positions, 0)[1] + 18
    labels = (("C", 0, positions, channels / 2, 0, 13), ("N", examples / 2, positions, channels, 8, 8))
    names = "".join(
        f'<text x="{project(n, place, c)[0] + dx:.0f}" y="{project(n, place, c)[1] + dy:.0f}">{name}</text>'
        for name, n, place, c, dx, dy in labels
    )
    title, shared = escape(label), prod(hi - lo for lo, hi in box)
    said = escape(fill_words(words, "cube", scheme=label, count=shared, total=prod(shape)))
    return (
        f'<svg width="{right:.0f}" height="{bottom:.0f}" role="img" aria-label="{said}">'
        f'<text x="34" y="14">{title}</text><g stroke="#8a939c" stroke-width="0.5">{cells}</g>{names}'
        f'<text x="2" y="{project(0, positions // 2, 0)[1]:.0f}">H, W</text></svg>'
    )
