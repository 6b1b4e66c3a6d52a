"""Gradients, the geometry of a step, and learning rates."""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
