"""Where jobs that take long run: on this machine, or on the cluster that is named."""

from normviz.jobs.desk import Desk
from normviz.jobs.limits import Limits
from normviz.jobs.processes import Processes

LIMITS = Limits(seconds=900.0, memory=2**31)
"""What one part may take."""


def usual_desk(workers: int, at_once: int) -> Desk:
    """A desk; `at_once`: how many jobs of one asker may be at work at a time."""
    pool = Processes(workers)
    pool.warm()
    return Desk(pool, at_once=at_once, limits=LIMITS)
