"""The page on claims: the number of each verdict, and the claims with their verdicts, the surprising ones first."""

from collections.abc import Sequence

import streamlit as st

from normviz.describe.markdown import escape_markdown
from normviz.describe.wording import format_duration
from normviz.topics.claims import state, wording
from normviz.topics.claims.claim import Claim, Evidence, ExperimentCheck, build_claim_record
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.claims.jobs import find_evidence, list_claim_jobs
from normviz.topics.claims.shipped import find_shipped_evidence
from normviz.topics.claims.verdicts import VERDICTS, format_verdict_counts
from normviz.topics.experiments import experiment_runs
from normviz.ui.frame import draw_page_link, show_error
from normviz.ui.link import View
from normviz.ui.runs import PAGE_POLL_SECONDS
from normviz.ui.saving import draw_download_button


def show(view: View) -> None:
    """Show the page: the number of claims by verdict, and the claims in groups. Nothing is measured by itself."""
    st.markdown(f"**{len(CLAIMS)} claims:** {format_verdict_counts([claim.expected for claim in CLAIMS.values()])}")
    passing = state.select_claims(view)
    with st.container(key="claims"):  # opening.js: the first that a link opens is in sight
        if not passing:
            st.markdown("No claim passes all filters. Remove one of them.")
        for group, claims in state.group_claims(passing).items():
            _show_group_heading(group, claims, view)
            if state.is_unfolded(view, group, claims):
                with st.container(gap="xsmall"):
                    for claim in claims:
                        show_claim(claim, view)
    with st.container(horizontal=True, vertical_alignment="center", key="count"):
        st.markdown(f"Selected: **{len(passing)}** of {len(CLAIMS)} claims.", width="content")
        if passing:
            draw_download_button(lambda: tabulate_claims(passing), state.PAGE)


def _show_group_heading(group: str, claims: Sequence[Claim], view: View) -> None:
    words = wording.describe_group(group, len(claims))
    if group in state.FOLDED_GROUPS and (group in view["open"] or not state.is_unfolded(view, group, claims)):
        icon = "expand_less" if group in view["open"] else "expand_more"
        st.button(
            words,
            key=f"{state.PREFIX}fold {group}",
            icon=f":material/{icon}:",
            on_click=_toggle_group,
            args=(group,),
            width="stretch",
        )
    else:
        st.markdown(f"### {words}")


def _toggle_group(group: str) -> None:
    others = [each for each in st.session_state[state.OPEN_GROUPS_KEY] if each != group]
    st.session_state[state.OPEN_GROUPS_KEY] = (
        others if group in st.session_state[state.OPEN_GROUPS_KEY] else [*others, group]
    )


def show_claim(claim: Claim, view: View) -> None:
    """Show a claim with its verdict as a button; if the claim is open, also its details."""
    key = f"{state.PREFIX}row {claim.id}"
    st.session_state[key] = claim.id in view["claim"]
    box = st.expander(wording.format_claim_row(claim), key=key, on_change=_toggle_claim, args=(claim.id, key))
    if box.open:
        with box:
            show_claim_details(claim, view)


def _toggle_claim(claim: str, key: str) -> None:
    """Open or close a claim in the session's state, and so in the link; `key`: the session key of its button."""
    others = [each for each in st.session_state[state.OPEN_CLAIMS_KEY] if each != claim]
    st.session_state[state.OPEN_CLAIMS_KEY] = [*others, claim] if st.session_state[key] else others


def show_claim_details(claim: Claim, view: View) -> None:
    """Show an open claim's reason, evidence, sources, link to the page with a picture, and command."""
    st.markdown(
        f"**Why.** {escape_markdown(claim.condition)}\n\n**Test.** {escape_markdown(wording.describe_test(claim))}"
    )
    if shipped := find_shipped_evidence(claim.id):
        show_evidence(shipped.evidence)
        st.caption(wording.describe_provenance(shipped.version, isinstance(claim.check, ExperimentCheck)))
    st.markdown(wording.format_claim_sources(claim))
    draw_page_link(claim.see, "See it in", ":material/visibility:")
    show_measurement(claim, view)
    st.code(wording.format_measure_command(claim, view["seed"]), language="bash", wrap_lines=True)


def show_evidence(evidence: Evidence) -> None:
    """Show the trials in a table, and the verdicts of experiments as text."""
    if evidence.trials:
        st.markdown(wording.format_evidence_table(evidence))
    if any(trial.fact for trial in evidence.trials):
        st.caption("A fact is not what is claimed, but what the verdict rests on.")
    for verdict in evidence.verdicts:
        st.markdown(wording.format_experiment_verdict(verdict))


def show_measurement(claim: Claim, view: View) -> None:
    """Show a button that measures a claim on this server, then its progress, then the evidence."""
    key, seed = f"{state.PREFIX}again {claim.id}", view["seed"]
    if not st.session_state.get(f"{key} wanted"):
        seconds = format_duration(sum(part.seconds for part in list_claim_jobs(claim, seed)))
        label = f"Measure it again on this server, from seed {seed} · about {seconds}"
        st.button(label, key=key, on_click=st.session_state.update, args=({f"{key} wanted": True},))
        return
    run = experiment_runs.open_jobs_run(list_claim_jobs(claim, seed), state.PAGE, f"{key} work", wanted=True)
    working = run.poll()

    @st.fragment(run_every=PAGE_POLL_SECONDS if working else None)
    def look() -> None:
        found = experiment_runs.find_results(run)
        if run.poll() != working or any(st.session_state[p.key] != view[p.name] for p in state.PARAMS):
            st.rerun()  # the whole page, which sets the clock and writes the link
        if run.poll():
            st.progress(experiment_runs.compute_progress(run, found), "Measuring")
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


def tabulate_claims(claims: Sequence[Claim]) -> dict[str, list[str]]:
    """Return the columns of a table of claims, by name, with verdicts and shipped evidence."""
    found = [(claim, find_shipped_evidence(claim.id)) for claim in claims]
    records = [build_claim_record(claim, shipped.evidence) for claim, shipped in found if shipped]
    columns = ("id", "source", "claim", "verdict", "expected", "evidence", "condition", "see")
    return {name: [each[name] for each in records] for name in columns}
