"""JAX arrays under jit, grad and vmap, and torch tensors under autograd, vmap, compile and export."""

import jax
import numpy as np
import pytest
import torch

import normviz

RNG = np.random.default_rng(0)
X, DY = RNG.normal(size=(2, 4, 4, 4, 6))
EACH_SCHEME = pytest.mark.parametrize(
    "key", [key if key == "group" else pytest.param(key, marks=pytest.mark.heavy) for key in normviz.SCHEMES]
)
"""JAX and torch compile each function for a second or two, so `make test` takes one scheme."""


@pytest.fixture(autouse=True)
def _in_float64():
    with jax.enable_x64(True):
        yield


def compute(x, key):
    return normviz.normalize(x, normviz.SCHEMES[key]).y


@EACH_SCHEME
def test_jax_arrays_are_normalized_under_jit_and_vmap(key):
    expected = compute(X, key)
    x = jax.numpy.asarray(X)
    assert np.allclose(compute(x, key), expected, atol=1e-10)
    assert np.allclose(jax.jit(compute, static_argnums=1)(x, key), expected, atol=1e-10)
    assert np.allclose(jax.vmap(lambda each: compute(each, key))(x[None])[0], expected, atol=1e-10)
    result = jax.jit(lambda each: normviz.normalize(each, normviz.SCHEMES[key]))(x)
    assert np.allclose(result.xhat, normviz.normalize(X, normviz.SCHEMES[key]).xhat, atol=1e-10)
    assert "float64" in repr(result)


@EACH_SCHEME
def test_jax_differentiates_as_backward_does(key):
    expected = normviz.backward(X, DY, normviz.SCHEMES[key])
    gradient = jax.grad(lambda x: (compute(x, key) * DY).sum())(jax.numpy.asarray(X))
    assert np.allclose(gradient, expected, atol=1e-8)
    found = jax.jit(lambda x, dy: normviz.backward(x, dy, normviz.SCHEMES[key]))(X, DY)
    assert np.allclose(found, expected, atol=1e-8)


def test_jax_arrays_keep_their_layout_under_jit():
    first = np.ascontiguousarray(X.transpose(0, 3, 1, 2))
    found = jax.jit(lambda x: normviz.normalize(x, "group", groups=3, layout="NCHW").y)(first)
    assert np.allclose(found, normviz.normalize(first, "group", groups=3, layout="NCHW").y)


@EACH_SCHEME
def test_torch_tensors_are_normalized_under_autograd_vmap_and_export(key):
    class Layer(torch.nn.Module):
        def forward(self, x):
            return compute(x, key)

    x = torch.from_numpy(X).requires_grad_()
    y = compute(x, key)
    (y * torch.from_numpy(DY)).sum().backward()
    assert np.allclose(x.grad, normviz.backward(X, DY, normviz.SCHEMES[key]), atol=1e-8)
    x, y = x.detach(), y.detach()
    assert torch.allclose(torch.vmap(lambda each: compute(each, key))(x[None])[0], y)
    assert torch.allclose(torch.export.export(Layer(), (x,)).module()(x), y)


@pytest.mark.filterwarnings("ignore:Dynamo")
@EACH_SCHEME
def test_torch_compiles_it(key):
    torch._dynamo.reset()
    x = torch.from_numpy(X)
    assert torch.allclose(torch.compile(lambda each: compute(each, key), backend="eager")(x), compute(x, key))


@pytest.mark.parametrize("key", ["batch", pytest.param("layer", marks=pytest.mark.heavy)])
def test_large_tensors_under_transformations_take_the_careful_path(key):
    large = RNG.normal(size=(8, 32, 32, 12))
    expected = normviz.normalize(large, key, layout="NHWC").y
    assert np.allclose(jax.jit(lambda x: normviz.normalize(x, key, layout="NHWC").y)(large), expected)
    found = torch.vmap(lambda x: normviz.normalize(x, key, layout="NHWC").y)(torch.from_numpy(large)[None])
    assert np.allclose(found[0], expected)
    x = torch.from_numpy(large).requires_grad_()
    normviz.normalize(x, key, layout="NHWC").y.pow(3).sum().backward()
    assert np.allclose(x.grad, normviz.backward(large, 3 * expected**2, key, layout="NHWC"), atol=1e-8)
