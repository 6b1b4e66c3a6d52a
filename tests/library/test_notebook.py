"""Schemes and results as a notebook shows them."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import normviz

X = np.random.default_rng(0).normal(size=(4, 6, 4, 4))


@pytest.mark.parametrize("key", normviz.SCHEMES)
def test_a_scheme_has_its_formula_and_its_field(key):
    scheme = normviz.SCHEMES[key]
    html, latex = scheme._repr_html_(), scheme._repr_latex_()
    assert html.lower().startswith(f"<div><b>{scheme.name[:5]}".lower())
    assert ("<math" in html) == (latex.count("=") > 0) == scheme.has_effect or scheme.weight
    assert "http" not in html
    assert latex.count("{") == latex.count("}")


def test_the_field_is_in_words():
    html = normviz.get_scheme("batch")._repr_html_()
    assert "every channel alone, over all examples and positions." in html
    assert "<mo>∑</mo>" in html
    assert r"\mu_c &= \frac{1}{NHW}" in normviz.get_scheme("batch")._repr_latex_()


def test_names_are_escaped():
    scheme = replace(normviz.custom("N"), name="<script>alert(1)</script>")
    assert "<script>" not in scheme._repr_html_()
    assert "<script>" not in normviz.normalize(X, scheme, layout="NCHW")._repr_html_()


def test_a_result_has_its_shapes_and_first_statistics():
    result = normviz.normalize(X, "group", groups=3, layout="NCHW")
    html = result._repr_html_()
    assert "Group normalization with G = 3" in html
    [numbers] = re.findall("<tr><th>mean</th><td>4 × 3 × 1 × 1</td><td>(.*?), …</td></tr>", html)
    shown = [float(number.replace("−", "-")) for number in numbers.split(", ")]
    np.testing.assert_allclose(shown, result.mean.ravel()[:4], rtol=1e-3)
    assert result._repr_latex_() == result.scheme._repr_latex_()
    assert "<th>variance</th>" in normviz.statistics(X, "group", groups=3, layout="NCHW")._repr_html_()


def test_tensors_of_torch_are_shown_without_their_gradient():
    import torch

    x = torch.from_numpy(X).requires_grad_()
    assert "<th>y</th>" in normviz.normalize(x, "batch", layout="NCHW")._repr_html_()


def test_any_public_name_gives_schemes_their_text():
    script = "import sys, normviz; print(hasattr(normviz.Scheme, '_repr_html_'), 'normviz.describe' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "True False\n"
