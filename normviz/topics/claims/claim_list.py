"""All claims, by topic, in the order of the page."""

from collections.abc import Iterable, Mapping, Sequence

from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.topics.claims.checks import (
    basics,
    batch,
    gradients,
    groups,
    layer,
    own_findings,
    table1,
    training,
    weights,
)
from normviz.topics.claims.claim import Claim

TOPICS: Mapping[str, Sequence[Claim]] = {
    "First steps": basics.CLAIMS,
    "Table 1": table1.CLAIMS,
    "Layer norm": layer.CLAIMS,
    "Batch norm": batch.CLAIMS,
    "Instance and group norm": groups.CLAIMS,
    "Weight, spectral, RMS and divisive norm": weights.CLAIMS,
    "Gradients and learning rates": gradients.CLAIMS,
    "Does it train better?": training.CLAIMS,
    "Found while building this": own_findings.CLAIMS,
}
"""The claims of every topic."""

CLAIMS: Mapping[str, Claim] = {claim.id: claim for claims in TOPICS.values() for claim in claims}


def get_claims(ids: Iterable[str]) -> list[Claim]:
    """Return the claims with these ids in their order, each once; raise InvalidInput for an unknown id."""
    wanted = [each.strip() for each in ids]
    for each in wanted:
        if each not in CLAIMS:
            raise InvalidInput(f"claim {each!r} is unknown; {join_words(CLAIMS)} would do.")
    return [CLAIMS[each] for each in dict.fromkeys(wanted)]
