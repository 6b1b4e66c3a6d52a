"""Where two results are furthest apart: the element in words, what it shares, and a map of the differences."""

import numpy as np

from normviz.core.equality import distances
from normviz.core.fields import AXIS, Index, Shape
from normviz.core.schemes import Scheme
from normviz.describe.wording import boxes, gap_text
from normviz.ui.components.plot import plot
from normviz.ui.figures import statistics_map


def place(scheme: Scheme, index: Index) -> str:
    """Where an element is: "example 2, row 2, column 0, channel 4"."""
    return ", ".join(f"{AXIS[axis].one} {i}" for axis, i in zip(scheme.axes, index, strict=True))


def shares(scheme: Scheme, index: Index, shape: Shape) -> str:
    """What an element shares its statistics with, or takes them over: a sentence for each of its fields."""
    return " ".join(box.sentence for box in boxes(scheme, index, shape)) or "It shares nothing, and stays."


def difference_map(left: np.ndarray, right: np.ndarray, index: Index, scheme: Scheme, key: str, theme: str) -> None:
    """Where two results differ, the furthest element framed."""
    apart = distances(left, right)
    figure = statistics_map(apart, scheme.axes, index, "difference", theme)
    figure.update_traces(texttemplate=None, colorbar={"title": {"text": "|difference|"}})
    figure.update_yaxes(automargin=True)
    furthest = f"{gap_text(float(apart[index]))} at {place(scheme, index)}"
    plot(figure, key, f"How far the two x̂ are apart, element by element; the largest, {furthest}, is framed.", "24rem")
