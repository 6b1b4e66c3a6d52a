"""The detector on outputs of every scheme, layout, γ, β and type; and where nobody can tell, that it says so."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import mark_heavy_except, pairwise
from random_layers import attack

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Field
from normviz.core.layouts import ALL_LAYOUTS, parse_layout
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.same.detection.detector import detect_normalization
from normviz.topics.same.detection.fitting import EPS_ALONE, TRIED_EPSILONS
from normviz.topics.same.detection.precision import find_precision
from normviz.topics.same.detection.verdict import explain_detection, summarize_detection
from normviz.topics.same.variants import VARIANTS

NN, F64, F32, F16 = torch.nn, torch.float64, torch.float32, torch.float16
TRUE = (*VARIANTS, "batch", "group", "rms")
SHAPES = {"NHWC": (5, 3, 4, 6), "NCHW": (5, 3, 4, 6), "BTC": (5, 7, 1, 6), "NC": (9, 1, 1, 6)}
KINDS = ("nothing", "channels", "elements")


def uneven(shape, seed=0):
    """Numbers whose means and spreads differ from example to example and from channel to channel."""
    rng = np.random.default_rng(seed)
    n, _, _, c = shape
    x = rng.standard_normal(shape) * rng.uniform(0.2, 2, (n, 1, 1, 1)) * rng.uniform(0.5, 1.5, c)
    return x + rng.uniform(-1, 1, c)


def learned(scheme, kind, shape, seed=1):
    """γ and β: none, by channel, or by the elements that share a statistic."""
    rng = np.random.default_rng(seed)
    if kind == "nothing":
        return 1.0, 0.0
    varies = [axis == "C" if kind == "channels" else scheme.field.rules[k] != OWN for k, axis in enumerate("NHWC")]
    sizes = [n if along else 1 for n, along in zip(shape, varies, strict=True)]
    return rng.uniform(0.5, 2, sizes), rng.uniform(-1, 1, sizes)


def made(key, layout, shape=None, kind="nothing", dtype="float64", eps=1e-5, seed=0):
    """x and y in a layout, in a type, of a scheme."""
    shape, scheme = shape or SHAPES[layout], get_scheme(key)
    x = uneven(shape, seed).astype(dtype)
    y = normalize(x.astype(float), scheme, eps, *learned(scheme, kind, shape)).y.astype(dtype)
    lengths = [shape[axis] for axis in ALL_LAYOUTS[layout]]
    return [parse_layout(layout).from_tensor(each).reshape(lengths) for each in (x, y)]


def keys(found):
    """What the answer names."""
    return {scheme.key for fit in found.answer for scheme in fit.schemes}


@pytest.mark.parametrize(("kind", "layout", "key"), pairwise(KINDS, SHAPES, TRUE))
@settings(max_examples=4)
@given(
    dtype=st.sampled_from(["float64", "float32", "float16"]),
    eps=st.sampled_from(TRIED_EPSILONS[:4]),
    seed=st.integers(0, 999),
)
def test_it_was(key, layout, kind, dtype, eps, seed):
    if kind == "elements" and key not in VARIANTS:
        kind = "channels"
    x, y = made(key, layout, kind=kind, dtype=dtype, eps=eps, seed=seed)
    found = detect_normalization(x, y, layout)
    if key == "layer-spatial" and layout == "NC":  # 0/0, and β
        assert (found.constant, found.is_unique, found.answer) == (True, False, ())
        return
    assert key in keys(found)
    if key == "batch" and kind != "nothing":
        assert not found.is_unique
        assert keys(found) == {"batch", "none"}  # any factor and shift of a channel
        return
    assert found.is_unique
    fit = found.answer[0]
    assert min(fit.eps) <= eps <= max(fit.eps)
    assert (fit.gain, fit.bias) == ((kind != "nothing",) * 2)
    field = SCHEMES[key].field
    assert fit.axes == tuple(k for k, axis in enumerate(ALL_LAYOUTS[layout]) if field.rules[axis] != OWN)


@pytest.mark.parametrize("key", TRUE)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_the_layout_is_found_where_it_matters(key, layout):
    found = detect_normalization(*made(key, layout))
    assert found.is_unique
    assert key in keys(found)
    assert {fit.layout for fit in found.answer} == ({"NHWC", "NCHW"} if key == "layer" else {layout})


def test_in_float64_it_knows_which_eps():
    for eps in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8):
        assert detect_normalization(*made("layer", "NHWC", eps=eps), "NHWC").answer[0].eps == (eps,)


@pytest.mark.parametrize("key", TRUE)
def test_an_unusual_eps_is_estimated(key):
    (fit,) = detect_normalization(*made(key, "NHWC", eps=0.0371), "NHWC").answer
    assert (fit.scheme.key, fit.level) == (key, EPS_ALONE)
    assert fit.eps[0] == pytest.approx(0.0371, rel=1e-9)


def test_only_a_gain_and_only_a_bias_are_told_apart():
    x = uneven((5, 3, 4, 6))
    y, many = normalize(x, SCHEMES["layer"], 1e-5).y, np.linspace(0.5, 1.5, 6)
    for output, there in ((many * y, (True, False)), (y + many, (False, True))):
        (fit,) = detect_normalization(x, output, "NHWC").answer
        assert (fit.gain, fit.bias) == there


ONE_AND_THE_SAME = {
    ("layer", (6, 1, 1, 5)): {"layer", "layer-channels"},
    ("layer-channels", (6, 1, 1, 5)): {"layer", "layer-channels"},
    ("layer", (6, 3, 3, 1)): {"layer", "layer-spatial", "instance"},
    ("layer-spatial", (1, 3, 3, 5)): {"layer-spatial", "instance", "batch"},
    ("layer", (1, 1, 1, 7)): {"layer", "layer-channels"},
}


@pytest.mark.parametrize(("key", "shape"), ONE_AND_THE_SAME)
def test_what_is_the_same_on_a_shape_is_named_together(key, shape):
    found = detect_normalization(*made(key, "NHWC", shape), "NHWC")
    assert found.is_unique
    assert keys(found) == ONE_AND_THE_SAME[key, shape]


@pytest.mark.parametrize(
    ("key", "shape", "kind"),
    [
        ("layer", (1, 3, 4, 6), "channels"),  # one example: any factor and shift of each channel
        ("layer-spatial", (1, 3, 4, 6), "channels"),
        ("layer", (2, 3, 4, 6), "elements"),  # two numbers for each γ and β
        ("layer", (1, 3, 4, 6), "elements"),
        ("layer", (2, 1, 1, 6), "channels"),
        ("layer", (1, 1, 1, 6), "channels"),
        ("layer", (6, 1, 1, 1), "nothing"),  # fields of one element
        ("layer-channels", (4, 3, 3, 1), "channels"),
        ("layer-spatial", (6, 1, 1, 6), "nothing"),
        ("layer", (1, 1, 1, 1), "nothing"),
    ],
)
def test_nobody_can_tell(key, shape, kind):
    assert not detect_normalization(*made(key, "NHWC", shape, kind), "NHWC").is_unique


def test_nothing_is_told_of_an_input_or_an_output_that_stands_still():
    x, still = uneven((4, 3, 3, 5)), np.ones((4, 3, 3, 5))
    shifts = np.arange(5.0)
    for pair in ((x, 0 * x), (x, still), (x, still * shifts), (still, 0 * still), (still, still * shifts)):
        found = detect_normalization(*pair, "NHWC")
        assert (found.constant, found.is_unique) == (True, False)
    assert not detect_normalization(still, x, "NHWC").answer


def test_examples_that_are_all_alike_say_nothing_of_a_gain_for_each_element():
    x = np.repeat(uneven((1, 3, 3, 5)), 4, axis=0)
    y = normalize(x, SCHEMES["layer"], 1e-5, *learned(SCHEMES["layer"], "elements", (4, 3, 3, 5))).y
    assert not detect_normalization(x, y, "NHWC").is_unique
    assert keys(detect_normalization(x, normalize(x, SCHEMES["layer"], 1e-5).y, "NHWC")) == {"layer"}


def none_of_them(x):
    """Outputs that no candidate gives."""
    y = normalize(x, SCHEMES["layer"], 1e-5).y
    yield np.random.default_rng(5).standard_normal(x.shape)
    yield np.maximum(y, 0)
    yield x * np.tanh(x)
    yield np.roll(y, 1, axis=0)
    yield normalize(x, SCHEMES["divisive"], 1e-5).y
    yield x / np.sqrt((x**2).mean((1, 2, 3), keepdims=True) + 1e-5)
    yield (x - x.mean((1, 2, 3), keepdims=True)) / (x.std((1, 2, 3), keepdims=True) + 0.5)  # ε outside of the root


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_none_of_them(number, dtype):
    x = uneven((5, 3, 4, 6)).astype(dtype)
    y = list(none_of_them(x.astype(float)))[number].astype(dtype)
    found = detect_normalization(x, y)
    assert found.answer == ()
    assert all(fit.is_decided for fit in found.fits)


def test_y_that_is_x():
    x = uneven((5, 3, 4, 6))
    assert keys(detect_normalization(x, x, "NHWC")) == {"none"}


def test_numbers_that_rounding_has_taken_are_not_judged():
    x = (uneven((5, 3, 4, 6)) + 10_000).astype(np.float32)
    found = detect_normalization(x, normalize(x.astype(float), SCHEMES["layer"], 1e-5).y.astype(np.float32), "NHWC")
    assert not any(fit.scheme.key == "layer" and fit.is_decided for fit in found.fits)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("layer", "key"),
    [
        (torch.nn.LayerNorm((6, 3, 4)), "layer"),
        (torch.nn.InstanceNorm2d(6), "layer-spatial"),
        (torch.nn.GroupNorm(2, 6), "group"),
        (torch.nn.BatchNorm2d(6), "batch"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_layers_of_torch_in_every_type(layer, key, dtype):
    x = torch.tensor(uneven((5, 3, 4, 6))).permute(0, 3, 1, 2).to(dtype)
    x, y = (each.detach().to(torch.float64).numpy() for each in (x, layer.to(dtype)(x)))
    assert find_precision(y) == str(dtype).removeprefix("torch.")
    found = detect_normalization(x, y, "NCHW")
    assert found.is_unique
    assert key in keys(found)


def test_layer_norm_over_the_last_axis_of_torch_is_that_over_channels():
    x = torch.tensor(uneven((5, 7, 1, 6)))[:, :, 0]
    layer = torch.nn.LayerNorm(6).double()
    torch.nn.init.uniform_(layer.weight, 0.5, 2)
    found = detect_normalization(x.numpy(), layer(x).detach().numpy())
    assert not found.is_unique
    assert {(fit.layout, fit.scheme.key) for fit in found.answer} == {
        ("BTC", "layer-channels"),
        ("BCT", "layer-spatial"),
    }
    assert found.answer[0].axes == (2,)
    assert keys(detect_normalization(x.numpy(), layer(x).detach().numpy(), "BTC")) == {"layer-channels"}


def of_torch(layer, x):
    """What a layer of PyTorch makes of an array."""
    with torch.no_grad():
        return layer(torch.tensor(x)).numpy()


def channels_first(seed, dtype="float32"):
    """Uneven numbers of the shape (B, C, T)."""
    return np.moveaxis(uneven((5, 7, 1, 6), seed)[:, :, 0], 1, 2).astype(dtype)


@pytest.mark.parametrize("seed", range(5))
def test_batch_norm_of_sequences_with_channels_first(seed):
    x = channels_first(seed)
    found = detect_normalization(x, of_torch(NN.BatchNorm1d(6), x))
    assert found.is_unique
    assert [(fit.scheme.key, fit.layout) for fit in found.answer] == [("batch", "BCT")]


@pytest.mark.parametrize("seed", range(5))
def test_instance_norm_of_sequences_and_layer_norm_over_the_last_axis_are_both_named(seed):
    x = channels_first(seed)
    y = of_torch(NN.InstanceNorm1d(6), x)
    found = detect_normalization(x, y)
    assert not found.is_unique
    named = {(scheme.key, fit.layout) for fit in found.answer for scheme in fit.schemes}
    assert named == {("layer-channels", "BTC"), ("layer-spatial", "BCT"), ("instance", "BCT")}
    assert summarize_detection(found) == "Normalized over axis 2. The name depends on the order of the axes."
    said = " ".join(explain_detection(found))
    assert "If the axes are (B, T, C): layer normalization over channels" in said
    assert "If the axes are (B, C, T):" in said
    assert "instance normalization" in said
    assert "instance" in keys(detect_normalization(x, y, "BCT"))
    assert detect_normalization(x, y, "BCT").is_unique


@pytest.mark.parametrize(
    ("scale", "shape", "dtype"),
    pairwise(
        [1e-3, 1e-2, 0.1, 1, 10],
        [(8, 6), (4, 6, 5), (3, 4, 5, 5)],
        [torch.float16, torch.bfloat16, torch.float32],
    ),
)
def test_softmax_is_no_normalization(scale, shape, dtype):
    x = (torch.tensor(np.random.default_rng(3).standard_normal(shape)) * scale).to(dtype)
    for axis in range(1, len(shape)):
        y = torch.softmax(x, axis)
        assert not detect_normalization(x.double().numpy(), y.double().numpy()).is_unique


OF_THE_REGISTRY = {
    "dynamic-tanh": {"alpha": 0.8},
    "dynamic-erf": {"alpha": 1.3},
    "whitening": {"groups": 2},
    "filter-response": {},
    "query-key": {"groups": 3},
    "ghost-batch": {"groups": 2},
    "mean-only-batch": {},
}


@pytest.mark.parametrize(("with_gain", "layout", "key"), pairwise([False, True], ["NHWC", "NCHW"], OF_THE_REGISTRY))
def test_other_schemes_of_the_registry_are_named(key, layout, with_gain):
    scheme = get_scheme(key, **OF_THE_REGISTRY[key])
    if scheme.shift is not None:
        scheme = replace(scheme, shift=0.2)
    x = uneven((6, 4, 4, 6))
    gain = np.linspace(0.5, 2, 6) if with_gain and scheme.gain is not None else 1.0
    bias = np.linspace(-1, 1, 6) if with_gain and scheme.bias is not None else 0.0
    y = normalize(x, scheme, 1e-5, gain, bias).y
    found = detect_normalization(parse_layout(layout).from_tensor(x), parse_layout(layout).from_tensor(y))
    if key == "mean-only-batch" and with_gain:  # a shift of every channel
        assert not found.is_unique
        assert {"mean-only-batch", "none"} <= keys(found)
        return
    assert found.is_unique, summarize_detection(found)
    answer = found.answer[0].scheme
    assert (answer.key, answer.fields) == (key, scheme.fields)
    if scheme.function:
        assert answer.alpha == pytest.approx(scheme.alpha, rel=1e-9)
        assert answer.shift == (None if scheme.shift is None else pytest.approx(scheme.shift, rel=1e-6))


def test_a_plain_tanh_is_dynamic_tanh_with_an_alpha_of_one():
    x = uneven((5, 3, 4, 6))
    found = detect_normalization(x, np.tanh(x))
    assert summarize_detection(found) == "It was dynamic tanh with α = 1."


RANDOM_LAYERS = [(40, 3), *((800, seed) for seed in range(5))]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")  # a sample variance of one element
@pytest.mark.parametrize("case", mark_heavy_except(RANDOM_LAYERS[:1], RANDOM_LAYERS), ids=str)
def test_random_layers_are_not_named_wrongly(case):
    count, seed = case
    found, wrong = attack(count, seed)
    assert len(wrong) <= count // 800, wrong
    assert found["right"] >= count / 6


def layer_norm_by_hand(x, axes=(1,)):
    v = x - x.mean(axes, keepdims=True)
    return v / np.sqrt((v**2).mean(axes, keepdims=True) + 1e-5)


def draw(shape, mean=0.0, scale=1.0, seed=16):
    return mean + scale * np.random.default_rng(seed).standard_normal(shape)


def one_channel_dead(x):
    return x * np.arange(2).reshape(2, 1)


def sample_variance(x, axes=(0, 2)):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, ddof=1, keepdims=True) + 1e-5)


def mean_square(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt((x**2).mean(axes, keepdims=True) + 1e-5)


def interleaved_groups(x):
    halves = layer_norm_by_hand(x.reshape(*x.shape[:2], -1, 2), (1, 2))
    return halves.reshape(x.shape)


def deviation_plus(x, eps):
    return (x - x.mean((0, 2), keepdims=True)) / (x.std((0, 2), keepdims=True) + eps)


def clipped_batch_norm(x):
    y = layer_norm_by_hand(x, (0, 1, 2))
    return np.minimum(y, 0.999 * y.max())


def softmax(x):
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


MISLEADING = {
    "batch norm of a layer norm": (draw((8, 5)), lambda x: layer_norm_by_hand(layer_norm_by_hand(x), (0,)), F64),
    "a cube of nearly equal numbers": (draw((7, 2), 557.0, 7.0), lambda x: x**3, F64),
    "two values after a ReLU": (draw((7, 2), 18.0, 0.4), lambda x: np.maximum(layer_norm_by_hand(x), 0), F32),
    "one statistic and an ε for it": (one_channel_dead(draw((3, 2, 7))), sample_variance, F32),
    "a parabola of three numbers": (draw((1, 3, 7), 0.73, 0.007), softmax, F32),
    "a factor near 1": (draw((7, 4, 2), 0.0, 8.0), lambda x: x / (1 + 1e-4 * x**2), torch.bfloat16),
    "a factor of all numbers": (
        draw((3, 3, 3, 5), 20.0, 12.0), lambda x: layer_norm_by_hand(x, (1, 2, 3)) * (1 + 0.01 * x.mean()), F64,
    ),
    "groups of a single channel": (0.03 + draw((6, 6, 4), 0.0, 0.02) * [1, 0, 0, 0], interleaved_groups, F32),
    "a γ of 1 and a β of 0": (draw((6, 7), 0.0, 0.0015), lambda x: sample_variance(x, (1,)), F16),
    "a γ of 1 for each channel": (draw((3, 8, 3), 0.0, 7.0, 9), lambda x: mean_square(x, (1, 2)), F16),
    "a line but for one number": (draw((6, 5, 5, 1), 122.0, 0.018), clipped_batch_norm, F64),
    "a curve behind a large γ": (draw((1, 8, 1, 2), 0.34, 0.06, 7), lambda x: x / (1 + np.abs(x)), F32),
    "one statistic among three": (
        draw((1, 3, 4, 8), 0.0, 0.0015, 0), lambda x: layer_norm_by_hand(x, (1, 2, 3)), torch.bfloat16,
    ),
    "an ε beside a usual one": (
        draw((5, 4), 0.0, 0.005, 18) * np.linspace(0.3, 2, 4), lambda x: mean_square(x, (0,)), torch.bfloat16,
    ),
    "two numbers over their deviation": (
        draw((7, 2), 0.0, 0.0007, 0),
        lambda x: (x - x.mean(1, keepdims=True)) / (np.abs(x - x.mean(1, keepdims=True)) + 1e-5),
        torch.bfloat16,
    ),
    "an ε outside the root": (draw((2, 3, 2), 0.137, 0.002), lambda x: deviation_plus(x, 3e-6), F32),
    "a division by the largest number": (draw((8, 1, 2, 8), 0.0, 0.6), lambda x: x / np.abs(x).max(), torch.bfloat16),
}  # fmt: skip


@pytest.mark.parametrize("case", MISLEADING)
def test_what_few_numbers_test_is_not_named(case):
    x, compute, dtype = MISLEADING[case]
    rounded = torch.tensor(x).to(dtype).double().numpy()
    y = torch.tensor(compute(rounded)).to(dtype).double().numpy()
    assert not detect_normalization(rounded, y).is_unique


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_example_is_enough_without_a_gain(dtype):
    assert keys(detect_normalization(*made("layer", "NHWC", (1, 3, 4, 6), dtype=dtype), "NHWC")) == {"layer"}


def test_an_unusual_eps_is_estimated_beside_a_large_mean():
    x = draw((7, 5, 5, 7), 134.0).astype(np.float32)
    found = detect_normalization(x, normalize(x.astype(float), SCHEMES["layer"], 3.4e-3).y.astype(np.float32), "NHWC")
    assert found.is_unique
    assert found.answer[0].eps == pytest.approx((3.4e-3,), rel=0.01)


def trained(layer):
    """The same layer with a γ and a β that are not 1 and 0; batch norm has means and deviations kept as well."""
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for kept, low, high in (("weight", 0.5, 2), ("bias", -1, 1), ("running_mean", -1, 1), ("running_var", 0.5, 2)):
            values = getattr(layer, kept, None)
            if values is not None:
                values.copy_(torch.tensor(rng.uniform(low, high, values.shape)))
    return layer


def layer_of_torch(layer, shape, mean, dtype, channels_last=False):
    """x with a mean in deviations, and what a layer of torch makes of it."""
    x = torch.tensor(np.random.default_rng(8).standard_normal(shape) + mean).to(dtype)
    order = (0, *range(2, len(shape)), 1) if channels_last else tuple(range(len(shape)))
    y = layer.to(dtype)(x.permute(order)).permute(tuple(int(k) for k in np.argsort(order)))
    return x.numpy(), y.detach().numpy()


ANY_FACTOR = {
    "training, a mean of 10⁴": (NN.BatchNorm2d(2), (16, 2, 3, 3), 1e4, F32),
    "training, a mean of 100": (trained(NN.BatchNorm1d(2)), (2, 2, 2), 100, F32),
    "one example": (trained(NN.InstanceNorm2d(8, affine=True)), (1, 8, 1, 4), 1e4, F32),
    "inference, tokens": (trained(NN.BatchNorm1d(6)).eval(), (2, 5, 6), 100, F16),
    "inference, dense": (trained(NN.BatchNorm2d(6)).eval(), (4, 6, 1, 1), 100, F16),
    "inference": (trained(NN.BatchNorm2d(3)).eval(), (3, 3, 3, 3), 100, F16),
}


@pytest.mark.parametrize("case", ANY_FACTOR)
def test_batch_norm_and_any_factor_and_shift_are_named_together_or_not_at_all(case):
    layer, shape, *rest = ANY_FACTOR[case]
    channels = ("NC", "BTC", "NCHW")[len(shape) - 2]
    found = detect_normalization(*layer_of_torch(layer, shape, *rest, channels_last=channels == "BTC"), channels)
    assert not found.is_unique
    assert ("batch" in keys(found)) == ("none" in keys(found))


ROUNDED = {
    "dense": (NN.LayerNorm((6, 1, 1)), (4, 6, 1, 1), 1e4, F32),
    "ε above the variance": (NN.LayerNorm(3, eps=1e5), (3, 3, 3, 3), 1e4, F32, True),
    "RMS norm": (NN.RMSNorm(3, eps=1e-6), (8, 3, 2, 5), 100, F16, True),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_rms_norm_and_layer_norm_are_not_told_apart_where_one_is_lost_in_rounding(case):
    layer, *rest = ROUNDED[case]
    found = detect_normalization(*layer_of_torch(trained(layer), *rest))
    assert not found.is_unique
    if found.answer:
        assert {"layer-channels", "rms"} <= keys(found)
        assert "rounding hides" in explain_detection(found)[0]


@pytest.mark.parametrize(
    ("sizes", "shape", "channels_last"),
    [((1, 3), (5, 4, 1, 3), False), ((1, 4), (1, 8, 1, 4), False), ((4,), (5, 4, 1, 3), True)],
)
@pytest.mark.parametrize("change", [trained, lambda layer: layer], ids=["trained", "untrained"])
def test_what_is_the_same_of_two_layouts_is_told_by_the_layout_alone(sizes, shape, channels_last, change):
    x, y = layer_of_torch(change(NN.LayerNorm(sizes)), shape, 3, F64, channels_last)
    true = "layer-channels" if channels_last else "layer-spatial"
    assert detect_normalization(x, y, "NCHW").is_unique
    assert keys(detect_normalization(x, y, "NCHW")) >= {true}
    found = detect_normalization(x, y)
    assert not found.is_unique
    assert {fit.layout for fit in found.answer} == {"NCHW", "NHWC"}
    assert {true, "layer-channels", "layer-spatial"} <= keys(found)
    assert summarize_detection(found).endswith("The name depends on the order of the axes.")


def test_rms_norm_of_a_single_channel_stands_still_to_rounding():
    x, y = layer_of_torch(trained(NN.RMSNorm(1, eps=1e-6)), (2, 7, 1), 100, F32)
    found = detect_normalization(x, y)
    assert np.ptp(y) > 0
    assert (found.constant, found.is_unique) == (True, False)


X = np.ones((2, 3))
REFUSED = {
    "NaN": (X * np.nan, X, "6 NaN or infinite"),
    "infinite": (X, X * np.inf, "y holds 6"),
    "objects": (X.astype(object), X, "object values"),
    "text": (X.astype(str), X, "real numbers"),
    "complex": (X + 1j, X, "complex128"),
    "shapes": (X, np.ones((2, 4)), "both need one shape"),
    "another order": (np.ones((2, 3, 4)), np.ones((2, 4, 3)), "into one layout"),
    "seven axes": (np.ones((1,) * 7), np.ones((1,) * 7), "7 axes"),
    "empty": (X[:0], X[:0], "at least one element"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_an_input_and_its_output_is_refused(case):
    x, y, words = REFUSED[case]
    with pytest.raises(InvalidInput, match=words):
        detect_normalization(x, y)


def test_another_layout_is_refused():
    with pytest.raises(InvalidInput, match="has 2 axes, the array 3"):
        detect_normalization(np.ones((2, 3, 3)), np.ones((2, 3, 3)), "NC")
    with pytest.raises(InvalidInput, match="is not a layout"):
        detect_normalization(X, X, "C-N")


def test_whole_numbers_and_truth_values_are_inputs_too():
    x = np.random.default_rng(0).integers(0, 256, (4, 6, 6, 3))
    for given_ in (x, x.astype(np.uint8), x > 100):
        y = normalize(given_.astype(float), SCHEMES["layer-channels"], 1e-3).y
        assert keys(detect_normalization(given_, y, "NHWC")) == {"layer-channels"}


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e150])
def test_any_size_of_numbers(factor):
    x = uneven((5, 3, 4, 6)) * factor
    found = detect_normalization(x, normalize(x, SCHEMES["layer"], 1e-5).y, "NHWC")
    assert keys(found) == {"layer"}


@pytest.mark.parametrize("groups", [4, 16, 32])
def test_any_number_of_groups_is_told(groups):
    x = uneven((5, 3, 4, 64))
    y = normalize(x, get_scheme("group", groups=groups), 1e-5).y
    (answer,) = detect_normalization(x, y, "NHWC").answer
    assert [(scheme.key, scheme.parameters) for scheme in answer.schemes] == [("group", {"groups": groups})]


def test_the_likelier_layout_is_named_first():
    x = uneven((4, 6, 5, 5))
    y = normalize(x, SCHEMES["batch"].with_fields(*[Field.parse("own, full, full, full")] * 2), 1e-5).y
    assert next(fit.layout for fit in detect_normalization(x, y, None).answer) == "NCHW"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("function", [lambda x: np.maximum(x, 0), lambda x: x**3, np.exp], ids=["relu", "cube", "exp"])
def test_what_is_not_decided_is_said_without_numbers_that_mean_nothing(function, dtype):
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal((8, 5, 4)).astype(dtype)
        found = detect_normalization(x, function(x).astype(dtype))
        text = " ".join(explain_detection(found))
        assert "α =" not in text
        assert "in float64, say more" not in text  # they may be in float64 already
        assert text.count("Dynamic tanh") <= 1


def test_more_examples_are_not_promised_to_tell_what_rounding_hides():
    def batch_of(n):
        x = (np.random.default_rng(0).standard_normal((n, 7, 6, 2)) + 100).astype(np.float32)
        return detect_normalization(x, normalize(x.astype(float), SCHEMES["batch"], 1e-5).y.astype(np.float32))

    assert batch_of(2).is_unique
    found = batch_of(16)
    assert len(found.answer) > 1
    assert "More examples would tell" not in " ".join(explain_detection(found))
