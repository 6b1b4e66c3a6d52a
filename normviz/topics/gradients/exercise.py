"""A homework task: its inputs as a file, and the arrays of an answer from files."""

import io
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS
from normviz.core.registry import Scheme, get_scheme
from normviz.data.files import check_upload_size, read_npy, read_npz
from normviz.describe.code import render_template
from normviz.describe.wording import describe_reduction, format_scheme_name
from normviz.topics.gradients.answers import ANSWER_NAMES, INPUT_NAMES, make_inputs
from normviz.topics.gradients.case import separate_usable_arrays
from normviz.topics.gradients.layouts import get_parameter_shape

LAYOUT_NAMES = {"NC": "(N, D)", "NCHW": "(N, C, H, W)", "NHWC": "(N, H, W, C)", "BTC": "(B, T, C)"}
"""The layouts in the notation of courses."""

SCHEMES = ("batch", "layer", "layer-channels", "instance", "group", "rms")
"""Keys of the schemes that a task may have."""

MAX_LENGTHS = {"examples": 16, "height": 8, "width": 8, "channels": 16}
"""Largest lengths of the axes: judging takes less than a second."""


@dataclass(frozen=True)
class Exercise:
    """A homework task: scheme, layout, lengths of N, H (or T), W and C, a floating-point type, ε and a seed."""

    scheme_key: str
    groups: int
    layout: str
    lengths: tuple[int, int, int, int]
    dtype: str
    eps: float
    seed: int

    @property
    def scheme(self) -> Scheme:
        """The scheme that the answer has to compute."""
        return get_scheme(self.scheme_key, groups=self.groups)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x in the layout, with the layout's axes alone."""
        return tuple(self.lengths[axis] for axis in LAYOUTS[self.layout])

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """The shape of x as (N, H, W, C), with length 1 for axes that the layout does not have."""
        return tuple(n if axis in LAYOUTS[self.layout] else 1 for axis, n in enumerate(self.lengths))

    def make_inputs(self) -> dict[str, np.ndarray]:
        """Return the task's random x, gamma, beta, eps and dout by name.

        Raises:
            InvalidInput: the scheme does not fit the shape.
        """
        self.scheme.check(self.tensor_shape)
        return make_inputs(self.scheme, self.layout, self.shape, self.seed, self.dtype, self.eps)

    def describe(self) -> str:
        """Return the scheme and its axes in words: "batch normalization (N, H, W averaged, C kept)"."""
        field = self.scheme.field
        over = "" if field is None else f" ({describe_reduction(field, self.scheme.axes, self.tensor_shape)})"
        return format_scheme_name(self.scheme) + over

    def format_template(self) -> str:
        """Return a Python script to fill in, which loads the inputs and saves the answer."""
        parameters = [get_parameter_shape(self.scheme, name, self.layout, self.shape) for name in ("gamma", "beta")]
        shapes = dict(zip(ANSWER_NAMES, (self.shape, self.shape, *parameters), strict=True))
        return render_template("homework.py.jinja", said=self.describe(), names=INPUT_NAMES, shapes=shapes)

    def format_command(self) -> str:
        """Return the `normviz answer` command that checks an answer as the page does."""
        groups = f" --groups {self.groups}" if "groups" in self.scheme.parameters else ""
        return f"normviz answer --scheme {self.scheme_key}{groups} --layout {self.layout} inputs.npz answer.npz"


def pack_npz(arrays: dict[str, Any]) -> bytes:
    """Return the content of an .npz file with these arrays."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def read_answers(name: str, content: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return two dicts by array name: the usable arrays of a file, and the reasons why others are not usable.

    An .npz holds any of them, an .npy the array that it is named after, as in dx.npy or dx (1).npy.

    Raises:
        InvalidInput: a file that is too large or not of its format, that is named after no array, or that holds none.
    """
    check_upload_size(name, content)
    if name.lower().endswith(".npz"):
        found = read_npz(content)
    elif match := re.fullmatch(rf"({'|'.join(ANSWER_NAMES)})\b[^/]*\.npy", name, re.IGNORECASE):
        found = {match[1].lower(): read_npy(content)}
    else:
        raise InvalidInput(
            f"{name[:60]} is neither answer.npz nor one of {', '.join(f'{each}.npy' for each in ANSWER_NAMES)}."
        )
    if not found:
        raise InvalidInput(f"{name[:60]} holds none of {', '.join(ANSWER_NAMES)}.")
    return separate_usable_arrays(found, ANSWER_NAMES, "answer")
