"""The base classes of the jobs of experiments."""

from dataclasses import dataclass, fields
from typing import Any, Self

from normviz.core.registry import DEFAULT_EPS
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import ArrayJob

SETTING_NAMES = {"length": "steps"}
"""Names of a job's fields whose values have another name in the setting."""


@dataclass(frozen=True, kw_only=True)
class ExperimentJob(ArrayJob):
    """Base of the jobs of experiments, which compute arrays on a chosen device.

    Attributes:
        device: a key of `DEVICES`.
    """

    device: str

    @classmethod
    def of(cls, setting: Any, **given: Any) -> Self:
        """Make a job; fields not in `given` take the value of the same name from the setting, or their default."""
        names = {each.name: SETTING_NAMES.get(each.name, each.name) for each in fields(cls)}
        return cls(
            **{name: getattr(setting, known) for name, known in names.items() if hasattr(setting, known)} | given
        )


@dataclass(frozen=True, kw_only=True)
class NetworksJob(ExperimentJob):
    """Base of jobs that measure or train networks, one for each seed.

    Attributes:
        networks: the seeds of the networks, one each.
    """

    networks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SchemeJob(NetworksJob):
    """Base of jobs that train networks of one scheme, one for each seed.

    Attributes:
        row: the scheme.
        length: the steps of the training.
        eps: ε.
    """

    row: SchemeSpec
    length: int
    eps: float = DEFAULT_EPS
