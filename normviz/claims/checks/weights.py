"""Weight, spectral, RMS and divisive norm."""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
