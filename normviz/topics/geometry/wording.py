"""Texts that several panels use."""

from collections.abc import Sequence

from normviz.core.registry import SCHEMES


def join_scheme_names(schemes: Sequence[str]) -> str:
    """Join the names of schemes, given by key: "batch, layer and RMS norm"; "none of them" if there are none."""
    names = [SCHEMES[key].label for key in schemes]
    *head, last = (name if name.isupper() else name.lower() for name in names or ["none of them"])
    words = f"{', '.join(head)} and {last}" if head else last
    return f"{words} norm" if names else words
