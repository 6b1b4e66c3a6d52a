"""What several charts of the weights page draw: a thing has one name, colour, dash and marker in all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from normviz.ui.palette import THEMES, Theme


@dataclass(frozen=True)
class Thing:
    """A name, the number of its colour among the theme's lines (None: that of text), its dash, and its marker."""

    name: str
    hue: int | None
    dash: str
    symbol: str

    def colour(self, theme: Theme) -> str:
        """Its colour on a theme's background."""
        return theme.ink if self.hue is None else theme.lines[self.hue]

    def line(self, theme: Theme, width: float) -> dict:
        """Its line in a chart."""
        return {"color": self.colour(theme), "dash": self.dash, "width": width}


V = Thing("v", 3, "dashdot", "diamond")
W = Thing("w = g v/‖v‖", 0, "solid", "circle")
DIRECTION = Thing("w, only v learned", 1, "longdash", "triangle-up")
PLAIN = Thing("plain w", 2, "dot", "square")
LENGTH = Thing("length g", None, "dash", "x")

THINGS = (V, W, LENGTH, DIRECTION, PLAIN)

STROKES = {"solid": "", "dot": "2 4", "dash": "8 5", "dashdot": "8 4 2 4", "longdash": "13 5"}
"""A dash in SVG."""

MARKS = {
    "diamond": "M20 2l6 6-6 6-6-6z",
    "circle": "M25 8a5 5 0 1 1-10 0 5 5 0 1 1 10 0z",
    "triangle-up": "M20 2l6 11H14z",
    "square": "M15 3h10v10H15z",
    "x": "M16.5 3L20 6.5 23.5 3 25 4.5 21.5 8 25 11.5 23.5 13 20 9.5 16.5 13 15 11.5 18.5 8 15 4.5z",
}
"""A marker in SVG."""


def key_html(things: Iterable[Thing], theme: str = "light") -> str:
    """The key to several charts beside each other, in HTML: line, marker and name of each thing."""
    colours = THEMES[theme]

    def entry(thing: Thing) -> str:
        colour = thing.colour(colours)
        drawn = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="16" viewBox="0 0 40 16"><path d="M0 8h40" '
            f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{STROKES[thing.dash]}"/>'
            f'<path d="{MARKS[thing.symbol]}" fill="{colour}"/></svg>'
        )
        return (
            '<span style="display:inline-flex;align-items:center;gap:0.4rem;white-space:nowrap">'
            f'<img src="data:image/svg+xml,{quote(drawn)}" alt="" width="40" height="16">{thing.name}</span>'
        )

    entries = "".join(map(entry, things))
    return f'<div style="display:flex;flex-wrap:wrap;gap:0.2rem 1.4rem">{entries}</div>'
