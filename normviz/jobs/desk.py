"""Work outside a page: the desk runs jobs on an executor, and ends those that nobody looks at any more.

Who asks for jobs holds a ticket, which is valid while they are there, and for a lease afterwards: a closed tab's
lapses. Tickets that ask for the same job share one run of it, which stops when none of them wants it. Jobs start in the
order in which they come to the front of their ticket, so a ticket with many goes to the end of the queue after each.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from threading import RLock
from traceback import clear_frames
from typing import Any

from normviz.jobs.executors import perform
from normviz.jobs.limits import NO_LIMITS, Limits
from normviz.jobs.spec import Job, digest
from normviz.jobs.tickets import Keep, Run, Ticket, nobody

LEASE = 10.0
"""Seconds that a ticket stays valid when nobody is there, so that a connection may break and come back."""


def _undone(job: Job[Any]) -> bool:
    return False


class Desk:
    """Where jobs are handed in.

    Args:
        executor: where they run; shaped as in `concurrent.futures`, and given a job's run as its control.
        lease: seconds that a ticket stays valid when nobody is there.
        clock: the time in seconds.
        at_once: how many jobs of a ticket may be at work at a time, or wait for a worker.
        limits: what one job may take.
        done: whether the result of a job is there, so that it need not be run.
        warm: lets the executor get workers ready, and returns at once.
    """

    def __init__(
        self,
        executor: Executor,
        lease: float = LEASE,
        clock: Callable[[], float] = time.monotonic,
        at_once: int = 1,
        limits: Limits = NO_LIMITS,
        done: Callable[[Job[Any]], bool] = _undone,
        warm: Callable[[], object] = nobody,
    ) -> None:
        self.lease, self.clock, self.at_once, self.limits = lease, clock, at_once, limits
        self.warm, self._done = warm, done
        self._executor = executor
        self._runs: dict[str, Run] = {}  # in the order in which they were handed to the executor
        self._lock = RLock()

    def submit(self, jobs: Sequence[Job[Any]], keep: Keep, there: Callable[[], bool] = nobody) -> Ticket:
        """A ticket for these jobs, in their order.

        `keep` is called in the thread in which a result arrives; `there`, in any thread, says whether who asks is
        there. Raises TypeError or ValueError where a job is not plain data.
        """
        ticket = Ticket(self, jobs, keep, there)
        self.go_on(ticket)
        return ticket

    def at_work(self, jobs: Sequence[Job[Any]]) -> bool:
        """Whether somebody has asked for all of these jobs, and one of them is at work or waits for a worker."""
        names = {digest(job) for job in jobs}
        with self._lock:
            runs = [self._runs[name] for name in names & self._runs.keys()]
            tickets = [ticket for run in runs if not (run.over or run.stopped()) for ticket in run.tickets]
        return any(ticket.wanted and names <= {name for name, _ in ticket.jobs} for ticket in tickets)

    def before(self, ticket: Ticket) -> int:
        """How many jobs of others, at work or waiting, were handed to the executor before the first of this ticket."""
        with self._lock:
            runs = [run for run in self._runs.values() if not (run.over or run.stopped())]
        own = {*ticket.runs}
        return next((place for place, run in enumerate(runs) if run in own), 0)

    def go_on(self, ticket: Ticket) -> None:
        """Put the ticket's next jobs to work, or end it where there are none."""
        new: list[tuple[str, Run]] = []
        with self._lock:
            while (following := ticket.following(self.at_once)) is not None:
                name, job = following
                if self._done(job):  # by others, since the ticket was handed in
                    ticket.ran.append(Run(job, ticket, self.clock))
                    continue
                run = self._runs.get(name)
                if run is None or not run.join(ticket):
                    self._runs.pop(name, None)
                    run = self._runs[name] = Run(job, ticket, self.clock)
                    new.append((name, run))
                ticket.runs.append(run)
        for name, run in new:
            if run.stopped():  # as one before it could not be handed in
                self._end(name, run, None)
            else:
                self._start(name, run)

    def _start(self, name: str, run: Run) -> None:
        """Hand it to the executor."""
        try:
            future = self._executor.submit(perform, run.job, run, self.limits)
        except Exception as error:  # as of a pool whose processes have died
            self._end(name, run, error)
        else:
            run.begun = future.running
            future.add_done_callback(partial(self._take, name, run))

    def _take(self, name: str, run: Run, future: Future[Any]) -> None:
        """Keep what came out."""
        try:
            result = future.result()
            if result is not None:
                run.tell(1.0, result, last=True)
        except Exception as error:
            _let_go(error)
            self._end(name, run, error)
        else:
            self._end(name, run, None)

    def _end(self, name: str, run: Run, error: Exception | None) -> None:
        """Forget the run, and let its tickets go on or end."""
        with self._lock:
            stopped, tickets = run.end()
            if self._runs.get(name) is run:
                del self._runs[name]
            for ticket in tickets:
                ticket.close(run, error, stopped)
        for ticket in tickets:
            self.go_on(ticket)


def _let_go(error: BaseException | None) -> None:
    """Empty the frames that an error and those before it came through.

    A ticket keeps its error to show it, and would keep the job's tensors with it: of a GPU that was full, all of them.
    """
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__
