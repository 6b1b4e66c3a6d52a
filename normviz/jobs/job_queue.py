"""Work outside a page: the desk runs jobs on an executor, and ends those that nobody looks at any more.

Who asks for jobs holds a ticket, which is valid while they are there, and for a lease afterwards: a closed tab's
lapses. Tickets that ask for the same job share one run of it, which stops when none of them wants it.

Tickets take turns: every job has a round, one later than the job before it in its ticket, and jobs start by round, then
by ticket. A new ticket begins with the latest round that has started. So nobody with many jobs keeps out those with
few, and what stands before a ticket's last job never grows while the same tickets wait, however long each job takes.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cache, partial
from heapq import heappop, heappush
from threading import RLock
from typing import Any
from weakref import WeakSet

from normviz.jobs.executors import perform
from normviz.jobs.failures import clear_error_frames
from normviz.jobs.limits import NO_LIMITS, Limits
from normviz.jobs.requests import JobRequest, JobRun, ResultCallback, return_false
from normviz.jobs.spec import Job, compute_digest
from normviz.jobs.speed import MeasuredSeconds, SpeedEstimator, get_modelled_seconds

LEASE_SECONDS = 10.0
"""Seconds that a ticket stays valid when nobody is there, so that a connection may break and come back."""


def _undone(job: Job[Any]) -> bool:
    return False


class JobQueue:
    """Where jobs are handed in.

    Args:
        executor: where they run; shaped as in `concurrent.futures`, and given a job's run as its control.
        lease: seconds that a ticket stays valid when nobody is there.
        clock: the time in seconds.
        at_once: how many jobs of a ticket may be at work at a time, or wait for a worker.
        limits: what one job may take.
        done: whether the result of a job is there, so that it need not be run.
        warm: lets the executor get workers ready, and returns at once.
        workers: how many jobs the executor runs at a time; the others wait here. None: it takes all, and has a queue.
        speed: of the machine; of all desks of a server it is the same.
    """

    def __init__(
        self,
        executor: Executor,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        at_once: int = 1,
        limits: Limits = NO_LIMITS,
        is_done: Callable[[Job[Any]], bool] = _undone,
        warm: Callable[[], object] = return_false,
        workers: int | None = None,
        speed: SpeedEstimator | None = None,
    ) -> None:
        self.lease, self.clock, self.at_once, self.limits = lease, clock, at_once, limits
        self.warm, self._done = warm, is_done
        self.workers, self.speed = workers, speed or SpeedEstimator()
        self._executor = executor
        self._runs: dict[str, JobRun] = {}
        self._tickets: WeakSet[JobRequest] = WeakSet()  # held by who asks, and by their runs
        self._waiting: list[tuple[tuple[int, int], JobRun]] = []  # a heap by turn
        self._handed, self._round, self._number = 0, 0, 0  # to the executor; the latest begun; of the last ticket
        self._lock = RLock()

    def submit(
        self, jobs: Sequence[Job[Any]], store_result: ResultCallback, is_present: Callable[[], bool] = return_false
    ) -> JobRequest:
        """A ticket for these jobs, in their order.

        `keep` is called in the thread in which a result arrives; `there`, in any thread, says whether who asks is
        there. Raises TypeError or ValueError where a job is not plain data.
        """
        ticket = JobRequest(self, jobs, store_result, is_present)
        with self._lock:
            self._tickets.add(ticket)
        self.resume(ticket)
        return ticket

    def at_work(self, jobs: Sequence[Job[Any]]) -> bool:
        """Whether somebody has asked for all of these jobs, and one of them is at work or waits for a worker."""
        names = {compute_digest(job) for job in jobs}
        with self._lock:
            runs = [self._runs[name] for name in names & self._runs.keys()]
            tickets = [ticket for run in runs if not (run.over or run.stopped()) for ticket in run.tickets]
        return any(ticket.wanted and names <= {name for name, _ in ticket.jobs} for ticket in tickets)

    def count_ahead(self, request: JobRequest) -> int:
        """Return how many unfinished jobs of others come before the last job of this ticket that waits."""
        with self._lock:
            return len(self._ahead(request))

    def seconds_left(self, request: JobRequest) -> float:
        """Return the expected seconds until all jobs of this ticket are done, those of others before them included.

        `n` workers that share `total` seconds of jobs, of which the longest has `longest`, need at most
        total / n + (1 - 1 / n) longest (Graham 1966). n is the number of workers for all jobs up to the ticket's last
        one, and how many jobs a ticket may have at work for its own; the larger of the two counts.
        """
        with self._lock:
            factors = self._factors()
            own = [self._seconds_of(name, request, factors) for name in dict.fromkeys(request.list_unfinished())]
            ahead = sum(self._seconds_of(name, other, factors) for name, other in self._ahead(request).items())
            workers = self.workers or max(sum(run.begun() for run in self._runs.values()), 1)
        together = min(workers, self.at_once)
        longest = max(own, default=0.0)
        return max(_shared(ahead + sum(own), longest, workers), _shared(sum(own), longest, together))

    def estimate_seconds(self, jobs: Sequence[Job[Any]]) -> float:
        """Return the expected seconds until these jobs are done where no job of others is before them."""
        with self._lock:
            factors = self._factors()
        seconds = [get_modelled_seconds(job) * factors(job.kind) for job in jobs]
        return _shared(sum(seconds), max(seconds, default=0.0), min(self.workers or 1, self.at_once))

    def start_next_jobs(self, request: JobRequest) -> None:
        """Put the ticket's next jobs to work, or end it where there are none."""
        self._queue(request)
        self._hand_out()

    def resume(self, request: JobRequest) -> None:
        """Let a ticket begin, or go on after a pause: its next job comes behind those of the latest round."""
        with self._lock:
            self._number += 1
            request.first_round, request.number = self._round - request.next_index, self._number
        self.start_next_jobs(request)

    def _ahead(self, request: JobRequest) -> dict[str, JobRequest]:
        """Return the unfinished jobs of others before the last job of this ticket that waits, by name with a ticket."""
        last = request.find_last_turn()
        if last is None:
            return {}
        others = [each for each in self._tickets if each is not request and each.wanted]
        found = {name: other for other in others for name in other.list_unfinished(last)}
        for name in request.list_unfinished():
            found.pop(name, None)
        return found

    def _seconds_of(self, name: str, request: JobRequest, factors: Callable[[str], float]) -> float:
        """Return the expected seconds that a job of a ticket still takes once it runs."""
        kind, seconds = request.costs[name]
        run = self._runs.get(name)
        return seconds * factors(kind) * (1 - run.share if run else 1)

    def _factors(self) -> Callable[[str], float]:
        """Return the function from a kind of job to measured over modelled seconds, with the jobs that run now."""
        running: dict[str, MeasuredSeconds] = {}
        for run in self._runs.values():
            kind, modelled = run.cost
            seconds, share = running.get(kind, (0.0, 0.0))
            running[kind] = seconds + run.told_seconds, share + run.told_share * modelled
        return cache(partial(self.speed.factor, running=running))

    def _queue(self, request: JobRequest) -> None:
        """Let the ticket's next jobs wait for a worker, or end it where there are none."""
        with self._lock:
            while (index := request.find_next_job(self.at_once)) is not None:
                name, job = request.jobs[index]
                run = self._runs.get(name)
                if self._done(job):  # by others, since the ticket was handed in
                    request.ran.append(JobRun(name, job, request, self.clock))
                elif run is not None and run.join(request):
                    request.runs.append(run)
                    if request.turn(index) < run.turn and not run.handed:
                        run.turn = request.turn(index)
                        heappush(self._waiting, (run.turn, run))  # beside its later turn, which comes to nothing
                else:
                    run = self._runs[name] = JobRun(name, job, request, self.clock, request.turn(index))
                    request.runs.append(run)
                    heappush(self._waiting, (run.turn, run))

    def _hand_out(self) -> None:
        """Hand the waiting runs to the executor, in the order of their turns, as many as it takes."""
        while (run := self._next()) is not None:
            error: Exception | None = None
            if not run.stopped():  # as one before it could not be handed in
                try:
                    future = self._executor.submit(perform, run.job, run, self.limits)
                except Exception as raised:  # as of a pool whose processes have died
                    error = raised
                else:
                    run.begun = future.running
                    future.add_done_callback(partial(self._take, run))
                    continue
            self._close(run, error)

    def _next(self) -> JobRun | None:
        """Return the waiting run whose turn it is, None where none waits or no worker is free."""
        with self._lock:
            while self._waiting and self._handed != self.workers:
                (started, _), run = heappop(self._waiting)
                if not run.handed:
                    run.handed = True
                    self._handed, self._round = self._handed + 1, max(self._round, started)
                    return run
            return None

    def _take(self, run: JobRun, future: Future[Any]) -> None:
        """Keep what came out."""
        error: Exception | None = None
        try:
            result = future.result()
            if result is not None:
                run.tell(1.0, result, last=True)
        except Exception as raised:
            clear_error_frames(raised)  # which the ticket keeps to show it
            error = raised
        self._close(run, error)
        self._hand_out()

    def _close(self, run: JobRun, error: Exception | None) -> None:
        """Forget a run that was handed to the executor, and let its tickets go on or end."""
        kind, modelled = run.cost
        if run.told_share > 0:
            self.speed.add(kind, run.told_seconds, run.told_share * modelled)
        with self._lock:
            self._handed -= 1
            stopped, tickets = run.end()
            if self._runs.get(run.name) is run:
                del self._runs[run.name]
            for ticket in tickets:
                ticket.close(run, error, stopped)
        for ticket in tickets:
            self._queue(ticket)


def _shared(total: float, longest: float, workers: int) -> float:
    """Return the most seconds in which `workers` do jobs of `total` seconds, of which the longest has `longest`."""
    return total / workers + (1 - 1 / workers) * longest
