"""The training and the forward passes behind the Table 1 page, with a question before a long training.

Trainings run in worker processes, so that the server needs no torch, and a visitor on another page notices nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.describe.wording import capitalize_first, format_duration
from normviz.jobs.executors import count_short_jobs, create_thread_pool
from normviz.jobs.fallback import format_device_list
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.single_gpu import SingleGpuExecutor
from normviz.topics.table1.forward import ForwardJob
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.smaller_settings import SettingChange, suggest_smaller_settings
from normviz.topics.table1.state import PAGE, PREFIX
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import cost
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.ui import runs
from normviz.ui.frame import show_error

Rows = tuple[tuple[tuple[Scheme, ...], Setting], ...]
"""Schemes, each group with the setting in which they are measured or trained."""

MAX_UNASKED_SECONDS = 60.0
"""Seconds up to which a training starts by itself; before a longer one the page asks."""

KEY, FORWARD = "table training", "table forward"
"""The keys of the training and of the forward passes in the session's state."""


@st.cache_resource
def get_table_result_cache() -> TableResultCache:
    """Return this server's cache of results, which all sessions share, so that a class trains once."""
    return TableResultCache()


@st.cache_resource(show_spinner=False)
def get_table_queue() -> JobQueue:
    """Return the queue for short trainings, which all sessions share."""
    workers = count_short_jobs()
    executor = SingleGpuExecutor(workers, runs.get_spare_worker(), niceness=0)  # a visitor waits for each training
    return JobQueue(executor, workers=workers, speed_estimator=runs.get_speed_estimator())


@st.cache_resource
def get_long_training_queue() -> JobQueue:
    """Return the queue for long trainings: one at a time, so that short ones never wait for them."""
    return JobQueue(
        SingleGpuExecutor(1, runs.get_spare_worker()), workers=1, speed_estimator=runs.get_speed_estimator()
    )


@st.cache_resource
def get_forward_queue() -> JobQueue:
    """Return the queue for forward passes; the measured speed of this server does not count them."""
    return JobQueue(create_thread_pool(1), workers=1)


def find_missing_measurements(rows: Rows) -> list[ForwardJob]:
    """Return the jobs of the forward passes that these rows still need, each once."""
    results = get_table_result_cache()
    return list(dict.fromkeys(job for row in rows for job in results.list_missing_measurements(*row)))


def find_missing_trainings(rows: Rows) -> list[TableTrainingJob]:
    """Return the jobs of the trainings that these rows still need."""
    return [job for row in rows for job in get_table_result_cache().list_missing_trainings(*row)]


def is_short(jobs: Sequence[TableTrainingJob]) -> bool:
    """Return True if these trainings together are so short that they start without a click."""
    return get_table_queue().estimate_seconds(jobs) <= MAX_UNASKED_SECONDS


FORWARD_SOURCE = runs.RunSource(
    find_missing_measurements,
    lambda jobs: get_forward_queue(),
    lambda job, measurement: get_table_result_cache().store_forward(job, measurement),
)
TRAINING_SOURCE = runs.RunSource(
    find_missing_trainings,
    lambda jobs: get_table_queue() if is_short(jobs) else get_long_training_queue(),
    lambda job, outcome: get_table_result_cache().store_outcome(job, outcome),
    is_automatic=is_short,
)


def open_measurements(rows: Rows) -> runs.PageRun:
    """Return the session's run of the forward passes that these rows still need."""
    return runs.open_run(FORWARD_SOURCE, rows, PAGE, FORWARD)


def open_training(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> runs.PageRun:
    """Return the session's run of the trainings that are still needed; a long one waits for a click."""
    return runs.open_run(TRAINING_SOURCE, tuple((tuple(schemes), setting) for setting in settings), PAGE, KEY)


def show_table_status(
    training: runs.PageRun, forward: runs.PageRun, was_running: bool, container: DeltaGenerator, quiet: bool = False
) -> None:
    """Show the training's progress or devices, also if a run `was_running` when the page began; then an error, if any.

    `was_running`: True if a run was active when the page began. While a job runs, the page looks again by itself. A
    `quiet` training started without a click: nobody waits for it.
    """
    training.poll()
    if not forward.poll() and forward.error:
        training.stop(forward.error)
    missing = training.find_missing_jobs()
    trains = training.request is not None and (was_running or bool(missing))
    with container:
        if trains and quiet and not training.is_confirmed:
            st.caption("The networks train while you guess.")
        elif trains:
            runs.show_progress(training, f"Training {_describe_speed(training)}", "cancel")
        else:
            _show_devices(training)
    if training.error:
        show_error(training.error)
    elif training.is_stopped and missing:
        runs.show_restart(training, "Training was stopped; the gaps cover the steps so far.", "Train again", "again")
    elif missing and not trains:
        _ask_before_training(training, missing)
    # Also a measurement that ended before its time, and beside an error of the training.
    if trains or was_running or forward.request is not None:
        with container:  # elsewhere its element would come with a gap, and move what is below
            runs.rerun_on_change(lambda: get_table_result_cache().version, training, forward)


def _show_devices(training: runs.PageRun) -> None:
    """Show what trained how many networks how fast; an empty line before that, so that nothing below moves."""
    devices = format_device_list(record.device for record in get_table_result_cache().list_records(training.shown))
    st.caption(f"Trained on the {devices}. {_describe_speed(training)}." if devices else "\u00a0")


def _describe_speed(training: runs.PageRun) -> str:
    """Return the number of networks, and the measured steps a second of those that have trained."""
    records = get_table_result_cache().list_records(training.shown)
    steps, seconds = sum(len(record.losses) for record in records), sum(record.seconds for record in records)
    networks = f"{len(records):,} networks"
    return f"{networks}, {float(f'{steps / seconds:.2g}'):,.0f} steps a second" if seconds else networks


def _ask_before_training(training: runs.PageRun, missing: Sequence[TableTrainingJob]) -> None:
    schemes, shown = training.shown[0]
    factor = get_table_queue().speed.estimate_slowdown(TableTrainingJob.kind)
    size = max(cost.estimate_memory(job.setting, len(job.rows), len(job.networks)) for job in missing)

    def seconds(setting: Setting) -> float:
        return factor * len(training.shown) * cost.estimate_training_seconds(setting, len(schemes), len(NETWORKS))

    def fits(setting: Setting) -> bool:
        try:
            setting.check(schemes)
        except InvalidInput:
            return False
        return seconds(setting) <= MAX_UNASKED_SECONDS

    with st.container(border=True):
        st.markdown(
            f"Training this takes about **{format_duration(get_table_queue().estimate_seconds(missing))}** on this "
            f"machine, and up to {max(round(size / 2**20, -1), 10):.0f} MB of its memory. The answers of the theory "
            "need no training."
        )
        with st.container(horizontal=True):
            for change in suggest_smaller_settings(shown, fits):
                label = (
                    f"{capitalize_first(format_duration(seconds(replace(shown, **change))))}: "
                    f"{_describe_setting_change(change, shown.layer)}"
                )
                values = {PREFIX + name: value for name, value in change.items()}
                on = partial(st.session_state.update, values)
                st.button(label, on_click=on, key=f"offer {' '.join(change)}", type="primary")
            st.button("Train anyway", on_click=training.start, key="anyway")


def _describe_setting_change(change: SettingChange, layer: str) -> str:
    texts = {"steps": "{} steps", "batch": "batches of {}", "depth": "{} layers"}
    texts["width"] = "{} units" if layer == "dense" else "{} channels"
    return ", ".join(texts[name].format(value) for name, value in change.items())
