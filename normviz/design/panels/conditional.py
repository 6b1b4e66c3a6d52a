"""The panel on γ and β that come from a condition."""

import streamlit as st

from normviz.core.scheme import Scheme
from normviz.core.schemes import SCHEMES
from normviz.core.text import sentence, spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import gap_text, shape_words
from normviz.design.conditional import SOURCES, Cell, hollow, setting_of, table
from normviz.design.state import PREFIX, Page, has
from normviz.networks.setting import Setting
from normviz.ui.frame import way
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.settings import Controls

Row = dict[str, Cell]
"""A source under every change, by key."""

MARKS = {True: "✔", False: "✘", None: "–"}


def show(view: View, theme: str) -> None:
    """One source of γ and β, change by change, and all of them side by side."""
    scheme, setting = SCHEMES[view["scheme"]], setting_of(view["delta"], view["seed"])
    Controls(Page, PREFIX, view, has).draw("source")
    if nothing := hollow(scheme, setting):
        st.info(f"Nothing can be told of {scheme.name} on this layer. {nothing}")
        return
    found = table(scheme, setting)
    source, row = SOURCES[view["source"]], found[view["source"]]
    st.markdown(f"### {headline(row)}")
    left, right = st.columns([3, 2], gap="large")
    left.markdown(f"{source.about} [{source.reference.text}]({source.reference.url})")
    with right:
        st.latex(r"y = \gamma\, \hat x + \beta")
        st.latex(source.latex)
    st.table(changes(row), border="horizontal")
    st.markdown(f"## Every source, with {scheme.name}")
    st.table(overview(found), border="horizontal")
    st.caption(measured_words(scheme, setting))
    save_table(lambda: numbers(found), "conditions")
    way("/why?show=style", "Adaptive instance norm on photographs:", ":material/image:")
    way(f"/invariance?schemes={scheme.key}&layer=conv", "The six changes, measured and trained:", ":material/grid_on:")


def headline(row: Row) -> str:
    """Return which invariances of x̂ remain in y, and which are lost."""
    kept = [cell for cell in row.values() if cell.kept.invariant]
    stays, lost = (
        [TRANSFORMATIONS[cell.change].name for cell in kept if cell.predicted == wanted] for wanted in (True, False)
    )
    if not kept:
        return "x̂ is invariant to none of the six changes, and neither is y."
    if not lost:
        return f"y keeps all invariances of x̂: {spoken(stays, 'and')}."
    back = f"Through γ and β, y changes with {spoken(lost, 'and')}, and x̂ does not."
    return f"y ignores {spoken(stays, 'and')}. {back}" if stays else f"y ignores nothing. {back}"


def changes(row: Row) -> dict[str, list[str]]:
    """One source in columns: a row for each change."""
    cells = row.values()
    rows = [TRANSFORMATIONS[cell.change] for cell in cells]
    return {
        "Change": [f"{sentence(change.name)}: {change.plain}" for change in rows],
        "x̂, by the rule": ["ignores it" if cell.kept.invariant else "changes" for cell in cells],
        "γ and β": [f"{'change' if cell.notice.notices else 'do not change'}: {cell.notice.why}" for cell in cells],
        "y, by the rule": [f"{MARKS[cell.predicted]} {_said(cell.predicted)}" for cell in cells],
        "y, measured": [_measured(cell) for cell in cells],
    }


def _said(together: bool) -> str:
    return "stays" if together else "changes"


def _measured(cell: Cell) -> str:
    """What the forward pass says, or why it says nothing."""
    if cell.answer.together is None:
        return f"{MARKS[None]} {cell.answer.why}"
    against = "" if cell.agrees else ", **against the rule**"
    return f"{MARKS[cell.answer.together]} {_said(cell.answer.together)} ({gap_text(cell.gap)}){against}"


def overview(found: dict[str, Row]) -> dict[str, list[str]]:
    """All sources in columns: a row for each, the rule's mark and the measured gap."""
    columns = {"γ and β from": [SOURCES[key].name for key in found]}
    for key, change in TRANSFORMATIONS.items():
        columns[sentence(change.name)] = [_short(row[key]) for row in found.values()]
    return columns


def _short(cell: Cell) -> str:
    gap = gap_text(cell.gap) if cell.answer.together is not None else ""
    against = "" if cell.agrees else " **against the rule**"
    return f"{MARKS[cell.predicted]} {gap}{against}".rstrip()


def measured_words(scheme: Scheme, setting: Setting) -> str:
    """What the tables hold."""
    shape = shape_words(setting.shapes[0])
    alone = "" if scheme.on_activations else " A scheme of the weights alone leaves x̂ = a, of normalized weights."
    return (
        f"✔ and ✘ follow the rule: y stays the same if x̂, γ and β do. The numbers are "
        f"measured: max|y′ − y| / max|y| in float64 at ε = 0, on the digits, weights and changes of Table 1 at this δ "
        f"and seed; a is (N, H, W, C) = {shape}.{alone}"
    )


def numbers(found: dict[str, Row]) -> dict[str, list]:
    """Every cell in columns, with all its digits."""
    cells = [cell for row in found.values() for cell in row.values()]
    return {
        "source": [cell.source for cell in cells],
        "transformation": [cell.change for cell in cells],
        "predicted": [cell.predicted for cell in cells],
        "gap": [cell.gap for cell in cells],
        "invariant": [cell.answer.together for cell in cells],
    }
