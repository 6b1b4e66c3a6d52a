"""The page on experiments: the run and its curves, the verdict, and the rules of the comparison."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.describe.wording import format_duration
from normviz.jobs.fallback import format_device_list
from normviz.jobs.results import Results, is_complete
from normviz.topics.experiments import experiment_runs, state
from normviz.topics.experiments.controls import colour_schemes
from normviz.topics.experiments.examples import ExampleResults, find_example
from normviz.topics.experiments.experiment import Setting, format_run_command
from normviz.topics.experiments.figures import (
    compute_figure_height,
    describe_bands,
    draw_empty_axes,
    draw_figure,
    find_common_styles,
    has_step_axis,
    is_rate_figure,
    split_figure,
)
from normviz.topics.experiments.reports import FigureSpec, Report
from normviz.ui.frame import show_error
from normviz.ui.link import View, reset_values
from normviz.ui.runs import PAGE_POLL_SECONDS, PageRun, format_waiting
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure

AUTOSTART_KEY = f"{state.PAGE} wanted"
"""Session key of the request that the next setting starts by itself."""

SEED_BOUND = 10_000
"""Bound of first seeds, exclusive."""

LEAD_HEIGHT = "var(--nv-lead)"
"""Height of the first figure, which fits the screen below the controls (frame.css)."""


def show(row: DeltaGenerator, view: View, theme: str) -> None:
    """Show the view's experiment and its results as they arrive; raise InvalidInput for an invalid setting.

    The button that starts a run is drawn in `row`.
    """
    experiment, setting = state.get_shown_experiment(view), state.build_shown_setting(view)
    run = experiment_runs.open_jobs_run(
        tuple(experiment.list_jobs(setting)), wanted=st.session_state.pop(AUTOSTART_KEY, False)
    )
    with st.container(key="work", gap="small"):
        show_run(run, row, view, setting, theme)
    with st.container(key="method"):
        if experiment.rules:
            st.caption(f"**Comparison.** {experiment.rules}")
        with st.expander("Without a browser"):
            st.code(format_run_command(experiment, setting), language="bash", wrap_lines=True)


def show_run(run: PageRun, row: DeltaGenerator, view: View, setting: Setting, theme: str) -> None:
    """Show the progress of a run, or in `row` the button that starts it, and its results; refresh them while it runs.

    Without a complete result on this server, the shipped example result is shown.
    """
    experiment, working = state.get_shown_experiment(view), run.poll()
    example = None if working or not run.find_missing_jobs() else find_example(experiment.key, run.shown)
    if not working:
        with row:
            draw_run_button(run, example, partial(rerun_with_new_seeds, view))

    @st.fragment(run_every=PAGE_POLL_SECONDS if working else None)
    def look() -> None:
        found = experiment_runs.find_results(run)
        complete = len(found) == len(run.shown) and all(map(is_complete, found.values()))
        if run.poll() != working or (working and complete):  # complete: perhaps by others
            st.rerun()  # the whole page, which sets the clock
        show_run_status(run, found)
        results = example.results if example else found
        with st.container(key="outcome"):  # pages.css: as high from the start of a run as with its first figures
            if results or working:
                report = experiment.report(setting, results)
                show_report(report, experiment.why, experiment.about(setting), theme, working, len(setting.networks))
                colour_schemes(view, find_common_styles(report.figures), theme)
                if any(report.table.values()):
                    draw_download_button(lambda: report.table, experiment.key)
            else:
                show_missing_result(view)
                _show_data(experiment.about(setting))

    look()


def rerun_with_new_seeds(view: View) -> None:
    """Set the first seed to the one after the last seed of the view, and let the page start the run."""
    prefix, given = state.PREFIX + state.make_name_prefix(view["show"]), state.get_shown_values(view)
    st.session_state[prefix + "seed"] = (given["seed"] + given["seeds"]) % SEED_BOUND
    st.session_state[AUTOSTART_KEY] = True


def show_missing_result(view: View) -> None:
    """Show an invitation to run a setting without results, and a button that loads the default setting's results."""
    experiment = state.get_shown_experiment(view)
    with st.container(border=True, key="invitation"):
        st.markdown("Press **Run** to train the networks. Their curves grow here while they learn.")
        if find_example(experiment.key, experiment.list_jobs(experiment.setting())):
            st.markdown("The default setting has a result already.")
            st.button(
                "Show the default", on_click=reset_values, args=(state.list_shown_params(view),), key="show default"
            )


def draw_run_button(run: PageRun, example: ExampleResults | None, on_repeat: Callable[[], None]) -> None:
    """Draw the button that starts or continues a run, beside an example result or none; of a done run, its results'.

    `on_repeat`: callback of the button that runs other seeds when this run is done.
    """
    missing, whole = len(run.find_missing_jobs()), len(run.shown)
    if missing:
        label = "Run the rest" if missing < whole else "Run it yourself" if example else "Run"
        ready = f"{whole - missing} of {whole} parts are done." if missing < whole else ""
        origin = f"The result shown was computed in advance, with normviz {example.version}." if example else ""
        st.button(
            f"{label} · about {format_duration(run.estimate_seconds())}",
            on_click=run.start,
            key="start run",
            type="secondary" if example else "primary",
            help=f"{origin} {ready}".strip() or None,
        )
    else:
        results = experiment_runs.find_results(run).values()
        devices = format_device_list(str(arrays["device"]) for arrays in results)
        has_no_disk = experiment_runs.get_archive().disk.failed
        storage = (
            "On this server until it restarts: its disk takes no results." if has_no_disk else "The result is cached."
        )
        st.button("Run with other seeds", on_click=on_repeat, key="run again")
        st.caption(f"Computed on the {devices}. {storage}", width="content")


def show_run_status(run: PageRun, results: Results) -> None:
    """Show the progress of a run with its `results` so far and buttons to pause and cancel it, and its error if any."""
    if run.poll():
        with st.container(horizontal=True, vertical_alignment="center", key="run"):
            st.button("Cancel", on_click=run.stop, key="cancel run")
            paused = run.request is not None and run.request.paused
            if paused:
                st.button("Resume", on_click=run.start, key="resume run", type="primary")
            else:
                st.button("Pause", on_click=run.pause, key="pause run")
            ready = sum(map(is_complete, results.values()))
            st.progress(experiment_runs.compute_progress(run, results), _describe_progress(run, ready), width="stretch")
    if run.error:
        show_error(run.error)
    if damaged := experiment_runs.get_archive().count_damaged_results(run.shown):
        st.caption(f"{damaged} cached result{'s were' if damaged > 1 else ' was'} damaged, and computed anew.")


def _describe_progress(run: PageRun, ready: int) -> str:
    request, whole = run.request, len(run.shown)
    if request is None:
        return "Waiting for a worker"
    if request.is_waiting:
        return format_waiting(request)
    part = f"Part {min(ready + 1, whole)} of {whole}"
    if request.paused:
        return f"{part}, then a pause" if request.runs else f"Paused after {ready} of {whole} parts"
    # The estimate does not count what a worker loads first.
    if not ready and not any(each.share for each in [*request.runs]):
        return f"Starting, about {format_duration(run.estimate_seconds())} once it runs"
    return f"{part}, about {format_duration(run.estimate_seconds())} to go"


def show_report(report: Report, why: str, about: str, theme: str, is_running: bool, network_count: int) -> None:
    """Show a report: headline, verdict and its reason (`why`), the first figure, the data (`about`), then the rest.

    While networks train, curves over the training steps come first. Figures of chosen learning rates are folded.
    `why` is for a verdict without a reason of its own; `network_count` networks are behind the mean of a curve.
    """
    figures = sorted(report.figures, key=lambda each: is_running and not has_step_axis(each))
    verdict = report.verdict
    reason = verdict.why or (why if verdict.word != "open" else "")
    st.markdown(f"### {report.headline}")
    words = {"holds": ("Yes",), "holds-if": ("Only", "Clear only", "Yes"), "wrong": ("No",), "open": ("Undecided",)}
    is_said = report.headline.startswith(words.get(verdict.word, ("The claim",)))
    st.markdown(reason if is_said and reason else f"The claim {verdict.text[0].lower()}{verdict.text[1:]}. {reason}")
    with st.container(key="lead"):
        if figures:
            _draw_panels(figures[0], theme, LEAD_HEIGHT)
            st.markdown(figures[0].caption)
            about = f"{about} {describe_bands(figures[0], network_count)}"
        else:
            show_figure(draw_empty_axes(theme), "blank", "Empty axes: there is nothing to draw yet.", LEAD_HEIGHT)
        _show_data(about)
    with st.container(border=True, key="verdict"):
        st.markdown(verdict.says)
        if verdict.condition:
            st.caption(verdict.condition)
    for shown in figures[1:]:
        _draw_panels(shown, theme)
        st.caption(shown.caption)
    for piece in (piece for shown in figures for piece in split_figure(shown) if is_rate_figure(piece)):
        with st.expander("Chosen learning rates"):
            show_figure(draw_figure(piece, theme), piece.key, piece.alt, compute_figure_height(piece))


def _show_data(about: str) -> None:
    with st.container(key="data"):
        st.caption(f"**Data and network:** {about}")


def _draw_panels(spec: FigureSpec, theme: str, row_height: str = "") -> None:
    """Draw each panel of a report's figure as a chart, except panels of chosen learning rates.

    `row_height`: the height of curves in CSS, by default that of `compute_figure_height`.
    """
    found = [piece for piece in split_figure(spec) if not is_rate_figure(piece)]
    for k in range(0, len(found), spec.columns):
        row = found[k : k + spec.columns]
        for column, piece in zip(st.columns(len(row)), row, strict=True):
            with column:
                show_figure(draw_figure(piece, theme), piece.key, piece.alt, compute_figure_height(piece, row_height))
