"""Recognition of batch norm with constant statistics: a factor and a shift that buffers explain."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from normviz.core.fields import FULL, OWN
from normviz.inspection.probing import Probe, choose_probe_shape, find_parameter_axes
from normviz.inspection.recording import LayerCall

TRIED = (1e-5, 1e-3, 1e-6, 1e-4, 1e-8, 1e-12, 0.0)
"""The values of ε that are tried."""


@dataclass(frozen=True)
class ConstantStatistics:
    """Mean and variance of each channel that a layer keeps constant, and the ε that is added to the variance."""

    mean: Tensor
    variance: Tensor
    eps: float


def find_constant_statistics(call: LayerCall) -> tuple[Probe, ConstantStatistics] | None:
    """Return the `Probe` and the mean m and variance v of a call that computes γ (x - m) / sqrt(v + ε) + β, or None."""
    shape = choose_probe_shape(call.compute, call.x.shape)
    zero, one = (call.compute(torch.full(shape, float(k), dtype=torch.float64)) for k in (0, 1))
    factor, shift = one - zero, zero
    x = torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    if not torch.allclose(call.compute(x), factor * x + shift, rtol=1e-9, atol=1e-12):
        return None
    buffers = list(call.module.buffers()) if call.module else call.state
    lengths = {each.numel() for each in buffers if each.is_floating_point() and each.ndim}
    axes = [axis for axis, n in enumerate(shape) if n in lengths and set(find_parameter_axes(factor)) <= {axis}]
    for axis in axes:
        n = shape[axis]
        a, b = (each.movedim(axis, 0).flatten(1)[:, 0] for each in (factor, shift))
        found = _match_buffers(a, b, _pick_vectors(buffers, n), _pick_vectors(call.parameters, n))
        if found:
            rules = tuple(OWN if k == axis else FULL for k in range(len(shape)))
            gain, bias = a * (found.variance + found.eps).sqrt(), b + a * found.mean
            view = [-1 if k == axis else 1 for k in range(len(shape))]
            return Probe(
                rules, rules, gain=gain.reshape(view), bias=bias.reshape(view), eps=found.eps,
                gain_axes=(axis,) if _pick_vectors(call.parameters, n) else (), bias_axes=(axis,),
            ), found  # fmt: skip
    return None


def _match_buffers(
    a: Tensor, b: Tensor, buffers: Sequence[Tensor], parameters: Sequence[Tensor]
) -> ConstantStatistics | None:
    """Return a mean and a variance among the buffers that explain y = a x + b with a known γ and β; None if none do."""
    gains, biases = [*parameters, *buffers, torch.ones_like(a)], [*parameters, *buffers, torch.zeros_like(b)]
    for mean, variance in product(buffers, buffers):
        if mean is variance or (variance < 0).any():
            continue
        for eps in TRIED:
            gain, bias = a * (variance + eps).sqrt(), b + a * mean
            if _is_among(gain, gains) and _is_among(bias, biases):
                return ConstantStatistics(mean, variance, eps)
    return None


def _pick_vectors(tensors: Sequence[Tensor], n: int) -> list[Tensor]:
    return [each.detach().double().flatten() for each in tensors if each.is_floating_point() and each.numel() == n]


def _is_among(value: Tensor, others: Sequence[Tensor]) -> bool:
    return any(torch.allclose(value, each, rtol=1e-8, atol=1e-10) for each in others)
