"""The formulas of one element, with its numbers."""

import re
from math import erf, inf, nan, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given
from strategies import examples, fields
from written import look_up, said

from normviz.core.fields import Field
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES
from normviz.core.statistics import compute_element_steps
from normviz.describe import general_form, live
from normviz.describe.mathml import convert_to_mathml

SHAPE = (2, 3, 4, 6)


def told(scheme, x, index, eps=0.0, gain=1.0, bias=0.0, result=None):
    """Every line and statistic of an element by its name, in words of a browser."""
    result = normalize(x, scheme, eps, gain, bias) if result is None else result
    numbers = live.compute_live_numbers(scheme, x, result, LayerScalars(eps, gain, bias))

    def number(name):
        return index["nhwc".index(name)] if name in "nhwc" else look_up(numbers[name], index, x.shape)

    form = int(look_up(numbers["form"], index, x.shape)) if "form" in numbers else 0
    lines = [*live.build_statistic_formulas(scheme), *live.build_step_formulas(scheme, x.shape)]
    return {name: said(convert_to_mathml(forms[form if len(forms) > 1 else 0]), number) for name, forms in lines}


def some(**steps):
    """A result in which every element has these numbers."""
    x = np.full(SHAPE, steps.pop("x"))
    result = normalize(x, SCHEMES["instance"], 1.0)
    return x, result._replace(**{name: np.full(getattr(result, name).shape, value) for name, value in steps.items()})


def test_the_lines_of_one_element():
    x, result = some(x=0.42, mean=0.1, v=0.32, deviation=sqrt(0.81 + 1e-5), xhat=0.32 / sqrt(0.81 + 1e-5), y=-0.2111)
    assert told(SCHEMES["instance"], x, (1, 2, 0, 3), 1e-5, -2.0, 0.5, result) == {
        "mean": "μ=0.1",
        "divides": "σ2=0.81",
        "element": "x1,2,0,3=0.42",
        "centred": "x−μ=0.42−0.1=0.32",
        "normalized": "x̂=x−μσ2+ε=0.320.81+10⁻⁵=0.3556",
        "output": "y=γx̂+β=−2·0.3556+0.5=−0.2111",
    }


def test_negative_numbers_are_bracketed():
    x, result = some(x=-1.0, mean=-0.25, v=-0.75, deviation=0.5, xhat=-1.5, y=-3.5)
    lines = told(SCHEMES["instance"], x, (0, 0, 0, 0), 0.0, 2.0, -0.5, result)
    assert lines["mean"] == "μ=−0.25"
    assert lines["centred"] == "x−μ=−1−(−0.25)=−0.75"
    assert lines["output"] == "y=γx̂+β=2·(−1.5)+(−0.5)=−3.5"


@pytest.mark.parametrize(
    ("deviation", "eps", "below", "rooted"),
    [
        (0.0, 0.0, "0+0", True),
        (1e-5**0.5, 1e-5, "0+10⁻⁵", True),
        (float(np.nextafter(np.float32(1e-5**0.5), np.float32(1))), 1e-5, "0+10⁻⁵", True),
        (1e200, 0.0, "10²⁰⁰", False),
        (1e-200, 0.0, "10⁻²⁰⁰", False),
        (inf, 0.0, "∞+0", True),
        (nan, 1e-5, "NaN+10⁻⁵", True),
    ],
)
def test_divisors_at_the_ends_of_the_range(deviation, eps, below, rooted):
    x, result = some(x=1.0, mean=1.0, v=0.0, deviation=deviation, xhat=0.0, y=0.0)
    scheme = SCHEMES["instance"]
    sign = "→" if deviation == 0 else "="
    assert told(scheme, x, (0, 0, 0, 0), eps, result=result)["normalized"] == f"x̂=x−μσ2+ε=0{below}{sign}0"
    numbers = live.compute_live_numbers(scheme, x, result, LayerScalars(eps, 1.0, 0.0))
    form = int(look_up(numbers["form"], (0, 0, 0, 0), SHAPE))
    (line,) = (line for line in live.build_step_formulas(scheme, SHAPE) if line.name == "normalized")
    assert (r"\sqrt" in line.forms[form].split("=")[2].split(r"\to")[0]) == rooted


def evaluated(latex, number):
    """The number that a side of a line stands for, from its LaTeX."""
    latex = re.sub(r"\\part\{\w+\}\{(\\num\*?\{\w+\})\}", r"\1", latex)
    latex = re.sub(r"\\operatorname\{(\w+)\}", r"\1", latex)
    latex = re.sub(r"\\num\*?\{(\w+)\}", lambda found: f"({number(found[1]):.4g})", latex)
    previous = None
    while latex != previous:
        previous = latex
        latex = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", latex)
        latex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", latex)
    latex = latex.replace(r"\cdot", "*").replace(r"\max", "max")
    return eval(latex, {"sqrt": sqrt, "max": max, "tanh": tanh, "erf": erf})


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.key)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e7])
def test_both_sides_of_every_line_are_equal(scheme, scale):
    x = scale * np.random.default_rng(3).normal(0.3, 1, SHAPE)
    eps = scheme.eps or 0.0
    gain, bias = (1.5 if scheme.gain is not None else 1.0), (-0.25 if scheme.bias is not None else 0.0)
    result = normalize(x, scheme, eps, gain, bias)
    numbers, lines = (
        live.compute_live_numbers(scheme, x, result, LayerScalars(eps, gain, bias, 0.25)),
        live.build_step_formulas(scheme, SHAPE),
    )
    assert [line.name for line in lines] == [
        "element",
        *(["centred"] if scheme.summation else []),
        *(["normalized"] if scheme.suppression or scheme.function else []),
        *(["output"] if scheme.gain is not None or scheme.bias is not None or scheme.key == "none" else []),
        *(["activation"] if scheme.threshold else []),
    ]
    for index in ((0, 0, 0, 0), (1, 2, 3, 5), (0, 1, 2, 3)):
        steps = compute_element_steps(x, result, scheme, index)
        expected = {"element": steps.x, "centred": steps.v, "normalized": steps.xhat, "output": steps.y}
        expected["activation"] = max(steps.y, 0.25)
        for name, (latex, *_) in lines:
            sides = [side for side in latex.split(" = ")[1:] if r"\num" in side]
            *before, last = (
                evaluated(side, lambda name, at=index: look_up(numbers[name], at, SHAPE)) for side in sides
            )
            assert last == pytest.approx(expected[name], rel=5e-4)
            # Terms of a difference are rounded, each to four digits of its own.
            terms = max(map(abs, (steps.x, steps.mean or 0.0))) if name == "centred" else abs(steps.xhat) * 1.5
            assert before == pytest.approx([expected[name]] * len(before), rel=1e-3, abs=1e-3 * terms)


@examples(100)
@given(fields(SHAPE), fields(SHAPE))
def test_the_numbers_of_every_element_are_those_that_the_core_computes(summation, suppression):
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    x = np.random.default_rng(0).normal(size=SHAPE)
    result = normalize(x, scheme, 0.0)
    numbers = live.compute_live_numbers(scheme, x, result, LayerScalars(0.0, 1.0, 0.0))
    for index in ((0, 0, 0, 0), (1, 2, 3, 5), (1, 0, 2, 4)):
        steps = compute_element_steps(x, result, scheme, index)
        found = {name: look_up(numbers[name], index, SHAPE) for name in ("x", "mean", "v", "xhat", "y")}
        assert found == {name: getattr(steps, name) for name in found}
        if look_up(numbers["form"], index, SHAPE) == general_form.ROOT:
            assert look_up(numbers["divides"], index, SHAPE) == pytest.approx(steps.deviation**2, abs=1e-12)


def test_a_symbol_lights_what_it_is_a_statistic_of():
    both = SCHEMES["custom"].with_fields(Field.parse("C=full"), Field.parse("N=full"))
    text = " ".join(form for line in live.build_step_formulas(both, SHAPE) for form in line.forms)
    assert set(re.findall(r"\\part\{(\w+)\}", text)) == {line.name for line in live.build_statistic_formulas(both)}


@pytest.mark.parametrize("latex", [r"\frac{1}{2}}", r"\int x", "x < 1", r"\frac{1"])
def test_what_is_not_of_the_language_is_refused(latex):
    with pytest.raises((ValueError, IndexError)):
        convert_to_mathml(latex)


def test_scripts_and_accents():
    assert convert_to_mathml(r"\sigma^2_{nc}") == (
        "<msubsup><mi>σ</mi><mrow><mi>n</mi><mi>c</mi></mrow><mn>2</mn></msubsup>"
    )
    assert convert_to_mathml(r"\overline{x^2}") == (
        '<mover accent="true"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow><mo>¯</mo></mover>'
    )
