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
from normviz.topics.table1.offers import Change, offers
from normviz.topics.table1.results import Results
from normviz.topics.table1.state import PAGE, PREFIX
from normviz.topics.table1.training import Training
from normviz.train import cost
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.ui.frame import show_error
from normviz.ui.page_jobs import PAGE_POLL_SECONDS, format_progress, get_server_speed, submit_or_reuse

LIMIT = 60.0
"""Seconds up to which a training starts by itself; before a longer one the page asks."""

KEY, FORWARD = "table training", "table forward"
"""Where the session holds what it asks for, and the ticket for its forward passes."""

COUNTED = {"steps": "{} steps", "batch": "batches of {}", "depth": "{} layers"}
WIDE = {"dense": "{} units", "conv": "{} channels"}
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

    def missing(self) -> list[Training]:
        """What is still to be trained."""
        return [job for setting in self.settings for job in results().missing(self.schemes, setting)]

    def asks(self, missing: Sequence[Training]) -> bool:
        """Whether it waits for an answer, as it would take long and nobody has said that it may."""
        return not (self.agreed or self.stopped or self.ticket) and desk().estimate_seconds(missing) > LIMIT

    def drop(self) -> None:
        """Want no more of what is at work."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket = None

    def stop(self, error: str = "") -> None:
        """Train no more of it, until that is asked for or something is changed."""
        self.drop()
        self.stopped, self.error = True, error

    def again(self) -> None:
        """Train it after all, the whole or the rest."""
        self.stopped, self.agreed = False, True


@st.cache_resource
def results() -> Results:
    """All that has been measured and trained on this server; a class that opens one link trains once."""
    return Results()


@st.cache_resource
def desk() -> JobQueue:
    """Where all sessions hand in their trainings."""
    workers = count_threads()
    return JobQueue(create_thread_pool(workers, limit_to_one_core), workers=workers, speed=get_server_speed())


@st.cache_resource
def patient_desk() -> JobQueue:
    """Where they hand in those that take long: one at a time, so that nobody else waits for them."""
    return JobQueue(create_thread_pool(1, limit_to_one_core), workers=1, speed=get_server_speed())


@st.cache_resource
def forward_desk() -> JobQueue:
    """Where they hand in forward passes: these are soon done, also before torch is imported.

    They have no model of their cost, so that they say nothing on the speed of this machine.
    """
    return JobQueue(create_thread_pool(1), workers=1)


def measure(looked_at: Sequence[tuple[Sequence[Scheme], Setting]]) -> JobRequest | None:
    """See to it that these rows are measured forward; the ticket for what is missing, None where nothing is."""
    found = (job for schemes, setting in looked_at for job in results().unmeasured(schemes, setting))
    jobs = list(dict.fromkeys(found))
    held: JobRequest | None = st.session_state.get(FORWARD)
    ticket = st.session_state[FORWARD] = submit_or_reuse(held, jobs, forward_desk(), results().keep_forward, PAGE)
    return ticket


def start(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> TrainingRequest:
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
        asked.drop()
    else:
        long = desk().estimate_seconds(jobs) > LIMIT
        before = asked.ticket if held is None else held.ticket
        asked.ticket = submit_or_reuse(before, jobs, patient_desk() if long else desk(), results().keep, PAGE)
    if held is not None:
        held.drop()
    return asked


def status(
    asked: TrainingRequest, measured: JobRequest | None, working: bool, above: DeltaGenerator, quiet: bool = False
) -> None:
    """Show `above` how far the training is, with a button that ends it, or its cost, or why it stopped or failed.

    While a job runs, the page looks again by itself. A `quiet` training that needs no consent shows nothing, since
    nobody waits for it before the first guess.
    """
    if asked.ticket is not None and asked.ticket.error is not None:
        asked.stop(str(asked.ticket.error))
    elif measured is not None and measured.error is not None:
        asked.stop(str(measured.error))
    missing = asked.missing()
    trains = not asked.stopped and asked.ticket is not None and (working or bool(missing))
    with above:
        if trains and quiet and not asked.agreed:
            st.caption("The networks train while you guess.")
        elif trains and asked.ticket:
            _progress(asked, asked.ticket)
        else:
            _done(asked)
    if asked.error:
        show_error(asked.error)
    elif not trains and asked.asks(missing):
        _question(asked, missing)
    elif asked.stopped and missing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Training was stopped; the gaps are those of the steps so far.", width="content")
            st.button("Train again", on_click=asked.again, key="again")
    # Also a measurement that ended before its time, and beside an error of the training.
    measures = measured is not None and measured.error is None
    if trains or working or measures:
        asked.looked, asked.seen = time.monotonic(), results().version
        with above:  # elsewhere its element would come with a gap, and move what is below
            _watch(asked, measured)


def _done(asked: TrainingRequest) -> None:
    """Show what the networks were trained on; a line also where none was, so that nothing below moves."""
    devices = join_devices(results().devices(asked.schemes, setting) for setting in asked.settings)
    st.caption(f"Trained on the {devices}." if devices else "Not trained yet.")


def _progress(asked: TrainingRequest, ticket: JobRequest) -> None:
    """Show how far the training is and how long it still takes, or how long it waits."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Cancel", on_click=asked.stop, key="cancel")  # first, where nothing that grows can push it aside
        st.progress(ticket.progress, format_progress(ticket, "Training"), width="stretch")


def _question(asked: TrainingRequest, missing: Sequence[Training]) -> None:
    """What the training would take, and what would take less: nothing starts by itself."""
    factor = desk().speed.factor(Training.kind)
    size = max(cost.estimate_memory(job.setting, len(job.rows), len(job.networks)) for job in missing)

    def seconds(setting: Setting) -> float:
        return factor * len(asked.settings) * cost.estimate_training_seconds(setting, len(asked.schemes), len(NETWORKS))

    def fits(setting: Setting) -> bool:
        try:
            setting.check(asked.schemes)
        except InvalidInput:
            return False
        return seconds(setting) <= LIMIT

    with st.container(border=True):
        st.markdown(
            f"Training this takes about **{format_duration(desk().estimate_seconds(missing))}** on this "
            f"machine, and up to "
            f"{max(round(size / 2**20, -1), 10):.0f} MB of its memory. The answers of the theory need no training."
        )
        with st.container(horizontal=True):
            shown = asked.settings[0]
            for change in offers(shown, fits):
                label = (
                    f"{capitalize_first(format_duration(seconds(replace(shown, **change))))}: "
                    f"{_in_words(change, shown.layer)}"
                )
                st.button(label, on_click=_take, args=(change,), key=f"offer {' '.join(change)}", type="primary")
            st.button("Train anyway", on_click=asked.again, key="anyway")


def _in_words(change: Change, layer: str) -> str:
    texts = COUNTED | {"width": WIDE[layer]}
    return ", ".join(texts[name].format(value) for name, value in change.items())


def _take(change: Change) -> None:
    """Set what was offered."""
    for name, value in change.items():
        st.session_state[PREFIX + name] = value


@st.fragment(run_every=PAGE_POLL_SECONDS)
def _watch(asked: TrainingRequest, measured: JobRequest | None) -> None:
    """Show the page anew when there is something new to show."""
    tickets = [ticket for ticket in (asked.ticket, measured) if ticket is not None]
    news = asked.seen != results().version or all(ticket.over for ticket in tickets)
    if news and time.monotonic() - asked.looked > PAGE_POLL_SECONDS / 2:
        st.rerun()
