"""The panel on what takes normalization's place without statistics."""

from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """All of it."""
