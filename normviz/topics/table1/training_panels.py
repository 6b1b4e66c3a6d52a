"""Jobs of the Table 1 page: requests for missing measurements and trainings, and their progress."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.describe.wording import capitalize_first, format_duration
from normviz.jobs.executors import count_threads, create_thread_pool, limit_to_one_core
from normviz.jobs.fallback import join_devices
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest
from normviz.topics.table1.results import TableResults
from normviz.topics.table1.smaller_settings import SettingChange, suggest_smaller_settings
from normviz.topics.table1.state import PAGE, PREFIX
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import cost
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.ui.frame import show_error
from normviz.ui.page_jobs import PAGE_POLL_SECONDS, format_progress, get_server_speed, submit_or_reuse

MAX_UNASKED_SECONDS = 60.0
"""Longest training, in seconds, that starts without consent."""

KEY, FORWARD = "table training", "table forward"
"""Session keys of the training request, and of the job request of forward passes."""

OFFER_WORDS = {"steps": "{} steps", "batch": "batches of {}", "depth": "{} layers"}
WIDTH_WORDS = {"dense": "{} units", "conv": "{} channels"}
"""Words of a smaller setting by name, and of its width by layer."""


@dataclass
class TrainingRequest:
    """Request of a session's page for the trainings that it shows.

    Attributes:
        schemes, settings: the rows and settings on the page.
        ticket: the latest job request for missing trainings.
        agreed: True if the visitor consented to a long training.
        stopped: True if the visitor or an error has stopped the training.
        error: the error in words; empty if there is none.
        looked: monotonic time when the page last ran while jobs were running.
        seen: version of the results that the page showed then.
    """

    schemes: tuple[Scheme, ...]
    settings: tuple[Setting, ...]
    ticket: JobRequest | None = None
    agreed: bool = False
    stopped: bool = False
    error: str = ""
    looked: float = 0.0
    seen: object = None

    def missing(self) -> list[TableTrainingJob]:
        """Return the jobs of all missing trainings."""
        return [job for setting in self.settings for job in get_table_results().missing(self.schemes, setting)]

    def asks(self, missing: Sequence[TableTrainingJob]) -> bool:
        """Return True if the missing trainings take long and wait for consent."""
        return (
            not (self.agreed or self.stopped or self.ticket)
            and get_table_queue().estimate_seconds(missing) > MAX_UNASKED_SECONDS
        )

    def cancel_ticket(self) -> None:
        """Cancel the current job request."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket = None

    def stop(self, error: str = "") -> None:
        """Stop the training, until the visitor restarts it or changes a setting."""
        self.cancel_ticket()
        self.stopped, self.error = True, error

    def again(self) -> None:
        """Start or continue the training with consent."""
        self.stopped, self.agreed = False, True


@st.cache_resource
def get_table_results() -> TableResults:
    """Return the server's results, which all sessions share: a class that opens one link trains once."""
    return TableResults()


@st.cache_resource
def get_table_queue() -> JobQueue:
    """Return the queue of all sessions' trainings."""
    workers = count_threads()
    return JobQueue(create_thread_pool(workers, limit_to_one_core), workers=workers, speed=get_server_speed())


@st.cache_resource
def get_long_queue() -> JobQueue:
    """Return the queue of long trainings, which runs one at a time, so that short ones need not wait."""
    return JobQueue(create_thread_pool(1, limit_to_one_core), workers=1, speed=get_server_speed())


@st.cache_resource
def get_forward_queue() -> JobQueue:
    """Return the queue of forward passes, which are fast and need no torch.

    They have no estimate of their cost, so they do not count for the machine's speed.
    """
    return JobQueue(create_thread_pool(1), workers=1)


def request_measurements(shown_rows: Sequence[tuple[Sequence[Scheme], Setting]]) -> JobRequest | None:
    """Submit the missing forward passes of these rows, and return their job request; None if nothing is missing."""
    found = (job for schemes, setting in shown_rows for job in get_table_results().plan_measurements(schemes, setting))
    jobs = list(dict.fromkeys(found))
    held: JobRequest | None = st.session_state.get(FORWARD)
    ticket = st.session_state[FORWARD] = submit_or_reuse(
        held, jobs, get_forward_queue(), get_table_results().store_forward, PAGE
    )
    return ticket


def request_training(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> TrainingRequest:
    """Submit the missing trainings of the page unless they run already, and return the request.

    A training that ended early because its session was disconnected is submitted again.
    """
    held: TrainingRequest | None = st.session_state.get(KEY)
    asked = TrainingRequest(tuple(schemes), tuple(settings))
    if held is not None and (held.schemes, held.settings) == (asked.schemes, asked.settings):
        asked, held = held, None
    st.session_state[KEY] = asked
    jobs = asked.missing()
    if asked.stopped or asked.asks(jobs) or not jobs:
        asked.cancel_ticket()
    else:
        long = get_table_queue().estimate_seconds(jobs) > MAX_UNASKED_SECONDS
        before = asked.ticket if held is None else held.ticket
        asked.ticket = submit_or_reuse(
            before, jobs, get_long_queue() if long else get_table_queue(), get_table_results().keep, PAGE
        )
    if held is not None:
        held.cancel_ticket()
    return asked


def show_table_status(
    request: TrainingRequest,
    forward_request: JobRequest | None,
    working: bool,
    container: DeltaGenerator,
    quiet: bool = False,
) -> None:
    """Show in a container the progress of the training with a button to cancel it, or its cost, or its error.

    While a job runs, the page reruns by itself. A `quiet` training that needs no consent shows one line, as nobody
    waits for it before the first guess.
    """
    if request.ticket is not None and request.ticket.error is not None:
        request.stop(str(request.ticket.error))
    elif forward_request is not None and forward_request.error is not None:
        request.stop(str(forward_request.error))
    missing = request.missing()
    trains = not request.stopped and request.ticket is not None and (working or bool(missing))
    with container:
        if trains and quiet and not request.agreed:
            st.caption("The networks train while you guess.")
        elif trains and request.ticket:
            _progress(request, request.ticket)
        else:
            _done(request)
    if request.error:
        show_error(request.error)
    elif not trains and request.asks(missing):
        _question(request, missing)
    elif request.stopped and missing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Training was stopped; the gaps are those of the steps so far.", width="content")
            st.button("Train again", on_click=request.again, key="again")
    # Watch also a measurement that ended early, even beside an error of the training.
    measures = forward_request is not None and forward_request.error is None
    if trains or working or measures:
        request.looked, request.seen = time.monotonic(), get_table_results().version
        with container:  # outside, its element would add a gap and move everything below
            _watch(request, forward_request)


def _done(asked: TrainingRequest) -> None:
    """Show the devices of the training; without any, a line too, so that nothing below moves."""
    devices = join_devices(get_table_results().devices(asked.schemes, setting) for setting in asked.settings)
    st.caption(f"Trained on the {devices}." if devices else "Not trained yet.")


def _progress(asked: TrainingRequest, ticket: JobRequest) -> None:
    """Show the progress of the training and its remaining time, or its wait."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Cancel", on_click=asked.stop, key="cancel")  # first, so that no growing text moves it
        st.progress(ticket.progress, format_progress(ticket, "Training"), width="stretch")


def _question(asked: TrainingRequest, missing: Sequence[TableTrainingJob]) -> None:
    """Show the cost of a long training, with buttons for smaller settings and to train anyway."""
    factor = get_table_queue().speed.factor(TableTrainingJob.kind)
    size = max(cost.estimate_memory(job.setting, len(job.rows), len(job.networks)) for job in missing)

    def seconds(setting: Setting) -> float:
        return factor * len(asked.settings) * cost.estimate_training_seconds(setting, len(asked.schemes), len(NETWORKS))

    def fits(setting: Setting) -> bool:
        try:
            setting.check(asked.schemes)
        except InvalidInput:
            return False
        return seconds(setting) <= MAX_UNASKED_SECONDS

    with st.container(border=True):
        st.markdown(
            f"Training this takes about **{format_duration(get_table_queue().estimate_seconds(missing))}** on this "
            f"machine, and up to "
            f"{max(round(size / 2**20, -1), 10):.0f} MB of its memory. The answers of the theory need no training."
        )
        with st.container(horizontal=True):
            shown = asked.settings[0]
            for change in suggest_smaller_settings(shown, fits):
                label = (
                    f"{capitalize_first(format_duration(seconds(replace(shown, **change))))}: "
                    f"{_in_words(change, shown.layer)}"
                )
                st.button(label, on_click=_take, args=(change,), key=f"offer {' '.join(change)}", type="primary")
            st.button("Train anyway", on_click=asked.again, key="anyway")


def _in_words(change: SettingChange, layer: str) -> str:
    texts = OFFER_WORDS | {"width": WIDTH_WORDS[layer]}
    return ", ".join(texts[name].format(value) for name, value in change.items())


def _take(change: SettingChange) -> None:
    """Apply a suggested change of the setting."""
    for name, value in change.items():
        st.session_state[PREFIX + name] = value


@st.fragment(run_every=PAGE_POLL_SECONDS)
def _watch(asked: TrainingRequest, measured: JobRequest | None) -> None:
    """Rerun the page when there are new results, or when all jobs are over."""
    tickets = [ticket for ticket in (asked.ticket, measured) if ticket is not None]
    news = asked.seen != get_table_results().version or all(ticket.over for ticket in tickets)
    if news and time.monotonic() - asked.looked > PAGE_POLL_SECONDS / 2:
        st.rerun()
