"""Work outside a page: the desk runs jobs on an executor, and ends those that nobody looks at any more.

Who asks for jobs holds a ticket, which is valid while they are there, and for a lease afterwards: a closed tab's
lapses. Tickets that ask for the same job share one run of it, which stops when none of them wants it.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from threading import Event, Lock, RLock
from traceback import clear_frames
from typing import Any

from normviz.jobs.executors import Control, perform
from normviz.jobs.spec import Job, digest

LEASE = 10.0
"""Seconds that a ticket stays valid when nobody is there, so that a connection may break and come back."""

Keep = Callable[[Any, Any], object]
"""Is given a job and its result so far, again and again, and at last the whole result."""


def nobody() -> bool:
    """That nobody is there."""
    return False


class Ticket:
    """What somebody asked for: some jobs, of which one at a time is at work, so that nobody takes all workers.

    Attributes:
        jobs: with their digests; done: how many of them are; run: the one at work.
        keep: where their results go; lease: seconds that it stays valid when nobody is there.
        error: what a job raised, or None; the jobs after it were not started.
    """

    def __init__(
        self,
        jobs: Sequence[Job[Any]],
        keep: Keep,
        lease: float,
        clock: Callable[[], float],
        there: Callable[[], bool],
    ) -> None:
        self.jobs = [(digest(job), job) for job in jobs]
        self.keep, self.lease, self._there = keep, lease, there
        self.done = 0
        self.run: Run | None = None
        self.error: Exception | None = None
        self._clock, self._cancelled, self._ended = clock, False, Event()
        self.renew()

    def renew(self) -> None:
        """Somebody is there."""
        self._until = self._clock() + self.lease

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._cancelled = True

    @property
    def wanted(self) -> bool:
        """Whether it is neither cancelled nor lapsed."""
        if self._there():
            self.renew()
        return not self._cancelled and self._clock() <= self._until

    @property
    def progress(self) -> float:
        """The share that is done of all its jobs, 0 to 1."""
        share = 0.0 if self.run is None else self.run.share
        return (self.done + share) / len(self.jobs)

    @property
    def waits(self) -> bool:
        """Whether its job waits for a worker who is busy with others."""
        return self.run is not None and not (self.run.over or self.run.begun())

    @property
    def over(self) -> bool:
        """Whether nothing is at work for it any more, in whatever way it ended."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within this time."""
        return self._ended.wait(seconds)

    def end(self, error: Exception | None = None) -> None:
        """Nothing is at work for it any more."""
        self.error = error
        self._ended.set()


class Run:
    """One job at work, for all tickets that ask for it. In the desk's own process it is also the job's control.

    Attributes:
        share: the share that is done, as far as was told.
        begun: whether a worker has taken it.
        over: whether nothing more comes of it, and nobody can join it.
    """

    def __init__(self, job: Job[Any], ticket: Ticket) -> None:
        self.job, self.tickets = job, [ticket]
        self.share, self.over = 0.0, False
        self.begun: Callable[[], bool] = nobody
        self._stopped, self._lock, self._keeping = False, RLock(), Lock()

    def join(self, ticket: Ticket) -> bool:
        """Take in one more ticket; False where it is too late, as the job was told to stop or has ended."""
        with self._lock:
            joined = not (self.over or self.stopped())
            if joined:
                self.tickets.append(ticket)
            return joined

    def stopped(self) -> bool:
        """Whether the work is to end, as no ticket wants it; once it is, no ticket renewed later changes that.

        The job may have heard it already, and would end unfinished while a page believes that it goes on.
        """
        with self._lock:
            self._stopped = self._stopped or not any(ticket.wanted for ticket in self.tickets)
            return self._stopped

    def tell(self, share: float, result: Any, last: bool = False) -> None:
        """Keep the result so far, once for all tickets that keep it in the same place; nothing after the last one."""
        with self._keeping:
            with self._lock:
                if self.over:
                    return  # a report that was overtaken on its way
                self.share, self.over = share, last
                keeps = {ticket.keep for ticket in self.tickets}
            for keep in keeps:
                keep(self.job, result)

    def end(self) -> tuple[bool, list[Ticket]]:
        """The work has ended: whether it was told to stop, and whose it was."""
        with self._lock:
            self.over = True
            return self._stopped, self.tickets


def same_process(run: Run) -> Control:
    """The control of a job that runs in a thread: the run itself."""
    return run


class Desk:
    """Where jobs are handed in.

    Args:
        executor: where they run; shaped as in `concurrent.futures`.
        control: makes of a run the control that its job gets, so that it can travel where the executor runs it.
        lease: seconds that a ticket stays valid when nobody is there.
        clock: the time in seconds.
    """

    def __init__(
        self,
        executor: Executor,
        control: Callable[[Run], Control] = same_process,
        lease: float = LEASE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lease, self.clock = lease, clock
        self._executor, self._control = executor, control
        self._runs: dict[str, Run] = {}
        self._lock = RLock()

    def submit(self, jobs: Sequence[Job[Any]], keep: Keep, there: Callable[[], bool] = nobody) -> Ticket:
        """A ticket for these jobs, one after the other.

        `keep` is called in the thread in which a result arrives; `there`, in any thread, says whether who asks is
        there. Raises TypeError or ValueError where a job is not plain data.
        """
        ticket = Ticket(jobs, keep, self.lease, self.clock, there)
        self._next(ticket)
        return ticket

    def _next(self, ticket: Ticket) -> None:
        """Put the ticket's next job to work, or end the ticket where there is none."""
        if ticket.done == len(ticket.jobs):
            ticket.run = None
            ticket.end()
            return
        name, job = ticket.jobs[ticket.done]
        with self._lock:
            run = self._runs.get(name)
            if run is not None and run.join(ticket):
                ticket.run = run
                return
            run = ticket.run = self._runs[name] = Run(job, ticket)
        try:
            future = self._executor.submit(perform, job, self._control(run))
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
                run.tell(run.share, result, last=True)
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
            if error is not None or stopped:
                ticket.end(error)
            else:
                ticket.done += 1
                self._next(ticket)


def _let_go(error: BaseException | None) -> None:
    """Empty the frames that an error and those before it came through.

    A ticket keeps its error to show it, and would keep the job's tensors with it: of a GPU that was full, all of them.
    """
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__
