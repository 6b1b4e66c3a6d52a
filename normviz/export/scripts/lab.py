"""The script of the tensor lab: a tensor, its normalization, and the numbers of the chosen element."""

from normviz.core.fields import MAX_DRAWN_ELEMENTS, Index, Shape, check_shape
from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first
from normviz.describe.wording import format_scheme_name, format_shape
from normviz.export.scheme_code import LAYOUTS, format_scheme_code, format_tensor_code
from normviz.export.script import Expression, PageScript, fill_script, format_call
from normviz.topics.lab import state
from normviz.ui.link import View
from normviz.ui.scheme import build_scheme
from normviz.ui.tensor import get_view_shape

PASSED = Expression("x"), Expression("scheme"), Expression("eps")
"""The first arguments of the functions of the library, as variables of the script."""


def build_script(view: View) -> PageScript:
    """Return the Python script of the state `view` of the tensor lab. Raises InvalidInput if it shows no cube."""
    scheme, shape = build_scheme(view), get_view_shape(view)
    check_shape(shape, scheme.axes, MAX_DRAWN_ELEMENTS)
    scheme.check(shape)
    tensor, extras = format_tensor_code(view)
    layer, layout = state.get_layer_scalars(view, scheme), LAYOUTS[scheme.tensor]
    learned = {name: value for name, value in (("gain", layer.gain), ("bias", layer.bias)) if value != (name == "gain")}
    colour = "normalized" if view["colour"] == "output" else view["colour"]
    name = capitalize_first(format_scheme_name(scheme))
    named = {"layout": layout, "colour": colour, "focus": tuple(view["focus"])}
    statistics = _format_statistics_code(scheme, shape)
    values = {
        "name": name, "about": scheme.about, "axes": ", ".join(scheme.axes), "shape": format_shape(shape),
        "tensor": tensor, "scheme": format_scheme_code(scheme), "eps": layer.eps, "element": tuple(view["focus"]),
        "result": format_call("normviz.normalize", *PASSED, **learned, layout=layout), "statistics": statistics,
        "numbers": _format_element_code(scheme, shape, view["focus"], layer.threshold),
        "picture": format_call("normviz.show", *PASSED[:2], eps=PASSED[2], **named),
    }  # fmt: skip
    sections = ["lab", *(["statistics"] if statistics else []), "picture"]
    return fill_script("lab", sections, values, ",".join(filter(None, ["show", extras])))


def _format_element_code(scheme: Scheme, shape: Shape, focus: Index, threshold: float) -> Expression:
    """Return the code that prints the numbers of the element at index `focus`; z = max(y, `threshold`)."""
    numbers = {"x": "x[element]"}
    if scheme.summation is not None:
        numbers["mean"] = f"result.mean{list(scheme.summation.find_statistic_index(focus, shape))}"
        numbers["v = x − mean"] = "result.v[element]"
    if has_divisors(scheme, shape):
        assert scheme.suppression is not None
        divisor = f"result.deviation{list(scheme.suppression.find_statistic_index(focus, shape))}"
        if scheme.kind.has_eps:
            numbers["variance" if scheme.divides_by_variance else "mean square"] = f"{divisor}**2 - eps"
        numbers["divisor"] = divisor
    numbers |= {"x̂": "result.xhat[element]"} if scheme.has_xhat else {}
    numbers |= {"y": "result.y[element]"}
    if scheme.threshold is not None:
        numbers["z = max(y, τ)"] = f"max(result.y[element], {threshold!r})"
    return Expression("\n".join(f'print(f"{name}: {{{number}:.8g}}")' for name, number in numbers.items()))


def _format_statistics_code(scheme: Scheme, shape: Shape) -> Expression:
    """Return the code that prints all statistics; "" for a scheme without statistics."""
    parts = {"mean": scheme.summation is not None, "deviation": has_divisors(scheme, shape)}
    return Expression(
        "\n".join(f'print("{part}:", result.{part}.ravel())' for part, is_there in parts.items() if is_there)
    )


def has_divisors(scheme: Scheme, shape: Shape) -> bool:
    """Return True if a scheme divides each field by one number; False for whitening and for no division."""
    if scheme.suppression is None:
        return False
    return scheme.kind.compute_divisor_shape(scheme, shape) == scheme.suppression.compute_statistics_shape(shape)
