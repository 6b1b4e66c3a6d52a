"""What the page on design shows: one panel at a time."""

from collections.abc import Callable

from normviz.design.panels import conditional, finding, lattice, pointwise
from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {
    "find": finding.show,
    "map": lattice.show,
    "pointwise": pointwise.show,
    "conditional": conditional.show,
}
"""By a key of `state.SHOWN`: what draws it, for a view and a theme."""
