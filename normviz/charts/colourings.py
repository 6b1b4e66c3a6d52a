"""The colourings of a cube's cells: their names, and those that a scheme has."""

from normviz.core.registry import Scheme

COLOURING_NAMES = {"field": "Field", "statistic": "Statistic", "value": "x", "normalized": "x̂", "output": "y"}
"""Names of the colourings of cells, by key."""


def list_colourings(has_affine: bool) -> list[str]:
    """Return the keys of the cube's colourings; y only if `has_affine`, as y = x̂ for a scheme without γ and β."""
    return [colour for colour in COLOURING_NAMES if colour != "output" or has_affine]


def format_colouring_name(key: str, scheme: Scheme) -> str:
    """Format the name of the colouring `key` with the symbol of the scheme's tensor: x, or w for weights."""
    return COLOURING_NAMES[key].replace("x", scheme.symbol)
