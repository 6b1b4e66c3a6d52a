"""The panel on the sets of invariances that there are."""

from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """All of it."""
