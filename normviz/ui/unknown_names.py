"""Unknown names in a link, and a page's notes on them."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

import normviz
from normviz.describe.markdown import escape_markdown
from normviz.ui.restrictions import RESTRICTION_NAMES

FOREIGN_PREFIXES = ("utm_", "mtm_", "pk_", "hsa_", "mc_", "_ga", "_gl", "_hs")
FOREIGN_NAMES = frozenset(
    {"embed", "embed_options", "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "twclid", "igshid", "igsh"}
)
"""Names that Streamlit, mail programs and social networks add to links."""

FRAME_NAMES = frozenset({"lesson", *RESTRICTION_NAMES})
"""Names of values that no page reads, but what stands around it."""

MOST, LONGEST = 3, 40
"""Most names in a note, and most characters of a name or value in it."""

MIN_SIMILARITY = 0.75
"""Share of characters that a name must have in common with one that the view does not use, to be suggested."""


@cache
def list_known_names() -> frozenset[str]:
    """Return the names of the values of all pages, since a link may belong to another page."""
    topics = (path.parent.name for path in Path(normviz.__file__).parent.glob("topics/*/state.py"))
    states = (import_module(f"normviz.topics.{topic}.state") for topic in topics)
    return FRAME_NAMES.union(param.name for state in states for param in state.PARAMS)


def find_unknown_names(given: Iterable[str], own: Collection[str] = ()) -> list[str]:
    """Return the names in a link that no page uses, nor this one (`own`), and no browser or mail program adds."""
    foreign = (name for name in given if name not in FOREIGN_NAMES and not name.startswith(FOREIGN_PREFIXES))
    return [name for name in foreign if name not in own and name not in list_known_names()]


def shorten_text(text: str) -> str:
    """Return a text, cut to the length of a note with an ellipsis if it is longer.

    >>> shorten_text("a" * 41) == "a" * 39 + "…"
    True
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def describe_unknown_names(
    unknown: Collection[str], names: Collection[str], other_names: Collection[str] = ()
) -> list[str]:
    """Describe the ignored names in a link, and the names that were probably meant, as lines of Markdown.

    `names`: those that matter to the view; `other_names`: the page's others, suggested if no name is alike.

    >>> describe_unknown_names(["schme"], ["scheme", "seed"])
    ['“schme” in the link is ignored: no setting has this name. Did you mean “scheme”?']
    """
    lines = []
    for name in list(unknown)[:MOST]:
        start = name.lower()[:LONGEST]
        alike = get_close_matches(start, names, n=1) or get_close_matches(
            start, other_names, n=1, cutoff=MIN_SIMILARITY
        )
        meant = f" Did you mean “{escape_markdown(alike[0])}”?" if alike else ""
        lines.append(
            f"“{escape_markdown(shorten_text(name))}” in the link is ignored: no setting has this name.{meant}"
        )
    more = len(unknown) - len(lines)
    return [*lines, f"So are {more} more." if more > 1 else "So is 1 more."] if more else lines
