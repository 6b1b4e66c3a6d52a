"""When the schemes came: their papers' dates, and what came before them."""

from dataclasses import dataclass
from datetime import date

from normviz.core.schemes import SCHEMES, Reference, Scheme


@dataclass(frozen=True)
class Event:
    """A paper: its label, when it came (year, and month as a share of it), its reference, and the schemes of it."""

    label: str
    when: float
    reference: Reference
    schemes: tuple[Scheme, ...] = ()

    @property
    def year(self) -> int:
        """The year it came in."""
        return int(self.when)


BEFORE = (
    Event(
        "Divisive model of V1", 1992.0, Reference("Heeger 1992, Normalization of Cell Responses in Cat Striate Cortex")
    ),
    Event("Whitened inputs", 1998.0, Reference("LeCun et al. 1998, Efficient BackProp")),
    Event("Local contrast", 2009.0, Reference("Jarrett et al. 2009, What is the Best Multi-Stage Architecture?")),
    Event("Local response", 2012.0, Reference("Krizhevsky et al. 2012, ImageNet Classification with Deep CNNs")),
)
"""What the schemes of the app come from; these have no arXiv number, so they have their year here."""


def submitted(arxiv: str) -> date:
    """The month in which a paper was submitted, from its number: 1502.03167 is of February 2015."""
    return date(2000 + int(arxiv[:2]), int(arxiv[2:4]), 1)


def events() -> list[Event]:
    """All, from the earliest; the schemes of one paper are one."""
    by_paper: dict[Reference, list[Scheme]] = {}
    for scheme in SCHEMES.values():
        for reference in scheme.references if scheme.key != "custom" else ():
            if reference.arxiv:
                by_paper.setdefault(reference, []).append(scheme)
    papers = [
        Event(
            min((s.label for s in schemes), key=len),
            _share(submitted(reference.arxiv or "")),
            reference,
            tuple(schemes),
        )
        for reference, schemes in by_paper.items()
    ]
    return sorted([*BEFORE, *papers], key=lambda event: event.when)


def _share(day: date) -> float:
    return day.year + (day.month - 1) / 12
