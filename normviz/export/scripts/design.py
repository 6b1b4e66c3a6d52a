"""The script of the page "Find a scheme": the schemes that meet the demands, or why there are none."""

from normviz.core.errors import InvalidInput
from normviz.export.scheme_code import format_scheme_code
from normviz.export.script import PageScript, ScriptCell, format_call, make_code, make_text
from normviz.topics.design import state
from normviz.topics.design.demands import SHAPES
from normviz.topics.design.search import find_schemes
from normviz.ui.link import View

MAX_PRINTED = 8
"""Most schemes that the script prints."""


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`."""
    demands = state.read_demands(view)
    values = {name: getattr(demands, name) for name in ("layer", "need", "without", "weights", "conditions")}
    cells = [
        make_text("The changes that a layer must ignore (`need`) and must not ignore (`without`), and conditions."),
        make_code(
            """
            from normviz.topics.design.demands import Demands
            from normviz.topics.design.search import find_registered_answers, find_schemes
            from normviz.topics.design.wording import format_scheme_line

            demands = $demands
            """,
            demands=format_call("Demands", **values),
        ),
        make_text("The schemes with these properties: the known ones, then the simplest of all."),
        make_code(
            """
            for scheme in find_registered_answers(demands):
                print("known:", scheme.label)
            schemes = find_schemes(demands)
            all_schemes = find_schemes(Demands(demands.layer, weights=demands.weights))
            print(f"{len(schemes):,} of {len(all_schemes):,} schemes:")
            for scheme, ignored in schemes[:$count]:
                print(format_scheme_line(scheme, demands.layer), "ignores", ", ".join(ignored) or "nothing")
            """,
            count=MAX_PRINTED,
        ),
    ]
    if not len(find_schemes(demands)):
        cells += _build_conflict_cells()
    if view["pick"]:
        cells += _build_picked_cells(view)
    return PageScript("Schemes with chosen invariances", cells)


def _build_conflict_cells() -> list[ScriptCell]:
    """Return the cells that explain why no scheme meets the demands."""
    return [
        make_text("The demands that exclude each other, and how many schemes there are without some demands."),
        make_code(
            """
            from normviz.topics.design.search import find_conflict, find_nearest_schemes

            for key, is_needed in find_conflict(demands):
                print("conflict:", key, "needed" if is_needed else "excluded")
            for near in find_nearest_schemes(demands):
                print("without", ", ".join(near.missed), "there are", near.schemes)
            """
        ),
    ]


def _build_picked_cells(view: View) -> list[ScriptCell]:
    """Return the cells on the picked scheme: whether it is invariant to each of the six transformations."""
    scheme = state.parse_pick(view["pick"])
    if scheme is None:
        raise InvalidInput("no scheme is picked.")
    shape, weights = SHAPES[view["layer"]]
    return [
        make_text("The picked scheme: does it ignore each change, at ε = 0?"),
        make_code(
            """
            import normviz

            picked = $scheme
            for change in normviz.TRANSFORMATIONS:
                found = normviz.predict(picked, change, $layer, $shape, $weights, eps=0.0)
                print(change, "ignored" if found.invariant else "not ignored")
            """,
            scheme=format_scheme_code(scheme),
            layer=view["layer"],
            shape=shape,
            weights=weights,
        ),
    ]
