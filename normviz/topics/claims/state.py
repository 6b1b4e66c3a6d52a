"""The state of the page on claims: what its link holds, and which claims are shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from normviz.core.settings import choice, integer, multiple_choice
from normviz.topics.claims.claim import SEEDS, Claim
from normviz.topics.claims.ledger import CLAIMS, TOPICS
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.verdicts import VERDICTS
from normviz.ui.link import View, create_params

PAGE = "claims"
PREFIX = f"{PAGE} "
"""Of all keys in the session: other pages have values of the same names."""

ALL = "all"
TABLE = "table-1"
"""The key of the topic, and of the group, with the entries of Table 1."""

FIRST = ("X14", "X12", "X11", "X10", "B17", "L04", "X13", "R02", "X08")
"""The ids of the claims that the page begins with: what beginners hear, and what surprises most."""

GROUPS = ("first", "wrong", "holds-if", "open", TABLE, "holds", "opinion")
"""The groups in the order of the page. All but `FIRST` and the entries of Table 1 are keys of `VERDICTS`."""

FOLDED = ("wrong", "holds-if", "open", TABLE, "holds", "opinion")
"""The groups of which the page shows one line until they are opened."""

KEYS = {re.sub(r"\W+", "-", name.lower()).strip("-"): name for name in TOPICS}
"""The topics by their names in the link."""

_TABLE_IDS = frozenset(claim.id for claim in TOPICS[KEYS[TABLE]])


@dataclass(frozen=True)
class Page:
    """What the page's link holds."""

    topic: str = choice(ALL, {ALL: "All topics"} | KEYS, label="Topic", control="menu")
    source: str = choice(
        ALL, {ALL: "All sources"} | {key: each.name for key, each in SOURCES.items()}, label="Source", control="menu"
    )
    verdict: Sequence[str] = multiple_choice((), {key: each.name for key, each in VERDICTS.items()}, label="Verdict")
    claim: Sequence[str] = multiple_choice((), tuple(CLAIMS))
    open: Sequence[str] = multiple_choice((), FOLDED)
    seed: int = integer(
        0, 0, SEEDS - 1, label="First seed", help="Of those that a measurement on this server is repeated with."
    )


PARAMS = create_params(Page, PREFIX)
OPEN = PREFIX + "claim"
"""Where the session holds the ids of the claims that are open."""

UNFOLDED = PREFIX + "open"
"""Where the session holds the keys of the folded groups that are opened."""


def is_relevant(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: all do."""
    return True


def is_filtered(view: View) -> bool:
    """Return True if a view leaves out some claims."""
    return view["topic"] != ALL or view["source"] != ALL or bool(view["verdict"])


def select_claims(view: View) -> list[Claim]:
    """Return the claims that pass the filters."""
    topics = TOPICS.values() if view["topic"] == ALL else [TOPICS[KEYS[view["topic"]]]]
    return [
        claim
        for claims in topics
        for claim in claims
        if view["source"] in (ALL, *claim.sources) and (not view["verdict"] or claim.expected in view["verdict"])
    ]


def find_group(claim: Claim) -> str:
    """Return the group that a claim stands in."""
    if claim.id in FIRST:
        return "first"
    return TABLE if claim.expected == "holds" and claim.id in _TABLE_IDS else claim.expected


def group_claims(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Return the claims by group, in the order of `GROUPS`; those of the first in the order of `FIRST`."""
    found: dict[str, list[Claim]] = {key: [] for key in GROUPS}
    for claim in claims:
        found[find_group(claim)].append(claim)
    found["first"].sort(key=lambda claim: FIRST.index(claim.id))
    return {key: some for key, some in found.items() if some}


def is_unfolded(view: View, group: str, claims: Sequence[Claim]) -> bool:
    """Return True if the page lists the claims of a group: always with a filter, or if one of them is open."""
    if group not in FOLDED or group in view["open"]:
        return True
    return is_filtered(view) or any(claim.id in view["claim"] for claim in claims)
