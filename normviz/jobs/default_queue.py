"""The queue for long jobs: on this machine, or on a Dask cluster if the environment names one."""

from collections.abc import Callable
from typing import Any

from normviz.jobs.cluster import create_configured_cluster
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import JobLimits
from normviz.jobs.process_executor import SpareWorker
from normviz.jobs.single_gpu import SingleGpuExecutor
from normviz.jobs.speed import SpeedEstimator

JOB_LIMITS = JobLimits(seconds=900.0, memory=2**31, device=0.5)

CLUSTER_JOBS_PER_REQUEST = 16
"""Jobs of one request that a cluster runs or holds at a time; a pause lets them end."""


def create_default_queue(
    workers: int,
    jobs_per_request: int,
    has_result: Callable[[Any], bool],
    speed_estimator: SpeedEstimator | None = None,
    spare_worker: SpareWorker | None = None,
) -> JobQueue:
    """Create the queue for long jobs without a result, which run on the configured Dask cluster, or in processes here.

    Args:
        workers, jobs_per_request: of the processes on this machine, without a cluster.
        has_result: returns True if a job has its result already.
        speed_estimator: of this machine; a cluster measures its own.
        spare_worker: gives the processes; without it, new ones are started.

    Raises:
        InvalidInput: the environment names a cluster that cannot be used.
    """
    cluster = create_configured_cluster()
    if cluster is not None:
        return JobQueue(cluster, jobs_per_request=CLUSTER_JOBS_PER_REQUEST, limits=JOB_LIMITS, has_result=has_result)
    return JobQueue(
        SingleGpuExecutor(workers, spare_worker),
        jobs_per_request=jobs_per_request,
        limits=JOB_LIMITS,
        has_result=has_result,
        workers=workers,
        speed_estimator=speed_estimator,
    )
