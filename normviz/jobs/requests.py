"""Who asked for jobs, and the runs of jobs: what of them is done, how fast it goes, and who still wants it."""

import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, RLock
from typing import Any, Protocol

from normviz.jobs.spec import Job, compute_digest
from normviz.jobs.speed import Countdown, get_modelled_seconds

ResultCallback = Callable[[Any, Any], object]
"""Is given a job and its result so far, again and again, and at last the whole result."""


def return_false() -> bool:
    """That nobody is there."""
    return False


class RequestQueue(Protocol):
    """What a ticket knows of the desk at which it was handed in."""

    lease: float
    clock: Callable[[], float]

    def count_ahead(self, request: "JobRequest") -> int:
        """Return how many unfinished jobs of others come before the last of its jobs that waits."""

    def seconds_left(self, request: "JobRequest") -> float:
        """Return the expected seconds until all of its jobs are done."""

    def resume(self, request: "JobRequest") -> None:
        """Let it go on after a pause."""


class JobRequest:
    """What somebody asked for: some jobs, of which few at a time are at work, so that nobody takes all workers.

    Attributes:
        jobs: with their digests; runs: those handed to a worker, or waiting for one; ran: those that are done.
        keep: where their results go; lease: seconds that it stays valid when nobody is there.
        costs: kind and modelled seconds of its jobs, by name.
        first_round, number: the round of its first job, and its place among the tickets of a round; the desk sets both.
        paused: whether no further job is started.
        error: what a job raised, or None; the jobs after it were not started.
    """

    def __init__(
        self,
        queue: RequestQueue,
        jobs: Sequence[Job[Any]],
        store_result: ResultCallback,
        is_present: Callable[[], bool] = return_false,
    ) -> None:
        self.jobs = [(compute_digest(job), job) for job in jobs]
        self.costs = {name: (job.kind, get_modelled_seconds(job)) for name, job in self.jobs}
        self.first_round = self.number = 0
        self.keep, self.lease, self._there = store_result, queue.lease, is_present
        self.runs: list[JobRun] = []
        self.ran: list[JobRun] = []
        self.paused = False
        self.error: Exception | None = None
        self._desk, self._cancelled, self._ended = queue, False, Event()
        self._countdown = Countdown()
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
        self._desk.resume(self)

    @property
    def wanted(self) -> bool:
        """Whether it is neither cancelled nor lapsed."""
        if self._there():
            self.renew()
        return not self._cancelled and self._desk.clock() <= self._until

    @property
    def run(self) -> "JobRun | None":
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
    def next_index(self) -> int:
        """Return the index of the first of its jobs that is neither done nor at work nor waits for a worker."""
        return len(self.runs) + len(self.ran)

    @property
    def position(self) -> int:
        """Return how many unfinished jobs of others come before its last one; 0 where none of its jobs waits."""
        return self._desk.count_ahead(self)

    @property
    def seconds_left(self) -> float:
        """Return the seconds to show until all of its jobs are done, those of others before them included."""
        return self._countdown.follow(self._desk.seconds_left(self), self._desk.clock())

    def turn(self, index: int) -> tuple[int, int]:
        """Return the turn of its job at this index; of all waiting jobs, that with the least turn starts first."""
        return self.first_round + index, self.number

    def find_last_turn(self) -> tuple[int, int] | None:
        """Return the turn of the last of its jobs that wait for a worker, None where none does."""
        waiting = [run.turn for run in self.runs if not (run.over or run.begun())]
        if self.next_index < len(self.jobs):
            waiting.append(self.turn(len(self.jobs) - 1))
        return max(waiting, default=None)

    def list_unfinished(self, before_turn: tuple[int, int] | None = None) -> list[str]:
        """Return the names of the jobs that are not done, only those with a turn before this one where it is given.

        A ticket that pauses starts no job besides those that have begun.
        """
        runs = [run.name for run in self.runs if before_turn is None or run.turn < before_turn]
        index = self.next_index
        if self.paused and before_turn is not None:
            return runs
        count = (
            len(self.jobs)
            if before_turn is None
            else before_turn[0] - self.first_round + (self.number < before_turn[1])
        )
        return runs + [name for name, _ in self.jobs[index : max(count, index)]]

    @property
    def over(self) -> bool:
        """Whether nothing is at work for it any more, and nothing will be, in whatever way it ended."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within this time."""
        return self._ended.wait(seconds)

    def find_next_job(self, max_running: int) -> int | None:
        """Return the index of the job to put to work next, None where none is: at most so many at a time.

        Ends the ticket where nothing is at work and nothing will be.
        """
        if not self.wanted:
            self.cancel()
        if self._cancelled or self.next_index == len(self.jobs):
            if not self.runs:
                self._ended.set()
            return None
        return None if self.paused or len(self.runs) >= max_running else self.next_index

    def close(self, run: "JobRun", error: Exception | None, stopped: bool) -> None:
        """A run of its has ended; where it did not come to its end, nothing more is wanted."""
        self.runs.remove(run)
        if error is None and not stopped:
            self.ran.append(run)
        else:
            self.error = self.error or error
            self.cancel()


class JobRun:
    """One job at work, for all tickets that ask for it. In the desk's own process it is also the job's control.

    Attributes:
        name: the digest of its job; turn: when it starts, among all that wait.
        cost: the kind and the modelled seconds of its job.
        share: the share that is done, as far as was told.
        told_share, told_seconds: what was done, and how long it took, since the first report.
        handed: whether the executor has it; begun: whether a worker has taken it.
        over: whether nothing more comes of it, and nobody can join it.
    """

    def __init__(
        self,
        name: str,
        job: Job[Any],
        request: JobRequest,
        clock: Callable[[], float] = time.monotonic,
        turn: tuple[int, int] = (0, 0),
    ) -> None:
        self.name, self.job, self.tickets, self.turn = name, job, [request], turn
        self.cost = request.costs[name]
        self.share, self.over, self.handed = 0.0, False, False
        self.told_share = self.told_seconds = 0.0
        self.begun: Callable[[], bool] = return_false
        self._clock, self._first = clock, (0.0, 0.0)
        self._stopped, self._lock, self._keeping = False, RLock(), Lock()

    def join(self, request: JobRequest) -> bool:
        """Take in one more ticket; False where it is too late, as the job was told to stop or has ended."""
        with self._lock:
            joined = not (self.over or self.stopped())
            if joined:
                self.tickets.append(request)
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

    def restart(self) -> None:
        """Forget how far it has come: the job begins anew, in another process."""
        with self._lock:
            self.share = self.told_share = self.told_seconds = 0.0

    def _measure(self, share: float) -> None:
        """How far it has come, and in what time, since the first report: what a worker imports first is no measure."""
        now = self._clock()
        if self.share == 0.0 or share < self.share:  # the first report, also of a worker that begins anew
            self._first = share, now
        self.told_share, self.told_seconds = share - self._first[0], now - self._first[1]

    def end(self) -> tuple[bool, list[JobRequest]]:
        """The work has ended: whether it was told to stop, and whose it was."""
        with self._lock:
            self.over, self.begun = True, return_false  # a future holds its result
            tickets, self.tickets = self.tickets, []
            return self._stopped, tickets
