"""Colours, once: Okabe & Ito's palette, which readers with colour-vision deficiencies can tell apart, by role."""

from dataclasses import dataclass

ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
HUES = (SKY, ORANGE, GREEN, YELLOW, BLUE, VERMILION, PURPLE)
"""The hues of shared statistics, in turn."""

LINE_COLOURS = (BLUE, VERMILION, PURPLE, GREEN, ORANGE, SKY)
"""Those that show as thin lines on white."""

NOT_FINITE_COLOUR = PURPLE


@dataclass(frozen=True)
class Theme:
    """The colours that depend on the background; one that is named after a role means that on every page.

    There are fewer hues than roles: roles that share a hue never stand in one picture. A dash, a marker or a word says
    the same as the colour.

    Attributes:
        ink: text, outlines, and what is true: a population, a bound.
        muted, grid: what stands behind: axes, ticks, what is not of the field.
        cell: a cell that says nothing.
        middle, low, high: values at, below and above 0.
        element: the element or pixel in focus.
        field: the elements that share its statistic; the divisor's, where mean and divisor have fields of their own.
        mean: μ, and the field of what is averaged where that is another.
        divides: σ, the root mean square, the norm.
        yes, no: an answer: invariant or not, equal or not.
        original, transformed, matched: twins: as it was; with its weights or data changed; changed, and with another
            learning rate than the other one.
        training, inference: batch statistics, and running averages, and what is computed with each.
        lines: schemes and other curves beside each other, in turn, by `style.line`.
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
    matched: str
    training: str
    inference: str
    lines: tuple[str, ...]

    @property
    def diverging_scale(self) -> list[list]:
        """A scale of colours whose middle is 0."""
        return [[0, self.low], [0.5, self.middle], [1, self.high]]


def _theme(ink: str, muted: str, grid: str, cell: str, middle: str, cool: str, warm: str, lines: tuple) -> Theme:
    """The roles, by the two hues that differ between the backgrounds."""
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
        matched=GREEN,
        training=cool,
        inference=warm,
        lines=lines,
    )


THEMES = {
    "light": _theme("#1b1f24", "#57606a", "#8c959f", "#dde3ea", "#f7f7f7", BLUE, VERMILION, LINE_COLOURS),
    "dark": _theme("#f0f3f6", "#b3bcc6", "#768390", "#39424e", "#22272e", SKY, "#FF8A3D", HUES),
}
"""By Streamlit's name of the theme's base."""
