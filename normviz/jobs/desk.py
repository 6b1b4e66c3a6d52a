"""Work outside of the page's script: one job per owner, which reports, can be cancelled, and ends when nobody asks.

A job's function is called with the job, and has to look at `job.stopped()` every so often. A page renews the job's
lease whenever it looks at it; a closed tab does not, and its job stops when the lease runs out.
"""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

LEASE = 10.0
"""Seconds that a job goes on without being looked at."""

WORKERS = 2
"""Jobs that run at a time on one server; the others wait."""


class Job:
    """One piece of work, waiting, running or over.

    Attributes:
        key: what it works on; an owner's job with the same key is not started twice.
        progress: the share that is done, 0 to 1, which the work sets.
        error: what it raised, or None.
    """

    def __init__(self, key: Hashable, work: Callable[["Job"], object], lease: float = LEASE) -> None:
        self.key, self.work, self.lease = key, work, lease
        self.progress = 0.0
        self.error: Exception | None = None
        self.future: Future | None = None
        self._cancelled = Event()
        self.renew()

    def renew(self) -> None:
        """Somebody is still looking."""
        self._until = time.monotonic() + self.lease

    def cancel(self) -> None:
        """Stop at the next look."""
        self._cancelled.set()

    def stopped(self) -> bool:
        """Whether the work is to end: it was cancelled, or its lease has run out."""
        return self._cancelled.is_set() or time.monotonic() > self._until

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.future is not None and self.future.done()

    def wait(self, seconds: float) -> bool:
        """Whether it ends within this time."""
        try:
            self.future.result(seconds)
        except TimeoutError:
            return False
        return True

    def run(self) -> None:
        """Do the work, unless it has been stopped while it waited; an error is kept, to be shown."""
        if self.stopped():
            return
        try:
            self.work(self)
        except Exception as error:
            self.error = error


class Desk:
    """Where jobs are handed in: one per owner, a new one in place of the old, a bounded number at work."""

    def __init__(self, workers: int = WORKERS, lease: float = LEASE) -> None:
        self.lease = lease
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="job")
        self._jobs: dict[Hashable, Job] = {}
        self._lock = Lock()

    def submit(self, owner: Hashable, key: Hashable, work: Callable[[Job], object]) -> Job:
        """The owner's job of this key: the one that is there, or a new one, for which another is cancelled."""
        with self._lock:
            old = self._jobs.get(owner)
            if old is not None and old.key == key and not (old.over or old.stopped()):
                old.renew()
                return old
            if old is not None:
                old.cancel()
            job = self._jobs[owner] = Job(key, work, self.lease)
            job.future = self._pool.submit(job.run)
        job.future.add_done_callback(lambda _: self._forget(owner, job))
        return job

    def _forget(self, owner: Hashable, job: Job) -> None:
        with self._lock:
            if self._jobs.get(owner) is job:
                del self._jobs[owner]
