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
    seed: int = whole(0, 0, SEEDS - 1, label="First seed", help="Of those that each measurement is repeated with.")


PARAMS = params(Page, PREFIX)
OPEN = PREFIX + "claim"
"""Where the session holds the ids of the claims that are open."""


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: all do."""
    return True


def shown(view: View, verdicts: Mapping[str, str]) -> dict[str, list[Claim]]:
    """By topic the claims that its filters let through; `verdicts`: by id what is known of each."""
    found = {
        name: [
            claim
            for claim in claims
            if view["source"] in (ALL, *claim.sources)
            and (not view["verdict"] or verdicts[claim.id] in view["verdict"])
        ]
        for name, claims in TOPICS.items()
        if view["topic"] in (ALL, next(key for key, each in KEYS.items() if each == name))
    }
    return {name: claims for name, claims in found.items() if claims}
