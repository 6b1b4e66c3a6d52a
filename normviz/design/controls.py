"""The controls of the page on design."""

from normviz.design.state import PREFIX, SHOWN
from normviz.ui.link import View, segments


def choose() -> None:
    """What the page shows."""
    segments(PREFIX + "show", "Show", SHOWN)


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
