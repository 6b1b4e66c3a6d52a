"""The base class of jobs that train the networks of one scheme."""

from dataclasses import dataclass
from typing import Any, Self

from normviz.core.registry import DEFAULT_EPS
from normviz.core.scheme_spec import SchemeSpec


@dataclass(frozen=True, kw_only=True)
class SchemeJob:
    """Job that trains the networks of one scheme.

    Attributes:
        row: the scheme.
        networks: the seeds of the networks, one each.
        length: the steps of the training.
        eps: ε.
        device: a key of `DEVICES`.
    """

    row: SchemeSpec
    networks: tuple[int, ...]
    length: int
    eps: float
    device: str

    @classmethod
    def of(cls, setting: Any, row: SchemeSpec, **extra_fields: Any) -> Self:
        """Make the job of a scheme with a setting; `extra_fields` are fields that the setting does not give."""
        eps = getattr(setting, "eps", DEFAULT_EPS)
        given = {"networks": setting.networks, "length": setting.steps, "eps": eps, "device": setting.device}
        return cls(row=row, **{**given, **extra_fields})
