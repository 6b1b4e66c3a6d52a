"""The panel with all schemes in the order of their papers."""

import streamlit as st

from normviz.core.registry import SCHEMES
from normviz.describe.wording import format_references
from normviz.topics.why.controls import CONTROL_ROW
from normviz.topics.why.history import PRECURSORS, parse_arxiv_month, sort_schemes
from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """Show the precursors of batch norm, then a table of all schemes in the order of their papers."""
    with st.container(key=CONTROL_ROW):
        st.caption(f"What came before: {'; '.join(row.text for row in PRECURSORS)}.")
    schemes = sort_schemes()
    batch = SCHEMES["batch"].reference
    since = {row.reference for row in schemes if row.reference.arxiv and row.reference.arxiv > (batch.arxiv or "")}
    day = parse_arxiv_month(batch.arxiv or "")
    st.markdown(
        f"### Batch norm came in {day:%b %Y}; the schemes of the {len(since)} papers since then average over other "
        "axes, divide by something else or by nothing, act on the weights, or use no statistics."
    )
    rows = {
        "Scheme": [f"[{scheme.label}](/?scheme={scheme.key})" for scheme in schemes],
        "What it does": [scheme.about for scheme in schemes],
        "Source": [format_references(scheme) for scheme in schemes],
    }
    st.table(rows, border="horizontal")
