"""A scheme as code to paste, for NumPy, PyTorch and Keras.

All of it follows from the scheme's fields. A framework's layer is used where it has one that computes the same on
the shape and with the ε at hand; else the code spells the operations out, rule by rule. All of it is
float64, but Keras's layers round to float32 unless the backend is TensorFlow, whatever their dtype.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, prod
from typing import NamedTuple

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field, Shape
from normviz.core.schemes import SCHEMES, Scheme


class _Layer(NamedTuple):
    """A layer that computes what is asked for: the scheme that it belongs to, the code that makes it, the shape."""

    scheme: Scheme
    code: str
    shape: Shape


def _torch_layer(layer: _Layer, gain: float | None, bias: float | None) -> Iterator[str]:
    scheme, code, (kh, kw, fan_in, units) = layer
    if scheme.acts_on == "weight":
        yield f"conv = nn.Conv2d({fan_in}, {units}, ({kh}, {kw}), bias=False).double()"
        yield "conv.weight.data = torch.from_numpy(x).permute(3, 2, 0, 1)  # Cout, Cin, kh, kw"
        yield f"conv = {code}"
        if scheme.gain is not None:
            length = 1.0 if gain is None else gain
            yield f"nn.init.constant_(conv.parametrizations.weight.original0, {length})  # the gain of every unit"
        yield "y = conv.weight.detach().permute(2, 3, 1, 0)"
        return
    yield f"layer = {code}.double()"
    for name, value in (("weight", gain), ("bias", bias)):
        if value is not None:
            yield f"nn.init.constant_(layer.{name}, {value})"
    if all(rule.kind == "own" for field in scheme.fields for rule in field.rules[:-1]):
        yield "y = layer(torch.from_numpy(x)).detach()  # nothing but the last axis matters, so channels stay last"
    else:
        yield "first = torch.from_numpy(x).permute(0, 3, 1, 2)  # channels first: N, C, H, W"
        yield "y = layer(first).detach().permute(0, 2, 3, 1)  # and back"


def _keras_layer(layer: _Layer, gain: float | None, bias: float | None) -> Iterator[str]:
    scheme, code, (kh, kw, fan_in, units) = layer
    code = code.removesuffix(")") + ("" if code.endswith("()") else ", ") + 'dtype="float64")'
    if scheme.acts_on == "weight":
        yield f'conv = keras.layers.Conv2D({units}, ({kh}, {kw}), use_bias=False, dtype="float64")'
        yield f"layer = {code}"
        yield f"layer.build((1, {kh}, {kw}, {fan_in}))"
        yield "conv.kernel.assign(x)"
        yield f"layer(np.zeros((1, {kh}, {kw}, {fan_in})), training=True)  # normalizes the kernel in place"
        yield "y = conv.kernel.numpy()"
        return
    yield f"layer = {code}"
    if gain is not None or bias is not None:
        yield "layer.build(x.shape)"
        yield f"{'(gamma,)' if scheme.bias is None else 'gamma, beta'} = layer.trainable_variables"
    for name, value in (("gamma", gain), ("beta", bias)):
        if value is not None:
            yield f"{name}.assign(np.full({name}.shape, {value}))"
    yield f"y = layer(x{', training=True' if scheme.keeps else ''})"


@dataclass(frozen=True)
class _Framework:
    """How a framework spells what the snippets need.

    Attributes:
        prefix: stands in front of its functions.
        imports, load: the imports, and the line that makes its array of the NumPy array x.
        mean: the mean of x over `axes`, which keep a length of 1, of `count` elements.
        array: its array of the NumPy array in braces.
        repeat: its function that repeats elements along an axis.
        norm: the largest singular value of `matrix`.
        layer_imports, recipe, layer: for layers, the imports, the scheme's attribute that has the code, and the
            lines around that code.
    """

    prefix: str = "np"
    imports: str = "import numpy as np"
    load: str = ""
    mean: str = "np.mean({x}, axis={axes}, keepdims=True)"
    array: str = "{}"
    repeat: str = "repeat"
    norm: str = "np.linalg.norm(matrix, 2)"
    layer_imports: str = ""
    recipe: str = ""
    layer: Callable[[_Layer, float | None, float | None], Iterator[str]] | None = None


_FRAMEWORKS = {
    "NumPy": _Framework(),
    "PyTorch": _Framework(
        prefix="torch",
        imports="import numpy as np\nimport torch",
        load="x = torch.from_numpy(x)",
        mean="torch.mean({x}, dim={axes}, keepdim=True)",
        array="torch.from_numpy({})",
        repeat="repeat_interleave",
        norm="torch.linalg.matrix_norm(matrix, 2)",
        layer_imports="import numpy as np\nimport torch\nfrom torch import nn",
        recipe="torch",
        layer=_torch_layer,
    ),
    "Keras": _Framework(
        prefix="ops",
        imports="import numpy as np\nfrom keras import ops",
        load='x = ops.convert_to_tensor(x, dtype="float64")',
        mean="ops.sum({x}, axis={axes}, keepdims=True) / {count}  # ops.mean rounds to float32",
        array='ops.convert_to_tensor({}, dtype="float64")',
        norm="ops.svd(matrix, compute_uv=False)[0]",
        layer_imports="import keras\nimport numpy as np",
        recipe="keras",
        layer=_keras_layer,
    ),
}
FRAMEWORKS = tuple(_FRAMEWORKS)
"""What `snippet` writes code for."""

_GROUP_MEAN = '''\
def group_mean(t, axis, groups):
    """The mean over each of the equal groups that an axis is cut into, for every index of it."""
    blocks = {0.prefix}.reshape(t, (*t.shape[:axis], groups, -1, *t.shape[axis + 1 :]))
    means = {0.prefix}.sum(blocks, axis + 1) / blocks.shape[axis + 1]
    return {0.prefix}.{0.repeat}(means, t.shape[axis] // groups, axis)'''
_WINDOW_MEAN = '''\
def window_mean(t, axis, radius):
    """The mean over |i - j| <= radius along an axis, cut at the border."""
    i = np.arange(t.shape[axis])
    near = abs(i[:, None] - i) <= radius
    share = {1}
    return {0.prefix}.swapaxes({0.prefix}.swapaxes(t, axis, -1) @ share, axis, -1)'''
_HELPERS = {
    "groups": (_GROUP_MEAN, "group_mean({}, axis={}, groups={})"),
    "window": (_WINDOW_MEAN, "window_mean({}, axis={}, radius={})"),
}
"""The rules that take more than a mean over whole axes: a function, and its call."""


def snippet(
    scheme: Scheme,
    framework: str,
    shape: Shape,
    eps: float,
    gain: float = 1.0,
    bias: float = 0.0,
    source: str | None = None,
) -> str:
    """Code that normalizes an array x as the scheme does and leaves the result, with the same axes, in y.

    Args:
        scheme: what normalizes; a registered layer that computes the same on this shape is used.
        framework: one of `FRAMEWORKS`.
        shape: (N, H, W, C), or (kh, kw, Cin, Cout) for schemes that act on weights.
        eps: ε >= 0.
        gain, bias: γ and β, the same for every element, as far as the scheme has them.
        source: code that makes the NumPy array x in float64; normal noise where None.

    Raises:
        InvalidInput: unknown framework, a field that does not fit the shape, or a negative ε.
    """
    if framework not in _FRAMEWORKS:
        raise InvalidInput(f"{framework!r} is not a framework with snippets; {', '.join(FRAMEWORKS)} are.")
    scheme.check(shape)
    if not 0 <= eps < inf:
        raise InvalidInput(f"ε is a number from 0; this one is {eps}.")
    spelling, eps = _FRAMEWORKS[framework], float(eps)
    gain = None if scheme.gain is None or gain == 1 else float(gain)
    bias = None if scheme.bias is None or bias == 0 else float(bias)
    layer = _find_layer(scheme, spelling, shape, eps, gain, bias)
    if layer is not None:
        imports, helpers, body = spelling.layer_imports, [], list(spelling.layer(layer, gain, bias))
        if layer.scheme.key != scheme.key:
            body.insert(0, f"# On this shape this is {layer.scheme.name}.")
    else:
        imports, helpers = spelling.imports, _helpers(scheme, spelling)
        body = [spelling.load, *_operations(scheme, spelling, shape, eps, gain, bias)]
    if scheme.weight is not None:
        body.insert(0, f"# x is what a layer with {SCHEMES[scheme.weight].name} gives.")
    x = source or f"x = np.random.default_rng(0).standard_normal({tuple(map(int, shape))})"
    blocks = [imports, *helpers]
    code = "\n".join(filter(None, [f"# The axes of x are {', '.join(scheme.axes)}.", x, *body]))
    return "\n\n\n".join(blocks) + ("\n\n\n" if helpers else "\n\n") + code + "\n"


def _find_layer(
    scheme: Scheme, spelling: _Framework, shape: Shape, eps: float, gain: float | None, bias: float | None
) -> _Layer | None:
    """The framework's layer for the scheme, or for one that computes the same on this shape.

    There is none for a scheme that centres single elements, which torch refuses, and none where ε cannot be told
    to the layer or is 0, which layers refuse or answer with NaN where a field is constant.
    """
    if spelling.layer is None or (scheme.summation is not None and scheme.summation.sizes(shape).min() == 1):
        return None
    parameters = {"groups": scheme.parameters.get("groups"), "radius": scheme.parameters.get("window")}
    sizes = dict(zip(scheme.axes, shape, strict=True))
    takes_eps = scheme.suppression is not None and not scheme.spectral
    for row in (scheme, *(row.with_parameters(**parameters) for row in SCHEMES.values())):
        recipe = getattr(row, spelling.recipe)
        if recipe is None or not row.fits(shape) or row.canonical(shape) != scheme.canonical(shape):
            continue
        if (gain is not None and row.gain is None) or (bias is not None and row.bias is None):
            continue
        if takes_eps and ("{eps}" in recipe) != (eps > 0):
            continue
        return _Layer(row, recipe.format(**sizes, G=row.parameters.get("groups"), eps=eps, layer="conv"), shape)
    return None


def _helpers(scheme: Scheme, spelling: _Framework) -> list[str]:
    """The functions that the scheme's rules call."""
    kinds = {rule.kind for field in scheme.fields for rule in field.rules}
    share = spelling.array.format("near / near.sum(axis=0)")
    return [
        code.format(spelling, share) for kind, (code, _) in _HELPERS.items() if kind in kinds and not scheme.spectral
    ]


def _operations(
    scheme: Scheme, spelling: _Framework, shape: Shape, eps: float, gain: float | None, bias: float | None
) -> Iterator[str]:
    """The general form in plain operations: v, what divides it, x̂ and y."""
    base = "x"
    if scheme.summation is not None:
        yield from _mean("mean", "x", scheme.summation, shape, spelling)
        yield "v = x - mean"
        base = "v"
    plain = gain is None and bias is None
    if scheme.suppression is not None:
        *lines, quotient = _quotient(scheme, spelling, shape, eps, base)
        yield from lines
        base = "xhat"
        yield f"{'y' if plain else base} = {quotient}"
    if scheme.suppression is None or not plain:
        sign = "-" if bias is not None and bias < 0 else "+"
        yield f"y = {'' if gain is None else f'{gain} * '}{base}{'' if bias is None else f' {sign} {abs(bias)}'}"


def _quotient(scheme: Scheme, spelling: _Framework, shape: Shape, eps: float, v: str) -> Iterator[str]:
    """The lines that compute what divides, and the quotient."""
    prefix = spelling.prefix
    name = "variance" if scheme.divides_by_variance else "mean_square"
    if scheme.spectral:
        yield f"matrix = {prefix}.reshape(x, (-1, {shape[-1]}))  # a column for each unit"
        yield f"deviation = {spelling.norm}  # the largest singular value"
    else:
        yield from _mean(name, f"{v}**2", scheme.suppression, shape, spelling)
        if eps == 0:
            yield f"deviation = {prefix}.sqrt({name})"
    if eps == 0 or scheme.spectral:
        divisor, remark = f"{prefix}.where(deviation == 0, 1.0, deviation)", "  # 0/0 gives 0"
    else:
        divisor, remark = f"{prefix}.sqrt({name} + {eps})", ""
    fan_in = f" / {prod(shape[:-1])}**0.5" if scheme.per_fan_in else ""
    yield f"{v} / {divisor}{fan_in}{remark}"


def _mean(name: str, x: str, field: Field, shape: Shape, spelling: _Framework) -> Iterator[str]:
    """The mean of x over the boxes of the field: over whole axes first, then over groups and windows, axis by axis."""
    axes = tuple(axis for axis, rule in enumerate(field.rules) if rule.kind == "full")
    if axes:
        count = prod(shape[axis] for axis in axes)
        yield f"{name} = {spelling.mean.format(x=x, axes=axes if len(axes) > 1 else axes[0], count=count)}"
        x = name
    for axis, rule in enumerate(field.rules):
        if rule.kind in _HELPERS:
            yield f"{name} = {_HELPERS[rule.kind][1].format(x, axis, rule.parameter)}"
            x = name
    if x != name:
        yield f"{name} = {x}"
