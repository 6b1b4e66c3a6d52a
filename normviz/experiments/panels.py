"""What the page on experiments shows: the claim, the run, and what came out so far."""

import streamlit as st

from normviz.describe.wording import duration
from normviz.experiments import state, work
from normviz.experiments.experiment import SHAPES, WORDS, Experiment, Report, Results, Verdict, command
from normviz.experiments.figures import blank, figure_of, height, pieces
from normviz.experiments.results import done
from normviz.jobs.fallback import joined_devices
from normviz.ui.components.plot import plot
from normviz.ui.frame import show_error
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.work import POLL, waiting_words

KEPT = "Kept for this link."


def show(view: View, theme: str) -> None:
    """The experiment, and its results as they come; raises InvalidInput for a setting that cannot be."""
    experiment, setting = state.shown(view), state.setting_of(view)
    st.markdown(f"## {experiment.question}\n**Claim.** {experiment.claim}\n\n{experiment.about}")
    parts = tuple(experiment.parts(setting))
    asked = work.start(parts)
    with st.container(key="work"):
        follow(asked, experiment, setting, theme)
    if experiment.rules:
        with st.expander("How networks are compared"):
            st.markdown(experiment.rules)
    with st.expander("Without a browser"):
        st.code(command(experiment, setting), language="bash", wrap_lines=True)


def follow(asked: work.Asked, experiment: Experiment, setting: object, theme: str) -> None:
    """How far it is and what came out, by itself again and again as long as something is at work."""

    working = asked.working

    @st.fragment(run_every=POLL if working else None)
    def look() -> None:
        found = asked.found()
        ended = working and len(found) == len(asked.parts) and all(map(done, found.values()))  # perhaps by others
        if asked.working != working or ended:
            st.rerun()  # the whole page, which sets the clock
        status(asked, found)
        with st.container(key="outcome"):  # style.css: as high from the start of a run as with its first figures
            outcome(experiment, experiment.report(setting, found), theme)

    look()


RUN = ("Run", "Run the rest")


def status(asked: work.Asked, found: Results, labels: tuple[str, str] = RUN) -> None:
    """How far the run is, with what there is to do about it; `labels`: of the button that starts all, or the rest."""
    ready, whole = sum(map(done, found.values())), len(asked.parts)
    with st.container(horizontal=True, vertical_alignment="center", key="run"):
        if asked.working:
            st.button("Cancel", on_click=asked.stop, key="cancel run")
            paused = asked.ticket is not None and asked.ticket.paused
            if paused:
                st.button("Resume", on_click=asked.run, key="resume run", type="primary")
            else:
                st.button("Pause", on_click=asked.pause, key="pause run")
            st.progress(asked.share(found), _progress_words(asked, ready), width="stretch")
        elif ready < whole:
            label = labels[ready > 0]
            st.button(f"{label} · about {duration(asked.seconds)}", on_click=asked.run, key="start run", type="primary")
            told = f"{ready} of {whole} parts are done." if found else "Not run yet with this setting."
            st.markdown(told, width="content")
        else:
            devices = joined_devices(str(arrays["device"]) for arrays in found.values())
            st.caption(f"Done: {whole} part{'s' if whole > 1 else ''} on the {devices}. {_kept_words()}")
    if asked.error:
        show_error(asked.error)
    if damaged := work.archive().damaged(asked.parts):
        st.caption(f"{damaged} kept result{'s were' if damaged > 1 else ' was'} damaged, and computed anew.")


def _progress_words(asked: work.Asked, ready: int) -> str:
    ticket, whole = asked.ticket, len(asked.parts)
    if ticket is None:
        return "Waiting for a worker"
    if ticket.waits:
        return waiting_words(ticket)
    part = f"Part {min(ready + 1, whole)} of {whole}"
    if ticket.paused:
        return f"{part}, then a pause" if ticket.runs else f"Paused after {ready} of {whole} parts"
    return f"{part}, about {duration(asked.seconds)} to go"


def _kept_words() -> str:
    return "On this server until it restarts: its disk takes no results." if work.archive().kept.failed else KEPT


def outcome(experiment: Experiment, report: Report, theme: str) -> None:
    """What came out so far."""
    st.markdown(f"### {report.headline}")
    verdict_box(report.verdict)
    if not report.figures:  # plotly.js is there then when the first curve comes
        plot(blank(theme), "blank", "Empty axes: there is nothing to draw yet.", "16rem")
    for shown in report.figures:
        found = pieces(shown)
        for k in range(0, len(found), shown.columns):
            row = found[k : k + shown.columns]
            for column, piece in zip(st.columns(len(row)), row, strict=True):
                with column:
                    plot(figure_of(piece, theme), piece.key, piece.alt, height(piece))
        if shown.caption:
            st.caption(shown.caption)
    if report.table and any(report.table.values()):
        save_table(lambda: report.table, experiment.key)


def verdict_box(verdict: Verdict) -> None:
    """The verdict in a sign, in words, and what it depends on."""
    with st.container(border=True, key="verdict"):
        st.markdown(f"**{SHAPES[verdict.word]} {WORDS[verdict.word]}.** {verdict.says}")
        if verdict.condition:
            st.caption(verdict.condition)
