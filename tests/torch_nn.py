"""The oracle: what torch.nn makes of a tensor, with the layer that the registry names for a scheme."""

from math import prod

import numpy as np
import torch


def channels_last(scheme):
    """Whether PyTorch gives its layer channels-last input: those that average over nothing else."""
    return all(str(rule) == "own" for field in scheme.fields for rule in field.rules[:-1])


def parameter(axes, shape, rng):
    """A gain or a bias that varies along these of the tensor's axes; None where it is not learned."""
    names = ("N", "H", "W", "C")
    return None if axes is None else 1 + rng.random([n if a in axes else 1 for a, n in zip(names, shape, strict=True)])


def gain_and_bias(scheme, shape, seed, dtype=torch.float64):
    """Seeded γ and β of the shape that the scheme learns, 1 and 0 where it learns none, as torch tensors."""
    rng = np.random.default_rng(seed)
    axes = (scheme.gain, scheme.bias)
    if scheme.is_weight_scheme:
        axes = tuple(None if a is None else ("C",) for a in axes)
    drawn = (parameter(a, shape, rng) for a in axes)
    return [
        torch.full((1,) * 4, n, dtype=dtype) if p is None else torch.tensor(p, dtype=dtype)
        for p, n in zip(drawn, (1.0, 0.0), strict=True)
    ]


def torch_layer(scheme, shape, eps, dtype):
    """The layer of torch.nn that the registry names for the scheme."""
    sizes = dict(zip("NHWC", shape, strict=True))
    text = scheme.torch.format(**sizes, G=scheme.parameters.get("groups"), eps=eps, layer="layer")
    layer = torch.nn.Conv2d(shape[2], shape[3], shape[:2], bias=False, dtype=dtype)  # for schemes that act on weights
    return eval(text, {"nn": torch.nn, "layer": layer}).to(dtype)


def by_torch_nn(scheme, x, eps, gain, bias):
    """What torch.nn makes of x with these parameters."""
    layer = torch_layer(scheme, x.shape, eps, x.dtype)
    if scheme.is_weight_scheme:
        (change,) = layer.parametrizations.weight
        learned = (gain.reshape(-1, 1, 1, 1),) if scheme.gain else ()
        return change(*learned, x.permute(3, 2, 0, 1)).permute(2, 3, 1, 0)
    there, back = ((0, 1, 2, 3),) * 2 if scheme.fields and channels_last(scheme) else ((0, 3, 1, 2), (0, 2, 3, 1))
    shapes = {name: parameter.shape for name, parameter in layer.named_parameters()}
    assert set(shapes) == {name for name, axes in (("weight", scheme.gain), ("bias", scheme.bias)) if axes}
    learned = {"weight": gain, "bias": bias}
    state = {name: learned[name].permute(there).reshape(shape) for name, shape in shapes.items()}
    return torch.func.functional_call(layer, state, (x.permute(there),)).permute(back)


def torch_refuses(scheme, shape):
    """Whether torch.nn has no answer: a statistic of a single value, in training."""
    return scheme.summation is not None and prod(shape) == prod(scheme.summation.compute_statistics_shape(shape))


def loses_digits(result):
    """Whether a spread is so small beside its mean that torch.nn, which subtracts the rounded mean, is less exact."""
    return (
        result.mean is not None
        and result.deviation is not None
        and bool((result.mean.abs() > 5 * result.deviation).any())
    )


def with_gap(weight):
    """The weights with a largest singular value that stands out, so that power iteration converges."""
    return weight + 3


def by_eigh(x, groups, eps):
    """Whitening, which torch.nn does not have: (Σ + εI)^(-1/2) v of every group of channels, as one writes it down."""
    v = (x - x.mean((0, 1, 2))).reshape(-1, x.shape[-1])
    out = []
    for part in v.split(x.shape[-1] // groups, dim=1):
        values, vectors = torch.linalg.eigh(part.mT @ part / len(part) + eps * torch.eye(part.shape[1], dtype=x.dtype))
        out.append(part @ vectors @ torch.diag(values**-0.5) @ vectors.mT)
    return torch.cat(out, 1).reshape(x.shape)
