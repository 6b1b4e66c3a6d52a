"""Names in a link that the app does not know: which they are, and what a page says of them."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

import normviz
from normviz.describe.markdown import escape_markdown

FOREIGN_PREFIXES = ("utm_", "mtm_", "pk_", "hsa_", "mc_", "_ga", "_gl", "_hs")
FOREIGN_NAMES = frozenset(
    {"embed", "embed_options", "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "twclid", "igshid", "igsh"}
)
"""What Streamlit, mail programs and networks add to a link, for themselves."""

MOST, LONGEST = 3, 40
"""Names in a note, and the characters that a note shows of a name or a value."""

MIN_SIMILARITY = 0.75
"""Share of characters that a name must have in common with one that the shown view does not use, to be suggested."""


@cache
def list_known_names() -> frozenset[str]:
    """Return the names of the values of all pages: a link may have been made for another page."""
    topics = (path.parent.name for path in Path(normviz.__file__).parent.glob("topics/*/state.py"))
    states = (import_module(f"normviz.topics.{topic}.state") for topic in topics)
    return frozenset(param.name for state in states for param in state.PARAMS)


def find_unknown_names(given: Iterable[str], own: Collection[str] = ()) -> list[str]:
    """Return the names in a link that no page has, and that no other software is known to add.

    `own`: the names of the page that is open.
    """
    foreign = (name for name in given if name not in FOREIGN_NAMES and not name.startswith(FOREIGN_PREFIXES))
    return [name for name in foreign if name not in own and name not in list_known_names()]


def shorten(text: str) -> str:
    """Return the first characters of a text that is longer than a note shows, with an ellipsis.

    >>> shorten("a" * 41) == "a" * 39 + "…"
    True
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def describe_unknown_names(
    unknown: Collection[str], names: Collection[str], other_names: Collection[str] = ()
) -> list[str]:
    """Return lines of Markdown: which names in a link are ignored, and which name was probably meant.

    `names`: those that matter to what the page shows; `others`: its other names, suggested where no name is alike.

    >>> unknown_words(["schme"], ["scheme", "seed"])
    ['“schme” in the link is ignored: no setting has this name. Did you mean “scheme”?']
    """
    lines = []
    for name in list(unknown)[:MOST]:
        start = name.lower()[:LONGEST]
        alike = get_close_matches(start, names, n=1) or get_close_matches(
            start, other_names, n=1, cutoff=MIN_SIMILARITY
        )
        meant = f" Did you mean “{escape_markdown(alike[0])}”?" if alike else ""
        lines.append(f"“{escape_markdown(shorten(name))}” in the link is ignored: no setting has this name.{meant}")
    more = len(unknown) - len(lines)
    return [*lines, f"So are {more} more." if more > 1 else "So is 1 more."] if more else lines
