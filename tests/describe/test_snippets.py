import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported, here or by a snippet

import re
from functools import cache

import keras
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import fields
from torch import nn

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, get_scheme
from normviz.describe.snippets import FRAMEWORKS, axis_trap, parameter_shapes, snippet

SHAPES = {
    "activation": [(2, 3, 4, 6), (1, 4, 4, 6), (3, 1, 1, 6), (1, 1, 1, 6)],
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
    return SHAPES["weight" if scheme.acts_on == "weight" else "activation"]


@cache
def run(code):
    names = {}
    exec(code, names)
    return names["x"], np.asarray(keras.ops.convert_to_numpy(names["y"]))


def check(scheme, framework, shape, eps, gain=1.0, bias=0.0):
    code = snippet(scheme, framework, shape, eps, gain, bias)
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


@settings(max_examples=80)
@given(st.none() | fields(SHAPE), st.none() | fields(SHAPE), st.booleans(), st.sampled_from(["NumPy", "PyTorch"]))
def test_a_snippet_follows_any_fields(summation, suppression, alike, framework):
    check(CUSTOM.with_fields(summation, summation if alike else suppression), framework, SHAPE, 1e-5, 2.0, -0.5)


# Which layer, where there is one


@every_scheme
@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_the_layer_of_a_scheme_is_used(scheme, framework):
    recipe = {"PyTorch": scheme.torch, "Keras": scheme.keras}[framework]
    code = snippet(scheme, framework, shapes(scheme)[0], scheme.eps or 0.0)
    layers = re.findall(r"nn\.(?!Conv)[A-Z]\w+\(|\w+_norm\(|keras\.layers\.(?!Conv)\w+\(", code)
    assert layers == ([] if recipe is None else re.findall(r"(?:nn\.|keras\.layers\.)?\w+\(", recipe)[:1])


@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_fields_of_ones_own_get_the_layer_that_computes_them(framework):
    field = Field.parse("own, full, full, groups(3)")
    code = snippet(CUSTOM.with_fields(field, field), framework, SHAPE, 1e-5)
    assert {"PyTorch": "nn.GroupNorm(3, 6,", "Keras": "GroupNormalization(groups=3,"}[framework] in code
    assert "# On this shape this is group normalization." in code


def test_a_layer_without_a_bias_is_not_used_where_there_is_one():
    rms = CUSTOM.with_fields(None, Field.parse("own, own, own, full"))
    assert "nn.RMSNorm" in snippet(rms, "PyTorch", SHAPE, 1e-5, gain=2.0)
    assert "nn." not in snippet(rms, "PyTorch", SHAPE, 1e-5, bias=0.5)


@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_no_layer_is_used_where_it_refuses_or_divides_by_zero(framework):
    for scheme, shape, eps in (
        (SCHEMES["batch"], SHAPE, 0.0),
        (SCHEMES["batch"], (1, 1, 1, 6), 1e-5),
        (SCHEMES["instance"], (3, 1, 1, 6), 1e-5),
        (SCHEMES["weight"], (3, 2, 2, 4), 1e-2),
    ):
        assert "layers." not in snippet(scheme, framework, shape, eps)
        assert "nn." not in snippet(scheme, framework, shape, eps)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_groups_that_divide_nothing_of_a_registered_scheme_do_no_harm(framework):
    check(SCHEMES["instance"], framework, (2, 3, 4, 1), 1e-5)
    check(CUSTOM, framework, (2, 3, 4, 5), 1e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_zero_by_zero_is_zero(framework):
    zeros = "x = np.zeros((2, 3, 4, 6))"
    for key in ("batch", "rms", "divisive"):
        assert not run(snippet(SCHEMES[key], framework, SHAPE, 0.0, source=zeros))[1].any()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_source_is_used(framework):
    code = snippet(SCHEMES["batch"], framework, SHAPE, 1e-5, source="x = np.arange(144.0).reshape(2, 3, 4, 6)")
    x, y = run(code)
    expected = normalize(np.arange(144.0).reshape(SHAPE), SCHEMES["batch"]).y
    np.testing.assert_allclose(y, expected, **TOLERANCE["keras.layers" in code])
    assert x.shape == SHAPE


def test_gain_one_and_bias_zero_leave_no_code():
    code = snippet(SCHEMES["batch"], "NumPy", SHAPE, 1e-5)
    assert code.endswith("y = v / np.sqrt(variance + 1e-05)\n")
    assert "init" not in snippet(SCHEMES["batch"], "PyTorch", SHAPE, 1e-5)
    assert "assign" not in snippet(SCHEMES["batch"], "Keras", SHAPE, 1e-5)


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
        snippet(scheme, framework, SHAPE, eps)


# Parameters, compared with those of the layers

TORCH_NAMES = {
    "γ": ("weight", "parametrizations.weight.original0"),
    "β": ("bias",),
    "running mean": ("running_mean",),
    "running variance": ("running_var",),
    # PyTorch's matrix has a row for each unit, so its left singular vector is the right one here.
    "left singular vector": ("parametrizations.weight.0._v",),
    "right singular vector": ("parametrizations.weight.0._u",),
}
KERAS_NAMES = {
    "γ": ("gamma", "scale"),
    "β": ("beta",),
    "running mean": ("moving_mean",),
    "running variance": ("moving_variance",),
    "left singular vector": (),
    "right singular vector": ("vector_u",),
}


def filled(scheme, recipe, shape, layer):
    sizes = dict(zip(scheme.axes, shape, strict=True))
    code = recipe.format(**sizes, G=scheme.parameters.get("groups"), eps=1e-5, layer="layer")
    return eval(code, {"nn": nn, "keras": keras, "layer": layer})


def torch_state(scheme, shape):
    conv = nn.Conv2d(shape[2], shape[3], shape[:2], bias=False) if scheme.acts_on == "weight" else None
    state = filled(scheme, scheme.torch, shape, conv).state_dict()
    left = ("num_batches_tracked", "parametrizations.weight.original", "parametrizations.weight.original1")
    return {name: tuple(value.shape) for name, value in state.items() if name not in left}


def keras_state(scheme, shape):
    conv = keras.layers.Conv2D(shape[3], shape[:2], use_bias=False) if scheme.acts_on == "weight" else None
    layer = filled(scheme, scheme.keras, shape, conv)
    layer.build(shape if conv is None else (1, *shape[:3]))
    return {weight.name: tuple(weight.shape) for weight in layer.weights if weight.name != "kernel"}


@every_scheme
@pytest.mark.parametrize("framework", ["torch", "keras"])
def test_parameters_have_the_shapes_of_the_layers(scheme, framework):
    shape = shapes(scheme)[0]
    rows = [row for row in parameter_shapes(scheme, shape) if not row.name.endswith("of the weights")]
    if getattr(scheme, framework) is None:
        assert all(getattr(row, framework) == "–" for row in rows)
        return
    state = {"torch": torch_state, "keras": keras_state}[framework](scheme, shape)
    names = {"torch": TORCH_NAMES, "keras": KERAS_NAMES}[framework]
    expected = {}
    for row in rows:
        (name,) = [name for name in names[row.name] if name in state] or [None]
        expected[row.name] = "–" if name is None else str(state.pop(name))
    assert {row.name: getattr(row, framework) for row in rows} == expected
    assert not state  # every parameter of the layer has its row


@every_scheme
def test_every_parameter_has_a_row(scheme):
    names = [row.name for row in parameter_shapes(scheme, shapes(scheme)[0])]
    learned = [name for name, axes in (("γ", scheme.gain), ("β", scheme.bias)) if axes is not None]
    assert [name for name in names if not name.endswith("of the weights")] == [*learned, *scheme.keeps]


def test_what_a_parameter_row_says():
    assert tuple(parameter_shapes(SCHEMES["layer"], SHAPE)[0]) == (
        "γ",
        "learned gain for each row, column and channel",
        "(3, 4, 6)",
        "(6, 3, 4)",
        "(3, 4, 6)",
    )
    assert tuple(parameter_shapes(SCHEMES["layer-weight"], SHAPE)[0]) == (
        "γ of the weights",
        "learned gain for each unit",
        "(6,)",
        "(6, 1, 1, 1)",
        "–",
    )


# The meaning of axis in Keras


@every_scheme
def test_the_axis_trap_says_what_the_layer_does(scheme):
    sentence = axis_trap(scheme, SHAPE)
    layer = re.match(r"keras\.layers\.(\w+)", scheme.keras or "")
    if layer is None or layer[1] not in ("BatchNormalization", "LayerNormalization", "RMSNormalization"):
        assert sentence is None
        return
    built = filled(scheme, scheme.keras, SHAPE, None)
    axes = np.ravel(built.axis) % 4
    kept = layer[1] == "BatchNormalization"
    over = tuple(axis for axis in range(4) if (axis in axes) != kept)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32))
    squares = keras.ops.convert_to_numpy(built(x, training=True)).astype(float) ** 2
    np.testing.assert_allclose(squares.mean(axis=over), 1, rtol=1e-2)  # the layer does reduce these axes
    assert ("names what is kept" in sentence.split(":")[0]) == kept
    assert f"({', '.join('NHWC'[axis] for axis in axes)})" in sentence
    size = np.prod(np.take(SHAPE, over))
    assert f"{144 // size} statistics, each of {size} elements" in sentence
