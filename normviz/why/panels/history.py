"""All schemes in the order of their papers, with what each does, and the papers over time."""

import streamlit as st

from normviz.core.schemes import SCHEMES, Reference
from normviz.describe.wording import linked, sources
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.why.figures import timeline
from normviz.why.history import events, submitted


def show(view: View, theme: str) -> None:
    """Show all schemes in a table, and their papers over time."""
    found = events()
    rest = ("none", "custom")  # neither is of a paper
    schemes = sorted(
        (row for row in SCHEMES.values() if row.key not in rest), key=lambda row: row.reference.arxiv or "–"
    )
    batch = next(event for event in found if any(scheme.key == "batch" for scheme in event.schemes))
    since = sum(event.when > batch.when for event in found if event.schemes)
    st.markdown(
        f"### Batch norm came in {_date(batch.reference)}; the schemes of the {since} papers since then average over other axes, "
        "divide by something else or by nothing, act on the weights, or use no statistics."
    )
    rows = {
        "Date": [_date(scheme.reference) for scheme in schemes],
        "Scheme": [f"[{scheme.label}](/?scheme={scheme.key})" for scheme in schemes],
        "What it does": [scheme.about for scheme in schemes],
        "Source": [sources(scheme) for scheme in schemes],
    }
    st.table(rows, border="horizontal")
    save_table(lambda: rows, "schemes")
    labels = [f"{event.label} ({_date(event.reference) or event.year})" for event in found]
    told = "; ".join(labels)
    plot(
        timeline([event.when for event in found], labels, [bool(event.schemes) for event in found], theme),
        "timeline", f"Papers over time. {told}.", f"{1.9 * len(found) + 6:g}rem",
    )  # fmt: skip
    before = "; ".join(linked(event.reference) for event in found if not event.schemes)
    st.caption(f"Before: {before}. Dates are those of the preprints, or of publication where there is none.")


def _date(reference: Reference) -> str:
    """Return the month and year of a preprint; empty where there is none."""
    return f"{submitted(reference.arxiv):%b %Y}" if reference.arxiv else ""
