"""The panels of the page "Training vs. inference", of which one is open."""

from functools import partial

from normviz.running.panels import layer, spread, stream, wrong
from normviz.running.state import ADVANCED, PANELS, PREFIX, averages_of
from normviz.running.stream import Trace
from normviz.ui.link import View
from normviz.ui.tabs import choose_panel


def choose() -> None:
    """Draw the choice of the panel."""
    choose_panel(PREFIX + "panel", PANELS, ADVANCED)


def show(view: View, theme: str, seen: Trace) -> None:
    """Show the open panel; only that one is computed.

    Raises:
        InvalidInput: the panel needs running averages, and the framework refuses the batch.
    """
    averages = partial(averages_of, view, seen)
    {
        "switch": lambda: stream.show(view, seen, averages(), theme),
        "wrong": lambda: wrong.show(view, seen, averages, theme),
        "bias": lambda: spread.bias(view, theme),
        "noise": lambda: spread.noise(view, theme),
        "companions": lambda: layer.beside_others(view, theme),
        "folding": lambda: layer.folding(view, averages().last),
        "shards": lambda: layer.shards(view),
    }[view["panel"]]()
