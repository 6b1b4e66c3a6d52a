"""What the experiments decide: does it train better?"""

from normviz.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
"""Its claims."""
