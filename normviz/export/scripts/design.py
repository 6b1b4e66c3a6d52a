"""The script of the page "Find a scheme": the schemes that meet the demands, or why there are none."""

from normviz.core.errors import InvalidInput
from normviz.export.scheme_code import format_scheme_code
from normviz.export.script import PageScript, fill_script, format_call
from normviz.topics.design import state
from normviz.topics.design.demands import SHAPES
from normviz.topics.design.search import find_schemes
from normviz.ui.link import View

MAX_PRINTED = 8
"""Most schemes that the script prints."""


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`. Raises InvalidInput if the picked scheme is invalid."""
    demands = state.read_demands(view)
    given = {name: getattr(demands, name) for name in ("layer", "need", "without", "weights", "conditions")}
    values = {"demands": format_call("Demands", **given), "count": MAX_PRINTED, "layer": view["layer"]}
    sections = ["search"] if len(find_schemes(demands)) else ["search", "conflict"]
    if view["pick"]:
        scheme = state.parse_pick(view["pick"])
        if scheme is None:
            raise InvalidInput("no scheme is picked.")
        sections += ["picked"]
        shape, weights = SHAPES[view["layer"]]
        values |= {"scheme": format_scheme_code(scheme), "shape": shape, "weights": weights}
    return fill_script("design", sections, values)
