"""What the page on experiments shows: the run and its curves, the verdict, and how networks are compared."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from normviz.describe.wording import format_duration
from normviz.jobs.fallback import join_devices
from normviz.jobs.results import Results, is_complete
from normviz.topics.experiments import state, work
from normviz.topics.experiments.controls import colour_schemes
from normviz.topics.experiments.examples import Example, find_example
from normviz.topics.experiments.experiment import Setting, command
from normviz.topics.experiments.figures import (
    band_words,
    blank,
    figure_of,
    find_looks,
    follows_steps,
    height,
    pieces,
    shows_rates,
)
from normviz.topics.experiments.reports import SHAPES, WORDS, FigureSpec, Report
from normviz.ui.frame import show_error
from normviz.ui.link import View, reset_values
from normviz.ui.runs import PAGE_POLL_SECONDS, PageRun, format_waiting
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure

KEPT = "Kept for this link."

RUN = ("Run", "Run the rest")
"""Labels of the button that starts a run, and of the one that goes on with it."""

AGAIN = ("Run it yourself", "Run the rest")
"""The same beside an example result."""

WANTED = f"{state.PAGE} wanted"
"""Where the session holds that the next setting starts by itself."""

MAX_SEED = 10_000
"""All first seeds are below."""

LEAD = "clamp(15rem, 41vh, 36rem)"
"""The height of the first figure, which is in sight with the controls above it."""


def show(view: View, theme: str) -> None:
    """Show an experiment and its results as they come; raises InvalidInput for a setting that cannot be."""
    experiment, setting = state.shown(view), state.setting_of(view)
    with st.container(key="data"):
        st.caption(f"**Data and network:** {experiment.about(setting)}")
    run = work.open_parts(tuple(experiment.parts(setting)), wanted=st.session_state.pop(WANTED, False))
    with st.container(key="work", gap="small"):
        follow(run, view, setting, theme)
    with st.container(key="method"):
        if experiment.rules:
            st.caption(f"**Comparison.** {experiment.rules}")
        with st.expander("Without a browser"):
            st.code(command(experiment, setting), language="bash", wrap_lines=True)


def follow(run: PageRun, view: View, setting: Setting, theme: str) -> None:
    """Show how far the run is and its results so far, again and again as long as it runs.

    Without a complete result of this server, the example result that comes with the package is shown.
    """
    experiment, working = state.shown(view), run.is_active()

    @st.fragment(run_every=PAGE_POLL_SECONDS if working else None)
    def look() -> None:
        found = work.find_results(run)
        complete = len(found) == len(run.shown) and all(map(is_complete, found.values()))
        if run.is_active() != working or (working and complete):  # complete: perhaps by others
            st.rerun()  # the whole page, which sets the clock
        example = None if working or complete else find_example(experiment.key, run.shown)
        labels, note = (AGAIN, _example_words(example, found, run)) if example else (RUN, "")
        status(run, found, labels, note, partial(change_seeds, view))
        results = example.results if example else found
        with st.container(key="outcome"):  # style.css: as high from the start of a run as with its first figures
            if results or working:
                report = experiment.report(setting, results)
                outcome(report, experiment.why, theme, working, len(setting.networks))
                colour_schemes(view, find_looks(report.figures), theme)
                if any(report.table.values()):
                    draw_download_button(lambda: report.table, experiment.key)
            else:
                invite(view)

    look()


def change_seeds(view: View) -> None:
    """Set the seeds that follow those of the view, and start the run."""
    prefix, given = state.PREFIX + state.under(view["show"]), state.values(view)
    st.session_state[prefix + "seed"] = (given["seed"] + given["seeds"]) % MAX_SEED
    st.session_state[WANTED] = True


def _example_words(example: Example, found: Results, run: PageRun) -> str:
    words = f"Example result (version {example.version})."
    ready = sum(map(is_complete, found.values()))
    return f"{words} {ready} of {len(run.shown)} parts are done on this server." if ready else words


def invite(view: View) -> None:
    """Say that there is nothing to see of a setting yet, and lead to the default setting if its result is there."""
    experiment = state.shown(view)
    with st.container(border=True, key="invitation"):
        st.markdown("Press **Run** to train the networks. Their curves grow here while they learn.")
        if find_example(experiment.key, experiment.parts(experiment.setting())):
            st.markdown("The default setting has a result already.")
            st.button("Show the default", on_click=reset_values, args=(state.own_params(view),), key="show default")


def status(
    run: PageRun,
    found: Results,
    labels: tuple[str, str] = RUN,
    note: str = "",
    on_again: Callable[[], None] | None = None,
) -> None:
    """Show how far a run is, with the buttons that start, pause and cancel it.

    Args:
        run: of the parts.
        found: their results so far.
        labels: of the button that starts all parts, or the rest of them.
        note: the words beside that button; by default how many parts are done.
        on_again: starts a run with other seeds when this one is done; None: there is no button for it.
    """
    ready, whole = sum(map(is_complete, found.values())), len(run.shown)
    with st.container(horizontal=True, vertical_alignment="center", key="run"):
        if run.is_active():
            st.button("Cancel", on_click=run.stop, key="cancel run")
            paused = run.request is not None and run.request.paused
            if paused:
                st.button("Resume", on_click=run.start, key="resume run", type="primary")
            else:
                st.button("Pause", on_click=run.pause, key="pause run")
            st.progress(work.compute_share(run, found), _progress_words(run, ready), width="stretch")
        elif ready < whole:
            label = labels[ready > 0]
            st.button(
                f"{label} · about {format_duration(run.estimate_seconds())}",
                on_click=run.start,
                key="start run",
                type="primary",
            )
            told = f"{ready} of {whole} parts are done." if found else "Not run yet with this setting."
            st.markdown(note or told, width="content")
        else:
            if on_again is not None:
                st.button("Run with other seeds", on_click=on_again, key="run again")
            devices = join_devices(str(arrays["device"]) for arrays in found.values())
            st.caption(f"Done: {whole} part{'s' if whole > 1 else ''} on the {devices}. {_kept_words()}")
    if run.error:
        show_error(run.error)
    if damaged := work.get_archive().count_damaged(run.shown):
        st.caption(f"{damaged} kept result{'s were' if damaged > 1 else ' was'} damaged, and computed anew.")


def _progress_words(run: PageRun, ready: int) -> str:
    request, whole = run.request, len(run.shown)
    if request is None:
        return "Waiting for a worker"
    if request.is_waiting:
        return format_waiting(request)
    part = f"Part {min(ready + 1, whole)} of {whole}"
    if request.paused:
        return f"{part}, then a pause" if request.runs else f"Paused after {ready} of {whole} parts"
    if not ready and not any(
        each.share for each in [*request.runs]
    ):  # what a worker loads first is not in the estimate
        return f"Starting, about {format_duration(run.estimate_seconds())} once it runs"
    return f"{part}, about {format_duration(run.estimate_seconds())} to go"


def _kept_words() -> str:
    return "On this server until it restarts: its disk takes no results." if work.get_archive().disk.failed else KEPT


def outcome(report: Report, why: str, theme: str, working: bool, networks: int) -> None:
    """Show a report: headline, verdict and reason above the first figure, below it the numbers and the other figures.

    While networks train, the curves over the steps of training come first; learning rates that were chosen are folded.
    `networks`: how many a curve is the mean of.
    """
    figures = sorted(report.figures, key=lambda each: working and not follows_steps(each))
    verdict = report.verdict
    why = f" {verdict.why or why}" if verdict.word != "open" else ""
    st.markdown(f"### {report.headline}")
    st.markdown(f"**{SHAPES[verdict.word]} The claim: {WORDS[verdict.word].lower()}.**{why}")
    with st.container(key="lead"):
        if figures:
            draw(figures[0], theme, LEAD, band_words(figures[0], networks))
        else:
            show_figure(blank(theme), "blank", "Empty axes: there is nothing to draw yet.", LEAD)
    with st.container(border=True, key="verdict"):
        st.markdown(verdict.says)
        if verdict.condition:
            st.caption(verdict.condition)
    for shown in figures[1:]:
        draw(shown, theme)
    for piece in (piece for shown in figures for piece in pieces(shown) if shows_rates(piece)):
        with st.expander("Chosen learning rates"):
            show_figure(figure_of(piece, theme), piece.key, piece.alt, height(piece))


def draw(shown: FigureSpec, theme: str, tall: str = "", bands: str = "") -> None:
    """Draw a figure of a report with its caption, without its panels of chosen learning rates.

    `tall`: the height of curves in CSS, by default that of `height`; `bands`: the words above the figure.
    """
    found = [piece for piece in pieces(shown) if not shows_rates(piece)]
    if bands:
        st.caption(bands)
    for k in range(0, len(found), shown.columns):
        row = found[k : k + shown.columns]
        for column, piece in zip(st.columns(len(row)), row, strict=True):
            with column:
                show_figure(figure_of(piece, theme), piece.key, piece.alt, height(piece, tall))
    if shown.caption:
        st.caption(shown.caption)
