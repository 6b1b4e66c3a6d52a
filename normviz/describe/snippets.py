"""A scheme as code to paste, for NumPy, PyTorch and Keras.

All of it follows from the scheme's fields. A framework's layer is used where it has one that computes the same on
the shape and with the ε at hand; otherwise the code spells the operations out, rule by rule. All of it is
float64, but Keras's layers round to float32 unless the backend is TensorFlow, whatever their dtype.
"""

from dataclasses import replace
from math import inf, prod
from typing import Any, NamedTuple

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Shape
from normviz.core.normalize import LayerScalars
from normviz.core.registry import SCHEMES, Scheme
from normviz.describe.code import format_argument_code, list_averaging_steps, render_template


class FrameworkTemplates(NamedTuple):
    """Code templates of a framework: one for plain operations, and one for layers where it has some.

    `language`: the attribute of a pointwise function with its code; `attribute`: that of a scheme with its layer's.
    """

    operations: str
    language: str
    layer: str = ""
    attribute: str = ""


_FRAMEWORKS = {
    "NumPy": FrameworkTemplates("numpy.py.jinja", "numpy"),
    "PyTorch": FrameworkTemplates("torch.py.jinja", "torch", "torch_layer.py.jinja", "torch"),
    "Keras": FrameworkTemplates("keras.py.jinja", "keras", "keras_layer.py.jinja", "keras"),
}
FRAMEWORKS = tuple(_FRAMEWORKS)
"""The frameworks of `format_snippet`."""


_BACKWARD = {"NumPy": "numpy_backward.py.jinja", "PyTorch": "torch_backward.py.jinja"}
BACKWARD_FRAMEWORKS = tuple(_BACKWARD)
"""The frameworks of `format_backward_snippet`: NumPy by hand, PyTorch by autograd."""


class FrameworkLayer(NamedTuple):
    """Layer of a framework that computes a scheme, with the code that makes it."""

    scheme: Scheme
    code: str

    @property
    def takes_channels_last(self) -> bool:
        """True if PyTorch's layer takes (N, H, W, C), because it averages over channels alone."""
        return all(rule == OWN for field in self.scheme.fields for rule in field.rules[:-1])

    def shares_parameter_axes(self, scheme: Scheme) -> bool:
        """Return True if γ and β of the layer vary along the same axes as those of a scheme."""
        return (self.scheme.gain, self.scheme.bias) == (scheme.gain, scheme.bias)


def format_snippet(
    scheme: Scheme, framework: str, shape: Shape, scalars: LayerScalars, source: str | None = None
) -> str:
    """Return a framework's code that normalizes the x of the code `source` with the ε, γ and β of `scalars`, into y.

    Args:
        scheme: the scheme; a framework's layer that computes the same on this shape is used.
        framework: one of `FRAMEWORKS`.
        shape: (N, H, W, C), or (kh, kw, Cin, Cout) for schemes that act on weights.
        scalars: ε >= 0, and γ, β and τ, if the scheme has them. With τ, max(y, τ) is left in z.
        source: code that makes the NumPy array x in float64; normal noise where None.

    Raises:
        InvalidInput: unknown framework, a field that does not fit the shape, or a negative ε.
    """
    if framework not in _FRAMEWORKS:
        raise InvalidInput(f"{framework!r} is not a framework with snippets; {', '.join(FRAMEWORKS)} are.")
    templates = _FRAMEWORKS[framework]
    facts = _collect_template_values(scheme, templates.language, shape, scalars, source)
    found = _find_layer(scheme, templates.attribute, shape, facts["eps"], facts["gain"], facts["bias"])
    facts["threshold"] = None if scheme.threshold is None else float(scalars.threshold)
    return render_template(templates.operations if found is None else templates.layer, layer=found, **facts)


def format_backward_snippet(scheme: Scheme, framework: str, shape: Shape, eps: float) -> str:
    """Return code that normalizes an array x and stores ∂L/∂x in dx, for a random ∂L/∂y, γ = 1 and β = 0.

    NumPy's is by hand, ∂L/∂v = d/σ - v E_Bᵀ[d v/σ³] and ∂L/∂x = ∂L/∂v - E_Aᵀ ∂L/∂v, and has `dgain` and `dbias` too
    if they are learned; PyTorch's is autograd. The arguments are those of `format_snippet`.

    Raises:
        InvalidInput: unknown framework, a field that does not fit the shape, or a negative ε.
    """
    if framework not in _BACKWARD:
        raise InvalidInput(f"{framework!r} has no backward pass here; {', '.join(BACKWARD_FRAMEWORKS)} have.")
    parameters = (("dgain", scheme.gain, "dy * y"), ("dbias", scheme.bias, "dy"))
    learned = [
        (name, tuple(k for k, axis in enumerate(scheme.axes) if axis not in kept), summand)
        for name, kept, summand in parameters
        if kept is not None
    ]
    facts = _collect_template_values(scheme, _FRAMEWORKS[framework].language, shape, LayerScalars(eps), None)
    return render_template(_BACKWARD[framework], layer=None, learned=learned, **facts)


def _collect_template_values(
    scheme: Scheme, language: str, shape: Shape, scalars: LayerScalars, source: str | None
) -> dict[str, Any]:
    """Map the names in the code templates to their values; arguments and errors are those of `format_snippet`."""
    scheme.check(shape)
    if not 0 <= scalars.eps < inf:
        raise InvalidInput(f"ε is a number from 0; this one is {scalars.eps}.")
    sizes = tuple(map(int, shape))
    centre, divide = (
        None if field is None else list_averaging_steps(field.rules, shape)
        for field in scheme.kind.find_averaging_fields(scheme)
    )
    return {
        "scheme": scheme,
        "weights": None if scheme.weight is None else SCHEMES[scheme.weight].name,
        "shape": sizes,
        "fan_in": prod(sizes[:-1]),
        "source": source or f"x = np.random.default_rng(0).standard_normal({sizes})",
        "eps": float(scalars.eps),
        "gain": None if scheme.gain is None or scalars.gain == 1 else float(scalars.gain),
        "bias": None if scheme.bias is None or scalars.bias == 0 else float(scalars.bias),
        "centre": centre,
        "divide": divide,
        "averaged_rules": {step.kind for step in (*(centre or ()), *(divide or ()))},
        "threshold": None,
        "matrices": scheme.count_covariances(sizes),
        "language": language,
        "imports": getattr(scheme.function, "imports", ""),
        "inside": format_argument_code(scheme, "x"),
    }


def _find_layer(
    scheme: Scheme, attribute: str, shape: Shape, eps: float, gain: float | None, bias: float | None
) -> FrameworkLayer | None:
    """Return a framework's layer, whose code is an `attribute` of schemes, that computes this scheme, or None.

    None for a scheme that centres single elements, which torch refuses, and if ε cannot be passed to the layer or is 0,
    where layers raise or return NaN on constant fields. The weight scheme in front does not matter: x is the output of
    the layer in front.
    """
    scheme = replace(scheme, weight=None)
    if not attribute or (scheme.summation is not None and scheme.summation.find_smallest_size(shape) == 1):
        return None
    parameters = {"groups": scheme.parameters.get("groups"), "radius": scheme.parameters.get("window")}
    sizes = dict(zip(scheme.axes, shape, strict=True))
    takes_eps = scheme.suppression is not None and scheme.kind.has_eps
    rows = (row.with_parameters(**parameters) for row in SCHEMES.values() if row.weight is None)
    for row in (scheme, *rows):
        call = getattr(row, attribute)
        if call is None or not row.fits(shape):
            continue
        if row.compute_canonical_key(shape) != scheme.compute_canonical_key(shape):
            continue
        if (gain is not None and row.gain is None) or (bias is not None and row.bias is None):
            continue
        if takes_eps and ("{eps}" in call) != (eps > 0):
            continue
        return FrameworkLayer(row, call.format(**sizes, G=row.parameters.get("groups"), eps=eps, layer="conv"))
    return None
