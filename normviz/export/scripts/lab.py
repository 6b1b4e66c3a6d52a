"""The script of the tensor lab: a tensor, its normalization, and the numbers of the chosen element."""

from normviz.core.fields import MAX_DRAWN_ELEMENTS, Index, Shape, check_shape
from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first
from normviz.describe.wording import format_scheme_name, format_shape
from normviz.export.scheme_code import LAYOUTS, format_scheme_code, format_tensor_code
from normviz.export.script import Expression, PageScript, ScriptCell, format_call, make_code, make_text
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
    cells = [
        make_text(f"The tensor has the shape ({', '.join(scheme.axes)}) = {format_shape(shape)}."),
        make_code(f"import normviz\n{tensor}"),
        make_text(f"**{name}.** {scheme.about}"),
        make_code(
            "scheme, eps = $scheme, $eps\nresult = $call\nprint(result)",
            scheme=format_scheme_code(scheme),
            eps=layer.eps,
            call=format_call("normviz.normalize", *PASSED, **learned, layout=layout),
        ),
        make_text("The chosen element, and the statistics that it shares with others:"),
        _build_element_code(scheme, shape, view["focus"], layer.threshold),
        *_build_statistics_cells(scheme, shape),
        make_text("The picture. Turn it, and press “Watch it happen”. `to_html` saves it as a web page."),
        make_code(
            'picture = $call\n# picture.to_html("cube.html")\npicture',
            call=format_call(
                "normviz.show", *PASSED[:2], eps=PASSED[2], layout=layout, colour=colour, focus=tuple(view["focus"])
            ),
        ),
    ]
    return PageScript(f"{name} of a tensor", cells, ",".join(filter(None, ["show", extras])))


def _build_element_code(scheme: Scheme, shape: Shape, focus: Index, threshold: float) -> ScriptCell:
    """Return the code cell that prints the numbers of the element at index `focus`; z = max(y, `threshold`)."""
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
    lines = [f'print(f"{name}: {{{number}:.8g}}")' for name, number in numbers.items()]
    return make_code("\n".join(["element = $element", *lines]), element=tuple(focus))


def _build_statistics_cells(scheme: Scheme, shape: Shape) -> list[ScriptCell]:
    """Return the cells that print all statistics; an empty list for a scheme without statistics."""
    parts = {"mean": scheme.summation is not None, "deviation": has_divisors(scheme, shape)}
    lines = [f'print("{part}:", result.{part}.ravel())' for part, is_there in parts.items() if is_there]
    words = "All statistics. The divisors are called `deviation`."
    return [make_text(words), make_code("\n".join(lines))] if lines else []


def has_divisors(scheme: Scheme, shape: Shape) -> bool:
    """Return True if a scheme divides each field by one number; False for whitening and for no division."""
    if scheme.suppression is None:
        return False
    return scheme.kind.compute_divisor_shape(scheme, shape) == scheme.suppression.compute_statistics_shape(shape)
