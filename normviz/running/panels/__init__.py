"""What the training and inference page shows below the stream: one panel at a time, each with numbers of its own."""

from collections.abc import Callable

from normviz.running.averages import Averages
from normviz.running.panels import layer, spread, wrong
from normviz.running.state import PANELS, PREFIX
from normviz.running.stream import Trace
from normviz.ui.link import View, segments


def choose() -> None:
    """What is shown below the stream."""
    segments(PREFIX + "panel", "Below", PANELS)


def show(view: View, seen: Trace, averages: Callable[[], Averages], theme: str) -> None:
    """The open panel; only that is computed. Raises InvalidInput where there are no running averages to speak of."""
    {
        "wrong": lambda: wrong.show(view, seen, averages, theme),
        "bias": lambda: spread.bias(view, theme),
        "noise": lambda: spread.noise(view, theme),
        "companions": lambda: layer.beside_others(view, theme),
        "folding": lambda: layer.folding(view, averages().last),
        "shards": lambda: layer.shards(view),
    }[view["panel"]]()
