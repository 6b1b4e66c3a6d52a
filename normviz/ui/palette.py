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

LINES = (BLUE, VERMILION, PURPLE, GREEN, ORANGE, SKY)
"""Those that show as thin lines on white."""

NOT_FINITE = PURPLE


@dataclass(frozen=True)
class Theme:
    """The colours that depend on the background."""

    ink: str
    muted: str
    grid: str
    cell: str
    middle: str
    low: str
    high: str
    field: str
    element: str
    lines: tuple[str, ...]

    @property
    def diverging(self) -> list[list]:
        """A scale of colours whose middle is 0."""
        return [[0, self.low], [0.5, self.middle], [1, self.high]]


THEMES = {
    "light": Theme("#1b1f24", "#57606a", "#8c959f", "#dde3ea", "#f7f7f7", BLUE, VERMILION, BLUE, VERMILION, LINES),
    "dark": Theme("#f0f3f6", "#b3bcc6", "#768390", "#39424e", "#22272e", SKY, "#FF8A3D", SKY, "#FF8A3D", HUES),
}
"""By Streamlit's name of the theme's base."""
