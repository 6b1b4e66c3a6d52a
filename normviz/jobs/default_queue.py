"""Where jobs that take long run: on this machine, or on the cluster that is named."""

from collections.abc import Callable
from typing import Any

from normviz.jobs.cluster import create_configured_cluster
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import Limits
from normviz.jobs.single_gpu import SingleGpuExecutor
from normviz.jobs.speed import SpeedEstimator

JOB_LIMITS = Limits(seconds=900.0, memory=2**31, device=0.5)
"""What one job may take."""

CLUSTER_JOBS_PER_REQUEST = 16
"""Jobs of one asker that a cluster has at a time; a pause lets them end."""


def create_default_queue(
    workers: int, jobs_per_request: int, is_done: Callable[[Any], bool], speed: SpeedEstimator | None = None
) -> JobQueue:
    """A desk; raises InvalidInput where a cluster is named that cannot be.

    Args:
        workers: processes of this machine, where no cluster is named.
        at_once: how many jobs of one asker these may have at a time.
        done: whether the result of a job is there.
        speed: of this machine; a cluster has its own.
    """
    cluster = create_configured_cluster()
    if cluster is not None:
        return JobQueue(cluster, at_once=CLUSTER_JOBS_PER_REQUEST, limits=JOB_LIMITS, is_done=is_done)
    pool = SingleGpuExecutor(workers)
    return JobQueue(
        pool, at_once=jobs_per_request, limits=JOB_LIMITS, is_done=is_done, warm=pool.warm, workers=workers, speed=speed
    )
