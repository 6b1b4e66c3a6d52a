"""Words that several panels need."""

from collections.abc import Sequence

from normviz.core.registry import SCHEMES


def join_scheme_names(schemes: Sequence[str]) -> str:
    """Schemes in a sentence, by their keys: "batch, layer and RMS norm"; "none of them" where there is none."""
    names = [SCHEMES[key].label for key in schemes]
    *head, last = (name if name.isupper() else name.lower() for name in names or ["none of them"])
    words = f"{', '.join(head)} and {last}" if head else last
    return f"{words} norm" if names else words
