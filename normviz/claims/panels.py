"""The page on claims: how many hold, and the claims with their verdicts, the surprising ones first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from normviz.claims import wording
from normviz.claims.claim import Claim, Evidence
from normviz.claims.command import record
from normviz.claims.jobs import evidence, long_parts, quick_parts
from normviz.claims.ledger import CLAIMS
from normviz.claims.state import (
    FOLDED,
    OPEN,
    PAGE,
    PARAMS,
    PREFIX,
    UNFOLDED,
    Page,
    group_by_verdict,
    is_unfolded,
    select_claims,
)
from normviz.claims.verdicts import counts
from normviz.describe.markdown import escape
from normviz.experiments import work
from normviz.experiments.experiment import Results
from normviz.experiments.panels import status
from normviz.experiments.results import done
from normviz.ui.frame import show_error, way
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.work import POLL


@dataclass(frozen=True)
class Known:
    """What is known of the claims, by id: the evidence, and what was raised where a check has failed."""

    evidence: Mapping[str, Evidence]
    faults: Mapping[str, str]

    @property
    def verdicts(self) -> dict[str, str]:
        """Of every claim."""
        return {
            each: self.evidence[each].verdict
            if each in self.evidence
            else "failed"
            if each in self.faults
            else "unmeasured"
            for each in CLAIMS
        }


def show(view: View) -> None:
    """All of the page; from the first seed what is quick is measured by itself, and shown as it comes."""
    claims, seed = [*CLAIMS.values()], view["seed"]
    quick = work.start(quick_parts(claims, seed), PAGE, f"{PAGE} quick", wanted=seed == Page().seed)
    long = work.start(long_parts(claims, seed), PAGE, f"{PAGE} long")
    working = quick.working, long.working

    @st.fragment(run_every=POLL if any(working) else None)
    def look() -> None:
        at_once, later = quick.found(), long.found()
        found = {**at_once, **later}
        if (quick.working, long.working) != working or any(st.session_state[p.key] != view[p.name] for p in PARAMS):
            st.rerun()  # the whole page, which sets the clock and writes the link
        known = Known(*evidence(claims, seed, found))
        headline(known)
        measuring(quick, at_once, seed)
        passing = select_claims(view, known.verdicts)
        rows(passing, known, view)
        show_count(passing, known)
        trying(long, later)

    look()


def headline(known: Known) -> None:
    """How many claims there are, and how many of each verdict."""
    verdicts = known.verdicts
    others = [each for each, verdict in verdicts.items() if wording.differs(CLAIMS[each], verdict)]
    st.markdown(f"**{len(CLAIMS)} claims:** {counts([*verdicts.values()])}")
    if others:
        st.markdown(f"**Other than on record: {', '.join(others)}.**")


def measuring(asked: work.Asked, found: Results, seed: int) -> None:
    """How far the quick checks are."""
    with st.container(key="measuring"):  # style.css: as high with a bar as without
        if asked.working:
            st.progress(
                asked.share(found), f"Measuring, topic by topic: {sum(map(done, found.values()))} of {len(asked.parts)}"
            )
        elif asked.error:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button("Try again", on_click=asked.run, key="measure again", type="primary")
                show_error(asked.error)
        elif asked.missing:  # by a link with a seed of its own nothing begins
            st.button(f"Measure from seed {seed} on", on_click=asked.run, key="measure", type="primary")
        else:
            st.caption(f"Measured on this server, from seed {seed} on. Click a claim to see its evidence.")


def trying(asked: work.Asked, found: Results) -> None:
    """Show the progress of the claims that take longer, and the buttons to run them."""
    if asked.parts:
        count = sum(not claim.quick for claim in CLAIMS.values())
        with st.container(key="long", gap="xsmall"):
            st.markdown(
                f"{count} {'claims need' if count > 1 else 'claim needs'} trained networks. Until then they stand "
                "under the verdict on record."
            )
            status(asked, found)


def rows(claims: Sequence[Claim], known: Known, view: View) -> None:
    """Show the claims by group; the groups that surprise least are one line each until they are opened."""
    verdicts = known.verdicts
    with st.container(key="claims"):  # opening.js: the first that a link opens is in sight
        if not claims:
            st.markdown("No claim passes all filters. Remove one of them.")
        for group, some in group_by_verdict(claims, verdicts).items():
            _heading(group, some, verdicts, view)
            if is_unfolded(view, group, some):
                with st.container(gap="xsmall"):
                    for claim in some:
                        row(claim, verdicts[claim.id], known, view)


def _heading(group: str, claims: Sequence[Claim], verdicts: Mapping[str, str], view: View) -> None:
    """Show the words of a group; of one that is folded, or opened by its button, as a button."""
    words = wording.group_words(group, len(claims), sum(verdicts[claim.id] == "unmeasured" for claim in claims))
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


def show_count(claims: Sequence[Claim], known: Known) -> None:
    """Show how many claims pass the filters, and the button that saves them."""
    with st.container(horizontal=True, vertical_alignment="center", key="count"):
        st.markdown(f"Selected: **{len(claims)}** of {len(CLAIMS)} claims.", width="content")
        if claims:
            save_table(lambda: numbers(claims, known), PAGE)


def evidence_of(found: Evidence) -> None:
    """What was measured, and what experiments say."""
    if found.trials:
        st.markdown(wording.table(found))
    if any(trial.fact for trial in found.trials):
        st.caption("A fact is not what is claimed, but what the verdict rests on.")
    for verdict in found.verdicts:
        st.markdown(wording.tried(verdict))


def numbers(claims: Sequence[Claim], known: Known) -> dict[str, list[str]]:
    """The claims that are measured, in columns."""
    records = [record(claim, known.evidence[claim.id]) for claim in claims if claim.id in known.evidence]
    columns = ("id", "source", "claim", "verdict", "expected", "evidence", "condition", "see")
    return {name: [each[name] for each in records] for name in columns}


def row(claim: Claim, verdict: str, known: Known, view: View) -> None:
    """A claim with its verdict; opened, with all that there is about it."""
    key = f"{PREFIX}row {claim.id}"
    st.session_state[key] = claim.id in view["claim"]
    box = st.expander(wording.row(claim, verdict), key=key, on_change=_toggle, args=(claim.id, key))
    if box.open:
        with box:
            detail(claim, known, view["seed"])


def _toggle(claim: str, key: str) -> None:
    """Open or close it, in the link too."""
    others = [each for each in st.session_state[OPEN] if each != claim]
    st.session_state[OPEN] = [*others, claim] if st.session_state[key] else others


def detail(claim: Claim, known: Known, seed: int) -> None:
    """Who says so, what was measured and how, where it holds, where it is to be seen, and what measures it."""
    st.markdown(f"{wording.sources(claim)}  \n**Measured.** {escape(claim.how)}")
    if claim.id in known.evidence:
        evidence_of(known.evidence[claim.id])
    elif claim.id in known.faults:
        show_error(known.faults[claim.id])
    else:
        st.markdown("Not measured yet." if claim.quick else "Not measured yet. Press **Run** at the end of the list.")
    if said := wording.condition(claim):
        st.markdown(said)
    way(claim.see, "See it in", ":material/visibility:")
    code, language = wording.measures(claim, seed)
    st.code(code, language=language, wrap_lines=True)
    st.code(wording.without_a_browser(claim, seed), language="bash", wrap_lines=True)
