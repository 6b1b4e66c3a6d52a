"""What the checks of layer, instance and group norm take from their sources, beside the frameworks themselves."""

import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported

import keras
import numpy as np
import pytest
import torch

from normviz.core.registry import SCHEMES
from normviz.data.samples import sample_normal
from normviz.describe.parameters import find_keras_axis, list_parameter_shapes
from normviz.topics.claims.checks.groups import SOURCE_GROUPS, TWELVE_CHANNEL_SHAPE, normalize_by_group_size
from normviz.topics.claims.checks.layer import BlogLayerNorm
from normviz.topics.claims.checks.tensors import (
    DENSE_SHAPE,
    LAYER_NORM_VARIANTS,
    measure_change_shares,
    measure_scheme_gap,
)


class LayerNormCustom(torch.nn.Module):
    """The source's own lines, as they stand there."""

    def __init__(self, normalized_shape, elementwise_affine=True) -> None:
        super().__init__()
        self.epsilon = 1e-8
        self.elementwise_affine = elementwise_affine
        self.dims = tuple(range(-len(normalized_shape), 0))
        self.weight = torch.nn.Parameter(torch.ones(normalized_shape))
        self.bias = torch.nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, X):  # noqa: N803
        mean = X.mean(dim=self.dims, keepdim=True)
        var = X.var(dim=self.dims, keepdim=True, unbiased=False)
        z_norm = (X - mean) / torch.sqrt(var + self.epsilon)
        if self.elementwise_affine:
            z_norm = self.weight * z_norm + self.bias
        return z_norm


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_the_module_is_the_sources(shape, affine):
    x = sample_normal((2, 3, 3, 4), 0)
    ours, theirs = BlogLayerNorm(shape, affine), LayerNormCustom(shape, affine)
    np.testing.assert_allclose(ours(x), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-12, atol=1e-12)
    assert [tuple(each.shape) for each in theirs.parameters()] == [ours.weight.shape, ours.bias.shape]


def test_torch_has_no_parameters_where_none_are_wanted():
    assert not list(torch.nn.LayerNorm(4, elementwise_affine=False).parameters())


LAYERS = {
    "batch": keras.layers.BatchNormalization,
    "layer-channels": keras.layers.LayerNormalization,
    "group": lambda: keras.layers.GroupNormalization(groups=SOURCE_GROUPS),
}


@pytest.mark.parametrize("key", LAYERS)
def test_what_is_said_of_keras_is_so_of_its_layers_by_default(key):
    layer = LAYERS[key]()
    layer.build(TWELVE_CHANNEL_SHAPE)
    (axis,) = np.ravel(layer.get_config()["axis"])
    assert find_keras_axis(SCHEMES[key]).names == {"NHWC"[axis]}
    gain, bias = list_parameter_shapes(SCHEMES[key], TWELVE_CHANNEL_SHAPE)[:2]
    assert (str(tuple(layer.gamma.shape)), str(tuple(layer.beta.shape))) == (gain.keras, bias.keras)


def test_the_sources_formula_is_over_channels_after_one_another():
    xhat = normalize_by_group_size(sample_normal(TWELVE_CHANNEL_SHAPE, 0), SOURCE_GROUPS)
    means = [
        xhat[..., start : start + SOURCE_GROUPS].mean((1, 2, 3))
        for start in range(TWELVE_CHANNEL_SHAPE[-1] - SOURCE_GROUPS + 1)
    ]
    assert [bool(np.abs(mean).max() < 1e-12) for mean in means] == [
        start % SOURCE_GROUPS == 0 for start in range(len(means))
    ]


def test_which_elements_change_with_one():
    n, h, w, c = (4, 3, 2, 5)
    shares = {"layer": (1.0, 0.0), "layer-channels": (1 / (h * w), 0.0), "batch": (1 / c, 1 / c)}
    assert {key: pytest.approx(measure_change_shares(SCHEMES[key], (n, h, w, c), 0)) for key in shares} == shares


def test_two_readings_are_one_behind_a_dense_layer():
    over = {key: measure_scheme_gap(key, "layer", DENSE_SHAPE, 0) for key in LAYER_NORM_VARIANTS}
    assert over["layer-channels"] < 1e-12 < over["layer-spatial"]
