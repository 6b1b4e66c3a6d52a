"""The data of a job that trains the networks of one scheme."""

from dataclasses import dataclass
from typing import Any, Self

from normviz.core.registry import DEFAULT_EPS
from normviz.core.scheme_spec import SchemeSpec


@dataclass(frozen=True, kw_only=True)
class SchemeJob:
    """The networks of one scheme, as a part of an experiment.

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
    def of(cls, setting: Any, row: SchemeSpec, **own: Any) -> Self:
        """Return the job of a scheme with a setting; `own`: the fields beside those that the setting gives."""
        eps = getattr(setting, "eps", DEFAULT_EPS)
        given = {"networks": setting.networks, "length": setting.steps, "eps": eps, "device": setting.device}
        return cls(row=row, **{**given, **own})
