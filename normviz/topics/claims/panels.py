"""The page on claims: how many hold, and the claims with their verdicts, the surprising ones first."""

from collections.abc import Sequence

import streamlit as st

from normviz.describe.markdown import escape_markdown
from normviz.describe.wording import format_duration
from normviz.topics.claims import wording
from normviz.topics.claims.claim import Claim, Evidence, Tried, record
from normviz.topics.claims.jobs import find_evidence, parts_of
from normviz.topics.claims.ledger import CLAIMS
from normviz.topics.claims.shipped import find_shipped_evidence
from normviz.topics.claims.state import (
    FOLDED,
    OPEN,
    PAGE,
    PARAMS,
    PREFIX,
    UNFOLDED,
    group_claims,
    is_unfolded,
    select_claims,
)
from normviz.topics.claims.verdicts import VERDICTS, counts
from normviz.topics.experiments import work
from normviz.ui.frame import draw_page_link, show_error
from normviz.ui.link import View
from normviz.ui.runs import PAGE_POLL_SECONDS
from normviz.ui.saving import draw_download_button


def show(view: View) -> None:
    """Show all of the page. Nothing is measured before a visitor asks for it."""
    st.markdown(f"**{len(CLAIMS)} claims, tested:** {counts([claim.expected for claim in CLAIMS.values()])}")
    passing = select_claims(view)
    with st.container(key="claims"):  # opening.js: the first that a link opens is in sight
        if not passing:
            st.markdown("No claim passes all filters. Remove one of them.")
        for group, claims in group_claims(passing).items():
            _heading(group, claims, view)
            if is_unfolded(view, group, claims):
                with st.container(gap="xsmall"):
                    for claim in claims:
                        row(claim, view)
    with st.container(horizontal=True, vertical_alignment="center", key="count"):
        st.markdown(f"Selected: **{len(passing)}** of {len(CLAIMS)} claims.", width="content")
        if passing:
            draw_download_button(lambda: claim_table(passing), PAGE)


def _heading(group: str, claims: Sequence[Claim], view: View) -> None:
    """Show the words of a group; of one that is folded, or opened by its button, as a button."""
    words = wording.group_words(group, len(claims))
    if group in FOLDED and (group in view["open"] or not is_unfolded(view, group, claims)):
        icon = "expand_less" if group in view["open"] else "expand_more"
        st.button(
            words,
            key=f"{PREFIX}fold {group}",
            icon=f":material/{icon}:",
            on_click=_unfold,
            args=(group,),
            width="stretch",
        )
    else:
        st.markdown(f"### {words}")


def _unfold(group: str) -> None:
    """Open or close a group, in the link too."""
    others = [each for each in st.session_state[UNFOLDED] if each != group]
    st.session_state[UNFOLDED] = others if group in st.session_state[UNFOLDED] else [*others, group]


def row(claim: Claim, view: View) -> None:
    """Show a claim with its verdict; if it is open, with its evidence and source."""
    key = f"{PREFIX}row {claim.id}"
    st.session_state[key] = claim.id in view["claim"]
    box = st.expander(wording.row(claim), key=key, on_change=_toggle, args=(claim.id, key))
    if box.open:
        with box:
            detail(claim, view)


def _toggle(claim: str, key: str) -> None:
    """Open or close a claim, in the link too."""
    others = [each for each in st.session_state[OPEN] if each != claim]
    st.session_state[OPEN] = [*others, claim] if st.session_state[key] else others


def detail(claim: Claim, view: View) -> None:
    """Show why the verdict is so, the evidence, the source, the page that shows it, and how to measure it again."""
    st.markdown(f"**Why.** {escape_markdown(claim.condition)}\n\n**Measured.** {escape_markdown(claim.how)}")
    if shipped := find_shipped_evidence(claim.id):
        show_evidence(shipped.evidence)
        st.caption(wording.provenance(shipped.version, isinstance(claim.check, Tried)))
    st.markdown(wording.sources(claim))
    draw_page_link(claim.see, "See it in", ":material/visibility:")
    measure_again(claim, view)
    st.code(wording.without_a_browser(claim, view["seed"]), language="bash", wrap_lines=True)


def show_evidence(found: Evidence) -> None:
    """Show the trials in a table, and what experiments say."""
    if found.trials:
        st.markdown(wording.table(found))
    if any(trial.fact for trial in found.trials):
        st.caption("A fact is not what is claimed, but what the verdict rests on.")
    for verdict in found.verdicts:
        st.markdown(wording.tried(verdict))


def measure_again(claim: Claim, view: View) -> None:
    """Show the button that measures a claim on this server, then its progress, and then its evidence."""
    key, seed = f"{PREFIX}again {claim.id}", view["seed"]
    if not st.session_state.get(f"{key} wanted"):
        seconds = format_duration(sum(part.seconds for part in parts_of(claim, seed)))
        label = f"Measure it again on this server, from seed {seed} · about {seconds}"
        st.button(label, key=key, on_click=_want, args=(key,))
        return
    run = work.open_parts(parts_of(claim, seed), PAGE, f"{key} work", wanted=True)
    working = run.is_active()

    @st.fragment(run_every=PAGE_POLL_SECONDS if working else None)
    def look() -> None:
        found = work.find_results(run)
        if run.is_active() != working or any(st.session_state[p.key] != view[p.name] for p in PARAMS):
            st.rerun()  # the whole page, which sets the clock and writes the link
        if run.is_active():
            st.progress(work.compute_share(run, found), "Measuring")
            st.button("Cancel", key=f"{key} cancel", on_click=run.stop)
        elif run.error:
            show_error(run.error)
            st.button("Try again", key=f"{key} retry", on_click=run.start)
        elif (evidence := find_evidence(claim, seed, found)) is None:
            st.button("Measure it again", key=f"{key} anew", on_click=run.start)
        else:
            st.markdown(f"**On this server, from seed {seed}:** {VERDICTS[evidence.verdict].name}")
            show_evidence(evidence)

    look()


def _want(key: str) -> None:
    st.session_state[f"{key} wanted"] = True


def claim_table(claims: Sequence[Claim]) -> dict[str, list[str]]:
    """Return the claims with their shipped evidence, in columns."""
    found = [(claim, find_shipped_evidence(claim.id)) for claim in claims]
    records = [record(claim, shipped.evidence) for claim, shipped in found if shipped]
    columns = ("id", "source", "claim", "verdict", "expected", "evidence", "condition", "see")
    return {name: [each[name] for each in records] for name in columns}
