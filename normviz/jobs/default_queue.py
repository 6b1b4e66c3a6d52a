"""Where jobs that take long run: on this machine, or on the cluster that is named."""

from collections.abc import Callable
from typing import Any

from normviz.jobs.cluster import configured
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.limits import Limits
from normviz.jobs.one_gpu import OneGpu
from normviz.jobs.speed import Speed

LIMITS = Limits(seconds=900.0, memory=2**31, device=0.5)
"""What one job may take."""

FAN_OUT = 16
"""Jobs of one asker that a cluster has at a time; a pause lets them end."""


def default_queue(workers: int, at_once: int, done: Callable[[Any], bool], speed: Speed | None = None) -> JobQueue:
    """A desk; raises InvalidInput where a cluster is named that cannot be.

    Args:
        workers: processes of this machine, where no cluster is named.
        at_once: how many jobs of one asker these may have at a time.
        done: whether the result of a job is there.
        speed: of this machine; a cluster has its own.
    """
    cluster = configured()
    if cluster is not None:
        return JobQueue(cluster, at_once=FAN_OUT, limits=LIMITS, done=done)
    pool = OneGpu(workers)
    return JobQueue(pool, at_once=at_once, limits=LIMITS, done=done, warm=pool.warm, workers=workers, speed=speed)
