"""The script of the page "Compare": several schemes on one tensor."""

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.describe.wording import format_shape
from normviz.export.scheme_code import format_scheme_code, format_tensor_code
from normviz.export.script import Expression, PageScript, fill_script, format_literal
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
    words = {"axes": ", ".join(AXES["activation"]), "shape": format_shape(shape)}
    code = {"tensor": tensor, "schemes": Expression("\n".join(lines)), "element": tuple(view["focus"])}
    return fill_script("compare", ["compare"], words | code, extras)
