"""The state of the page on claims: what its link holds, and which claims are shown."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normviz.claims.claim import SEEDS, Claim
from normviz.claims.ledger import CLAIMS, TOPICS
from normviz.claims.sources import SOURCES
from normviz.claims.verdicts import VERDICTS
from normviz.core.settings import choice, several, whole
from normviz.ui.link import View, params

PAGE = "claims"
PREFIX = f"{PAGE} "
"""Of all keys in the session: other pages have values of the same names."""

ALL = "all"
TABLE = "table-1"
"""The key of the topic, and of the group, with the entries of Table 1."""

GROUPS = ("failed", "wrong", "holds-if", "open", TABLE, "holds", "opinion")
"""The groups in the order of the page: what surprises first. All but the entries of Table 1 are keys of `VERDICTS`."""

FOLDED = (TABLE, "holds", "opinion")
"""The groups of which the page shows one line until they are opened."""

KEYS = {re.sub(r"\W+", "-", name.lower()).strip("-"): name for name in TOPICS}
"""The topics by their names in the link."""


@dataclass(frozen=True)
class Page:
    """What the page's link holds."""

    topic: str = choice(ALL, {ALL: "All topics"} | KEYS, label="Topic", control="menu")
    source: str = choice(
        ALL, {ALL: "All sources"} | {key: each.name for key, each in SOURCES.items()}, label="Source", control="menu"
    )
    verdict: Sequence[str] = several((), {key: each.name for key, each in VERDICTS.items()}, label="Verdict")
    claim: Sequence[str] = several((), tuple(CLAIMS))
    open: Sequence[str] = several((), FOLDED)
    seed: int = whole(0, 0, SEEDS - 1, label="First seed", help="Of those that each measurement is repeated with.")


PARAMS = params(Page, PREFIX)
OPEN = PREFIX + "claim"
"""Where the session holds the ids of the claims that are open."""

UNFOLDED = PREFIX + "open"
"""Where the session holds the keys of the folded groups that are opened."""


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: all do."""
    return True


def select_claims(view: View, verdicts: Mapping[str, str]) -> list[Claim]:
    """Return the claims that pass the filters; `verdicts`: what is known of each claim, by its id."""
    return [
        claim
        for name, claims in TOPICS.items()
        if view["topic"] in (ALL, next(key for key, each in KEYS.items() if each == name))
        for claim in claims
        if view["source"] in (ALL, *claim.sources) and (not view["verdict"] or verdicts[claim.id] in view["verdict"])
    ]


def group_by_verdict(claims: Sequence[Claim], verdicts: Mapping[str, str]) -> dict[str, list[Claim]]:
    """Return the claims by group, in the order of `GROUPS`.

    A claim that is not measured yet is in the group of the verdict on record, so that it does not move when it is. In
    each group the entries of Table 1 come last.
    """
    table = {claim.id for claim in TOPICS[KEYS[TABLE]]}
    found: dict[str, list[Claim]] = {key: [] for key in GROUPS}
    for claim in sorted(claims, key=lambda claim: claim.id in table):
        verdict = claim.expected if verdicts[claim.id] == "unmeasured" else verdicts[claim.id]
        found[TABLE if claim.id in table and verdict == "holds" else verdict].append(claim)
    return {key: some for key, some in found.items() if some}


def is_unfolded(view: View, group: str, claims: Sequence[Claim]) -> bool:
    """Return True if the page lists the claims of a group: always with a filter, or if one of them is open."""
    if group not in FOLDED or group in view["open"]:
        return True
    is_filtered = view["topic"] != ALL or view["source"] != ALL or bool(view["verdict"])
    return is_filtered or any(claim.id in view["claim"] for claim in claims)
