"""The pictures of the steps that open cubes: the tensor lab, Compare, and Same or different?"""

from collections.abc import Sequence

import numpy as np

from normviz.classroom.site.step_parts import (
    StepPart,
    format_table_html,
    format_words_html,
    make_plot_part,
    make_text_part,
)
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first, format_number
from normviz.describe.aims import describe_scope
from normviz.describe.wording import SchemeOnShape, format_scheme_name
from normviz.topics.compare.panels import compute_cube_levels
from normviz.topics.lab.lab_cube import CubeLook, draw_lab_cube
from normviz.topics.lab.state import LOOK_PARAMS, get_cube_view, get_layer_scalars
from normviz.topics.same.detection.detector import detect_normalization
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.detection.verdict import explain_detection, summarize_detection
from normviz.topics.same.identities import IDENTITIES, evaluate_sides
from normviz.topics.same.panels.pair_questions import build_pair_schemes, format_pair_answer, make_pair_tensor
from normviz.topics.same.panels.variants import VARIANT_SCHEMES, describe_coincidences
from normviz.topics.same.state import ANY_LAYOUT, SIDES, parse_side
from normviz.ui.cube_row import draw_cube_row
from normviz.ui.link import View
from normviz.ui.scheme import build_scheme, build_schemes, get_effective_eps
from normviz.ui.tensor import fit_index, get_view_shape, is_picture, make_tensor


def build_lab_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of a view of the tensor lab: its heading, and its cube with the animation."""
    scheme = build_scheme(view)
    check_shape(get_view_shape(view), scheme.axes, MAX_DRAWN_ELEMENTS)
    x = make_tensor(view)
    layer = get_layer_scalars(view, scheme)
    result, bound = normalize(x, scheme, *layer[:3]), SchemeOnShape(scheme, x.shape)
    look = CubeLook(get_cube_view(view, scheme), view["colour"], view["focus"], is_picture(view, x.shape))
    turned = {param.name: view[param.name] for param in LOOK_PARAMS}

    cube = make_plot_part("cube", lambda theme: draw_lab_cube(bound, x, result, layer, look, theme, view=turned))
    name = capitalize_first(format_scheme_name(scheme))
    return [make_text_part("heading", format_words_html(f"### {name}")), cube]


def build_compare_parts(view: View) -> list[StepPart]:
    """Return the `StepPart` of a view of "Compare": the cubes of several schemes on one tensor."""
    schemes = build_schemes(view)
    x = _make_checked_tensor(view, len(schemes))
    results = [normalize(x, scheme, get_effective_eps(view, scheme)) for scheme in schemes]
    colouring = compute_cube_levels(view["colour"], schemes, x, results)
    return [_make_cubes_part(schemes, x, [result.xhat for result in results], view, colouring)]


def build_same_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of a view of "Same or different?": cubes of schemes, or detected schemes."""
    panel = {
        "same": _build_pair_parts,
        "variants": _build_variants_parts,
        "own": _build_own_pair_parts,
        "detect": _build_detection_parts,
    }
    return panel[view["panel"]](view)


def _build_pair_parts(view: View) -> list[StepPart]:
    identity, covered = IDENTITIES[view["row"]], not view["reveal"]
    x = _make_checked_tensor(view, len(identity.sides))
    shape = identity.condition.mend(x.shape)
    x = x if shape == x.shape else make_pair_tensor(shape, view)
    pair, xhats = build_pair_schemes(identity, shape, covered), evaluate_sides(identity, x, view["eps"])
    words = f"### {identity.question}" + ("" if covered else f"\n{format_pair_answer(identity)}")
    return [make_text_part("heading", format_words_html(words)), _make_cubes_part(pair, x, xhats, view)]


def _build_variants_parts(view: View) -> list[StepPart]:
    x = _make_checked_tensor(view, len(VARIANT_SCHEMES))
    xhats = [normalize(x, scheme, view["eps"]).xhat for scheme in VARIANT_SCHEMES]
    rows = {
        "": [scheme.label for scheme in VARIANT_SCHEMES],
        "normalizes": [describe_scope(scheme) for scheme in VARIANT_SCHEMES],
        "x̂ of the orange element": [format_number(xhat[view["focus"]]) for xhat in xhats],
    }
    said = "\n".join(describe_coincidences(x.shape, view["eps"]))
    below = make_text_part("below", format_table_html(rows) + format_words_html(said))
    return [_make_cubes_part(VARIANT_SCHEMES, x, xhats, view), below]


def _build_own_pair_parts(view: View) -> list[StepPart]:
    schemes = [parse_side(view, side) for side in SIDES]
    x = _make_checked_tensor(view, len(schemes))
    return [_make_cubes_part(schemes, x, [normalize(x, each, view["eps"]).xhat for each in schemes], view)]


def _build_detection_parts(view: View) -> list[StepPart]:
    """Return the `StepPart` with the scheme detected in the chosen example, and in every other example."""
    found = {}
    for key, example in EXAMPLES.items():
        arrays, layout = example.make_arrays(), view["layout"] if key == view["try"] else ANY_LAYOUT
        found[key] = detect_normalization(arrays["x"], arrays["y"], None if layout == ANY_LAYOUT else layout)
    words = ""
    if chosen := found.pop(view["try"], None):
        verdict = [f"**{summarize_detection(chosen)}**", *explain_detection(chosen)]
        words = format_words_html("\n".join([f"### {EXAMPLES[view['try']].name}", *verdict]))
    decided = {key: each for key, each in found.items() if each.is_unique}
    others = {
        "Other layers": [EXAMPLES[key].name for key in decided],
        "What the detector finds": [summarize_detection(each) for each in decided.values()],
    }
    return [make_text_part("heading", words + format_table_html(others))]


def _make_checked_tensor(view: View, copies: int) -> np.ndarray:
    """Return the tensor of the page's values; raise InvalidInput if it is too large for this number of cubes."""
    check_shape(get_view_shape(view), AXES["activation"], MAX_DRAWN_ELEMENTS // max(copies, 1))
    return make_tensor(view)


def _make_cubes_part(
    schemes: Sequence[Scheme], x: np.ndarray, xhats: Sequence[np.ndarray], view: View,
    colouring: tuple[np.ndarray, dict] | None = None,
) -> StepPart:  # fmt: skip
    """Return a row of cubes, one per scheme, as a `StepPart`; `colouring`: levels and legend, by default those of x̂."""
    chosen = {**view, "focus": fit_index(view["focus"], x.shape)}
    return make_plot_part("cubes", lambda theme: draw_cube_row(schemes, x, xhats, chosen, theme, colouring))
