"""`normalize` on a GPU gives what it gives on the CPU."""

import pytest
import torch
from uneven import uneven_array

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.tolerances import RELATIVE_TOLERANCES

DTYPES = ("float64", "float32", "bfloat16", "float16")


def allowed(dtype):
    """Of the largest magnitude; half precision is computed in float32 and then rounded, up or down."""
    name = str(dtype).removeprefix("torch.")
    return RELATIVE_TOLERANCES.get(name, torch.finfo(dtype).eps)


@pytest.mark.parametrize("key", SCHEMES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("eps", [None, 0.0])
def test_every_scheme(key, dtype, eps, device):
    x = torch.tensor(uneven_array((2, 4, 4, 5, 6), 8), dtype=getattr(torch, dtype))
    there, here = (normalize(tensor, SCHEMES[key], eps) for tensor in (x.to(device), x))
    for ours, theirs in zip(there, here, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.device.type == device
            assert ours.dtype == theirs.dtype
            gap = (ours.cpu().double() - theirs.double()).abs().max() / theirs.double().abs().max()
            assert gap <= allowed(theirs.dtype)


@pytest.mark.parametrize("key", SCHEMES)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_tensor_without_epsilon(key, value, device):
    x = torch.full((2, 3, 4, 4), value, dtype=torch.float64)
    there, here = (normalize(tensor, SCHEMES[key], 0.0).y.cpu() for tensor in (x.to(device), x))
    assert torch.allclose(there, here, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("key", SCHEMES)
def test_gradients(key, device):
    def gradient(x):
        x = x.clone().requires_grad_()
        normalize(x, SCHEMES[key], 1e-3).y.pow(3).sum().backward()
        return x.grad.cpu()

    x = torch.tensor(uneven_array((4, 4, 5, 6), 9))
    there, here = gradient(x.to(device)), gradient(x)
    assert (there - here).abs().max() <= 1e-10 * here.abs().max()
