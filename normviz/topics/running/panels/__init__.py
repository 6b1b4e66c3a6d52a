"""The panels of the page "Training vs. inference"; only the open one is computed."""

from normviz.topics.running.panels import accuracy, companions, stream
from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """Show the open panel.

    Raises:
        InvalidInput: the framework refuses to train on a batch of this size.
    """
    {"switch": stream.show, "wrong": accuracy.show, "companions": companions.show}[view["panel"]](view, theme)
