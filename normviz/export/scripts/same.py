"""The script of the page "Same or different?": two computations of x̂, three layer norms, or the layer detector."""

from collections.abc import Callable

from normviz.core.equality import MAX_COMPARED_WINDOW_ELEMENTS
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.export.scheme_code import format_scheme_code, format_tensor_code
from normviz.export.script import PageScript, fill_script
from normviz.topics.same import state
from normviz.topics.same.identities import IDENTITIES
from normviz.topics.same.variants import VARIANTS
from normviz.ui.link import View
from normviz.ui.tensor import OWN_DATA, SIZE_NAMES, get_view_shape


def build_script(view: View) -> PageScript:
    """Return the script of the panel in `view`, the page's values; raise InvalidInput if it can show nothing."""
    return PANEL_SCRIPTS[view["panel"]](view)


def _build_pair(view: View) -> PageScript:
    identity = IDENTITIES[view["row"]]
    check_shape(get_view_shape(view), AXES["activation"], MAX_DRAWN_ELEMENTS // 2)
    shape = identity.condition.mend(get_view_shape(view))
    if shape != get_view_shape(view):  # as the page does: its data in a shape that fits the question
        data = "uneven" if view["data"] == OWN_DATA else view["data"]
        view = view | dict(zip(SIZE_NAMES, shape, strict=True)) | {"data": data}
    tensor, extras = format_tensor_code(view)
    values = {"question": identity.question, "key": identity.key, "tensor": tensor}
    return fill_script("same", ["same"], view | values, extras)


def _build_variants(view: View) -> PageScript:
    check_shape(get_view_shape(view), AXES["activation"], MAX_DRAWN_ELEMENTS // len(VARIANTS))
    tensor, extras = format_tensor_code(view)
    values = {"tensor": tensor, "variants": tuple(VARIANTS), "element": tuple(view["focus"])}
    return fill_script("same", ["variants"], view | values, extras)


def _build_own_pair(view: View) -> PageScript:
    shape = get_view_shape(view)
    check_shape(shape, AXES["activation"], MAX_DRAWN_ELEMENTS // 2)
    sides = {side: state.parse_side(view, side) for side in state.SIDES}
    for scheme in sides.values():
        scheme.check(shape, MAX_COMPARED_WINDOW_ELEMENTS)
    code = {side: format_scheme_code(scheme) for side, scheme in sides.items()}
    return fill_script("same", ["own"], view | code | {"shape": shape})


def _build_detection(view: View) -> PageScript:
    layout = None if view["layout"] == state.ANY_LAYOUT else view["layout"]
    made = "files" if view["try"] == state.OWN_FILES else "example"
    return fill_script("same", ["detect", made, "layer"], {"key": view["try"], "layout": layout})


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "same": _build_pair,
    "variants": _build_variants,
    "own": _build_own_pair,
    "detect": _build_detection,
}
