"""The script of the page "Claims, tested": the open claims, measured again, and the list of the others."""

from normviz.core.errors import InvalidInput
from normviz.export.script import Expression, PageScript, fill_script, format_call
from normviz.topics.claims import state
from normviz.topics.claims.claim import ExperimentCheck
from normviz.topics.claims.claim_list import CLAIMS
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`. Raises InvalidInput if no claim passes the filters."""
    passing = tuple(claim.id for claim in state.select_claims(view))
    if not passing:
        raise InvalidInput("no claim passes all filters; remove one of them.")
    chosen = format_call("get_claims", passing)
    claims = chosen if state.is_filtered(view) else Expression("CLAIMS.values()")
    names = "get_claims" if state.is_filtered(view) else "CLAIMS, get_claims" if view["claim"] else "CLAIMS"
    measured = tuple(id for id in view["claim"] if not isinstance(CLAIMS[id].check, ExperimentCheck))
    trained = tuple(id for id in view["claim"] if id not in measured)
    sections = ["chosen", *(["measured"] if measured else []), *(["trained"] if trained else [])]
    values = {"claims": claims, "names": Expression(names), "measured": measured, "trained": trained}
    return fill_script("claims", sections, view | values, "train")
