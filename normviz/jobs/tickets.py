"""Who asked for jobs, and the runs of jobs: what of them is done, how fast it goes, and who still wants it."""

import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, RLock
from typing import Any, Protocol

from normviz.jobs.spec import Job, digest

Keep = Callable[[Any, Any], object]
"""Is given a job and its result so far, again and again, and at last the whole result."""


def nobody() -> bool:
    """That nobody is there."""
    return False


class Queue(Protocol):
    """What a ticket knows of the desk at which it was handed in."""

    lease: float
    clock: Callable[[], float]

    def before(self, ticket: "Ticket") -> int:
        """How many jobs of others stand before its own."""

    def go_on(self, ticket: "Ticket") -> None:
        """Put its next jobs to work."""


class Ticket:
    """What somebody asked for: some jobs, of which few at a time are at work, so that nobody takes all workers.

    Attributes:
        jobs: with their digests; runs: those handed to a worker, or waiting for one; ran: those that are done.
        keep: where their results go; lease: seconds that it stays valid when nobody is there.
        paused: whether no further job is started.
        error: what a job raised, or None; the jobs after it were not started.
    """

    def __init__(self, desk: Queue, jobs: Sequence[Job[Any]], keep: Keep, there: Callable[[], bool] = nobody) -> None:
        self.jobs = [(digest(job), job) for job in jobs]
        self.keep, self.lease, self._there = keep, desk.lease, there
        self.runs: list[Run] = []
        self.ran: list[Run] = []
        self.paused = False
        self.error: Exception | None = None
        self._desk, self._cancelled, self._ended = desk, False, Event()
        self.renew()

    def renew(self) -> None:
        """Somebody is there."""
        self._until = self._desk.clock() + self.lease

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._cancelled = True

    def pause(self) -> None:
        """Start no further job; what a worker has or waits for one goes on to its end."""
        self.paused = True

    def resume(self) -> None:
        """Go on after a pause."""
        self.paused = False
        self._desk.go_on(self)

    @property
    def wanted(self) -> bool:
        """Whether it is neither cancelled nor lapsed."""
        if self._there():
            self.renew()
        return not self._cancelled and self._desk.clock() <= self._until

    @property
    def run(self) -> "Run | None":
        """The first of its runs, None where there is none."""
        return next(iter(self.runs), None)

    @property
    def done(self) -> int:
        """How many of its jobs are done."""
        return len(self.ran)

    @property
    def progress(self) -> float:
        """The share that is done of all its jobs, 0 to 1."""
        return (self.done + sum(run.share for run in [*self.runs])) / len(self.jobs)

    @property
    def waits(self) -> bool:
        """Whether its jobs wait for a worker who is busy with others."""
        runs = [*self.runs]
        return bool(runs) and not any(run.over or run.begun() for run in runs)

    @property
    def position(self) -> int:
        """How many jobs of others, at work or waiting, stand before its own; 0 when one of its own is at work."""
        return self._desk.before(self) if self.waits else 0

    def left(self, seconds_of: Callable[[Any], float]) -> float:
        """Seconds that its jobs still take once they are at work, from those that each should take and the pace so far.

        `seconds_of`: the seconds of a job, by a model of its cost; only their ratios matter once a pace is known.
        """
        runs, ran = [*self.runs], [*self.ran]
        modelled = sum(run.told_share * seconds_of(run.job) for run in runs + ran)
        pace = sum(run.told_seconds for run in runs + ran) / modelled if modelled else 1.0
        done = sum(seconds_of(run.job) for run in ran) + sum(run.share * seconds_of(run.job) for run in runs)
        at_work = sum(run.begun() for run in runs)
        return max(sum(seconds_of(job) for _, job in self.jobs) - done, 0.0) * pace / max(at_work, 1)

    @property
    def over(self) -> bool:
        """Whether nothing is at work for it any more, and nothing will be, in whatever way it ended."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within this time."""
        return self._ended.wait(seconds)

    def following(self, most: int) -> tuple[str, Job[Any]] | None:
        """The job that is to be put to work next, None where none is: at most so many at a time.

        Ends the ticket where nothing is at work and nothing will be.
        """
        if not self.wanted:
            self.cancel()
        begun = len(self.runs) + len(self.ran)
        if self._cancelled or begun == len(self.jobs):
            if not self.runs:
                self._ended.set()
            return None
        return None if self.paused or len(self.runs) >= most else self.jobs[begun]

    def close(self, run: "Run", error: Exception | None, stopped: bool) -> None:
        """A run of its has ended; where it did not come to its end, nothing more is wanted."""
        self.runs.remove(run)
        if error is None and not stopped:
            self.ran.append(run)
        else:
            self.error = self.error or error
            self.cancel()


class Run:
    """One job at work, for all tickets that ask for it. In the desk's own process it is also the job's control.

    Attributes:
        share: the share that is done, as far as was told.
        told_share, told_seconds: what was done, and how long it took, since the first report.
        begun: whether a worker has taken it.
        over: whether nothing more comes of it, and nobody can join it.
    """

    def __init__(self, job: Job[Any], ticket: Ticket, clock: Callable[[], float] = time.monotonic) -> None:
        self.job, self.tickets = job, [ticket]
        self.share, self.over = 0.0, False
        self.told_share = self.told_seconds = 0.0
        self.begun: Callable[[], bool] = nobody
        self._clock, self._first = clock, (0.0, 0.0)
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
                self._measure(share)
                self.share, self.over = share, last
                keeps = {ticket.keep for ticket in self.tickets}
            for keep in keeps:
                keep(self.job, result)

    def _measure(self, share: float) -> None:
        """How far it has come, and in what time, since the first report: what a worker imports first is no measure."""
        now = self._clock()
        if self.share == 0.0:
            self._first = share, now
        self.told_share, self.told_seconds = share - self._first[0], now - self._first[1]

    def end(self) -> tuple[bool, list[Ticket]]:
        """The work has ended: whether it was told to stop, and whose it was."""
        with self._lock:
            self.over, self.begun = True, nobody  # a future holds its result
            tickets, self.tickets = self.tickets, []
            return self._stopped, tickets
