"""What `normalize` takes beside float32 and float64: lists, integers, booleans, half precision; and what it refuses."""

import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest
import torch
from direct import relative_difference
from strategies import uneven_array
from torch_nn import by_torch_nn, gain_and_bias

from normviz.core.arrays import get_type_name
from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES

EVERY = pytest.mark.parametrize("key", SCHEMES)
WITH_A_LAYER = pytest.mark.parametrize(
    "key", [key for key, row in SCHEMES.items() if row.torch and row.kind.key != "spectral"]
)
HALF = pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])

SHAPE = (4, 3, 5, 6)
WHOLE = np.random.default_rng(0).integers(0, 9, SHAPE)
FLOATS = uneven_array(SHAPE, 1)

EXACT = {
    "list": (WHOLE.tolist(), WHOLE.astype(np.float64)),
    "list of arrays": (list(FLOATS), FLOATS),
    "int64": (WHOLE, WHOLE.astype(np.float64)),
    "uint8": (WHOLE.astype(np.uint8), WHOLE.astype(np.float64)),
    "bool": (WHOLE > 4, (WHOLE > 4).astype(np.float64)),
    "longdouble": (FLOATS.astype(np.longdouble), FLOATS),
    "torch int64": (torch.tensor(WHOLE), torch.tensor(WHOLE).float()),
    "torch uint8": (torch.tensor(WHOLE).byte(), torch.tensor(WHOLE).float()),
    "torch bool": (torch.tensor(WHOLE > 4), torch.tensor(WHOLE > 4).float()),
}
"""An input, and the array of floating point that it stands for."""

SHORT = {
    "float16": FLOATS.astype(np.float16),
    "float16 of other byte order": FLOATS.astype(">f2"),
    "bfloat16": FLOATS.astype(ml_dtypes.bfloat16),
    "torch float16": torch.tensor(FLOATS).half(),
    "torch bfloat16": torch.tensor(FLOATS).bfloat16(),
    "torch float8": torch.tensor(FLOATS).to(torch.float8_e5m2),
}


def in_float32(x):
    return x.float() if isinstance(x, torch.Tensor) else x.astype(np.float32)


def assert_equal(found, expected):
    assert type(found) is type(expected)
    assert found is None or found.dtype == expected.dtype
    if found is not None:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@EVERY
@pytest.mark.parametrize("kind", EXACT)
def test_lists_integers_and_booleans_become_the_default_type(key, kind):
    x, floats = EXACT[kind]
    for found, expected in zip(normalize(x, SCHEMES[key]), normalize(floats, SCHEMES[key]), strict=True):
        assert_equal(found, expected)


@EVERY
def test_integers_become_the_type_that_is_torchs_default(key):
    whole, before = torch.tensor(WHOLE), torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        found = normalize(whole, SCHEMES[key])
    finally:
        torch.set_default_dtype(before)
    assert_equal(found.y, normalize(whole.double(), SCHEMES[key]).y)


@EVERY
@pytest.mark.parametrize("kind", SHORT)
def test_half_precision_is_computed_in_float32_and_given_back_as_it_came(key, kind):
    x = SHORT[kind]
    found, expected = (normalize(a, SCHEMES[key], gain=1.5, bias=0.25) for a in (x, in_float32(x)))
    for statistic, right in ((found.mean, expected.mean), (found.deviation, expected.deviation)):
        assert_equal(statistic, right)
    for part, right in ((found.v, expected.v), (found.xhat, expected.xhat), (found.y, expected.y)):
        assert part.dtype == x.dtype
        rounded = right.to(x.dtype) if isinstance(x, torch.Tensor) else right.astype(x.dtype)
        np.testing.assert_array_equal(in_float32(part), in_float32(rounded))


@WITH_A_LAYER
@HALF
def test_half_precision_equals_torch_nn(key, half):
    x = torch.tensor(FLOATS).to(half)
    gain, bias = gain_and_bias(SCHEMES[key], SHAPE, 2, half)
    y, expected = (
        normalize(x, SCHEMES[key], None, gain, bias).y,
        by_torch_nn(SCHEMES[key], x, 1e-5, gain, bias).detach(),
    )
    assert y.dtype == expected.dtype == half
    assert relative_difference(y.float(), expected.float()) <= 2 * torch.finfo(half).eps


@EVERY
@HALF
def test_gradients_flow_through_half_precision(key, half):
    x = torch.tensor(FLOATS).to(half).requires_grad_()
    exact = x.detach().float().requires_grad_()
    cotangent = torch.tensor(uneven_array(SHAPE, 3)).to(half)
    (found,) = torch.autograd.grad(normalize(x, SCHEMES[key]).y, x, cotangent)
    (expected,) = torch.autograd.grad(normalize(exact, SCHEMES[key]).y, exact, cotangent.float())
    assert found.dtype == half
    assert torch.equal(found, expected.to(half))


@EVERY
def test_sums_beyond_float16_do_not_overflow(key):
    x = (FLOATS / np.abs(FLOATS).max() * 3e4).astype(np.float16)
    assert np.isfinite(normalize(x, SCHEMES[key]).y).all()


def test_numbers_too_large_for_float16_become_infinite_without_a_warning():
    x = np.array([-6e4, 6e4, 6e4, 6e4], np.float16).reshape(1, 1, 1, 4)
    result = normalize(x, SCHEMES["layer"])
    assert np.isinf(result.v).any()  # -6e4 - 3e4 is beyond the format
    np.testing.assert_allclose(result.xhat.ravel(), [-(3**0.5)] + [3**-0.5] * 3, rtol=1e-3)


REFUSED = {
    "complex": (FLOATS + 1j, "the array holds complex128 values; real numbers are needed."),
    "torch complex": (torch.tensor(FLOATS) + 1j, "the array holds torch.complex128 values; real numbers are needed."),
    "objects": (WHOLE.astype(object), "the array holds object values; real numbers are needed."),
    "words": ([[[["one", "two"]]]], "the array holds <U3 values; real numbers are needed."),
    "dates": (WHOLE.astype("M8[D]"), "the array holds datetime64[D] values; real numbers are needed."),
    "nothing": (None, "the array holds object values; real numbers are needed."),
    "rows of other lengths": ([[1, 2], [3]], "this list is not a tensor; arrays, or nested lists of numbers"),
    "a list of tensors with gradients": ([torch.ones(2, requires_grad=True)] * 2, "this list is not a tensor"),
    "too few axes": ([1, 2, 3], "a tensor has the four axes N, H, W, C; this one has 1: (3,)."),
}


@pytest.mark.parametrize("key", ["batch", "rms", "spectral", "none"])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_tensor_of_real_numbers_is_refused_in_one_line(key, kind):
    x, message = REFUSED[kind]
    with pytest.raises(InvalidInput) as error:
        normalize(x, SCHEMES[key])
    said = str(error.value)
    assert said.startswith(message.replace("N, H, W, C", ", ".join(SCHEMES[key].axes)))
    assert "\n" not in said


def test_a_type_has_one_name_in_all_libraries():
    assert {get_type_name(dtype) for dtype in (np.dtype(np.float32), np.dtype(">f4"), torch.float32)} == {"float32"}


def test_torch_that_another_thread_is_importing_stops_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    x = np.random.default_rng(0).normal(size=(8, 64, 64, 4))  # large arrays ask whether torch traces them
    np.testing.assert_allclose(normalize(x, SCHEMES["batch"]).xhat.mean((0, 1, 2)), 0, atol=1e-12)
