"""The tensor lab's cube in the page, for the state of the page."""

import numpy as np

from normviz.core.kinds.base import NormalizationResult
from normviz.describe.wording import SchemeOnShape
from normviz.topics.lab.lab_cube import CubeLook, draw_lab_cube, has_pictures
from normviz.topics.lab.state import LOOK_PARAMS, get_cube_view, get_layer_scalars
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import View
from normviz.ui.tensor import is_picture, store_chosen_element
from normviz.web.components.plot import show_figure


def show_lab_cube(
    view: View, scheme_on_shape: SchemeOnShape, x: np.ndarray, result: NormalizationResult, theme: str
) -> None:
    """Show the cube with the elements that share statistics with the chosen one, and a legend."""
    scheme = scheme_on_shape.scheme
    is_grey = has_pictures(scheme, x.shape) and is_picture(view, x.shape)
    look = CubeLook(get_cube_view(view, scheme), view["colour"], view["focus"], is_grey)
    drawn = draw_lab_cube(
        scheme_on_shape, x, result, get_layer_scalars(view, scheme), look, theme,
        view={param.name: view[param.name] for param in LOOK_PARAMS},
        on_focus=lambda: store_chosen_element("cube plot"),
        on_view=make_view_callback("cube plot", LOOK_PARAMS),
    )  # fmt: skip
    show_figure(drawn.figure, key="cube", alt=drawn.alt, cube=drawn.cube)
