"""The backward pass in LaTeX: what each rule of a field becomes, and what it specialises to."""

import re

import pytest

from normviz.core.fields import AXES, AXIS_NAMES, Field
from normviz.core.registry import SCHEMES
from normviz.describe.backward import build_backward_formulas
from normviz.describe.notation import build_formulas


def lines(scheme):
    return {line.name: line.latex for line in build_backward_formulas(scheme)}


def custom(summation, suppression):
    a, b = (None if text is None else Field.parse(text) for text in (summation, suppression))
    return SCHEMES["custom"].with_fields(a, b)


@pytest.mark.parametrize(
    ("key", "index"), [("batch", "_c"), ("layer", "_n"), ("instance", "_{nc}"), ("group", "_{ng}")]
)
def test_where_both_fields_are_one_the_gradient_loses_its_mean_and_its_part_along_xhat(key, index):
    found = lines(SCHEMES[key])
    dx = r"\frac{\partial L}{\partial x_{nhwc}} = \frac{1}{\sqrt{\sigma^2" + index + r"+\varepsilon}}"
    inside = rf"\left(d_{{nhwc}} - \overline{{d}}{index} - \hat{{x}}_{{nhwc}}\,\overline{{d\hat{{x}}}}{index}\right)"
    assert found["input"] == dx + inside
    assert "divided" not in found


def test_without_a_mean_only_the_part_along_xhat_goes():
    found = lines(SCHEMES["rms"])
    assert found["input"].endswith(r"\left(d_{nhwc} - \hat{x}_{nhwc}\,\overline{d\hat{x}}_{nhw}\right)")
    assert {"mean", "bias", "divided"}.isdisjoint(found)


def test_fields_that_differ_take_out_one_after_the_other():
    found = lines(custom("N=full", "C=full"))
    assert found["divided"].startswith(r"\frac{\partial L}{\partial v_{nhwc}} = ")
    assert found["input"].endswith(
        r"\frac{\partial L}{\partial v_{nhwc}} - \frac{1}{N}\sum_{n} \frac{\partial L}{\partial v_{nhwc}}"
    )


def test_windows_give_back_over_the_size_of_the_neighbour():
    found = lines(custom(None, "H=window(1)"))
    assert r"\sum_{|h'-h|\le R} \frac{1}{|\mathcal{W}_{h'}|}\frac{d_{nh'wc}\,x_{nh'wc}}" in found["input"]
    assert r"{(\overline{x^2}_{nh'wc}+\varepsilon)^{3/2}}" in found["input"]
    centred = lines(custom("H=window(1)", None))["input"]
    assert centred.endswith(r"d_{nhwc} - \sum_{|h'-h|\le R} \frac{1}{|\mathcal{W}_{h'}|}d_{nh'wc}")


def test_centring_alone_takes_out_the_mean():
    assert lines(custom("N=full", None))["input"].endswith(r"= d_{nhwc} - \frac{1}{N}\sum_{n} d_{nhwc}")


def test_nothing_done_nothing_taken():
    assert lines(SCHEMES["none"])["input"] == r"\frac{\partial L}{\partial x_{nhwc}} = d_{nhwc}"


@pytest.mark.parametrize("key", SCHEMES)
def test_every_scheme_says_what_it_learns_and_explains_its_letters(key):
    scheme = SCHEMES[key]
    found = lines(scheme)
    assert ("gain" in found, "bias" in found) == (scheme.gain is not None, scheme.bias is not None)
    has_eps = scheme.eps is not None and scheme.suppression is not None and scheme.kind.has_eps
    assert ("smoothing" in found) == has_eps
    forward = {line.latex for line in build_formulas(scheme) if line.name == "where"}
    assert forward <= {line.latex for line in build_backward_formulas(scheme)}
    assert not any(re.search(r"(?<![\\\w])g_\{(nhwc|rsio)", latex) for latex in found.values())  # g counts groups


@pytest.mark.parametrize("kind", ["own", "full", "groups(2)", "window(1)"])
@pytest.mark.parametrize("axis", AXES["activation"])
def test_an_element_of_dx_has_all_its_indices_and_braces_match(axis, kind):
    scheme = custom(f"{axis}={kind}", f"{axis}={kind}")
    for line in build_backward_formulas(scheme):
        assert line.latex.count("{") == line.latex.count("}")
        assert line.latex.count(r"\left(") == line.latex.count(r"\right)")
    letter = AXIS_NAMES[axis].letter
    summed = rf"\sum_{{{letter}}}" if kind == "full" else r"\mathcal{G}" if kind == "groups(2)" else ""
    everything = " ".join(line.latex for line in build_backward_formulas(scheme) if line.name in ("mean", "input"))
    assert summed in everything
