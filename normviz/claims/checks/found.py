"""What this app's own measurements have shown of what is commonly said."""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
