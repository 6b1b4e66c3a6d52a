"""What is said of a scheme of one's own behind a scheme of the weights: words, formulas, parameters and code."""

import numpy as np
import pytest

from normviz.core.fields import Field
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES
from normviz.describe.backward import build_backward_formulas
from normviz.describe.notation import build_formulas
from normviz.describe.parameters import list_parameter_shapes, list_state_names
from normviz.describe.snippets import format_snippet
from normviz.describe.wording import explain_weight_scheme, format_scheme_name
from normviz.topics.compare.comparison import describe_inference_state, describe_learned_parameters
from normviz.topics.lab.element_data import describe_equal_schemes

SHAPE = (2, 4, 3, 6)
FRONTS = pytest.mark.parametrize("front", [key for key, row in SCHEMES.items() if row.is_weight_scheme])
FIELDS = {
    "both": ["own,full,own,groups(3)"] * 2,
    "named": ["own,full,full,groups(2)"] * 2,
    "no mean": [None, "groups(2),own,full,own"],
    "nothing": [None, None],
}


def own(name, front):
    fields = (None if text is None else Field.parse(text) for text in FIELDS[name])
    return SCHEMES["custom"].with_fields(*fields).with_weight_scheme(front)


@FRONTS
@pytest.mark.parametrize("name", FIELDS)
def test_formulas_are_those_of_both(name, front):
    alone = own(name, None)
    for lines in (build_formulas, build_backward_formulas):
        found = {line.name for line in lines(own(name, front))}
        assert {line.name for line in lines(alone)} <= found
        assert any(each.startswith("weights: ") for each in found)
        letters = " ".join(line.latex for line in lines(own(name, front)) if line.name.startswith("weights: "))
        assert r"\varepsilon" not in letters  # the one ε that there is to set is that of the activations


@FRONTS
@pytest.mark.parametrize("framework", ["NumPy", "PyTorch"])
@pytest.mark.parametrize("name", FIELDS)
def test_code_gives_the_numbers_of_the_app(name, framework, front):
    scheme = own(name, front)
    code = format_snippet(scheme, framework, SHAPE, LayerScalars(1e-3, 2.0, 0.5))
    assert SCHEMES[front].name in code
    space = {}
    exec(code, space)
    expected = normalize(np.random.default_rng(0).standard_normal(SHAPE), scheme, 1e-3, 2.0, 0.5).y
    np.testing.assert_allclose(np.asarray(space["y"]), expected, atol=1e-12)
    if name == "named":
        assert ("GroupNorm" in code) == (framework == "PyTorch")


@FRONTS
def test_what_is_learned_and_kept_is_of_both(front):
    scheme, row = own("both", front), SCHEMES[front]
    names = [each.name for each in list_parameter_shapes(scheme, SHAPE)]
    weights = [*([row.gain_symbol] if row.gain else []), *row.keeps]
    assert names == [*(f"{name} of the weights" for name in weights), "γ", "β"]
    assert list_state_names(scheme) == [f"{name} of the weights" for name in row.keeps]
    assert (
        "singular" in describe_learned_parameters(scheme, SHAPE),
        "singular" in describe_inference_state(scheme),
    ) == (
        False,
        front == "spectral",
    )


def test_the_singular_vectors_in_front_have_the_lengths_of_the_layer():
    left, right = list_parameter_shapes(own("both", "spectral"), SHAPE)[:2]
    assert (left.here, left.torch, left.keras) == ("(fan-in,)", "(fan-in,)", "–")
    assert (right.here, right.torch, right.keras) == ("(6,)", "(6,)", "(1, 6)")


@FRONTS
def test_names_say_what_stands_in_front(front):
    name = SCHEMES[front].name
    assert format_scheme_name(own("named", front)) == f"a scheme of your own with G = 2 behind {name}"
    assert (
        describe_equal_schemes(own("named", front), SHAPE)
        == f"On this shape, x̂ is that of group normalization with G = 2 behind {name}."
    )
    assert describe_equal_schemes(own("nothing", front), SHAPE) == f"This is {name}."
    assert name in explain_weight_scheme([own("both", front)])


def test_nothing_is_said_where_nothing_stands_in_front():
    assert explain_weight_scheme([SCHEMES["batch"], own("both", None)]) == ""
    several = explain_weight_scheme([SCHEMES["batch"], SCHEMES["layer-weight"], own("both", "spectral")])
    assert several.startswith(
        "Layer + weight, Custom + spectral: x stands for what a layer with weight normalization or"
    )
