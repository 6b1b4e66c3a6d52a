"""The environment variables of the server, checked together before it starts."""

from collections.abc import Mapping

from normviz.jobs.executors import count_workers
from normviz.ui.security import is_metrics_open, read_frame_ancestors


def check_environment(environment: Mapping[str, str]) -> None:
    """Check every environment variable that the server reads. Raises InvalidInput.

    Raises:
        InvalidInput: a variable has an invalid value.
    """
    count_workers(environment)
    read_frame_ancestors(environment)
    is_metrics_open(environment)
