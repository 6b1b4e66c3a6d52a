"""The dates of the schemes' papers, and their precursors."""

from datetime import date

from normviz.core.registry import NAMED_SCHEMES, Reference, Scheme

PRECURSORS = (
    Reference("Heeger 1992, Normalization of Cell Responses in Cat Striate Cortex"),
    Reference("LeCun et al. 1998, Efficient BackProp"),
    Reference("Jarrett et al. 2009, What is the Best Multi-Stage Architecture?"),
    Reference("Krizhevsky et al. 2012, ImageNet Classification with Deep CNNs"),
)
"""Papers that the schemes of the app come from."""


def parse_arxiv_month(arxiv: str) -> date:
    """Return the first day of the month in an arXiv number: 1502.03167 is of February 2015."""
    return date(2000 + int(arxiv[:2]), int(arxiv[2:4]), 1)


def sort_schemes() -> list[Scheme]:
    """Return all schemes with a source, the oldest preprint first; those without a preprint come last."""
    listed = (row for row in NAMED_SCHEMES.values() if not row.is_baseline)
    return sorted(listed, key=lambda row: row.reference.arxiv or "–")
