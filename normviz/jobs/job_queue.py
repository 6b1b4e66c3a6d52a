"""The queue that runs jobs outside the page on an executor, and ends those that no session waits for.

A page holds a request, which is valid while its session is present, and for a lease afterwards: that of a closed tab
ends. Requests for the same job share one run of it, which stops when none of them wants it.

Requests take turns: every job has a round, one later than the job before it in its request, and jobs start by round,
then by request. A new request begins with the latest round that has started. So many jobs of one request do not block
the few of another, and the number of jobs before a request's last job never grows while the same requests wait.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cache, partial
from heapq import heappop, heappush
from threading import RLock
from typing import Any
from weakref import WeakSet

from normviz.jobs.executors import perform_job
from normviz.jobs.failures import clear_error_frames
from normviz.jobs.limits import NO_LIMITS, JobLimits
from normviz.jobs.requests import JobRequest, JobRun, ResultCallback, return_false
from normviz.jobs.spec import Job, compute_digest
from normviz.jobs.speed import MeasuredSeconds, SpeedEstimator, get_modelled_seconds

LEASE_SECONDS = 10.0
"""Seconds for which a request stays valid without a session, so that a broken connection may come back."""


class JobQueue:
    """Queue that hands the jobs of many requests to an executor, one job per request in turn.

    Args:
        executor: runs the jobs, as in `concurrent.futures`; it gets a job's run as its control.
        lease: seconds for which a request stays valid without a session.
        clock: returns the time in seconds.
        jobs_per_request: the maximal number of jobs of one request that run or wait for a worker.
        limits: of one job.
        has_result: returns True if a job has its result already, so that it need not run.
        workers: the number of jobs that the executor runs at a time; the others wait here. None: it takes all.
        speed_estimator: of the machine, shared by all queues of a server.
    """

    def __init__(
        self,
        executor: Executor,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        jobs_per_request: int = 1,
        limits: JobLimits = NO_LIMITS,
        has_result: Callable[[Job[Any]], bool] = lambda job: False,
        workers: int | None = None,
        speed_estimator: SpeedEstimator | None = None,
    ) -> None:
        self.lease, self.clock, self.jobs_per_request, self.limits = lease, clock, jobs_per_request, limits
        self._has_result = has_result
        self.workers, self.speed = workers, speed_estimator or SpeedEstimator()
        self._executor = executor
        self._runs: dict[str, JobRun] = {}
        self._requests: WeakSet[JobRequest] = WeakSet()  # held by pages and by their runs
        self._waiting: list[tuple[tuple[int, int], JobRun]] = []  # a heap by turn
        self._handed = 0  # jobs of the executor
        self._round, self._number = 0, 0  # the latest round begun, and the number of the last request
        self._lock = RLock()

    def submit(
        self, jobs: Sequence[Job[Any]], store_result: ResultCallback, is_present: Callable[[], bool] = return_false
    ) -> JobRequest:
        """Submit jobs to run in this order; return their `JobRequest`. `store_result` is called with each result.

        The call is in the thread in which the result arrives; `is_present` returns True while the session is connected,
        in any thread. Raises TypeError or ValueError for a job that is not plain data.
        """
        request = JobRequest(self, jobs, store_result, is_present)
        with self._lock:
            self._requests.add(request)
        self.resume(request)
        return request

    def is_in_progress(self, jobs: Sequence[Job[Any]]) -> bool:
        """Return True if one request holds all of these jobs, and at least one job runs or waits for a worker."""
        names = {compute_digest(job) for job in jobs}
        with self._lock:
            runs = [self._runs[name] for name in names & self._runs.keys()]
            requests = [each for run in runs if not (run.is_over or run.should_stop()) for each in run.requests]
        return any(each.is_wanted and names <= {name for name, _ in each.jobs} for each in requests)

    def count_ahead(self, request: JobRequest) -> int:
        """Return the number of unfinished jobs of other requests that run before this request's last waiting job."""
        with self._lock:
            return len(self._list_jobs_ahead(request))

    def estimate_seconds_left(self, request: JobRequest) -> float:
        """Estimate the seconds until all jobs of a request are done, including other requests' jobs before them.

        n workers need at most total / n + (1 - 1 / n) longest for jobs of `total` seconds with a longest one of
        `longest` seconds (Graham 1966). The larger of two bounds counts: that of all jobs up to the request's last one
        on all workers, and that of its own jobs with n = `jobs_per_request`.
        """
        with self._lock:
            factors = self._make_slowdown_function()
            own = [self._estimate_seconds(name, request, factors) for name in dict.fromkeys(request.list_unfinished())]
            ahead = sum(
                self._estimate_seconds(name, other, factors) for name, other in self._list_jobs_ahead(request).items()
            )
            workers = self.workers or max(sum(run.begun() for run in self._runs.values()), 1)
        together = min(workers, self.jobs_per_request)
        longest = max(own, default=0.0)
        return max(
            _bound_shared_seconds(ahead + sum(own), longest, workers),
            _bound_shared_seconds(sum(own), longest, together),
        )

    def estimate_seconds(self, jobs: Sequence[Job[Any]]) -> float:
        """Estimate the seconds that these jobs alone would take on the queue's workers."""
        with self._lock:
            factors = self._make_slowdown_function()
        seconds = [get_modelled_seconds(job) * factors(job.kind) for job in jobs]
        return _bound_shared_seconds(
            sum(seconds), max(seconds, default=0.0), min(self.workers or 1, self.jobs_per_request)
        )

    def resume(self, request: JobRequest) -> None:
        """Start a request, or continue it after a pause: its next job comes after those of the latest round."""
        with self._lock:
            self._number += 1
            request.first_round, request.number = self._round - request.next_index, self._number
        self._enqueue(request)
        self._hand_out_runs()

    def _list_jobs_ahead(self, request: JobRequest) -> dict[str, JobRequest]:
        """Map the digests of others' jobs that run before this request's last waiting job to their requests."""
        last = request.find_last_waiting_turn()
        if last is None:
            return {}
        others = [each for each in self._requests if each is not request and each.is_wanted]
        found = {name: other for other in others for name in other.list_unfinished(last)}
        for name in request.list_unfinished():
            found.pop(name, None)
        return found

    def _estimate_seconds(self, digest: str, request: JobRequest, get_slowdown: Callable[[str], float]) -> float:
        """Estimate the seconds that a job still runs; `get_slowdown` returns the factor for its kind."""
        kind, seconds = request.costs[digest]
        run = self._runs.get(digest)
        return seconds * get_slowdown(kind) * (1 - run.share if run else 1)

    def _make_slowdown_function(self) -> Callable[[str], float]:
        """Return a function that maps a kind of job to its slowdown, measured divided by modelled seconds."""
        running: dict[str, MeasuredSeconds] = {}
        for run in self._runs.values():
            kind, modelled = run.cost
            seconds, share = running.get(kind, (0.0, 0.0))
            running[kind] = seconds + run.reported_seconds, share + run.reported_share * modelled
        return cache(partial(self.speed.estimate_slowdown, running=running))

    def _enqueue(self, request: JobRequest) -> None:
        """Queue the next jobs of a request as waiting runs; end the request if it has none left."""
        with self._lock:
            while (index := request.find_next_job(self.jobs_per_request)) is not None:
                name, job = request.jobs[index]
                run = self._runs.get(name)
                if self._has_result(job):  # by others, since the request was handed in
                    request.ran.append(JobRun(name, job, request, self.clock))
                elif run is not None and run.add_request(request):
                    request.runs.append(run)
                    if request.compute_turn(index) < run.turn and not run.handed:
                        run.turn = request.compute_turn(index)
                        heappush(self._waiting, (run.turn, run))  # beside its later turn, which is skipped
                else:
                    run = self._runs[name] = JobRun(name, job, request, self.clock, request.compute_turn(index))
                    request.runs.append(run)
                    heappush(self._waiting, (run.turn, run))

    def _hand_out_runs(self) -> None:
        """Hand waiting runs to the executor in the order of their turns, until all workers are busy."""
        while (run := self._choose_next_run()) is not None:
            error: Exception | None = None
            if not run.should_stop():  # as after a run that could not be handed in
                try:
                    future = self._executor.submit(perform_job, run.job, run, self.limits)
                except Exception as raised:  # as from a pool whose processes have died
                    error = raised
                else:
                    run.begun = future.running
                    future.add_done_callback(partial(self._handle_outcome, run))
                    continue
            self._close_run(run, error)

    def _choose_next_run(self) -> JobRun | None:
        """Return the waiting run whose turn comes first; None if none waits or no worker is free."""
        with self._lock:
            while self._waiting and self._handed != self.workers:
                (started, _), run = heappop(self._waiting)
                if not run.handed:
                    run.handed = True
                    self._handed, self._round = self._handed + 1, max(self._round, started)
                    return run
            return None

    def _handle_outcome(self, run: JobRun, future: Future[Any]) -> None:
        """Store the result or the error of an ended run, and hand out the next runs."""
        error: Exception | None = None
        try:
            result = future.result()
            if result is not None:
                run.report_progress(1.0, result, last=True)
        except Exception as raised:
            clear_error_frames(raised)  # the request holds the error
            error = raised
        self._close_run(run, error)
        self._hand_out_runs()

    def _close_run(self, run: JobRun, error: Exception | None) -> None:
        """Remove a run that has ended, with `error` if it failed, and continue or end its requests."""
        kind, modelled = run.cost
        if run.reported_share > 0:
            self.speed.add_measurement(kind, run.reported_seconds, run.reported_share * modelled)
        with self._lock:
            self._handed -= 1
            stopped, requests = run.end()
            if self._runs.get(run.name) is run:
                del self._runs[run.name]
            for request in requests:
                request.handle_run_end(run, error, stopped)
        for request in requests:
            self._enqueue(request)


def _bound_shared_seconds(total: float, longest: float, workers: int) -> float:
    """Return an upper bound of the seconds that `workers` need for jobs of `total` seconds, at most `longest` each."""
    return total / workers + (1 - 1 / workers) * longest
