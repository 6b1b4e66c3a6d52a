"""The results of jobs that give named arrays: partial results in memory, finished ones on disk too."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from normviz.jobs.bounded_store import BoundedStore
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.spec import Job, compute_digest

Arrays = dict[str, np.ndarray]
"""The result of a job, or its partial result. "share" is the finished share, 1 in the end."""


class ArrayJob(Job[Arrays]):
    """Job of an experiment or claim; its result is a dict of named arrays."""

    @property
    def seconds(self) -> float:
        """The expected seconds of the job on the reference machine of the cost models."""
        raise NotImplementedError


Results = Mapping[ArrayJob, Arrays]
"""The results of the jobs that have begun."""

MAX_JOBS_IN_MEMORY = 512
"""The maximal number of jobs whose results a server keeps in memory."""


class ResultArchive:
    """Results of jobs for all sessions of a server, partial ones in memory, complete ones on disk as well."""

    def __init__(self, disk: ResultCache) -> None:
        self.disk = disk
        self._at_hand: BoundedStore[str, Arrays] = BoundedStore(
            MAX_JOBS_IN_MEMORY, replaces=lambda new, old: bool(new["share"] >= old["share"])
        )

    def store_result(self, job: ArrayJob, arrays: Arrays) -> None:
        """Store the partial or complete result of a job in memory; also store a complete one on disk."""
        name = name_result(job)
        self._at_hand.put(name, arrays)
        if is_complete(arrays):
            self.disk.put(name, arrays)

    def find_results(self, jobs: Sequence[ArrayJob]) -> Results:
        """Map each of these jobs that has a partial or complete result to its named arrays."""
        names = {job: name_result(job) for job in jobs}
        found = {name: arrays for name in names.values() if (arrays := self._at_hand.get(name)) is not None}
        kept = self.disk.get_all([name for name in names.values() if name not in found or not is_complete(found[name])])
        for name, arrays in kept.items():
            self._at_hand.put(name, arrays)
        found |= kept
        return {job: found[name] for job, name in names.items() if name in found}

    def find_missing_jobs(self, jobs: Sequence[ArrayJob]) -> list[ArrayJob]:
        """Return the jobs without a complete result."""
        found = self.find_results(jobs)
        return [job for job in jobs if job not in found or not is_complete(found[job])]

    def count_damaged_results(self, jobs: Sequence[ArrayJob]) -> int:
        """Return the number of jobs whose stored result was damaged and has not been computed again."""
        return sum(self.disk.is_damaged(name_result(job)) for job in jobs)


def is_complete(arrays: Arrays) -> bool:
    """Return True if a result is that of a finished job, whose array "share" is 1."""
    return bool(arrays["share"] == 1)


def name_result(job: ArrayJob) -> str:
    """Return the name under which a job's result is stored: its digest."""
    return _compute_digest(job, job.version)


@lru_cache(maxsize=1024)
def _compute_digest(job: ArrayJob, version: int) -> str:
    """Return `compute_digest(job)` from a cache by job and `version`, as equal jobs may differ in version."""
    return compute_digest(job)
