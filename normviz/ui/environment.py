"""The environment variables of the server, checked together before it starts."""

from collections.abc import Mapping

from normviz.jobs.executors import count_workers
from normviz.ui.security import read_frame_ancestors, read_metrics


def check_environment(environment: Mapping[str, str]) -> None:
    """Check every variable that the server reads.

    Raises:
        InvalidInput: a variable has a value that it cannot have.
    """
    count_workers(environment)
    read_frame_ancestors(environment)
    read_metrics(environment)
