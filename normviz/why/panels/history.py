"""A short history, and a map: which scheme came when, from which paper, and what it averages over."""

import streamlit as st

from normviz.core.schemes import Scheme
from normviz.describe.wording import hint, linked
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.why.figures import timeline
from normviz.why.history import MARK_WORDS, Event, events, marks, submitted


def show(view: View, theme: str) -> None:
    """Papers over time, and their schemes in a table."""
    found = events()
    schemes = [(event, scheme) for event in found for scheme in event.schemes]
    batch = next(event for event in found if any(scheme.key == "batch" for scheme in event.schemes))
    since = sum(event.when > batch.when for event in found if event.schemes)
    st.markdown(
        f"### Batch norm came in {_date(batch)}; the schemes of the {since} papers since then average over other axes, "
        "divide by something else or by nothing, act on the weights, or use no statistics."
    )
    labels = [f"{event.label} ({_date(event)})" for event in found]
    told = "; ".join(labels)
    plot(
        timeline([event.when for event in found], labels, [bool(event.schemes) for event in found], theme),
        "timeline", f"Papers over time. {told}.", f"{1.9 * len(found) + 6:g}rem",
    )  # fmt: skip
    columns = _columns(schemes)
    st.table(columns | {"Paper": [linked(event.reference) for event, _ in schemes]}, border="horizontal")
    st.caption(
        f"Along an axis: {MARK_WORDS}; by the field of what divides, or of the mean where nothing does. A "
        "scheme on weights has the axes kh, kw, Cin, Cout in their places. Dates are those of the preprints; of what "
        "came before, of publication."
    )
    st.markdown("**Before**: " + "; ".join(linked(event.reference) for event in found if not event.schemes) + ".")
    save_table(lambda: columns | {"Paper": [event.reference.text for event, _ in schemes]}, "history")


def _columns(schemes: list[tuple[Event, Scheme]]) -> dict[str, list[str]]:
    """The map: a row a scheme."""
    marked = [marks(scheme) for _, scheme in schemes]
    return {
        "Date": [_date(event) for event, _ in schemes],
        "Scheme": [scheme.label for _, scheme in schemes],
        "On": ["weights" if scheme.acts_on == "weight" else "activations" for _, scheme in schemes],
        **{axis: [row[k] for row in marked] for k, axis in enumerate("NHWC")},
        "In short": [hint(scheme) for _, scheme in schemes],
    }


def _date(event: Event) -> str:
    """Month and year of a preprint, the year of another paper."""
    if event.reference.arxiv is None:
        return str(event.year)
    return f"{submitted(event.reference.arxiv):%b %Y}"
