"""The schemes that the general form does not cover, as the documents and the package name them."""

import re

import numpy as np
import pytest
from browsing import ROOT

import normviz
from normviz.core.normalize import normalize
from normviz.core.reductions import centre
from normviz.core.registry import SCHEMES

OUTSIDE = {"spectral": "spectral norm", "whitening": "whitening", "dynamic-tanh": "dynamic tanh",
           "dynamic-erf": "dynamic erf"}  # fmt: skip
TEXTS = {"library.md": (ROOT / "docs/library.md").read_text(), "docstring": normviz.__doc__}


def written_out(x, scheme, eps):
    """x̂ by the form of the texts, v / sqrt(ε + E_B[v²]), with nothing else in it but the factor of weight norm."""
    v = x if scheme.summation is None else centre(x, scheme.summation)[0]
    if scheme.suppression is None:
        return v
    squares = v**2 - centre(v**2, scheme.suppression)[0]
    return scheme.compute_scale(x.shape) * v / np.sqrt(eps + squares)


@pytest.mark.parametrize("key", [key for key in SCHEMES if key != "none"])
def test_the_schemes_that_are_named_and_no_others_stand_outside(key):
    scheme = SCHEMES[key]
    x = np.random.default_rng(0).normal(size=(4, 4, 4, 6))
    eps = scheme.eps or 0.0
    inside = np.allclose(normalize(x, scheme, eps).xhat, written_out(x, scheme, eps), rtol=1e-9, atol=1e-12)
    assert inside == (key not in OUTSIDE)
    assert scheme.is_general_form == inside


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_texts_count_and_name_them(text):
    text = " ".join(text.split())
    _, numbers, said = re.split(r"(\w+) (?:schemes )?stand outside (?:this form|it):", text)
    assert numbers == {4: "Four"}[len(OUTSIDE)]
    named = said.partition(". ")[0]
    assert all(name in named for name in OUTSIDE.values())
    assert not re.search(r"every scheme is one expression|covers every scheme", text, re.IGNORECASE)
