"""The base classes of the jobs of experiments."""

from dataclasses import dataclass, fields
from typing import Any, Self

from normviz.core.registry import DEFAULT_EPS
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import ArrayJob


@dataclass(frozen=True, kw_only=True)
class ExperimentJob(ArrayJob):
    """Base of the jobs of experiments, which compute arrays on a device, a key of `DEVICES`."""

    device: str

    @classmethod
    def of(cls, setting: Any, **given: Any) -> Self:
        """Make a job; fields not in `given` take the value of the same name from the setting, or their default.

        The field `length` takes the setting's `steps`, since a job has a method of this name.
        """
        names = {each.name: "steps" if each.name == "length" else each.name for each in fields(cls)}
        return cls(
            **{name: getattr(setting, known) for name, known in names.items() if hasattr(setting, known)} | given
        )


@dataclass(frozen=True, kw_only=True)
class NetworksJob(ExperimentJob):
    """Base of jobs that measure or train networks, one for each of the seeds in `networks`."""

    networks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SchemeJob(NetworksJob):
    """Base of jobs that train networks of one scheme, `row`, in `length` steps, one for each seed."""

    row: SchemeSpec
    length: int
    eps: float = DEFAULT_EPS
