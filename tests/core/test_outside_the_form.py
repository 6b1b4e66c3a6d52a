"""The schemes that the general form does not cover, as the README and the package name them."""

from browsing import ROOT

import normviz
from normviz.core.schemes import SCHEMES

OUTSIDE = {key for key, scheme in SCHEMES.items() if scheme.spectral or scheme.whitens or scheme.pointwise is not None}


def test_four_schemes_stand_outside_and_are_named():
    assert {"spectral", "whitening", "dynamic-tanh", "dynamic-erf"} == OUTSIDE
    for text in (normviz.__doc__, (ROOT / "README.md").read_text()):
        assert "Four" in text
        assert all(
            name in " ".join(text.split()) for name in ("spectral norm", "whitening", "dynamic tanh", "dynamic erf")
        )
