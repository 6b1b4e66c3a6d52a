"""The page's work outside of its script: what is missing is measured and trained there, and shown as it comes."""

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
"""Seconds up to which a training starts by itself; before a longer one the page asks."""

KEY, FORWARD = "table training", "table forward"
"""Where the session holds what it asks for, and the ticket for its forward passes."""

OFFER_WORDS = {"steps": "{} steps", "batch": "batches of {}", "depth": "{} layers"}
WIDTH_WORDS = {"dense": "{} units", "conv": "{} channels"}
"""An offer in words, and by layer."""


@dataclass
class TrainingRequest:
    """What a session's page shows, and what it has done to get it trained.

    Attributes:
        schemes, settings: what is shown.
        ticket: the last one for what was missing of it.
        agreed: whether it is trained although it takes long.
        stopped: whether nothing more is to be trained of it, as the user or an error has stopped it.
        error: that error, in words; empty where it was the user.
        looked: when the page last ran while something was at work, on the monotonic clock.
        seen: what of the results it showed then.
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
        """What is still to be trained."""
        return [job for setting in self.settings for job in get_table_results().missing(self.schemes, setting)]

    def asks(self, missing: Sequence[TableTrainingJob]) -> bool:
        """Whether it waits for an answer, as it would take long and nobody has said that it may."""
        return (
            not (self.agreed or self.stopped or self.ticket)
            and get_table_queue().estimate_seconds(missing) > MAX_UNASKED_SECONDS
        )

    def cancel_ticket(self) -> None:
        """Want no more of what is at work."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket = None

    def stop(self, error: str = "") -> None:
        """Train no more of it, until that is asked for or something is changed."""
        self.cancel_ticket()
        self.stopped, self.error = True, error

    def again(self) -> None:
        """Train it after all, the whole or the rest."""
        self.stopped, self.agreed = False, True


@st.cache_resource
def get_table_results() -> TableResults:
    """All that has been measured and trained on this server; a class that opens one link trains once."""
    return TableResults()


@st.cache_resource
def get_table_queue() -> JobQueue:
    """Where all sessions hand in their trainings."""
    workers = count_threads()
    return JobQueue(create_thread_pool(workers, limit_to_one_core), workers=workers, speed=get_server_speed())


@st.cache_resource
def get_long_queue() -> JobQueue:
    """Where they hand in those that take long: one at a time, so that nobody else waits for them."""
    return JobQueue(create_thread_pool(1, limit_to_one_core), workers=1, speed=get_server_speed())


@st.cache_resource
def get_forward_queue() -> JobQueue:
    """Where they hand in forward passes: these are soon done, also before torch is imported.

    They have no model of their cost, so that they say nothing on the speed of this machine.
    """
    return JobQueue(create_thread_pool(1), workers=1)


def request_measurements(shown_rows: Sequence[tuple[Sequence[Scheme], Setting]]) -> JobRequest | None:
    """See to it that these rows are measured forward; the ticket for what is missing, None where nothing is."""
    found = (job for schemes, setting in shown_rows for job in get_table_results().plan_measurements(schemes, setting))
    jobs = list(dict.fromkeys(found))
    held: JobRequest | None = st.session_state.get(FORWARD)
    ticket = st.session_state[FORWARD] = submit_or_reuse(
        held, jobs, get_forward_queue(), get_table_results().store_forward, PAGE
    )
    return ticket


def request_training(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> TrainingRequest:
    """See to it that what the page shows is trained: what is missing is handed in, unless it is at work already.

    A training that ended early, as its session was not there for a while, is handed in again.
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
    """Show `above` how far the training is, with a button that ends it, or its cost, or why it stopped or failed.

    While a job runs, the page looks again by itself. A `quiet` training that needs no consent shows nothing, since
    nobody waits for it before the first guess.
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
    # Also a measurement that ended before its time, and beside an error of the training.
    measures = forward_request is not None and forward_request.error is None
    if trains or working or measures:
        request.looked, request.seen = time.monotonic(), get_table_results().version
        with container:  # elsewhere its element would come with a gap, and move what is below
            _watch(request, forward_request)


def _done(asked: TrainingRequest) -> None:
    """Show what the networks were trained on; a line also where none was, so that nothing below moves."""
    devices = join_devices(get_table_results().devices(asked.schemes, setting) for setting in asked.settings)
    st.caption(f"Trained on the {devices}." if devices else "Not trained yet.")


def _progress(asked: TrainingRequest, ticket: JobRequest) -> None:
    """Show how far the training is and how long it still takes, or how long it waits."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Cancel", on_click=asked.stop, key="cancel")  # first, where nothing that grows can push it aside
        st.progress(ticket.progress, format_progress(ticket, "Training"), width="stretch")


def _question(asked: TrainingRequest, missing: Sequence[TableTrainingJob]) -> None:
    """What the training would take, and what would take less: nothing starts by itself."""
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
    """Set what was offered."""
    for name, value in change.items():
        st.session_state[PREFIX + name] = value


@st.fragment(run_every=PAGE_POLL_SECONDS)
def _watch(asked: TrainingRequest, measured: JobRequest | None) -> None:
    """Show the page anew when there is something new to show."""
    tickets = [ticket for ticket in (asked.ticket, measured) if ticket is not None]
    news = asked.seen != get_table_results().version or all(ticket.over for ticket in tickets)
    if news and time.monotonic() - asked.looked > PAGE_POLL_SECONDS / 2:
        st.rerun()
