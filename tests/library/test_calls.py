"""The public functions against torch.nn, in every layout, and their errors in one line."""

import warnings

import array_api_strict
import numpy as np
import pytest
import torch
from torch.nn import functional

import normviz
from normviz.core.layouts import parse_layout
from normviz.core.normalize import normalize

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6, 5, 3)) * 2 + 1  # N, C, H, W


def as_torch(function, *arguments, **keywords):
    """Return a function of torch as a function from NumPy to NumPy."""
    return lambda x: function(torch.from_numpy(x), *arguments, **keywords).numpy()


ORACLES = {
    "batch, NCHW": ("batch", "NCHW", {}, X, as_torch(functional.batch_norm, None, None, training=True)),
    "batch, BCT": ("BatchNorm1d", "BCT", {}, X[..., 0], as_torch(functional.batch_norm, None, None, training=True)),
    "batch, NC": ("bn", "NC", {}, X[..., 0, 0], as_torch(functional.batch_norm, None, None, training=True)),
    "batch, NCDHW": (
        "BatchNorm3d", "NCDHW", {}, np.stack([X, X**2], 2), as_torch(functional.batch_norm, None, None, training=True)
    ),
    "layer, NCHW": ("LayerNorm", "NCHW", {}, X, as_torch(functional.layer_norm, (6, 5, 3))),
    "layer, channels": ("layer-channels", "BTC", {}, X[0], as_torch(functional.layer_norm, (3,))),
    "layer, heads": ("layer_channels", "b h t d", {}, X, as_torch(functional.layer_norm, (3,))),
    "instance, NCHW": ("InstanceNorm2d", "NCHW", {}, X, as_torch(functional.instance_norm)),
    "instance, BCT": ("instance", "BCT", {}, X[..., 0], as_torch(functional.instance_norm)),
    "group, NCHW": ("GroupNorm", "NCHW", {"groups": 3}, X, as_torch(functional.group_norm, 3)),
    "group, BCT": ("gn", "BCT", {"groups": 2}, X[..., 0], as_torch(functional.group_norm, 2)),
    "group, NC": ("group", "NC", {"groups": 2}, X[..., 0, 0], as_torch(functional.group_norm, 2)),
    "rms, BTC": ("RMSNorm", "BTC", {"eps": 1e-6}, X[0], as_torch(functional.rms_norm, (3,), eps=1e-6)),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
def test_a_scheme_called_by_its_name_in_its_layout_is_torchs(name):
    scheme, layout, parameters, x, oracle = ORACLES[name]
    result = normviz.normalize(x, scheme, layout=layout, **parameters)
    assert result.y.shape == x.shape
    assert np.allclose(result.y, oracle(x), atol=1e-12)
    assert result.mean is None or result.mean.ndim == x.ndim


@pytest.mark.parametrize("layout", ["NHWC", "NCHW", "NWHC", "CHWN"])
@pytest.mark.parametrize("key", [key for key, scheme in normviz.SCHEMES.items() if not scheme.is_weight_scheme])
def test_every_scheme_is_the_same_in_every_layout(key, layout):
    order = tuple("NHWC".index(letter) for letter in layout)
    x, dy = RNG.normal(size=(2, 4, 3, 3, 6))
    there = {name: np.transpose(array, order) for name, array in (("x", x), ("dy", dy))}
    expected = normviz.normalize(x, key, layout="NHWC", gain=np.arange(6.0), bias=1.0)
    found = normviz.normalize(there["x"], key, layout=layout, gain=np.arange(6.0), bias=1.0)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours is theirs or np.allclose(ours, np.transpose(theirs, order), atol=1e-12)
    dx = normviz.backward(there["x"], there["dy"], key, layout=layout)
    assert np.allclose(dx, np.transpose(normviz.backward(x, dy, key, layout="NHWC"), order), atol=1e-9)


@pytest.mark.parametrize("key", [key for key, scheme in normviz.SCHEMES.items() if scheme.is_weight_scheme])
def test_weights_have_the_layout_of_their_framework(key):
    w = RNG.normal(size=(3, 3, 4, 5))
    expected = normviz.normalize(w, key).y
    assert np.allclose(normviz.normalize(w.transpose(3, 2, 0, 1), key, layout="OIHW").y.transpose(2, 3, 1, 0), expected)
    assert normviz.normalize(w[0, 0].T, key, layout="OI").y.shape == (5, 4)


def test_gain_and_bias_are_per_channel_or_have_the_axes_of_x():
    gain = np.arange(1.0, 7.0)
    plain = normviz.normalize(X, "batch", layout="NCHW").y
    for shape in ((6,), (6, 1, 1), (1, 6, 1, 1)):
        assert np.allclose(
            normviz.normalize(X, "batch", gain=gain.reshape(shape), layout="NCHW").y, plain * gain[:, None, None]
        )


def test_statistics_are_those_of_the_fields():
    found = normviz.statistics(X, "group", groups=3, layout="NCHW", eps=0.0)
    parts = X.reshape(4, 3, 2, 5, 3)
    assert found.mean.shape == (4, 3, 1, 1)
    assert np.allclose(found.mean[..., 0, 0], parts.mean((2, 3, 4)))
    assert np.allclose(found.variance[..., 0, 0], parts.var((2, 3, 4)))
    assert np.allclose(found.divisor[..., 0, 0], parts.std((2, 3, 4)))
    assert repr(found).startswith("<Statistics: mean (4, 3, 1, 1)")


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("key", normviz.SCHEMES)
def test_every_entry_of_table_1_is_predicted_by_name(key, layer):
    for transformation in normviz.TRANSFORMATIONS:
        assert isinstance(normviz.predict(key, transformation, layer=layer).invariant, bool)


def test_a_scheme_of_ones_own():
    made = normviz.custom(summation="N,H,W", suppression="N, H, W")
    assert np.array_equal(normviz.normalize(X, made, layout="NCHW").y, normviz.normalize(X, "batch", layout="NCHW").y)
    centred = normviz.custom(summation="C")
    assert np.allclose(normviz.normalize(X, centred, layout="NCHW").y, X - X.mean(1, keepdims=True))
    grouped = normviz.custom("H=full,W=full,C=groups(3)", "H=full,W=full,C=groups(3)")
    ours, theirs = (normviz.normalize(X, each, layout="NCHW").y for each in (grouped, normviz.get_scheme("group", 3)))
    assert np.allclose(ours, theirs)


def test_an_array_that_looks_channels_first_warns_unless_its_layout_is_named():
    first = np.zeros((2, 3, 8, 8))
    with pytest.warns(UserWarning, match=r"2 × 3 × 8 × 8 is read as N × H × W × C.*layout='NCHW'"):
        normviz.normalize(first, "batch")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        normviz.normalize(first, "batch", layout="NCHW")
        normviz.normalize(first, "batch", layout="NHWC")
        normviz.normalize(np.zeros((2, 8, 8, 3)), "batch")


def test_a_result_is_short():
    result = normviz.normalize(np.zeros((32, 56, 56, 8), np.float32), "batch")
    assert len(repr(result)) < 200
    assert repr(result).startswith("<Batch normalization: mean (1, 1, 1, 8), v (32, 56, 56, 8)")
    assert repr(result).endswith("float32>")
    mean, _, _, _, y = result  # still a tuple
    assert (mean.shape, y.shape) == ((1, 1, 1, 8), (32, 56, 56, 8))


def test_a_scheme_is_short():
    assert repr(normviz.get_scheme("gn", groups=3)) == "Scheme('group', groups=3)"
    assert repr(normviz.get_scheme("dyt")) == "Scheme('dynamic-tanh', alpha=0.5)"
    assert repr(normviz.custom("C")) == "Scheme('custom', summation='own,own,own,full', suppression='None')"


def test_other_arrays_keep_their_library():
    x = array_api_strict.asarray(X)
    result = normviz.normalize(x, "group", groups=2, layout="NCHW")
    assert type(result.y) is type(x)
    assert np.allclose(np.asarray(result.y), normviz.normalize(X, "group", groups=2, layout="NCHW").y)
    assert normviz.normalize([[1, 2], [3, 5]], "batch", eps=0).y.tolist() == [[-1.0, -1.0], [1.0, 1.0]]


MISTAKES = {
    "an unknown scheme": (lambda: normviz.normalize(X, "bach", layout="NCHW"), "did you mean batch"),
    "a scheme that is nothing like one": (lambda: normviz.normalize(X, "dropout", layout="NCHW"), "batch, ghost-batch"),
    "no scheme": (lambda: normviz.normalize(X, None, layout="NCHW"), "the scheme is a NoneType"),
    "the class of a layer": (lambda: normviz.normalize(X, torch.nn.BatchNorm2d), "a name such as 'batch'"),
    "a number for a scheme": (lambda: normviz.normalize(X, 1e-5), "a name such as 'batch'"),
    "arguments the other way round": (lambda: normviz.normalize("batch", X), "comes second"),
    "an ambiguous name": (lambda: normviz.normalize(X[0], "LayerNorm", layout="BTC"), "'layer-channels'"),
    "groups that do not divide": (lambda: normviz.normalize(X, "group", groups=4, layout="NCHW"), "1, 2, 3 or 6 do"),
    "no group": (lambda: normviz.normalize(X, "group", groups=0, layout="NCHW"), "whole number from 1"),
    "half a group": (lambda: normviz.normalize(X, "group", groups=2.5, layout="NCHW"), "groups is a whole number"),
    "groups as a text": (lambda: normviz.normalize(X, "group", groups="2", layout="NCHW"), "this one is '2'"),
    "groups of a scheme without": (lambda: normviz.normalize(X, "batch", groups=2, layout="NCHW"), "takes no groups"),
    "radius of a scheme without": (lambda: normviz.normalize(X, "layer", radius=2, layout="NCHW"), "takes no radius"),
    "alpha of a scheme without": (lambda: normviz.normalize(X, "rms", alpha=2.0, layout="NCHW"), "takes no alpha"),
    "α = 0": (lambda: normviz.normalize(X, "dyt", alpha=0.0, layout="NCHW"), "α is a number above 0"),
    "an unknown layout": (lambda: normviz.normalize(X, "batch", layout="N-C-H-W"), "is not a layout"),
    "a layout as a tuple": (lambda: normviz.normalize(X, "batch", layout=(0, 3, 1, 2)), "is not a layout"),
    "a layout without channels": (lambda: normviz.normalize(X[0], "batch", layout="NHW"), "no axis of channels"),
    "an axis twice": (lambda: normviz.normalize(X, "batch", layout="NCHH"), "axis H twice"),
    "two axes of examples": (lambda: normviz.normalize(X, "batch", layout="NBCT"), "two axes of examples"),
    "a composed axis": (lambda: normviz.normalize(X[0], "batch", layout="b t (h d)"), "composed axis"),
    "a layout of other axes": (lambda: normviz.normalize(X[0], "batch", layout="NCHW"), "has 4 axes, the array 3"),
    "three axes without a layout": (lambda: normviz.normalize(X[0], "batch"), "layout='BTC'"),
    "one axis": (lambda: normviz.normalize(X[0, 0, 0], "batch"), "has 1 axis"),
    "a number": (lambda: normviz.normalize(3.0, "batch"), "has 0 axes"),
    "an empty array": (lambda: normviz.normalize(X[:0], "batch", layout="NCHW"), "N"),
    "strings": (lambda: normviz.normalize(np.full((2, 2), "a"), "batch"), "real numbers are needed"),
    "complex numbers": (lambda: normviz.normalize(X + 1j, "batch", layout="NCHW"), "real numbers are needed"),
    "objects": (lambda: normviz.normalize(np.full((2, 2), None), "batch"), "real numbers are needed"),
    "a ragged list": (lambda: normviz.normalize([[1, 2], [3]], "batch"), "nested lists of numbers with equal lengths"),
    "a negative ε": (lambda: normviz.normalize(X, "batch", eps=-1.0, layout="NCHW"), "ε is a number from 0"),
    "ε as a text": (lambda: normviz.normalize(X, "batch", eps="1e-5", layout="NCHW"), "ε is a number from 0"),
    "a γ of another length": (lambda: normviz.normalize(X, "batch", gain=np.ones(5), layout="NCHW"), "5"),
    "γ as a text": (lambda: normviz.normalize(X, "batch", gain="2", layout="NCHW"), "real numbers are needed"),
    "a gradient of another shape": (lambda: normviz.backward(X, X[:1], "batch", layout="NCHW"), "the same"),
    "an unknown transformation": (lambda: normviz.predict("batch", "rescaling"), "dataset-rescaling"),
    "an unknown layer": (lambda: normviz.predict("batch", "dataset-rescaling", layer="linear"), "dense or conv"),
    "statistics of a scheme without": (lambda: normviz.statistics(X, "dyt", layout="NCHW"), "has no statistics"),
    "a shape of two axes": (lambda: normviz.predict("batch", "dataset-rescaling", shape=(3, 4)), "N"),
    "a shape as a text": (lambda: normviz.predict("batch", "dataset-rescaling", shape="abc"), "N"),
    "a negative ε of a prediction": (lambda: normviz.predict("batch", "dataset-rescaling", eps=-1), "ε is a number"),
    "an unknown axis": (lambda: normviz.custom(summation="N,D"), "'D'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_clear_line(mistake):
    call, words = MISTAKES[mistake]
    with pytest.raises(normviz.InvalidInput) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 400


LARGE = (8, 40, 40, 16)


@pytest.mark.parametrize("key", ["batch", "layer", "layer-channels", "instance", "group", "rms", "mean-only-batch"])
@pytest.mark.parametrize("offset", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("factor", [1e-25, 1.0, 1e25])
def test_large_arrays_are_as_exact_as_small_ones_at_extremes(key, offset, factor):
    x = ((RNG.normal(size=LARGE) + offset) * factor).astype(np.float32)
    scheme = normviz.get_scheme(key)
    exact = normalize(x.astype(float), scheme, eps=0.0)
    for found in (normalize(x, scheme, eps=0.0), normalize(torch.from_numpy(x), scheme, eps=0.0)):
        scale = 1.0 if scheme.suppression is not None else factor
        assert np.abs(np.asarray(found.y) - exact.y).max() < 4e-6 * scale


def test_large_arrays_with_constant_fields_zeros_and_nan_are_handled_with_care():
    x = RNG.normal(size=LARGE)
    x[..., 0], x[..., 1], x[0, 0, 0, 2] = 7.0, 0.0, np.nan
    y = normviz.normalize(x, "batch", eps=0.0).y
    assert (y[..., :2] == 0).all()
    assert np.isnan(y[..., 2]).all()
    assert np.isfinite(y[..., 3:]).all()


@pytest.mark.parametrize("text", ["NC", "NCHW", "NHWC", "BTC", "BCT", "NCDHW", "BTD", "b h t d", "HWC", "CHW", "NWHC"])
def test_a_layout_and_its_inverse(text):
    layout = parse_layout(text)
    x = RNG.normal(size=range(2, 2 + len(layout.axes)))
    assert np.array_equal(layout.from_tensor(layout.to_tensor(x), x.shape), x)
