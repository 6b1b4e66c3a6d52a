"""Requests for jobs and the runs of jobs: their progress, their speed, and whether they are still wanted."""

import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, RLock
from typing import TYPE_CHECKING, Any

from normviz.jobs.spec import Job, compute_digest
from normviz.jobs.speed import Countdown, get_modelled_seconds

if TYPE_CHECKING:
    from normviz.jobs.job_queue import JobQueue

ResultCallback = Callable[[Any, Any], object]
"""Takes a job and its result so far, several times, and at last the complete result."""


def return_false() -> bool:
    """Return False: the default for a callback that is not given."""
    return False


class JobRequest:
    """A visitor's request for one or several jobs, of which a few run at a time so that others get workers.

    Attributes:
        jobs: the jobs with their digests.
        runs: the runs of its jobs that a worker has or that wait for one.
        ran: the runs that are done.
        store_result: takes the results.
        lease: seconds for which it stays valid without a session.
        costs: kind and modelled seconds of its jobs, by digest.
        first_round, number: the round of its first job, and its place within a round; the queue sets both.
        paused: True if no further job is started.
        error: the error of a job, or None; the jobs after it were not started.
    """

    def __init__(
        self,
        queue: "JobQueue",
        jobs: Sequence[Job[Any]],
        store_result: ResultCallback,
        is_present: Callable[[], bool] = return_false,
    ) -> None:
        self.jobs = [(compute_digest(job), job) for job in jobs]
        self.costs = {name: (job.kind, get_modelled_seconds(job)) for name, job in self.jobs}
        self.first_round = self.number = 0
        self.store_result, self.lease, self._is_present = store_result, queue.lease, is_present
        self.runs: list[JobRun] = []
        self.ran: list[JobRun] = []
        self.paused = False
        self.error: Exception | None = None
        self._queue, self._cancelled, self._ended = queue, False, Event()
        self._countdown = Countdown()
        self.renew()

    def renew(self) -> None:
        """Extend the lease; a request without a connected session ends when its lease ends."""
        self._until = self._queue.clock() + self.lease

    def cancel(self) -> None:
        """Cancel the request; jobs that no other request wants stop."""
        self._cancelled = True

    def pause(self) -> None:
        """Start no further job until `resume`; running jobs go on to their end."""
        self.paused = True

    def resume(self) -> None:
        """Continue the request after a pause."""
        self.paused = False
        self._queue.resume(self)

    @property
    def is_wanted(self) -> bool:
        """True if the request is not cancelled and its lease has not ended."""
        if self._is_present():
            self.renew()
        return not self._cancelled and self._queue.clock() <= self._until

    @property
    def done_count(self) -> int:
        """The number of finished jobs."""
        return len(self.ran)

    @property
    def progress(self) -> float:
        """The finished share of all jobs, 0 to 1."""
        return (self.done_count + sum(run.share for run in [*self.runs])) / len(self.jobs)

    @property
    def is_waiting(self) -> bool:
        """True if jobs are submitted and all of them wait for a worker."""
        runs = [*self.runs]
        return bool(runs) and not any(run.is_over or run.begun() for run in runs)

    @property
    def next_index(self) -> int:
        """The index of the first job that has not been started."""
        return len(self.runs) + len(self.ran)

    @property
    def jobs_ahead(self) -> int:
        """The number of unfinished jobs of other requests before the last waiting job of this one, or 0."""
        return self._queue.count_ahead(self)

    @property
    def displayed_seconds_left(self) -> float:
        """The smoothed estimate of the seconds until all jobs of the request are done."""
        return self._countdown.update_estimate(self._queue.estimate_seconds_left(self), self._queue.clock())

    def compute_turn(self, index: int) -> tuple[int, int]:
        """Return the turn (round, request number) of the job at an index; the smallest turn starts first."""
        return self.first_round + index, self.number

    def find_last_waiting_turn(self) -> tuple[int, int] | None:
        """Return the turn (round, request number) of the request's last waiting job; None if no job waits."""
        waiting = [run.turn for run in self.runs if not (run.is_over or run.begun())]
        if self.next_index < len(self.jobs):
            waiting.append(self.compute_turn(len(self.jobs) - 1))
        return max(waiting, default=None)

    def list_unfinished(self, before_turn: tuple[int, int] | None = None) -> list[str]:
        """Return the digests of the unfinished jobs; with `before_turn`, only of those with an earlier turn.

        Before a turn a paused request has no jobs but its runs.
        """
        runs = [run.name for run in self.runs if before_turn is None or run.turn < before_turn]
        index = self.next_index
        if self.paused and before_turn is not None:
            return runs
        count = len(self.jobs)
        if before_turn is not None:
            count = before_turn[0] - self.first_round + (self.number < before_turn[1])
        return runs + [name for name, _ in self.jobs[index : max(count, index)]]

    @property
    def is_over(self) -> bool:
        """True if the request has ended: all jobs are done, or it was cancelled or failed and no job runs."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until the request ends; return True if it ends within this time."""
        return self._ended.wait(seconds)

    def find_next_job(self, max_running: int) -> int | None:
        """Return the index of the next job to start; None if there is none or `max_running` jobs run.

        Ends the request if no job of it runs or will run.
        """
        if not self.is_wanted:
            self.cancel()
        if self._cancelled or self.next_index == len(self.jobs):
            if not self.runs:
                self._ended.set()
            return None
        return None if self.paused or len(self.runs) >= max_running else self.next_index

    def handle_run_end(self, run: "JobRun", error: Exception | None, stopped: bool) -> None:
        """Remove a run that has ended; cancel the request if the run failed or was stopped."""
        self.runs.remove(run)
        if error is None and not stopped:
            self.ran.append(run)
        else:
            self.error = self.error or error
            self.cancel()


class JobRun:
    """Run of one job on behalf of all requests that contain it; it is also the control of jobs in threads.

    Attributes:
        name: the digest of its job.
        requests: that wait for its result.
        turn: its place among all waiting runs.
        cost: the kind and the modelled seconds of its job.
        share: the finished share of the latest report.
        reported_share, reported_seconds: the share finished since the first report, and the seconds that it took.
        handed: True if the executor has it.
        begun: returns True if a worker has taken it.
        is_over: True if it has its last result or has ended, so that no request can join it.
    """

    def __init__(
        self,
        name: str,
        job: Job[Any],
        request: JobRequest,
        clock: Callable[[], float] = time.monotonic,
        turn: tuple[int, int] = (0, 0),
    ) -> None:
        self.name, self.job, self.requests, self.turn = name, job, [request], turn
        self.cost = request.costs[name]
        self.share, self.is_over, self.handed = 0.0, False, False
        self.reported_share = self.reported_seconds = 0.0
        self.begun: Callable[[], bool] = return_false
        self._clock, self._first = clock, (0.0, 0.0)
        self._stopped, self._lock, self._storing = False, RLock(), Lock()

    def add_request(self, request: JobRequest) -> bool:
        """Add a request for this job; return False if the job was told to stop or has ended."""
        with self._lock:
            joined = not (self.is_over or self.should_stop())
            if joined:
                self.requests.append(request)
            return joined

    def should_stop(self) -> bool:
        """Return True once no request wants the run any more, and from then on.

        A request renewed later changes nothing: the job may have stopped already, and its page would wait for nothing.
        """
        with self._lock:
            self._stopped = self._stopped or not any(request.is_wanted for request in self.requests)
            return self._stopped

    def report_progress(self, share: float, result: Any, last: bool = False) -> None:
        """Store the share and the partial result for all requests; ignore all reports after one with `last`."""
        with self._storing:
            with self._lock:
                if self.is_over:
                    return  # a report that arrived late
                self._measure_progress(share)
                self.share, self.is_over = share, last
                callbacks = {request.store_result for request in self.requests}
            for store_result in callbacks:
                store_result(self.job, result)

    def restart(self) -> None:
        """Reset the progress, since the job starts again in another process."""
        with self._lock:
            self.share = self.reported_share = self.reported_seconds = 0.0

    def _measure_progress(self, share: float) -> None:
        """Store the share and the seconds since the first report, so that the time for imports does not count."""
        now = self._clock()
        if self.share == 0.0 or share < self.share:  # the first report, also after a restart
            self._first = share, now
        self.reported_share, self.reported_seconds = share - self._first[0], now - self._first[1]

    def end(self) -> tuple[bool, list[JobRequest]]:
        """Mark the run as over and drop its requests; return (True if it was told to stop, those requests)."""
        with self._lock:
            self.is_over, self.begun = True, return_false  # the old function would hold the future and its result
            requests, self.requests = self.requests, []
            return self._stopped, requests
