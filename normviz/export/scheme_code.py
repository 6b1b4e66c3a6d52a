"""Python code of a tensor and of a scheme, written from checked values."""

from dataclasses import replace
from typing import Any

from normviz.core.fields import AXES, FULL, OWN, Field, Shape
from normviz.core.registry import get_scheme
from normviz.core.scheme import Scheme
from normviz.core.settings import get_declarations
from normviz.data.samples import SAMPLES
from normviz.export.script import Expression, format_call
from normviz.ui.link import View
from normviz.ui.tensor import OWN_DATA, get_view_shape, has_own_tensor

OWN_TENSOR_FILE = "tensor.npy"
"""Name of the file with the visitor's own tensor, which the script reads."""

SAMPLE_EXTRAS = {"digits": "train", "features": "train", "photo": "train"}
"""The extra that a kind of data needs: scikit-learn has the digits and the photographs."""

LAYOUTS = {"activation": "NHWC", "weight": "HWIO"}
"""Layouts of tensors of the app, as arguments of the library."""


def format_tensor_code(view: View) -> tuple[Expression, str]:
    """Return the code that makes the tensor x of a page, and the project's extras that the code needs, or ""."""
    if has_own_tensor(view):
        made = format_call("np.load", OWN_TENSOR_FILE)
        note = "your own data, downloaded beside this file"
        return Expression(f"import numpy as np\n\nx = {made}.astype(float)  # {note}"), ""
    return format_sample_code("x", "uneven" if view["data"] == OWN_DATA else view["data"], get_view_shape(view), view)


def format_sample_code(name: str, key: str, shape: Shape, view: View) -> tuple[Expression, str]:
    """Return code that assigns the sample `key` to the variable `name`, and the pip extras that it needs, or ""."""
    function = SAMPLES[key].make.__name__
    made = format_call(function, shape, seed=view["seed"])
    code = Expression(f"from normviz.data.samples import {function}\n\n{name} = {made}")
    return code, SAMPLE_EXTRAS.get(key, "")


def format_scheme_code(scheme: Scheme) -> Expression:
    """Return the Python expression that builds a scheme with its parameters.

    >>> format_scheme_code(get_scheme("group", groups=3))
    'normviz.get_scheme("group", groups=3)'
    >>> import normviz
    >>> format_scheme_code(normviz.custom(None, "N=full,C=groups(2)"))
    'normviz.custom(None, "N=full,C=groups(2)")'
    """
    names = {"groups": "groups", "window": "radius", "alpha": "alpha"}
    parameters = {names[name]: value for name, value in scheme.parameters.items()}
    if get_scheme(scheme.key, **parameters) != scheme:  # fields of its own, or windows along chosen axes
        made = format_call("normviz.custom", *map(_format_field, (scheme.summation, scheme.suppression)))
        return format_call(f"{made}.with_weight_scheme", scheme.weight) if scheme.weight else made
    return format_call("normviz.get_scheme", scheme.key, **parameters)


def format_settings_code(settings: Any, name: str = "Setting") -> Expression:
    """Return the Python expression of a settings object, `name`(…), with the values that differ from defaults.

    All values are written if a default depends on another value. The device is left out: a script runs on another
    machine than the page.
    """
    kind = type(settings)
    settings = replace(settings, device=kind().device) if hasattr(settings, "device") else settings
    defaults, values = kind(), {each: getattr(settings, each) for each in get_declarations(kind)}
    changed = {each: value for each, value in values.items() if value != getattr(defaults, each)}
    return format_call(name, **(changed if kind(**changed) == settings else values))


def _format_field(field: Field | None) -> str | None:
    """Format a field as an argument of `normviz.custom`: "N,H,W" or "N=full,C=groups(2)"."""
    if field is None:
        return None
    rules = dict(zip(AXES["activation"], field.rules, strict=True))
    full = [axis for axis, rule in rules.items() if rule == FULL]
    if full and set(rules.values()) <= {FULL, OWN}:
        return ",".join(full)
    named = {axis: rule for axis, rule in rules.items() if rule != OWN} or {"N": OWN}
    return ",".join(f"{axis}={rule}" for axis, rule in named.items())
