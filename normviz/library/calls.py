"""The functions of the library: schemes by name or as values, arrays in any layout."""

from dataclasses import replace
from typing import Any
from warnings import warn

import numpy as np
from array_api_compat import is_array_api_obj

from normviz.core import backward as differentiation
from normviz.core import normalize as normalization
from normviz.core import theory
from normviz.core.arrays import Array, ArrayLike, to_floating_point
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, FULL, OWN, Field, Rule, Shape, check_shape
from normviz.core.layouts import ArrayLayout, parse_layout
from normviz.core.reductions import centre, compute_rms
from normviz.core.registry import SCHEMES, get_scheme, make_custom_scheme
from normviz.core.scheme import Scheme
from normviz.core.statistics import compute_variance
from normviz.core.text import join_words
from normviz.core.transformations import LAYERS, TRANSFORMATIONS, Transformation
from normviz.library.results import Normalization, Statistics

DEFAULT_SHAPES: dict[str, tuple[Shape, Shape]] = {
    "dense": ((32, 1, 1, 32), (1, 1, 64, 32)),
    "conv": ((32, 6, 6, 8), (3, 3, 3, 8)),
}
"""Shapes (N, H, W, C) of the pre-activations and (kh, kw, Cin, Cout) of the weights of a small layer."""


def normalize(
    x: ArrayLike,
    scheme: str | Scheme,
    eps: float | None = None,
    gain: ArrayLike = 1.0,
    bias: ArrayLike = 0.0,
    *,
    layout: str | None = None,
    groups: int | None = None,
    radius: int | None = None,
    alpha: float | None = None,
) -> Normalization:
    """Normalize an array: v = x - E_A[x], x̂ = v / sqrt(ε + E_B[v²]), y = γ x̂ + β.

    Args:
        x: a NumPy, torch or JAX array, or nested lists. Half precision is computed in float32.
        scheme: a name such as "batch", "group" or "BatchNorm2d" (the keys of `SCHEMES` and their usual names), or a
            `Scheme`, such as `custom` makes.
        eps: ε >= 0; the scheme's own, mostly 1e-5, if None.
        gain, bias: γ and β: numbers, one number per channel, or arrays with the axes of x, which may have length 1.
        layout: the axes of x, one letter each: "NCHW", "NHWC", "NC", "BTC", "BCT" or any other order; N or B is
            examples, C channels (D in "BTD"), and other letters positions. Words work too: "b h t d". Weights have
            O, I, H and W. None: (..., N, H, W, C), or (N, C) for two axes.
        groups: G, the number of groups of a scheme that has groups.
        radius: R, the radius of a scheme's windows.
        alpha: the first α of dynamic tanh or erf.

    Returns:
        mean (None if nothing is subtracted), v, deviation = sqrt(ε + E_B[v²]) (None if nothing divides), xhat and y,
        with the axes of x. Averaged axes of mean and deviation have length 1.

    Raises:
        InvalidInput: in one line, what was wrong, what came, and what would be right.

    >>> import numpy as np, normviz
    >>> x = np.random.default_rng(0).normal(size=(8, 6, 4, 4))
    >>> result = normviz.normalize(x, "group", groups=3, layout="NCHW")
    >>> result
    <Group normalization: mean (8, 3, 1, 1), v (8, 6, 4, 4), deviation (8, 3, 1, 1), xhat (8, 6, 4, 4), \
y (8, 6, 4, 4), float64>
    >>> bool(abs(result.y[0, :2].mean()) < 1e-12)  # the first of three groups of one example
    True
    """
    call = LibraryCall(x, scheme, layout, groups, radius, alpha)
    result = normalization.normalize(
        call.tensor, call.scheme, eps, call.expand(gain, "gain"), call.expand(bias, "bias")
    )
    found = Normalization(*(None if part is None else call.to_user_layout(part) for part in result))
    found.scheme, found.layout, found.eps = call.scheme, call.layout, normalization.resolve_eps(call.scheme, eps)
    return found


def backward(
    x: ArrayLike,
    dy: ArrayLike,
    scheme: str | Scheme,
    eps: float | None = None,
    gain: ArrayLike = 1.0,
    *,
    layout: str | None = None,
    groups: int | None = None,
    radius: int | None = None,
    alpha: float | None = None,
) -> Array:
    """Compute ∂L/∂x of y = γ x̂ + β from dy = ∂L/∂y; x, dy and the result have the same shape.

    ∂L/∂v = g/σ - v · E_Bᵀ[g·v/σ³] and ∂L/∂x = ∂L/∂v - E_Aᵀ ∂L/∂v with g = γ dy. The arguments and errors are those of
    `normalize`. The gradient of batch norm sums to 0 over every channel:

    >>> import numpy as np, normviz
    >>> x, dy = np.random.default_rng(0).normal(size=(2, 4, 6, 3, 3))
    >>> dx = normviz.backward(x, dy, "batch", layout="NCHW")
    >>> dx.shape, bool(np.allclose(dx.sum((0, 2, 3)), 0))
    ((4, 6, 3, 3), True)
    """
    call = LibraryCall(x, scheme, layout, groups, radius, alpha)
    dy = _to_array(dy)
    if tuple(dy.shape[-len(call.shape) :]) != call.shape or (call.layout is not None and dy.ndim != len(call.shape)):
        raise InvalidInput(f"∂L/∂y has the shape {tuple(dy.shape)}, x {call.shape}; they need to be the same.")
    above = dy if call.layout is None else call.layout.to_tensor(dy)
    found = differentiation.compute_gradients(call.tensor, above, call.scheme, eps, call.expand(gain, "gain"))
    return call.to_user_layout(found.dx)


@normalization.ignore_float_warnings
def statistics(
    x: ArrayLike,
    scheme: str | Scheme,
    eps: float | None = None,
    *,
    layout: str | None = None,
    groups: int | None = None,
    radius: int | None = None,
) -> Statistics:
    """Return the mean, variance, root mean square and divisor of each set of elements that share them.

    The arguments and errors are those of `normalize`. Averaged axes of the results have length 1:

    >>> import numpy as np, normviz
    >>> x = np.arange(12.0).reshape(2, 3, 2)
    >>> found = normviz.statistics(x, "layer-channels", layout="BTC")
    >>> found.mean.shape, found.mean[0, :, 0].tolist(), found.variance[0, :, 0].tolist()
    ((2, 3, 1), [0.5, 2.5, 4.5], [0.25, 0.25, 0.25])

    Raises:
        InvalidInput: also for a scheme without statistics, such as dynamic tanh.
    """
    call = LibraryCall(x, scheme, layout, groups, radius, None)
    if not call.scheme.fields:
        raise InvalidInput(f"{call.scheme.name} has no statistics; batch, layer and most other schemes have.")
    tensor, _ = to_floating_point(call.tensor)
    result = normalization.normalize(tensor, call.scheme, eps)
    summation, suppression = call.scheme.fields[0], call.scheme.kind.find_divisor_field(call.scheme)
    parts = (
        centre(tensor, summation)[1],
        compute_variance(tensor, suppression),
        compute_rms(tensor, suppression),
        result.deviation,
    )
    return Statistics(*(None if part is None else call.to_user_layout(part) for part in parts))


def predict(
    scheme: str | Scheme,
    transformation: str | Transformation,
    layer: str = "dense",
    shape: Shape | None = None,
    weight_shape: Shape | None = None,
    eps: float = 0.0,
    *,
    groups: int | None = None,
    radius: int | None = None,
) -> theory.Prediction:
    """Predict whether a scheme is invariant to a change of the weights or the data: an entry of Table 1.

    Args:
        scheme: a name or a `Scheme`, as for `normalize`; also groups, radius.
        transformation: a key of `TRANSFORMATIONS`, such as "dataset-rescaling", or its value.
        layer: "dense" or "conv".
        shape: shape (N, H, W, C) of the pre-activations; that of a small layer if None.
        weight_shape: shape (kh, kw, Cin, Cout) of the weights; that of a small layer if None.
        eps: ε of the scheme on the activations. Theory holds at ε = 0; at ε > 0 invariance to scale
            is lost little by little, and the prediction says `fades`.

    >>> import normviz
    >>> normviz.predict("batch", "weight-vector-rescaling").invariant
    True
    >>> normviz.predict("layer", "weight-vector-rescaling", layer="conv").invariant
    False

    Raises:
        InvalidInput: an unknown scheme, transformation or layer, or a shape that the scheme does not fit.

    Source: Ba, Kiros & Hinton 2016, Table 1, and the rule that generalizes it.
    """
    if layer not in LAYERS:
        raise InvalidInput(f"layer {layer!r} is unknown; {join_words(LAYERS)} would do.")
    chosen = _find_scheme(scheme, None, groups, radius, None)
    if isinstance(transformation, str):
        if transformation not in TRANSFORMATIONS:
            raise InvalidInput(f"{transformation!r} is not a transformation; {', '.join(TRANSFORMATIONS)} are.")
        transformation = TRANSFORMATIONS[transformation]
    default_shape, default_weight_shape = DEFAULT_SHAPES[layer]
    shape = check_shape(shape or default_shape)
    weight_shape = check_shape(weight_shape or default_weight_shape, AXES["weight"])
    eps = normalization.resolve_eps(chosen, eps)
    for part, sizes in ((chosen.activation_part, shape), (chosen.weight_part, weight_shape)):
        if part is not None:
            part.check(sizes)
    return theory.predict(chosen, transformation, layer, shape, weight_shape, eps)


def custom(summation: str | Field | None = None, suppression: str | Field | None = None, eps: float = 1e-5) -> Scheme:
    """Return a custom scheme, given the axes that its mean and its divisor average over.

    Args:
        summation: the axes of the mean, such as "N,H,W"; rules in full, such as "N=full,C=groups(2)"; or a `Field`.
            None: nothing is subtracted.
        suppression: the same for the mean square that divides. None: nothing divides.
        eps: ε.

    >>> import normviz
    >>> batch = normviz.custom(summation="N,H,W", suppression="N,H,W")
    >>> batch.summation == normviz.get_scheme("batch").summation
    True

    Raises:
        InvalidInput: an axis or a rule that does not exist, or a negative ε.
    """
    made = replace(make_custom_scheme(_parse_field(summation), _parse_field(suppression)), eps=eps)
    normalization.resolve_eps(made, eps)
    return made


class LibraryCall:
    """Prepared arguments of a library call: the `Scheme`, and x as `tensor` (N, H, W, C)."""

    def __init__(
        self,
        x: ArrayLike,
        scheme: str | Scheme,
        layout: str | None,
        groups: int | None,
        radius: int | None,
        alpha: float | None,
    ) -> None:
        self.scheme = _find_scheme(scheme, layout, groups, radius, alpha)
        array = _to_array(x)
        self.shape = tuple(array.shape)
        self.layout = _find_layout(layout, self.shape, self.scheme)
        self.tensor = array if self.layout is None else self.layout.to_tensor(array)

    def expand(self, parameter: ArrayLike, name: str) -> Any:
        """Return γ or β (`parameter`) in a shape that broadcasts against `tensor`; `name` is its name in errors.

        Raises InvalidInput for a text, or a shape that does not broadcast.
        """
        if isinstance(parameter, int | float):
            return parameter
        array = _to_array(parameter)
        if self.layout is not None:
            array = self.layout.expand_parameter(array, len(self.shape))
        try:
            fits = np.broadcast_shapes(tuple(array.shape), tuple(self.tensor.shape)) == tuple(self.tensor.shape)
        except ValueError:
            fits = False
        if not fits:
            raise InvalidInput(
                f"the {name} has the shape {tuple(np.shape(parameter))}, x {self.shape}; "
                f"use a number, one number per channel ({self.tensor.shape[-1]}), or the axes of x."
            )
        return array

    def to_user_layout(self, tensor: Array) -> Array:
        """Return a tensor, or statistics of it, with the axes (N, H, W, C) moved back to the layout of x."""
        return tensor if self.layout is None else self.layout.from_tensor(tensor, self.shape)


def _find_scheme(
    scheme: str | Scheme, layout: str | None, groups: int | None, radius: int | None, alpha: float | None
) -> Scheme:
    """Return the scheme, given by name or as a `Scheme`, with these parameters. Raises InvalidInput if it lacks one."""
    if not isinstance(scheme, Scheme | str):
        raise InvalidInput(
            f"the scheme is a {type(scheme).__name__}; a name such as 'batch', or a Scheme, comes second, after x."
        )
    given = {"groups": groups, "radius": radius, "alpha": alpha}
    for name, value in given.items():
        if name != "alpha" and value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise InvalidInput(f"{name} is a whole number; this one is {value!r}.")
    found = get_scheme(scheme) if isinstance(scheme, str) else scheme
    if found.key == "layer" and scheme != "layer" and isinstance(scheme, str) and layout is not None:
        _check_layer_norm(scheme, layout)
    for name, value in given.items():
        if value is not None and name not in _list_parameters(found):
            others = [key for key, row in SCHEMES.items() if name in _list_parameters(row)]
            raise InvalidInput(f"{found.name} takes no {name}; {join_words(others)} would.")
    if isinstance(scheme, str):
        return get_scheme(scheme, groups, radius, alpha)
    return found.with_parameters(groups, radius, alpha)


def _list_parameters(scheme: Scheme) -> list[str]:
    """Return the arguments of `normalize` that a scheme takes: "groups", "radius" or "alpha"."""
    return ["radius" if kind == "window" else kind for kind in scheme.parameters]


def _check_layer_norm(name: str, layout: str) -> None:
    """Raise InvalidInput if a name of layer norm is ambiguous for a layout: one with a single axis of positions."""
    axes = parse_layout(layout).axes
    if axes.count(1) + axes.count(2) == 1:
        raise InvalidInput(
            f"{name!r} means two schemes for {layout!r}: 'layer-channels' averages channels alone (transformers), "
            "'layer' averages positions too (Ba et al.); use one of these names."
        )


def _find_layout(layout: str | None, shape: tuple[int, ...], scheme: Scheme) -> ArrayLayout | None:
    """Return the layout by name, or the usual one for this shape; None for (..., N, H, W, C). Raises InvalidInput."""
    if layout is not None:
        return parse_layout(layout, scheme.tensor)
    if len(shape) >= 4:
        if "N" in scheme.axes and _seems_channels_first(shape):
            sizes = " × ".join(map(str, shape))
            warn(
                f"{sizes} is read as N × H × W × C. If the channels come first, say layout='NCHW'; "
                "otherwise layout='NHWC' silences this.",
                stacklevel=4,
            )
        return None
    if len(shape) == 2 and "N" in scheme.axes:
        return parse_layout("NC")
    known = {"weight": "'OIHW', 'OI' or 'HWIO'"}.get(
        scheme.tensor, "'BTC', 'BCT' or 'HWC'" if len(shape) == 3 else "'NC'"
    )
    raise InvalidInput(f"x has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}; say which: layout={known}.")


def _seems_channels_first(shape: tuple[int, ...]) -> bool:
    """Return True if a shape of four axes looks like (N, C, H, W): two equal last axes, or 1 or 3 channels."""
    if len(shape) != 4:
        return False
    _, first, second, third = shape
    return (second == third > 1 and first != second) or (first in (1, 3) and min(second, third) >= 16)


def _parse_field(field: str | Field | None) -> Field | None:
    if field is None or isinstance(field, Field):
        return field
    if not isinstance(field, str):
        raise InvalidInput(f"a field is a text such as 'N,H,W' or a Field; this is a {type(field).__name__}.")
    axes = AXES["activation"]
    names = [name.strip() for name in field.split(",")]
    if all(name in axes for name in names):
        return Field(tuple(FULL if axis in names else OWN for axis in axes))
    if all(name.isalnum() and name not in Rule.KINDS for name in names):
        unknown = next(name for name in names if name not in axes)
        raise InvalidInput(f"{unknown!r} is not an axis; N, H, W and C are, as in 'N,H,W' or 'H=full,C=groups(2)'.")
    return Field.parse(field)


def _to_array(x: ArrayLike) -> Array:
    return x if is_array_api_obj(x) else to_floating_point(x)[0]
