"""The panel on γ and β that come from a condition."""

from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """All of it."""
