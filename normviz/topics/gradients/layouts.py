"""Shapes of homework's arrays in a layout, and the limit of their size."""

from collections.abc import Sequence
from math import prod

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS, parse_layout
from normviz.core.registry import Scheme


def get_parameter_axes(scheme: Scheme, name: str) -> tuple[int, ...]:
    """Return the axes of (N, H, W, C) along which gamma or beta varies; (3,) if the scheme learns none."""
    axes = scheme.gain if name == "gamma" else scheme.bias
    return (3,) if axes is None else tuple(scheme.axes.index(axis) for axis in axes)


def get_parameter_shape(scheme: Scheme, name: str, layout: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of gamma or beta for an x of this shape: the lengths of its axes, in the layout's order."""
    return tuple(n for axis, n in zip(LAYOUTS[layout], shape, strict=True) if axis in get_parameter_axes(scheme, name))


def reshape_parameter(array: np.ndarray, scheme: Scheme, name: str, layout: str, shape: Sequence[int]) -> np.ndarray:
    """Return gamma or beta in a shape that broadcasts to the tensor (N, H, W, C).

    Accepted are the scheme's own shape, one number for each channel, one number, and the axes of x, each full or 1.

    Raises:
        InvalidInput: any other shape.
    """
    own = get_parameter_axes(scheme, name)
    for varying in (own, (3,)):
        wanted = tuple(n if axis in varying else 1 for axis, n in zip(LAYOUTS[layout], shape, strict=True))
        if array.shape == tuple(n for axis, n in zip(LAYOUTS[layout], shape, strict=True) if axis in varying):
            return parse_layout(layout).to_tensor(array.reshape(wanted))
    if array.ndim == len(shape) and all(n in (1, whole) for n, whole in zip(array.shape, shape, strict=True)):
        return parse_layout(layout).to_tensor(array)
    if array.size == 1:
        return array.reshape(1, 1, 1, 1)
    fitting = get_parameter_shape(scheme, name, layout, shape)
    raise InvalidInput(f"{name} has the shape {array.shape}; beside x of {tuple(shape)} it has {fitting}.")


def check_size(shape: Sequence[int], layout: str, limit: int) -> None:
    """Raise InvalidInput for a shape that does not fit the layout, is empty, or has more than `limit` elements."""
    if len(shape) != len(LAYOUTS[layout]):
        raise InvalidInput(f"x has {len(shape)} axes; {layout} has {len(LAYOUTS[layout])}.")
    if not all(shape):
        raise InvalidInput(f"x has the shape {tuple(shape)}; every axis needs at least one element.")
    if prod(shape) > limit:
        raise InvalidInput(f"x has {prod(shape):,} elements; answers for up to {limit:,} are judged.")
