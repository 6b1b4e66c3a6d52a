"""Parameters and state of a scheme, with their shapes here, in PyTorch and in Keras; and Keras's `axis`."""

from ast import literal_eval
from collections.abc import Callable, Collection
from math import prod
from re import search
from typing import NamedTuple

from normviz.core.fields import AXIS_NAMES, FULL, Shape
from normviz.core.registry import SCHEMES, Scheme
from normviz.describe.wording import SchemeOnShape

CHANNELS_FIRST_AXES: dict[str, tuple[str, ...]] = {
    "activation": ("N", "C", "H", "W"),
    "weight": ("Cout", "Cin", "kh", "kw"),
}
"""The order of the axes in PyTorch."""


UNKNOWN_FAN_IN = 0
"""The fan-in of the layer in front, whose kernel is not known here; it has a unit for each channel."""

_OF_WEIGHTS = "{} of the weights"


class ParameterRow(NamedTuple):
    """Learned parameter or stored state of a layer: its name, its use, and its shape here, in PyTorch and in Keras.

    Shapes are written as in code, "(3,)"; "–" where the framework has no layer, or the layer no such state.
    """

    name: str
    role: str
    here: str
    torch: str
    keras: str


def list_parameter_shapes(scheme: Scheme, shape: Shape) -> list[ParameterRow]:
    """List the learned parameters and stored states of a scheme with their shapes, for a tensor of this shape."""
    rows: list[ParameterRow] = []
    if scheme.weight is not None:
        rows = [
            _mark_as_weight_parameter(row)
            for row in list_parameter_shapes(SCHEMES[scheme.weight], (UNKNOWN_FAN_IN, 1, 1, shape[-1]))
        ]
    roles = {"α": "learned factor", "s": "learned shift"}
    for name in scheme.function_parameters:
        role = f"{roles[name]} inside {scheme.kind.function}, one for all"
        rows.append(ParameterRow(name, role, *_find_shapes_along(scheme, (), shape)))
    learned = (
        (scheme.gain_symbol, "gain", scheme.gain), ("β", "bias", scheme.bias), ("τ", "threshold", scheme.threshold),
    )  # fmt: skip
    for name, what, axes in learned:
        if axes is not None:
            each = " and ".join(", ".join(AXIS_NAMES[axis].one for axis in axes).rsplit(", ", 1))
            role = f"learned {what} for each {each}" if axes else f"learned {what}"
            rows.append(ParameterRow(name, role, *_find_shapes_along(scheme, axes, shape)))
    for name in scheme.keeps:
        rows.append(ParameterRow(name, "state, updated in training", *_find_state_shapes(scheme, name, shape)))
    return rows


def list_state_names(scheme: Scheme) -> list[str]:
    """Return the names of the states that a scheme and its weight scheme store for inference."""
    front = () if scheme.weight is None else SCHEMES[scheme.weight].keeps
    return [*(_OF_WEIGHTS.format(name) for name in front), *scheme.keeps]


class KerasAxis(NamedTuple):
    """The argument `axis` of a layer in Keras: the layer's name, the argument as written, and the axes it names."""

    layer: str
    argument: str
    names: frozenset[str]


def find_keras_axis(scheme: Scheme) -> KerasAxis | None:
    """Return the `axis` of the scheme's layer in Keras; None for schemes without such a layer."""
    call = search(r"(?P<layer>\w+)\(.*(?P<argument>axis=(?P<value>-?\d+|\([^)]*\)))", scheme.keras or "")
    if call is None:
        return None
    value = literal_eval(call["value"])
    names = frozenset(scheme.axes[i] for i in (value if isinstance(value, tuple) else (value,)))
    return KerasAxis(call["layer"], call["argument"], names)


def warn_about_keras_axis(scheme: Scheme, shape: Shape) -> str | None:
    """Return a warning that says if Keras's `axis` names averaged or kept axes; None without a Keras layer."""
    axis = find_keras_axis(scheme)
    if axis is None or scheme.field is None:
        return None
    rules = dict(zip(scheme.axes, scheme.field.rules, strict=True))
    meanings = (
        ("full", "what is averaged over", "In BatchNormalization axis names what is kept."),
        ("own", "what is kept", "In LayerNormalization and RMSNormalization axis names what is averaged over."),
    )
    for kind, meaning, elsewhere in meanings:
        if axis.names == {name for name, rule in rules.items() if rule.kind == kind}:
            axes = ", ".join(name for name in scheme.axes if name in axis.names)
            here = f"In Keras's {axis.layer}, {axis.argument} names {meaning} ({axes})"
            return f"{here}: on this shape {SchemeOnShape(scheme, shape).describe_statistic_counts()}. {elsewhere}"
    return None


def _mark_as_weight_parameter(row: ParameterRow) -> ParameterRow:
    """Return the row with a note that the parameter belongs to the weight scheme, not to the scheme behind it."""
    shapes = (text.replace(f"({UNKNOWN_FAN_IN},)", "(fan-in,)") for text in row[2:])
    return ParameterRow(_OF_WEIGHTS.format(row.name), row.role, *shapes)


_SINGULAR_VECTORS: dict[str, Callable[[int, int], tuple[str, str, str]]] = {
    "left singular vector": lambda fan_in, units: (f"({fan_in},)", f"({fan_in},)", "–"),
    "right singular vector": lambda fan_in, units: (f"({units},)", f"({units},)", f"(1, {units})"),
}
"""Shapes of the singular vectors of the (fan-in, units) matrix; Keras has only the right one, as a row."""


def _find_state_shapes(scheme: Scheme, name: str, shape: Shape) -> tuple[str, str, str]:
    """Return the shape of a layer's stored statistic as text: in this library, in PyTorch and in Keras ("–" if none).

    A running statistic has the shape of the means over the first field.
    """
    if name in _SINGULAR_VECTORS:
        return _SINGULAR_VECTORS[name](prod(shape[:-1]), shape[-1])
    if name == "running whitening matrix":
        return str(scheme.kind.compute_divisor_shape(scheme, shape)), "–", "–"
    rules = zip(scheme.axes, scheme.fields[0].rules if scheme.fields else (FULL,) * 4, strict=True)
    kept = [axis for axis, rule in rules if rule != FULL and axis != "N"]  # for inference, whose examples are others
    return _find_shapes_along(scheme, kept, shape)


def _find_shapes_along(scheme: Scheme, axes: Collection[str], shape: Shape) -> tuple[str, str, str]:
    """Return the shape, as text, of a parameter that varies along these axes: here, in PyTorch and in Keras.

    PyTorch puts channels first, and gives parameters of weights all four axes.
    """
    sizes = dict(zip(scheme.axes, shape, strict=True))
    here = tuple(int(sizes[axis]) for axis in scheme.axes if axis in axes)
    order = CHANNELS_FIRST_AXES[scheme.tensor]
    kept = order if scheme.activation_part is None else axes
    torch = tuple(int(sizes[axis]) if axis in axes else 1 for axis in order if axis in kept)
    return str(here), str(torch) if scheme.torch else "–", str(here) if scheme.keras else "–"
