"""The state of the page on claims: the values of its link, and the claims that pass the filters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from normviz.core.settings import choice, integer, multiple_choice
from normviz.topics.claims.claim import Claim
from normviz.topics.claims.claim_list import CLAIMS, TOPICS
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.trials import SEED_BOUND
from normviz.topics.claims.verdicts import VERDICTS
from normviz.ui.link import View, create_params

PAGE = "claims"
PREFIX = PAGE + " "

ALL_FILTER = "all"
TABLE_KEY = "table-1"
"""Key of the topic, and of the group, of the entries of Table 1."""

FIRST_CLAIMS = ("X14", "X12", "X11", "X10", "B17", "L04", "X13", "R02", "X08")
"""Ids of the claims that the page begins with: common ones, and the most surprising."""

GROUP_KEYS = ("first", "wrong", "holds-if", "open", TABLE_KEY, "holds", "opinion")
"""The groups in the order of the page. All but `FIRST_CLAIMS` and the entries of Table 1 are keys of `VERDICTS`."""

FOLDED_GROUPS = ("wrong", "holds-if", "open", TABLE_KEY, "holds", "opinion")
"""The groups that the page shows folded at first."""

TOPIC_NAMES = {re.sub(r"\W+", "-", name.lower()).strip("-"): name for name in TOPICS}
"""The names of the topics by their keys in the link."""


@dataclass(frozen=True)
class Page:
    """The page's query parameters: filters, unfolded claims and groups, and the first seed."""

    topic: str = choice(ALL_FILTER, {ALL_FILTER: "All topics"} | TOPIC_NAMES, label="Topic", control="menu")
    source: str = choice(
        ALL_FILTER,
        {ALL_FILTER: "All sources"} | {key: each.name for key, each in SOURCES.items()},
        label="Source",
        control="menu",
    )
    verdict: Sequence[str] = multiple_choice((), {key: each.name for key, each in VERDICTS.items()}, label="Verdict")
    claim: Sequence[str] = multiple_choice((), tuple(CLAIMS))
    open: Sequence[str] = multiple_choice((), FOLDED_GROUPS)
    seed: int = integer(
        0, 0, SEED_BOUND - 1, label="First seed", help="Of those that a measurement on this server is repeated with."
    )


PARAMS = create_params(Page, PREFIX)
OPEN_CLAIMS_KEY = PREFIX + "claim"
"""Session key of the ids of the unfolded claims."""

OPEN_GROUPS_KEY = PREFIX + "open"
"""Session key of the folded groups that a visitor opened."""


def is_relevant(view: View, name: str) -> bool:
    """Return True: the page's link and controls have all values in every view."""
    return True


def is_filtered(view: View) -> bool:
    """Return True if the view's topic, source or verdict leaves out some claims."""
    return view["topic"] != ALL_FILTER or view["source"] != ALL_FILTER or bool(view["verdict"])


def select_claims(view: View) -> list[Claim]:
    """Return the claims that match the view's topic, source and verdicts."""
    topics = TOPICS.values() if view["topic"] == ALL_FILTER else [TOPICS[TOPIC_NAMES[view["topic"]]]]
    return [
        claim
        for claims in topics
        for claim in claims
        if view["source"] in (ALL_FILTER, *claim.sources) and (not view["verdict"] or claim.expected in view["verdict"])
    ]


def find_group(claim: Claim) -> str:
    """Return the key of `GROUP_KEYS` under which the page lists a claim."""
    if claim.id in FIRST_CLAIMS:
        return "first"
    return TABLE_KEY if claim.expected == "holds" and claim in TOPICS[TOPIC_NAMES[TABLE_KEY]] else claim.expected


def group_claims(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Return the claims by group, in the order of `GROUP_KEYS`; the first group is sorted as `FIRST_CLAIMS`."""
    found: dict[str, list[Claim]] = {key: [] for key in GROUP_KEYS}
    for claim in claims:
        found[find_group(claim)].append(claim)
    found["first"].sort(key=lambda claim: FIRST_CLAIMS.index(claim.id))
    return {key: some for key, some in found.items() if some}


def is_unfolded(view: View, group: str, claims: Sequence[Claim]) -> bool:
    """Return True if a group's claims are shown: with any filter, if the group is open, or if a claim of it is."""
    if group not in FOLDED_GROUPS or group in view["open"]:
        return True
    return is_filtered(view) or any(claim.id in view["claim"] for claim in claims)
