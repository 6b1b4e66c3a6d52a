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
    """List the keys of the colourings of the cube; y only if the scheme has γ or β, since y = x̂ otherwise."""
    return [colour for colour in COLOUR_NAMES if colour != "output" or has_affine]


def format_colour_name(colour: str, scheme: Scheme) -> str:
    """Format a colouring's name with the symbol of the scheme's tensor: x, or w for weights."""
    return COLOUR_NAMES[colour].replace("x", scheme.symbol)
