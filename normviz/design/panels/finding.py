"""The panel on schemes that have what is asked for, or why there are none."""

from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """All of it."""
