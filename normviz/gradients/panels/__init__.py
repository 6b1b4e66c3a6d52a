"""What the page on gradients shows: one panel at a time."""

from collections.abc import Callable

from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {}
"""By a key of `state.SHOWN`: what draws it, for a view and a theme."""
