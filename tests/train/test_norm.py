"""A normalized layer of a stack: training against the kernel with autograd, inference against torch.nn."""

import numpy as np
import pytest
import torch
from torch import nn

from normviz.core.fields import Field
from normviz.core.kinds.whitening import compute_inverse_root
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.train.norm import NormLayer, create_weight_norm

SHAPE = (4, 3, 2, 6)
EPS = 1e-3
LIKE = torch.empty(0, dtype=torch.float64)
ON_ACTIVATIONS = [key for key, scheme in SCHEMES.items() if scheme.fields and not scheme.is_weight_scheme]
ON_WEIGHTS = [key for key, scheme in SCHEMES.items() if scheme.weight_part]
GHOST = SCHEMES["custom"].with_fields(*[Field.parse("groups(2), full, full, own")] * 2)


def numbers(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def norm(*schemes, shape=SHAPE, eps=EPS):
    return NormLayer(schemes, shape, eps, LIKE)


def agree(layer, schemes, x, eps):
    """x̂ and its derivative, of every position of the first axis, against the kernel and autograd."""
    x, g = x.requires_grad_(), numbers(*x.shape, seed=1)
    mine = layer(x)
    (slope,) = torch.autograd.grad(mine, x, g)
    for k, scheme in enumerate(schemes):
        alone = x[k].detach().requires_grad_()
        wanted = alone * 1 if scheme is None else normalize(alone, scheme, eps).xhat
        (wanted_slope,) = torch.autograd.grad(wanted, alone, g[k])
        torch.testing.assert_close(mine[k], wanted, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(slope[k], wanted_slope, rtol=1e-8, atol=1e-8 * float(wanted_slope.abs().max()))


@pytest.mark.parametrize("eps", [0.1, 1e-5])
@pytest.mark.parametrize("key", ON_ACTIVATIONS)
def test_training_is_the_kernel_with_autograd(key, eps):
    scheme = SCHEMES[key]
    agree(norm(scheme, eps=eps), [scheme], numbers(1, 2, *SHAPE), eps)


@pytest.mark.parametrize("key", ON_WEIGHTS)
def test_weights_are_normalized_by_what_acts_on_them(key):
    scheme, shape = SCHEMES[key], (2, 2, 3, 5)
    agree(create_weight_norm([scheme], shape, LIKE), [scheme.weight_part], numbers(1, 2, *shape), 0.0)


def test_schemes_in_any_order_some_of_them_twice_or_none():
    keys = ("layer", "batch", None, "whitening", "layer", "rms", "none", "instance", "batch")
    schemes = [key and SCHEMES[key] for key in keys]
    agree(norm(*schemes), schemes, numbers(len(keys), 2, *SHAPE), EPS)


def test_one_layer_at_two_places_of_a_network_has_the_derivatives_of_both():
    layer, scheme = norm(SCHEMES["layer"]), SCHEMES["layer"]
    x, g = numbers(1, 1, *SHAPE).requires_grad_(), numbers(1, 1, *SHAPE, seed=1)
    (mine,) = torch.autograd.grad(layer(torch.sin(layer(x))), x, g)
    twice = normalize(torch.sin(normalize(x, scheme, EPS).xhat), scheme, EPS).xhat
    torch.testing.assert_close(mine, torch.autograd.grad(twice, x, g)[0])


def test_what_is_given_is_not_overwritten():
    layer, x = norm(SCHEMES["batch"], SCHEMES["layer"]), numbers(2, 1, 2 * SHAPE[0], *SHAPE[1:])
    first = x.clone()
    layer(x[:, :, : SHAPE[0]])
    layer.collect_statistics(x)
    layer.normalize_in_inference(x)
    assert torch.equal(x, first)


def settled(scheme, count=5, shape=SHAPE):
    """A layer that has settled on mini-batches, and these, (mini-batches, N, H, W, C)."""
    layer, x = norm(scheme, shape=shape), 3 + 2 * numbers(1, 1, count * shape[0], *shape[1:])
    xhat = layer.collect_statistics(x)
    batches = x[0, 0].unflatten(0, (count, shape[0]))
    for each, mine in zip(batches, xhat[0, 0].unflatten(0, (count, shape[0])), strict=True):
        torch.testing.assert_close(mine, normalize(each, scheme, EPS).xhat)
    return layer, batches


def by_batch_norm(batches, unseen):
    """What BatchNorm2d makes of unseen examples after training on mini-batches, with cumulative averages."""
    module = nn.BatchNorm2d(unseen.shape[-1], eps=EPS, momentum=None, affine=False, dtype=torch.float64)
    for each in batches:
        module(each.permute(0, 3, 1, 2))
    return module.eval()(unseen.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


UNSEEN = 1 + numbers(7, *SHAPE[1:], seed=9)


def test_inference_of_batch_norm():
    layer, batches = settled(SCHEMES["batch"])
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], by_batch_norm(batches, UNSEEN))


def test_inference_of_ghost_batches_is_that_of_batch_norm_on_smaller_ones():
    layer, batches = settled(GHOST)
    halves = batches.unflatten(1, (2, -1)).flatten(0, 1)
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], by_batch_norm(halves, UNSEEN))


@pytest.mark.parametrize("key", ["none", "layer", "layer-channels", "instance", "group", "rms", "divisive"])
def test_schemes_of_an_example_alone_keep_nothing(key):
    scheme = SCHEMES[key]
    layer, _ = settled(scheme)
    torch.testing.assert_close(
        layer.normalize_in_inference(UNSEEN[None, None])[0, 0], normalize(UNSEEN, scheme, EPS).xhat
    )


def test_inference_of_whitening():
    scheme = get_scheme("whitening", groups=2)
    layer, batches = settled(scheme)
    means = batches.mean((1, 2, 3))
    matrices = torch.stack(
        [compute_inverse_root(each - mean, 2, EPS) for each, mean in zip(batches, means, strict=True)]
    )
    v = (UNSEEN - means.mean(0)).unflatten(-1, (2, -1))
    wanted = torch.einsum("nhwgd,gde->nhwge", v, matrices.mean(0)).flatten(-2)
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], wanted)


def test_inference_where_only_what_is_averaged_mixes_examples():
    fields = Field.parse("full, full, full, own"), Field.parse("own, own, own, full")
    layer, batches = settled(SCHEMES["custom"].with_fields(*fields))
    v = UNSEEN - batches.mean((0, 1, 2, 3))
    wanted = v / torch.sqrt(v.square().mean(-1, keepdim=True) + EPS)
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], wanted)


def test_inference_where_only_what_divides_mixes_examples():
    fields = Field.parse("own, own, own, full"), Field.parse("full, full, full, own")
    layer, batches = settled(SCHEMES["custom"].with_fields(*fields))
    squares = (batches - batches.mean(-1, keepdim=True)).square().mean((0, 1, 2, 3))
    wanted = (UNSEEN - UNSEEN.mean(-1, keepdim=True)) / torch.sqrt(squares + EPS)
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], wanted)


def test_inference_without_centring_takes_the_mean_square_as_it_is():
    field = Field.parse("full, full, full, own")
    layer, batches = settled(SCHEMES["custom"].with_fields(None, field))
    wanted = UNSEEN / torch.sqrt(batches.square().mean((0, 1, 2, 3)) + EPS)
    torch.testing.assert_close(layer.normalize_in_inference(UNSEEN[None, None])[0, 0], wanted)


def test_an_example_is_inferred_without_the_others():
    schemes = [SCHEMES[key] for key in ON_ACTIVATIONS]
    layer = norm(*schemes)
    layer.collect_statistics(numbers(1, 1, 3 * SHAPE[0], *SHAPE[1:]).expand(len(schemes), -1, -1, -1, -1, -1))
    x = UNSEEN.expand(len(schemes), 2, *UNSEEN.shape)
    torch.testing.assert_close(layer.normalize_in_inference(x)[:, :, 2:3], layer.normalize_in_inference(x[:, :, 2:3]))


@pytest.mark.parametrize("eps", [0.0, EPS])
def test_units_that_never_vary_are_0(eps):
    layer = norm(SCHEMES["batch"], eps=eps)
    x = torch.ones(1, 1, 2 * SHAPE[0], *SHAPE[1:], dtype=torch.float64)
    assert (layer.collect_statistics(x) == 0).all()
    assert (layer.normalize_in_inference(x) == 0).all()


def test_a_network_that_diverges_leaves_the_others_as_they_are():
    schemes = [SCHEMES[key] for key in ("batch", "layer", "whitening")]
    layer, x = norm(*schemes), numbers(3, 2, 2 * SHAPE[0], *SHAPE[1:])
    bad = x.clone()
    bad[:, 0, 0] = np.inf
    for how in (NormLayer.collect_statistics, NormLayer.normalize_in_inference):
        good, mixed = how(layer, x), how(layer, bad)
        assert not mixed[:, 0].isfinite().all()
        torch.testing.assert_close(mixed[:, 1], good[:, 1])
        layer.collect_statistics(bad)
