import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported

import re

import keras
import numpy as np
import pytest
import torch
from torch import nn

from normviz.core.registry import SCHEMES
from normviz.describe.parameters import list_parameter_shapes, warn_about_keras_axis

SHAPE = (2, 3, 4, 6)
WEIGHTS = (3, 2, 2, 4)

every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.key)


def shape_for(scheme):
    return WEIGHTS if scheme.is_weight_scheme else SHAPE


# Parameters, compared with those of the layers

TORCH_NAMES = {
    "γ": ("weight",),
    "g": ("parametrizations.weight.original0",),
    "β": ("bias",),
    "running mean": ("running_mean",),
    "running variance": ("running_var",),
    # PyTorch's matrix has a row for each unit, so its left singular vector is the right one here.
    "left singular vector": ("parametrizations.weight.0._v",),
    "right singular vector": ("parametrizations.weight.0._u",),
}
KERAS_NAMES = {
    "γ": ("gamma", "scale"),
    "g": (),
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
    conv = nn.Conv2d(shape[2], shape[3], shape[:2], bias=False) if scheme.is_weight_scheme else None
    state = filled(scheme, scheme.torch, shape, conv).state_dict()
    left = ("num_batches_tracked", "parametrizations.weight.original", "parametrizations.weight.original1")
    return {name: tuple(value.shape) for name, value in state.items() if name not in left}


def keras_state(scheme, shape):
    conv = keras.layers.Conv2D(shape[3], shape[:2], use_bias=False) if scheme.is_weight_scheme else None
    layer = filled(scheme, scheme.keras, shape, conv)
    layer.build(shape if conv is None else (1, *shape[:3]))
    return {weight.name: tuple(weight.shape) for weight in layer.weights if weight.name != "kernel"}


@every_scheme
@pytest.mark.parametrize("framework", ["torch", "keras"])
def test_parameters_have_the_shapes_of_the_layers(scheme, framework):
    shape = shape_for(scheme)
    rows = [row for row in list_parameter_shapes(scheme, shape) if not row.name.endswith("of the weights")]
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


def axes_of(scheme):
    return (scheme.gain_symbol, scheme.gain), ("β", scheme.bias), ("τ", scheme.threshold)


@every_scheme
def test_every_parameter_has_a_row(scheme):
    names = [row.name for row in list_parameter_shapes(scheme, shape_for(scheme))]
    learned = [name for name, axes in axes_of(scheme) if axes is not None]
    inside = [] if scheme.function is None else ["α"] if scheme.shift is None else ["α", "s"]
    assert [name for name in names if not name.endswith("of the weights")] == [*inside, *learned, *scheme.keeps]


def test_what_is_kept_is_of_no_example():
    kept = {row.name: row.here for row in list_parameter_shapes(SCHEMES["ghost-batch"], SHAPE)}
    assert kept == dict.fromkeys(("γ", "β", "running mean", "running variance"), "(6,)")


def test_what_a_parameter_row_says():
    assert tuple(list_parameter_shapes(SCHEMES["layer"], SHAPE)[0]) == (
        "γ",
        "learned gain for each row, column and channel",
        "(3, 4, 6)",
        "(6, 3, 4)",
        "(3, 4, 6)",
    )
    threshold = ("τ", "learned threshold for each channel", "(6,)", "–", "–")
    assert tuple(list_parameter_shapes(SCHEMES["filter-response"], SHAPE)[2]) == threshold
    assert tuple(list_parameter_shapes(SCHEMES["scale"], SHAPE)[0]) == ("γ", "learned gain", "()", "–", "–")
    assert tuple(list_parameter_shapes(SCHEMES["layer-weight"], SHAPE)[0]) == (
        "g of the weights",
        "learned gain for each unit",
        "(6,)",
        "(6, 1, 1, 1)",
        "–",
    )


# The meaning of axis in Keras


@every_scheme
def test_the_axis_trap_says_what_the_layer_does(scheme):
    sentence = warn_about_keras_axis(scheme, SHAPE)
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
