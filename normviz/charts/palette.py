"""All colours by role, from the colour-blind-safe palette of Okabe & Ito."""

from dataclasses import dataclass

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
HUES = (SKY, ORANGE, GREEN, YELLOW, BLUE, VERMILION, PURPLE)
"""Hues of shared statistics, in order."""

LINE_COLOURS = (BLUE, VERMILION, PURPLE, GREEN, ORANGE, SKY)
"""Hues that are visible as thin lines on white."""

NOT_FINITE_COLOUR = PURPLE

TEXT_COLOURS = {VERMILION: "#B34700"}
"""Darker shades for text on white, where the hue has a contrast below 4.5."""


@dataclass(frozen=True)
class Theme:
    """Colours of charts on a light or a dark background; a role has the same colour on every page.

    There are fewer hues than roles: roles with the same hue never appear in one picture. A dash, a marker or a word
    repeats the meaning of each colour.

    Attributes:
        ink: text, outlines and true values, as of a population or a bound.
        muted, grid: axes and ticks, and elements outside the field.
        cell: a cell without a value.
        middle, low, high: values at, below and above 0.
        element: the element or pixel in focus.
        field: its field; the divisor's field if the mean has a different one.
        mean: μ, and the field of the mean if it differs.
        divides: σ, the root mean square, the norm.
        yes, no: an answer: invariant or not, equal or not.
        original, transformed: twins: unchanged; with changed weights or data.
        training, inference: batch statistics and running averages, and values computed with each.
        lines: schemes and other curves beside each other, in the order of `style_curve`. Networks without normalization
            come first.
    """

    ink: str
    muted: str
    grid: str
    cell: str
    middle: str
    low: str
    high: str
    element: str
    field: str
    mean: str
    divides: str
    yes: str
    no: str
    original: str
    transformed: str
    training: str
    inference: str
    lines: tuple[str, ...]

    @property
    def diverging_scale(self) -> list[list]:
        """Return Plotly's colour scale, [[position, colour], …], for values symmetric about 0."""
        return [[0, self.low], [0.5, self.middle], [1, self.high]]


def _make_theme(ink: str, muted: str, grid: str, cell: str, middle: str, cool: str, warm: str, lines: tuple) -> Theme:
    """Make a theme from the colours that differ between backgrounds."""
    return Theme(
        ink=ink,
        muted=muted,
        grid=grid,
        cell=cell,
        middle=middle,
        low=cool,
        high=warm,
        element=warm,
        field=cool,
        mean=GREEN,
        divides=PURPLE,
        yes=cool,
        no=warm,
        original=muted,
        transformed=PURPLE,
        training=cool,
        inference=warm,
        lines=lines,
    )


THEMES = {
    "light": _make_theme("#1b1f24", "#57606a", "#8c959f", "#dde3ea", "#f7f7f7", BLUE, VERMILION, LINE_COLOURS),
    "dark": _make_theme("#f0f3f6", "#b3bcc6", "#768390", "#39424e", "#22272e", SKY, "#FF8A3D", HUES),
}
"""The themes by the name of Streamlit's base theme."""
