"""What a session asks to have run outside of its page: the parts that are missing of what the page shows."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.jobs.default_queue import create_default_queue
from normviz.jobs.executors import count_workers
from normviz.jobs.failures import describe_error
from normviz.jobs.job_queue import JobQueue, JobRequest
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import Archive, Part, Results, is_complete
from normviz.topics.experiments.state import PAGE
from normviz.ui.page_jobs import get_server_speed, submit_or_reuse

KEY = f"{PAGE} work"
"""Where the session holds it."""

FIRST = 0.3
"""Seconds that a look at a run waits for its first report: that comes sooner than the next look."""


@st.cache_resource
def archive() -> Archive:
    """All that has been run on this server, or kept by an earlier one."""
    return Archive(ResultCache())


@st.cache_resource
def desk() -> JobQueue:
    """Where all sessions hand in their experiments."""
    workers = count_workers()
    return create_default_queue(
        workers, jobs_per_request=workers, is_done=lambda part: not archive().missing([part]), speed=get_server_speed()
    )


@dataclass
class ExperimentRequest:
    """What a session's page shows results of, and what it has done to get it run.

    Attributes:
        parts: of an experiment, or of whatever else the page shows.
        page: by its name in the session.
        ticket: the last one for what was missing of them.
        wanted: whether it is to be run.
        error: what ended it, in words.
    """

    parts: tuple[Part, ...]
    page: str = PAGE
    ticket: JobRequest | None = None
    wanted: bool = False
    error: str = ""

    @property
    def missing(self) -> list[Part]:
        """What is still to be run."""
        return archive().missing(self.parts)

    @property
    def working(self) -> bool:
        """Whether anything is at work, or waits for that, or pauses."""
        if self.ticket is not None and self.ticket.error is not None:
            self.stop(describe_error(self.ticket.error))
        return self.ticket is not None and not self.ticket.over

    @property
    def next(self) -> bool:
        """Whether it is at work, or nobody's work comes before it."""
        ticket = self.ticket
        return ticket is not None and not ticket.over and not (ticket.waits and ticket.position)

    def found(self) -> Results:
        """What there is so far; of a run that has just begun once its first report is there, or after a while."""
        end = time.monotonic() + FIRST
        while not (found := archive().of(self.parts)) and self.next and time.monotonic() < end:
            time.sleep(0.02)
        return found

    def share(self, found: Results) -> float:
        """Return the share that is done of all parts, by the time that they take; 0 to 1.

        Of a part that runs, that is what its run has done: one that began anew has its old result beside it.
        """
        shares = {part: float(is_complete(arrays)) for part, arrays in found.items()}
        running = [] if self.ticket is None else [*self.ticket.runs]
        shares |= {cast(Part, run.job): run.share for run in running}
        whole = sum(part.seconds for part in self.parts)
        return sum(part.seconds * shares.get(part, 0.0) for part in self.parts) / whole

    @property
    def seconds(self) -> float:
        """Return the expected seconds until all is done, with the jobs of others before it once it is handed in."""
        if self.ticket is not None and not self.ticket.over:
            return self.ticket.seconds_left
        try:
            return desk().estimate_seconds(self.missing)
        except InvalidInput:  # a cluster is named that cannot be, which a run says
            return sum(part.seconds for part in self.missing)

    def run(self) -> None:
        """Run it, or the rest of it."""
        self.wanted, self.error = True, ""
        if self.ticket is not None and self.ticket.paused:
            self.ticket.resume()
        self.try_to()

    def pause(self) -> None:
        """Start no further part."""
        if self.ticket is not None:
            self.ticket.pause()

    def stop(self, error: str = "") -> None:
        """Want no more of it; what is done is kept."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket, self.wanted, self.error = None, False, error

    def try_to(self, before: JobRequest | None = None) -> None:
        """As `see_to_it`, or say why not."""
        try:
            self.see_to_it(before)
        except InvalidInput as error:  # a cluster is named that cannot be
            self.stop(str(error))

    def see_to_it(self, before: JobRequest | None = None) -> None:
        """Have at work what is wanted and missing; also again, where that lapsed while nobody was there.

        `before`: the ticket of what was shown before, which goes on as far as it is of the same parts.
        """
        if self.ticket is not None and self.ticket.paused and self.ticket.over:
            self.stop()  # it lapsed in a pause: nothing starts by itself
        missing = self.missing if self.wanted else []  # looked up only if needed: each part may be a read from disk
        self.wanted = bool(missing)  # what is done is not run again when it is no longer kept
        if self.wanted:
            self.ticket = submit_or_reuse(self.ticket or before, missing, desk(), archive().keep, self.page)
        elif before is not None:
            before.cancel()


def start(parts: Sequence[Part], page: str = PAGE, key: str = KEY, wanted: bool = False) -> ExperimentRequest:
    """What the session asks for, at work where it is wanted.

    A page that is opened, or opened again, joins what is at work of the same parts.

    `key`: where the session holds it; `wanted`: whether it starts by itself.
    """
    held: ExperimentRequest | None = st.session_state.get(key)
    if held is not None and held.parts == tuple(parts):
        held.try_to()
        return held
    asked = st.session_state[key] = ExperimentRequest(tuple(parts), page, wanted=wanted)
    with suppress(InvalidInput):  # which a run says
        if missing := asked.missing:
            desk().warm()  # while one reads what there is to run
            asked.wanted = asked.wanted or desk().at_work(missing)
    asked.try_to(None if held is None else held.ticket)
    return asked
