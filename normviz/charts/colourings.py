"""The colourings of a cube's cells: their names, and those that a scheme has."""

from normviz.core.registry import Scheme

COLOUR_NAMES = {
    "field": "Field",
    "statistic": "Statistic",
    "value": "x",
    "normalized": "x̂",
    "output": "y",
}
"""Names of the colourings of cells."""


def list_colours(has_affine: bool) -> list[str]:
    """Return the keys of the cube's colourings; y only if `has_affine`, as y = x̂ for a scheme without γ and β."""
    return [colour for colour in COLOUR_NAMES if colour != "output" or has_affine]


def format_colour_name(colour: str, scheme: Scheme) -> str:
    """Format a colouring's name with the symbol of the scheme's tensor: x, or w for weights."""
    return COLOUR_NAMES[colour].replace("x", scheme.symbol)
