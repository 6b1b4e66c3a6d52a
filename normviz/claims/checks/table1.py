"""Table 1, cell by cell, on dense and on conv layers."""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
