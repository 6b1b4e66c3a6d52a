import re
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples, fields

from normviz.core.fields import AXIS_NAMES, Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.statistics import compute_element_steps
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.describe.notation import (
    CHANGE_FORMULAS,
    build_formulas,
    build_main_formulas,
    format_latex_number,
    format_preactivation_change,
)

SHAPE = (2, 3, 4, 6)
CUSTOM = SCHEMES["custom"]


def lines(scheme, name):
    return [latex for line, latex in build_formulas(scheme) if line == name]


def custom(summation, suppression=None):
    return CUSTOM.with_fields(*(None if text is None else Field.parse(text) for text in (summation, suppression)))


EXACT = {
    "instance": (
        r"\mu_{nc} = \frac{1}{HW}\sum_{h,w} x_{nhwc}",
        r"v_{nhwc} = x_{nhwc}-\mu_{nc}",
        r"\sigma^2_{nc} = \frac{1}{HW}\sum_{h,w} (x_{nhwc}-\mu_{nc})^2",
        r"\hat{x}_{nhwc} = \frac{x_{nhwc}-\mu_{nc}}{\sqrt{\sigma^2_{nc}+\varepsilon}}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc} + \beta_c",
    ),
    "batch": (
        r"\mu_c = \frac{1}{NHW}\sum_{n,h,w} x_{nhwc}",
        r"v_{nhwc} = x_{nhwc}-\mu_c",
        r"\sigma^2_c = \frac{1}{NHW}\sum_{n,h,w} (x_{nhwc}-\mu_c)^2",
        r"\hat{x}_{nhwc} = \frac{x_{nhwc}-\mu_c}{\sqrt{\sigma^2_c+\varepsilon}}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc} + \beta_c",
    ),
    "group": (
        r"\mu_{ng} = \frac{1}{HW(C/G)}\sum_{h,w}\sum_{c\in\mathcal{G}_g} x_{nhwc}",
        r"v_{nhwc} = x_{nhwc}-\mu_{ng}",
        r"\sigma^2_{ng} = \frac{1}{HW(C/G)}\sum_{h,w}\sum_{c\in\mathcal{G}_g} (x_{nhwc}-\mu_{ng})^2",
        r"\hat{x}_{nhwc} = \frac{x_{nhwc}-\mu_{ng}}{\sqrt{\sigma^2_{ng}+\varepsilon}}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc} + \beta_c",
        r"\mathcal{G}_g = \{g\tfrac{C}{G},\dots,(g+1)\tfrac{C}{G}-1\},\quad g = 0,\dots,G-1,"
        r"\quad G = 2\text{ groups of }\tfrac{C}{G}\text{ channels}",
    ),
    "rms": (
        r"\overline{x^2}_{nhw} = \frac{1}{C}\sum_{c} x_{nhwc}^2",
        r"\hat{x}_{nhwc} = \frac{x_{nhwc}}{\sqrt{\overline{x^2}_{nhw}+\varepsilon}}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc}",
    ),
    "divisive": (
        r"\mu_{nhwc} = \frac{1}{|\mathcal{W}_h||\mathcal{W}_w||\mathcal{W}_c|}"
        r"\sum_{|h'-h|\le R}\sum_{|w'-w|\le R}\sum_{|c'-c|\le R} x_{nh'w'c'}",
        r"v_{nhwc} = x_{nhwc}-\mu_{nhwc}",
        r"\sigma^2_{nhwc} = \frac{1}{|\mathcal{W}_h||\mathcal{W}_w||\mathcal{W}_c|}"
        r"\sum_{|h'-h|\le R}\sum_{|w'-w|\le R}\sum_{|c'-c|\le R} v_{nh'w'c'}^2",
        r"\hat{x}_{nhwc} = \frac{v_{nhwc}}{\sqrt{\sigma^2_{nhwc}+\varepsilon}}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc} + \beta_c",
        r"\mathcal{W}_h = \{h' : |h'-h|\le R,\ 0\le h' < H\},\quad R = 1\quad\text{(cut at the border)}",
        r"\mathcal{W}_w = \{w' : |w'-w|\le R,\ 0\le w' < W\},\quad R = 1\quad\text{(cut at the border)}",
        r"\mathcal{W}_c = \{c' : |c'-c|\le R,\ 0\le c' < C\},\quad R = 1\quad\text{(cut at the border)}",
    ),
    "weight": (
        r"\overline{w^2}_o = \frac{1}{K_hK_wC_\mathrm{in}}"
        r"\sum_{r,s,i} w_{rsio}^2",
        r"\hat{w}_{rsio} = \frac{1}{\sqrt{K_hK_wC_\mathrm{in}}}\frac{w_{rsio}}{\sqrt{\overline{w^2}_o}}",
        r"y_{rsio} = g_o \hat{w}_{rsio}",
        r"\hat{w}_{rsio} = \frac{w_{rsio}}{\lVert w_o\rVert},\quad "
        r"\lVert w_o\rVert^2 = \sum_{r,s,i} w_{rsio}^2",
    ),
    "spectral": (
        r"\sigma_{\max}(W) = \max_{\lVert a\rVert=1}\lVert Wa\rVert",
        r"\hat{W} = \frac{W}{\sigma_{\max}(W)}",
        r"W\in\mathbb{R}^{K_hK_wC_\mathrm{in}\times C_\mathrm{out}},\quad W_{(rsi)o} = w_{rsio}",
    ),
    "none": (r"y_{nhwc} = x_{nhwc}",),
    "whitening": (
        r"\mu_c = \frac{1}{NHW}\sum_{n,h,w} x_{nhwc}",
        r"v_{nhwc} = x_{nhwc}-\mu_c",
        r"\Sigma_{cj} = \frac{1}{NHW}\sum_{n,h,w} v_{nhwc} v_{nhwj},\quad c,j\in\mathcal{G}_g",
        r"\hat{x}_{nhwc} = \sum_{j\in\mathcal{G}_g} \big[(\Sigma+\varepsilon I)^{-1/2}\big]_{cj}\, v_{nhwj}",
        r"y_{nhwc} = \gamma_c \hat{x}_{nhwc} + \beta_c",
        r"\mathcal{G}_g = \{g\tfrac{C}{G},\dots,(g+1)\tfrac{C}{G}-1\},\quad g = 0,\dots,G-1,"
        r"\quad G = 2\text{ groups of }\tfrac{C}{G}\text{ channels}",
    ),
}


@pytest.mark.parametrize("key", EXACT)
def test_the_lines_of_known_schemes(key):
    assert tuple(latex for _, latex in build_formulas(SCHEMES[key])) == EXACT[key]


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.key)
def test_only_the_lines_that_a_scheme_has(scheme):
    names = [name for name, _ in build_formulas(scheme) if not name.startswith("weights")]
    assert ("mean" in names) == ("centred" in names) == (scheme.summation is not None)
    assert ("normalized" in names) == (scheme.suppression is not None or scheme.function is not None)
    parametrized = scheme.gain is not None or scheme.bias is not None
    assert names.count("output") == (parametrized or scheme.key == "none")
    text = " ".join(latex for name, latex in build_formulas(scheme) if not name.startswith("weights"))
    gain = {"weight": "g_o"}.get(scheme.key, r"\gamma")  # as the papers have it
    assert [letter for letter in ("g_o", r"\gamma") if letter in text] == ([] if scheme.gain is None else [gain])
    assert (r"\beta" in text) == (scheme.bias is not None)
    assert (r"\varepsilon" in text) == (scheme.eps is not None and scheme.suppression is not None)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.key)
def test_braces_are_balanced(scheme):
    for _, latex in build_formulas(scheme):
        assert balanced(latex), latex


def balanced(latex):
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", latex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def test_weights_in_front_come_first():
    names = [name for name, _ in build_formulas(SCHEMES["layer-weight"])]
    assert names.index("weights: output") < names.index("mean")


@pytest.mark.parametrize("field", ["N=groups(2),C=groups(3)", "N=groups(2),C=groups(2)"])
def test_two_grouped_axes_have_groups_of_their_own(field):
    scheme = custom(field, field)
    assert lines(scheme, "mean") == [
        r"\mu_{g_nhwg_c} = \frac{1}{(N/G_n)(C/G_c)}\sum_{n\in\mathcal{G}_{g_n}}\sum_{c\in\mathcal{G}_{g_c}} x_{nhwc}"
    ]
    assert len(lines(scheme, "where")) == 2


def test_fields_that_differ_have_groups_and_radii_of_their_own():
    groups = custom("C=groups(2)", "N=full,C=groups(3)")
    assert lines(groups, "mean square") == [
        r"\sigma^2_{hwg_B} = \frac{1}{N(C/G_B)}\sum_{n}\sum_{c\in\mathcal{G}_{g_B}} v_{nhwc}^2"
    ]
    windows = custom("C=window(1)", "C=window(2)")
    assert lines(windows, "mean") == [r"\mu_{nhwc} = \frac{1}{|\mathcal{W}^{A}_c|}\sum_{|c'-c|\le R_A} x_{nhwc'}"]


def test_one_statistic_for_all_has_no_index_and_one_for_each_no_sum():
    everything, alone = ("full, full, full, full",) * 2, ("own, own, own, own",) * 2
    assert lines(custom(*everything), "mean")[0].startswith(r"\mu = \frac{1}{NHWC}\sum")
    assert lines(custom(*alone), "mean") == [r"\mu_{nhwc} = x_{nhwc}"]


# The formulas read as what they say, element by element, and compared with what is computed.


SIZES = {AXIS_NAMES[axis].letter: n for axis, n in zip("NHWC", SHAPE, strict=True)}


class Reader:
    """Evaluates an average written in LaTeX at one element, with indices from 0."""

    def __init__(self, scheme, at):
        self.at = at
        self.where = dict(latex.split(" = ", 1) for latex in lines(scheme, "where"))

    def members(self, sign):
        """The letters that a sum sign runs over, each with its range."""
        if match := re.fullmatch(r"_\{(\w(?:,\w)*)\}", sign):
            return [(letter, range(SIZES[letter])) for letter in match[1].split(",")]
        if match := re.fullmatch(r"_\{(\w)\\in(.*)\}", sign):
            return [(match[1], self.group(match[1], match[2]))]
        match = re.fullmatch(r"_\{\|(\w)'-\1\|\\le (R\S*)\}", sign)
        return [(match[1] + "'", self.window(match[1], match[2]))]

    def group(self, letter, name):
        group = re.fullmatch(r"\\mathcal\{G\}_(\w|\{.*\})", name)[1].removeprefix("{").removesuffix("}")
        count = int(re.search(rf" {re.escape(group.replace('g', 'G', 1))} = (\d+)\\text", self.where[name])[1])
        size = SIZES[letter] // count
        (number,) = (g for g in range(count) if self.at[letter] in range(g * size, (g + 1) * size))
        return range(number * size, (number + 1) * size)

    def window(self, letter, radius):
        values = {m[1] for text in self.where.values() for m in re.finditer(rf"{re.escape(radius)} = (\d+)", text)}
        (value,) = map(int, values)  # a symbol means one number
        return [j for j in range(SIZES[letter]) if abs(j - self.at[letter]) <= value]

    def size(self, text):
        total = 1
        for part in re.findall(r"\|[^|]*\||[NHWC]/G(?:_\w|_\{[^}]*\})?|[NHWC]", text):
            if part.startswith("|"):
                letter = part[-2]
                radius = re.search(r"\\le (R[^,]*(?:,\w\})?),", self.where[part.strip("|")])[1]
                total *= len(self.window(letter, radius))
            elif "/" in part:
                (count,) = {m for t in self.where.values() for m in re.findall(rf" {re.escape(part[2:])} = (\d+)", t)}
                total *= SIZES[part[0].lower()] / int(count)
            else:
                total *= SIZES[part.lower()]
        return total

    def average(self, latex, value):
        """The right side of the line; `value` gives a summand, without its power, at an index from 0."""
        right = latex.split(" = ", 1)[1]
        power = 2 if right.endswith("^2") else 1
        if r"\sum" not in right:
            return value(tuple(self.at[letter] for letter in "nhwc")) ** power
        fraction, *signs = right.split(r"\sum")
        signs[-1], summand = signs[-1].rsplit(" ", 1)
        letters, ranges = zip(*(each for sign in signs for each in self.members(sign)), strict=True)
        index = re.findall(r"\w'?", re.search(r"[xv]_\{([^}]*)\}", summand)[1])
        total = 0.0
        for place in product(*ranges):
            at = self.at | dict(zip(letters, place, strict=True))
            total += value(tuple(at[letter] for letter in index)) ** power
        return total / self.size(re.fullmatch(r"\\frac\{1\}\{(.*)\}", fraction)[1])


@examples(150)
@given(
    st.none() | fields(SHAPE),
    st.none() | fields(SHAPE),
    st.booleans(),
    st.tuples(*(st.integers(0, n - 1) for n in SHAPE)),
)
def test_the_averages_mean_what_is_computed(summation, suppression, alike, place):
    scheme = CUSTOM.with_fields(summation, summation if alike else suppression)
    assume(scheme.fields)
    x = np.random.default_rng(5).standard_normal(SHAPE)
    result = normalize(x, scheme, eps=0)
    at = dict(zip("nhwc", place, strict=True))
    computed = compute_element_steps(x, result, scheme, place)
    reader = Reader(scheme, at)
    assert all(balanced(latex) for _, latex in build_formulas(scheme))
    if scheme.summation is not None:
        (line,) = lines(scheme, "mean")
        assert reader.average(line, lambda i: x[i]) == pytest.approx(computed.mean, abs=1e-12)
    for line in lines(scheme, "variance"):
        assert reader.average(line, lambda i: x[i] - computed.mean) == pytest.approx(computed.deviation**2, abs=1e-12)
    for line in lines(scheme, "mean square"):
        assert reader.average(line, lambda i: result.v[i]) == pytest.approx(computed.deviation**2, abs=1e-12)


# One element with its numbers put in


@pytest.mark.parametrize(
    ("value", "latex"),
    [
        (0.314159, "0.3142"),
        (-2.0, "-2"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-5, "10^{-5}"),
        (-1e-5, "-10^{-5}"),
        (1.5e-7, r"1.5\cdot10^{-7}"),
        (123456, r"1.235\cdot10^{5}"),
        (float("inf"), r"\infty"),
        (float("-inf"), r"-\infty"),
        (float("nan"), r"\text{NaN}"),
    ],
)
def test_numbers(value, latex):
    assert format_latex_number(value) == latex


# Transformations


def test_every_transformation_is_written_alike_in_latex_and_as_text():
    assert list(CHANGE_FORMULAS) == list(TRANSFORMATIONS)
    signs = {r"\delta ": "δ", r"\tau": "τ", "_i": "ᵢ", "_n": "ₙ", "'": "′", r"\text{": "", "}": ""}
    for key, latex in CHANGE_FORMULAS.items():
        text = latex
        for code, sign in signs.items():
            text = text.replace(code, sign)
        assert " ".join(text.split()) == TRANSFORMATIONS[key].plain


def test_what_a_transformation_does_to_the_sums():
    expected = {
        "weight-matrix-rescaling": (r"a'_{nc} = s\, a_{nc}", r"a'_{nhwc} = s\, a_{nhwc}"),
        "weight-matrix-recentering": ("a'_{nc} = a_{nc} + t_{n}", "a'_{nhwc} = a_{nhwc} + t_{nhw}"),
        "weight-vector-rescaling": (r"a'_{nc} = s_{c}\, a_{nc}", r"a'_{nhwc} = s_{c}\, a_{nhwc}"),
        "dataset-rescaling": (r"a'_{nc} = s\, a_{nc}", r"a'_{nhwc} = s\, a_{nhwc}"),
        "dataset-recentering": ("a'_{nc} = a_{nc} + t_{c}", "a'_{nhwc} = a_{nhwc} + t_{c}"),
        "case-rescaling": (r"a'_{nc} = s_{n}\, a_{nc}", r"a'_{nhwc} = s_{n}\, a_{nhwc}"),
    }
    found = {
        key: tuple(format_preactivation_change(change, layer) for layer in LAYERS)
        for key, change in TRANSFORMATIONS.items()
    }
    assert found == expected


@pytest.mark.parametrize("key", SCHEMES)
def test_what_is_essential_is_all_that_computes_the_result(key):
    scheme, lines = SCHEMES[key], build_main_formulas(SCHEMES[key])
    steps = {"mean", "variance", "mean square", "largest singular value", "covariance", "normalized"}
    front = {f"weights: {line.name}" for line in build_formulas(SCHEMES[scheme.weight])} if scheme.weight else set()
    told = {line.name for line in build_formulas(scheme)}
    assert {line.name for line in lines} - {"where"} == (told & steps) | (front - {"weights: where"})
    assert ("where" in {line.name for line in lines}) == (scheme.weight is not None)
    assert set(lines) <= set(build_formulas(scheme))
