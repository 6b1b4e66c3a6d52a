"""The script of the page "Compare": several schemes on one tensor."""

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.describe.wording import format_shape
from normviz.export.scheme_code import format_scheme_code, format_tensor_code
from normviz.export.script import PageScript, format_literal, make_code, make_text
from normviz.topics.compare import state
from normviz.ui.link import View
from normviz.ui.scheme import build_schemes, get_effective_eps
from normviz.ui.tensor import get_view_shape


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`. Raises InvalidInput if it shows no cubes."""
    schemes, shape = build_schemes(view), get_view_shape(view)
    if not state.FEWEST <= len(schemes) <= state.MOST:
        raise InvalidInput(f"{len(schemes)} schemes are chosen; {state.FEWEST} to {state.MOST} fit side by side.")
    check_shape(shape, AXES["activation"], MAX_DRAWN_ELEMENTS // len(schemes))
    for scheme in schemes:
        scheme.check(shape)
    tensor, extras = format_tensor_code(view)
    rows = {scheme.label: (format_scheme_code(scheme), get_effective_eps(view, scheme)) for scheme in schemes}
    lines = [f"    {format_literal(label)}: {format_literal(row)}," for label, row in rows.items()]
    cells = [
        make_text(f"The tensor has the shape ({', '.join(AXES['activation'])}) = {format_shape(shape)}."),
        make_code(f"import normviz\n{tensor}"),
        make_text("The schemes, each with its ε. They differ in the elements that share a mean and a divisor."),
        make_code("\n".join(["schemes = {", *lines, "}"])),
        make_text("The chosen element, normalized by each scheme, and the shapes of the statistics:"),
        make_code(
            """
            element = $element
            print(f"x: {x[element]:.8g}")
            for name, (scheme, eps) in schemes.items():
                result = normviz.normalize(x, scheme, eps=eps, layout="NHWC")
                statistics = [part.shape for part in (result.mean, result.deviation) if part is not None]
                print(f"{name}: x̂ = {result.xhat[element]:.8g}, statistics {statistics}")
            """,
            element=tuple(view["focus"]),
        ),
    ]
    return PageScript("Normalizations of one tensor", cells, extras)
