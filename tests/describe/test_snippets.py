import os

from normviz.core.normalize import LayerScalars

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported, here or by a snippet

import re
import subprocess
import sys
from functools import cache
from itertools import product

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, fields

from normviz.core.backward import compute_gradients
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, find_equal_schemes, get_scheme
from normviz.describe.snippets import BACKWARD_FRAMEWORKS, FRAMEWORKS, format_backward_snippet, format_snippet

SHAPES = {
    "activation": [(2, 3, 4, 6), (1, 4, 4, 6), (4, 1, 1, 6), (1, 1, 1, 6)],
    "weight": [(3, 2, 2, 4), (1, 1, 5, 3), (2, 2, 1, 1)],
}
SHAPE = SHAPES["activation"][0]
CUSTOM = SCHEMES["custom"]
EXACT = {"rtol": 1e-9, "atol": 1e-11}
# On other backends than TensorFlow, Keras's layers round to float32 whatever their dtype is, and the one for batch
# normalization takes the variance as the difference E[x²] - E[x]².
TOLERANCE = {True: {"rtol": 1e-4, "atol": 1e-5}, False: EXACT}

every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.key)


def shapes(scheme):
    return [*filter(scheme.fits, SHAPES["weight" if scheme.is_weight_scheme else "activation"])]


@cache
def run(code):
    names = {}
    exec(code, names)
    return names["x"], np.asarray(keras.ops.convert_to_numpy(names["y"]))


def check(scheme, framework, shape, eps, gain=1.0, bias=0.0):
    code = format_snippet(scheme, framework, shape, LayerScalars(eps, gain, bias))
    _, y = run(code)
    x = np.random.default_rng(0).standard_normal(shape)
    gain, bias = (1.0 if scheme.gain is None else gain), (0.0 if scheme.bias is None else bias)
    expected = normalize(x, scheme, eps, gain, bias).y
    assert y.dtype == np.float64, code
    assert y.shape == shape, code
    np.testing.assert_allclose(y, expected, **TOLERANCE["keras.layers" in code], err_msg=code)


@every_scheme
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_snippet_computes_what_the_scheme_does(scheme, framework):
    for shape in shapes(scheme):
        for gain, bias in ((1.0, 0.0), (2.0, -0.5), (0.0, 0.25)):
            for eps in (0.0, 1e-5, 1e-2):
                check(scheme, framework, shape, eps, gain, bias)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("threshold", [0.0, -0.5, 0.3])
@pytest.mark.parametrize("shape", [SHAPE, (4, 1, 1, 1)], ids=["operations", "layer"])
def test_the_activation_of_a_scheme_is_left_in_z(framework, threshold, shape):
    names = {}
    exec(
        format_snippet(
            SCHEMES["filter-response"], framework, shape, LayerScalars(1e-6, 2.0, -0.5, threshold=threshold)
        ),
        names,
    )
    y, z = (np.asarray(keras.ops.convert_to_numpy(names[name])) for name in "yz")
    np.testing.assert_allclose(z, np.maximum(y, threshold), rtol=0, atol=1e-15)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("key", "value"), [("group", 1), ("group", 3), ("group", 6), ("divisive", 0), ("divisive", 9)])
def test_a_snippet_follows_groups_and_radius(framework, key, value):
    check(get_scheme(key, groups=value if key == "group" else None, radius=value), framework, SHAPE, 1e-5, 2.0, -0.5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("summation", "suppression"),
    [
        ("N=groups(2),C=groups(3)", "N=groups(2),C=groups(3)"),
        ("N=full,C=groups(2)", "C=groups(3),H=window(1)"),
        ("H=window(1),C=window(2)", "N=full,W=window(2)"),
        ("C=window(1)", None),
        (None, "N=full,H=groups(3)"),
        (None, None),
        ("N=own", None),
    ],
)
def test_a_snippet_follows_fields_of_ones_own(framework, summation, suppression):
    both = [None if text is None else Field.parse(text) for text in (summation, suppression)]
    for eps in (0.0, 1e-5):
        check(CUSTOM.with_fields(*both), framework, SHAPE, eps, 2.0, -0.5)


@examples(80)
@given(st.none() | fields(SHAPE), st.none() | fields(SHAPE), st.booleans(), st.sampled_from(["NumPy", "PyTorch"]))
def test_a_snippet_follows_any_fields(summation, suppression, alike, framework):
    check(CUSTOM.with_fields(summation, summation if alike else suppression), framework, SHAPE, 1e-5, 2.0, -0.5)


def test_ruff_likes_every_snippet(tmp_path):
    both = CUSTOM.with_fields(Field.parse("N=full,C=groups(2)"), Field.parse("W=window(1)"))
    written = product([*SCHEMES.values(), both], FRAMEWORKS, (0.0, 1e-5), ((1.0, 0.0), (2.0, -0.5)))
    for number, (scheme, framework, eps, (gain, bias)) in enumerate(written):
        for shape in shapes(scheme):
            code = format_snippet(scheme, framework, shape, LayerScalars(eps, gain, bias))
            (tmp_path / f"{number} {shape}.py").write_text(code, encoding="utf-8")
            if framework in BACKWARD_FRAMEWORKS:
                code = format_backward_snippet(scheme, framework, shape, eps)
                (tmp_path / f"{number} {shape} backward.py").write_text(code, encoding="utf-8")
    for check in (["check", "--select", "E,F,W,I"], ["format", "--check"]):
        options = ["--isolated", "--no-cache", "--line-length", "100", tmp_path]
        ruff = subprocess.run([sys.executable, "-m", "ruff", *check, *options], capture_output=True, text=True)
        assert ruff.returncode == 0, ruff.stdout + ruff.stderr


# Which layer, where there is one


@every_scheme
@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_the_layer_of_a_scheme_is_used(scheme, framework):
    attribute = {"PyTorch": "torch", "Keras": "keras"}[framework]
    alike = [getattr(row, attribute) for row in (scheme, *find_equal_schemes(scheme, shapes(scheme)[0]))]
    recipe = next(filter(None, alike), None)
    code = format_snippet(scheme, framework, shapes(scheme)[0], LayerScalars(scheme.eps or 0.0))
    layers = re.findall(r"nn\.(?!Conv)[A-Z]\w+\(|\w+_norm\(|keras\.layers\.(?!Conv)\w+\(", code)
    assert layers == ([] if recipe is None else re.findall(r"(?:nn\.|keras\.layers\.)?\w+\(", recipe)[:1])


@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_fields_of_ones_own_get_the_layer_that_computes_them(framework):
    field = Field.parse("own, full, full, groups(3)")
    code = format_snippet(CUSTOM.with_fields(field, field), framework, SHAPE, LayerScalars(1e-5))
    assert {"PyTorch": "nn.GroupNorm(3, 6,", "Keras": "GroupNormalization(groups=3,"}[framework] in code
    assert "# On this shape this is group normalization." in code


def test_a_layer_that_learns_something_else_says_so():
    code = format_snippet(
        SCHEMES["scale"], "PyTorch", SHAPE, LayerScalars(1e-5)
    )  # one γ, where the layer has one for each channel
    assert "# On this shape x̂ is that of RMS normalization; what is learned differs." in code


def test_a_layer_without_a_bias_is_not_used_where_there_is_one():
    rms = CUSTOM.with_fields(None, Field.parse("own, own, own, full"))
    assert "nn.RMSNorm" in format_snippet(rms, "PyTorch", SHAPE, LayerScalars(1e-5, gain=2.0))
    assert "nn." not in format_snippet(rms, "PyTorch", SHAPE, LayerScalars(1e-5, bias=0.5))


@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_no_layer_is_used_where_it_refuses_or_divides_by_zero(framework):
    for scheme, shape, eps in (
        (SCHEMES["batch"], SHAPE, 0.0),
        (SCHEMES["batch"], (1, 1, 1, 6), 1e-5),
        (SCHEMES["instance"], (3, 1, 1, 6), 1e-5),
        (SCHEMES["weight"], (3, 2, 2, 4), 1e-2),
    ):
        assert "layers." not in format_snippet(scheme, framework, shape, LayerScalars(eps))
        assert "nn." not in format_snippet(scheme, framework, shape, LayerScalars(eps))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_groups_that_divide_nothing_of_a_registered_scheme_do_no_harm(framework):
    check(SCHEMES["instance"], framework, (2, 3, 4, 1), 1e-5)
    check(CUSTOM, framework, (2, 3, 4, 5), 1e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_zero_by_zero_is_zero(framework):
    zeros = "x = np.zeros((2, 3, 4, 6))"
    for key in ("batch", "rms", "divisive"):
        assert not run(format_snippet(SCHEMES[key], framework, SHAPE, LayerScalars(0.0), source=zeros))[1].any()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_source_is_used(framework):
    code = format_snippet(
        SCHEMES["batch"], framework, SHAPE, LayerScalars(1e-5), source="x = np.arange(144.0).reshape(2, 3, 4, 6)"
    )
    x, y = run(code)
    expected = normalize(np.arange(144.0).reshape(SHAPE), SCHEMES["batch"]).y
    np.testing.assert_allclose(y, expected, **TOLERANCE["keras.layers" in code])
    assert x.shape == SHAPE


def test_gain_one_and_bias_zero_leave_no_code():
    code = format_snippet(SCHEMES["batch"], "NumPy", SHAPE, LayerScalars(1e-5))
    assert code.endswith("y = v / np.sqrt(variance + 1e-05)\n")
    assert "init" not in format_snippet(SCHEMES["batch"], "PyTorch", SHAPE, LayerScalars(1e-5))
    assert "assign" not in format_snippet(SCHEMES["batch"], "Keras", SHAPE, LayerScalars(1e-5))


@pytest.mark.parametrize(
    ("scheme", "framework", "eps", "message"),
    [
        (SCHEMES["batch"], "JAX", 1e-5, "NumPy, PyTorch, Keras are"),
        (get_scheme("group", groups=4), "NumPy", 1e-5, "4 groups do not divide C = 6"),
        (SCHEMES["batch"], "NumPy", -1.0, "ε is a number from 0"),
        (SCHEMES["batch"], "NumPy", float("nan"), "ε is a number from 0"),
    ],
)
def test_what_makes_no_sense_is_refused(scheme, framework, eps, message):
    with pytest.raises(InvalidInput, match=message):
        format_snippet(scheme, framework, SHAPE, LayerScalars(eps))


# --- backwards ------------------------------------------------------------------------------------------------------


def check_backward(scheme, framework, shape, eps):
    code, names = format_backward_snippet(scheme, framework, shape, eps), {}
    exec(code, names)
    x, dy = (np.random.default_rng(seed).standard_normal(shape) for seed in (0, 1))
    expected = compute_gradients(x, dy, scheme, eps)
    np.testing.assert_allclose(np.asarray(names["dx"]), expected.dx, rtol=1e-9, atol=1e-10, err_msg=code)
    xhat = normalize(x, scheme, eps).xhat
    for name, kept, summand in (("dgain", scheme.gain, dy * xhat), ("dbias", scheme.bias, dy)):
        assert (name in names) == (framework == "NumPy" and kept is not None), code
        if name in names:
            axes = tuple(k for k, axis in enumerate(scheme.axes) if axis not in kept)
            np.testing.assert_allclose(names[name], summand.sum(axes), rtol=1e-9, atol=1e-11, err_msg=code)


@every_scheme
@pytest.mark.parametrize("framework", BACKWARD_FRAMEWORKS)
def test_the_backward_pass_leaves_the_gradient(scheme, framework):
    for shape, eps in product(shapes(scheme)[:2], (0.0, 1e-5, 0.5)):
        check_backward(scheme, framework, shape, eps)


@given(st.none() | fields(SHAPE), st.none() | fields(SHAPE))
@examples(200)
def test_the_backward_pass_follows_any_fields(summation, suppression):
    check_backward(CUSTOM.with_fields(summation, suppression), "NumPy", SHAPE, 0.1)


def test_a_framework_without_a_backward_pass_is_refused():
    with pytest.raises(InvalidInput, match="NumPy, PyTorch have"):
        format_backward_snippet(SCHEMES["batch"], "Keras", SHAPE, 1e-5)
