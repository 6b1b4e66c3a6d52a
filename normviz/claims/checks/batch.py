"""Batch norm: what it computes in training and in inference."""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
