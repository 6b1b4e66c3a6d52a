"""The script of the tensor lab: a tensor, its normalization, and the numbers of the chosen element."""

from normviz.core.fields import MAX_DRAWN_ELEMENTS, Index, Shape, check_shape
from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first
from normviz.describe.wording import format_scheme_name, format_shape
from normviz.export.scheme_code import LAYOUTS, write_scheme_code, write_tensor_code
from normviz.export.script import Expression, PageScript, ScriptCell, write_call, write_code, write_text
from normviz.topics.lab import state
from normviz.ui.link import View
from normviz.ui.scheme import build_scheme
from normviz.ui.tensor import get_view_shape

PASSED = Expression("x"), Expression("scheme")
"""The first arguments of the functions of the library, as variables of the script."""


def write_script(view: View) -> PageScript:
    """Write the script of a state of the tensor lab. Raises InvalidInput if it shows no cube."""
    scheme, shape = build_scheme(view), get_view_shape(view)
    check_shape(shape, scheme.axes, MAX_DRAWN_ELEMENTS)
    scheme.check(shape)
    tensor, extras = write_tensor_code(view)
    layer, layout = state.get_layer_numbers(view, scheme), LAYOUTS[scheme.tensor]
    learned = {name: value for name, value in (("gain", layer.gain), ("bias", layer.bias)) if value != (name == "gain")}
    colour = "normalized" if view["colour"] == "output" else view["colour"]
    name = capitalize_first(format_scheme_name(scheme))
    cells = [
        write_text(f"The tensor has the shape ({', '.join(scheme.axes)}) = {format_shape(shape)}."),
        write_code(f"import normviz\n{tensor}"),
        write_text(f"**{name}.** {scheme.about}"),
        write_code(
            "scheme = $scheme\nresult = $call\nprint(result)",
            scheme=write_scheme_code(scheme),
            call=write_call("normviz.normalize", *PASSED, eps=layer.eps, **learned, layout=layout),
        ),
        write_text("The chosen element, and the statistics that it shares with others:"),
        _write_element_code(scheme, shape, view["focus"], layer.threshold),
        *_write_statistics_cells(scheme),
        write_text("The picture. Turn it, and press “Watch it happen”. `to_html` saves it as a web page."),
        write_code(
            'picture = $call\n# picture.to_html("cube.html")\npicture',
            call=write_call(
                "normviz.show", *PASSED, eps=layer.eps, layout=layout, colour=colour, focus=tuple(view["focus"])
            ),
        ),
    ]
    return PageScript(f"{name} of a tensor", cells, ",".join(filter(None, ["show", extras])))


def _write_element_code(scheme: Scheme, shape: Shape, focus: Index, threshold: float) -> ScriptCell:
    """Write the code that prints the numbers of the chosen element."""
    numbers = {"x": "x[element]"}
    if scheme.summation is not None:
        numbers["mean"] = f"result.mean{list(scheme.summation.find_statistic_index(focus, shape))}"
        numbers["v = x − mean"] = "result.v[element]"
    if scheme.suppression is not None and has_divisors(scheme, shape):
        numbers["divisor"] = f"result.deviation{list(scheme.suppression.find_statistic_index(focus, shape))}"
    numbers |= {"x̂": "result.xhat[element]"} if scheme.has_xhat else {}
    numbers |= {"y": "result.y[element]"}
    if scheme.threshold is not None:
        numbers["z = max(y, τ)"] = f"max(result.y[element], {threshold!r})"
    lines = [f'print(f"{name}: {{{number}:.8g}}")' for name, number in numbers.items()]
    return write_code("\n".join(["element = $element", *lines]), element=tuple(focus))


def _write_statistics_cells(scheme: Scheme) -> list[ScriptCell]:
    """Write the cells that print all statistics; none for a scheme without any."""
    parts = {"means": ("mean", scheme.summation), "divisors": ("deviation", scheme.suppression)}
    lines = [f'print("{name}:", result.{part}.ravel())' for name, (part, field) in parts.items() if field is not None]
    return [write_text("All statistics:"), write_code("\n".join(lines))] if scheme.fields else []


def has_divisors(scheme: Scheme, shape: Shape) -> bool:
    """Return True if a scheme divides each field by one number, and not by a matrix."""
    assert scheme.suppression is not None
    return scheme.kind.compute_divisor_shape(scheme, shape) == scheme.suppression.compute_statistics_shape(shape)
