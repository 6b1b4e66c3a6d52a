"""Pictures of a normalization: the cube of the tensor lab in notebooks and in web pages of its own."""

from collections.abc import Mapping
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from normviz.charts.colourings import COLOURING_NAMES
from normviz.charts.palette import THEMES
from normviz.core.arrays import ArrayLike, copy_to_numpy
from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_DRAWN_ELEMENTS, Index, check_shape
from normviz.core.normalize import LayerScalars, normalize, resolve_eps
from normviz.core.scheme import Scheme
from normviz.core.text import join_words
from normviz.describe.wording import SchemeOnShape
from normviz.library.calls import LibraryCall
from normviz.library.screenshot import draw_png
from normviz.topics.lab.lab_cube import CubeLook, choose_cube_view, draw_lab_cube
from normviz.web.plot_message import build_plot_message
from normviz.web.plotly_script import read_plotly_script
from normviz.web.web_page import build_web_page

FRAME_HEIGHT = 640
"""Height of a picture in a notebook, in pixels."""

UNTURNED = {"camera": (), "gaps": (), "cut": (0, 0, 0, 0)}
"""The view of a cube at first."""

FRAME = '<iframe title="{title}" srcdoc="{page}" width="100%" height="{height}" style="border: 0"></iframe>'
"""A picture in a notebook: a frame, so that its scripts run and its styles stay inside."""


class Picture:
    """The cube of a normalization, which a notebook draws and which can be saved as HTML or PNG.

    Attributes:
        title: the scheme, its parameters and the shape, in words.
    """

    def __init__(self, messages: Mapping[str, Mapping[str, Any]]) -> None:
        self.title: str = messages["light"]["title"]
        self._messages = messages

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_html_(self) -> str:
        return FRAME.format(title=escape(self.title), page=escape(self.html), height=FRAME_HEIGHT)

    @cached_property
    def html(self) -> str:
        """The picture as the HTML of a self-contained web page, with plotly.js, scripts and styles in it."""
        return build_web_page(self._messages)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Save the picture as one file of about 2 MB: a web page that works offline.

        Raises:
            OSError: the file cannot be written.
        """
        Path(path).write_text(self.html, encoding="utf-8")

    def to_png(self, path: str | PathLike[str], width: int = 900, height: int = 640) -> None:
        """Save the cube as PNG, at twice the size in pixels, with kaleido, Plotly's exporter, and its browser.

        Raises:
            InvalidInput: kaleido is not installed, or there is no browser.
            OSError: the file cannot be written.
        """
        Path(path).write_bytes(draw_png(self.html, width, height))


def show(
    x: ArrayLike,
    scheme: str | Scheme,
    *,
    layout: str | None = None,
    groups: int | None = None,
    radius: int | None = None,
    alpha: float | None = None,
    eps: float | None = None,
    colour: str = "field",
    focus: Index = (0, 0, 0, 0),
) -> Picture:
    """Draw an array as a cube, coloured by `colour`, with the elements that share statistics with the one at `focus`.

    The pointer shows any element with its field, and a click locks it. "Watch it happen" plays the normalization: the
    elements of each field collapse into their mean, which is copied back. The cube is that of the app's tensor lab.

    Args:
        x, scheme, layout, groups, radius, alpha, eps: as for `normalize`.
        colour: "field" lights the field of an element; "statistic" gives each field a hue; "value", "normalized" and
            "output" colour x, x̂ and y.
        focus: the locked element at first, an index of (N, H, W, C).

    Returns:
        A picture, which Jupyter, marimo and VS Code draw. `to_html` saves it as a web page.

    Raises:
        InvalidInput: also for more than 65,536 elements, for an unknown colour, and where plotly is not installed.

    >>> import numpy as np, normviz
    >>> x = np.random.default_rng(0).normal(size=(4, 6, 4, 4))
    >>> normviz.show(x, "group", groups=3, layout="NCHW")
    <Picture: Group normalization with G = 3, N × H × W × C = 4 × 4 × 4 × 6>
    """
    read_plotly_script()
    call = LibraryCall(x, scheme, layout, groups, radius, alpha)
    shape = check_shape(call.tensor.shape, call.scheme.axes, MAX_DRAWN_ELEMENTS)
    if colour not in COLOURING_NAMES:
        raise InvalidInput(f"{colour!r} is not a colouring; {join_words(COLOURING_NAMES)} are.")
    if len(focus) != 4 or not all(0 <= index < n for index, n in zip(focus, shape, strict=True)):
        raise InvalidInput(f"focus {tuple(focus)} is not an element of {' × '.join(map(str, shape))}.")
    x = copy_to_numpy(call.tensor)
    result, bound = normalize(x, call.scheme, eps), SchemeOnShape(call.scheme, shape)
    layer = LayerScalars(resolve_eps(call.scheme, eps))
    look = CubeLook(choose_cube_view(call.scheme), colour, tuple(focus))
    messages = {}
    for theme in THEMES:
        drawn = draw_lab_cube(bound, x, result, layer, look, theme, view=UNTURNED)
        messages[theme] = build_plot_message(drawn.figure, "cube", drawn.alt, cube=drawn.cube)
    return Picture(messages)
