"""The script of the page "Same or different?": two computations of x̂, three layer norms, or the layer detector."""

from collections.abc import Callable

from normviz.core.equality import MAX_COMPARED_WINDOW_ELEMENTS
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.export.scheme_code import format_scheme_code, format_tensor_code
from normviz.export.script import PageScript, make_code, make_text
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
    cells = [
        make_text(f"{identity.question} A tensor of a shape on which this can be asked:"),
        make_code(tensor),
        make_text("Compute x̂ both ways, and compare."),
        make_code(
            """
            from normviz.core.equality import find_largest_difference, is_within_rounding
            from normviz.topics.same.identities import IDENTITIES, evaluate_sides

            identity = IDENTITIES[$key]
            left, right = evaluate_sides(identity, x, eps=$eps)
            worst = find_largest_difference(left, right)
            print("same" if is_within_rounding(worst.residual) else "different")
            print(f"largest difference: {worst.residual:.2g} of the largest x̂, at {worst.index}:", end=" ")
            print(f"x̂ = {worst.left:.8g} and {worst.right:.8g}")
            """,
            key=identity.key,
            eps=view["eps"],
        ),
    ]
    return PageScript("The same, or different?", cells, extras)


def _build_variants(view: View) -> PageScript:
    check_shape(get_view_shape(view), AXES["activation"], MAX_DRAWN_ELEMENTS // len(VARIANTS))
    tensor, extras = format_tensor_code(view)
    cells = [
        make_text("Three normalizations are called layer norm. A tensor (N, H, W, C):"),
        make_code(f"import normviz\n{tensor}"),
        make_text("The chosen element, normalized by each: over H, W, C; over C; over H, W."),
        make_code(
            """
            element = $element
            for name in $variants:
                result = normviz.normalize(x, name, eps=$eps, layout="NHWC")
                print(f"{name}: x̂ = {result.xhat[element]:.8g}, {result.mean.size} means")
            """,
            variants=tuple(VARIANTS),
            eps=view["eps"],
            element=tuple(view["focus"]),
        ),
    ]
    return PageScript("Three variants of layer norm", cells, extras)


def _build_own_pair(view: View) -> PageScript:
    shape = get_view_shape(view)
    check_shape(shape, AXES["activation"], MAX_DRAWN_ELEMENTS // 2)
    sides = {side: state.parse_side(view, side) for side in state.SIDES}
    for scheme in sides.values():
        scheme.check(shape, MAX_COMPARED_WINDOW_ELEMENTS)
    cells = [
        make_text("Two schemes, each by the axes of its mean and of its divisor."),
        make_code(
            "import normviz\n\nleft = $left\nright = $right",
            **{side: format_scheme_code(scheme) for side, scheme in sides.items()},
        ),
        make_text("Do they give the same x̂ on tensors of this shape (N, H, W, C)?"),
        make_code(
            """
            from normviz.core.equality import compare_schemes

            found = compare_schemes(left, right, $shape, $eps, seed=$seed)
            print("same" if found.equal else "different")
            print(f"largest difference on {found.draws} random tensors: {found.worst.residual:.2g}")
            """,
            shape=shape,
            eps=view["eps"],
            seed=view["seed"],
        ),
    ]
    return PageScript("Two schemes of your own", cells)


def _build_detection(view: View) -> PageScript:
    layout = None if view["layout"] == state.ANY_LAYOUT else view["layout"]
    if view["try"] == state.OWN_FILES:
        made = make_code(
            """
            import normviz
            import numpy as np

            x, y = np.load("x.npy"), np.load("y.npy")  # your own files
            """
        )
    else:
        made = make_code(
            """
            import normviz
            from normviz.topics.same.detection.examples import EXAMPLES

            x, y = EXAMPLES[$key].make_arrays().values()
            """,
            key=view["try"],
        )
    cells = [
        make_text("The input x and the output y of a layer."),
        made,
        make_text("Which normalization computes y from x?"),
        make_code("found = normviz.detect(x, y, layout=$layout)\nprint(found)", layout=layout),
    ]
    return PageScript("Which normalization is it?", cells)


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "same": _build_pair,
    "variants": _build_variants,
    "own": _build_own_pair,
    "detect": _build_detection,
}
