"""Two schemes beside each other: both cubes, and an element in words."""

import numpy as np

from normviz.core.fields import AXIS_NAMES, Index, Shape
from normviz.core.registry import Scheme
from normviz.describe.wording import SchemeOnShape
from normviz.topics.same.state import CAMERA
from normviz.ui.cube_row import show_cubes
from normviz.ui.link import View


def describe_element_position(scheme: Scheme, index: Index) -> str:
    """Describe the position of an element: "example 2, row 2, column 0, channel 4"."""
    return ", ".join(f"{AXIS_NAMES[axis].one} {i}" for axis, i in zip(scheme.axes, index, strict=True))


def describe_shared_elements(scheme: Scheme, index: Index, shape: Shape) -> str:
    """Describe which elements share the mean, and which the divisor, of the element at `index`, in sentences."""
    boxes = SchemeOnShape(scheme, shape).describe_boxes(index)
    return " ".join(box.sentence for box in boxes) or "It shares nothing, and stays."


def draw_two_cubes(
    schemes: tuple[Scheme, Scheme], x: np.ndarray, xhats: tuple[np.ndarray, np.ndarray], view: View, theme: str
) -> None:
    """Draw a tensor as two cubes, one per scheme, with the elements averaged with the chosen one; a readout shows x̂."""
    focus = tuple(min(i, n - 1) for i, n in zip(view["focus"], x.shape, strict=True))
    show_cubes(schemes, x, xhats, view | {"focus": focus}, CAMERA, theme)
