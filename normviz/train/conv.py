"""Convolutional networks on digits, with normalized 3 × 3 layers and ReLU, for many schemes and seeds at once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import torch
from torch.nn.functional import conv2d, pad

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.dense import Digits, NormCall, load_digit_parts
from normviz.train.learning import sample_initial_weights
from normviz.train.norm import NormLayer, create_weight_norm, mask_gain

KERNEL_SIZE = 3
"""Height and width of the filters."""

PICTURES_PER_PASS = 64
"""Pictures of one pass: larger tensors need new memory every time, which takes longer than the arithmetic."""


class UnitResponse(NamedTuple):
    """Share of pictures on which units are above 0, and deviation of pre-activations: (schemes, networks, H, W) each.

    The deviation is the root mean square over channels of the standard deviations.
    """

    on: torch.Tensor
    deviation: torch.Tensor


class Conv:
    """Stack of convolutional networks, one per scheme and seed: layers a = W ∗ x, ReLU(γ x̂ + β), a linear classifier.

    Args:
        schemes: normalize a, or W.
        seeds: of the first weights, N(0, 2/fan-in), one network each.
        shapes: (N, H, W, C) of the normalized layers. A layer as large as its input pads it.
        per_unit: True if every position of a channel has its own γ and β.
        eps: ε on activations.
        pad_mode: "constant" pads with zeros, "reflect" with the mirrored input, as in `torch.nn.functional.pad`.
    """

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], shapes: Sequence[Shape], per_unit: bool, eps: float,
        device: torch.device, pad_mode: str = "constant",
    ) -> None:  # fmt: skip
        lead = (len(schemes), len(seeds))
        sizes = [(KERNEL_SIZE, KERNEL_SIZE, into, out) for into, out in pairwise([1, *(shape[-1] for shape in shapes)])]
        units = [(1, *shape[1:]) if per_unit else (1, 1, 1, shape[-1]) for shape in shapes]

        def first(*shape: int, part: int) -> torch.Tensor:
            return sample_initial_weights(seeds, lead[0], *shape, scale=(2 / prod(shape[:-1])) ** 0.5, part=part).to(
                device
            )

        self.weights = [first(*size, part=part) for part, size in enumerate(sizes)]
        self.gains = [torch.ones(*lead, *shape, device=device) for shape in units]
        self.biases = [torch.zeros(*lead, *shape, device=device) for shape in units]
        self.classifier = first(prod(shapes[-1][1:]), DIGIT_CLASSES, part=len(shapes))
        self.offset = torch.zeros(*lead, 1, DIGIT_CLASSES, device=device)
        self.schemes, self.pad_mode = schemes, pad_mode
        activations = [scheme.activation_part for scheme in schemes]
        self.norms = [NormLayer(activations, shape, eps, self.offset) for shape in shapes]
        self.on_weights = [create_weight_norm(schemes, size, self.offset) for size in sizes]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors, each (schemes, networks, …)."""
        return [*self.weights, *self.gains, *self.biases, self.classifier, self.offset]

    def iterate_layers(
        self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield each layer's pre-activations a and outputs ReLU(γ x̂ + β), both (schemes, networks, N, H, W, C).

        `x`: pictures (networks or 1, N, H, W). `norm_method`: the method of `NormLayer` that computes x̂.
        """
        x = x.unsqueeze(-1)
        layers = zip(self.norms, self.on_weights, self.weights, self.gains, self.biases, strict=True)
        for norm, on_weights, w, gain, bias in layers:
            summed = convolve_stack(x, on_weights(w), norm.shape, self.pad_mode)
            x = torch.relu(mask_gain(gain, self.schemes) * norm_method(norm, summed) + bias)
            yield summed, x

    def classify_units(self, units: torch.Tensor) -> torch.Tensor:
        """Compute logits (schemes, networks, N, classes) from `units`, the outputs of the last layer."""
        return units.flatten(3) @ self.classifier + self.offset

    @torch.no_grad()
    def collect_statistics(self, x: torch.Tensor) -> None:
        """Compute and store the statistics for inference, from whole mini-batches of pictures x (1, N, H, W)."""
        self.compute_logits(x, NormLayer.collect_statistics)

    @torch.no_grad()
    def measure_responses(
        self, x: torch.Tensor, norm_method: NormCall = NormLayer.normalize_in_inference
    ) -> tuple[torch.Tensor, list[UnitResponse]]:
        """Return the logits (schemes, networks, N, classes) of pictures x, and every layer's `UnitResponse` to them."""
        logits, looks = [], [torch.zeros(())] * len(self.norms)
        for piece in x.split(PICTURES_PER_PASS, 1):
            for layer, (summed, units) in enumerate(self.iterate_layers(piece, norm_method)):
                found = [(units > 0).to(x.dtype).sum(2), summed.sum(2), summed.square().sum(2)]
                looks[layer] = looks[layer].to(x.device) + torch.stack(found) / x.shape[1]
            logits.append(self.classify_units(units))
        responses = []
        for on, mean, square in looks:
            variance = (square - mean.square()).clamp(min=0)
            responses.append(UnitResponse(on.mean(-1), variance.mean(-1).sqrt()))
        return torch.cat(logits, 2), responses

    def compute_logits(self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__) -> torch.Tensor:
        """Compute logits (schemes, networks, N, classes) of pictures x (networks or 1, N, H, W); x̂ by `norm_method`."""
        *_, (_, units) = self.iterate_layers(x, norm_method)
        return self.classify_units(units)


def convolve_stack(x: torch.Tensor, w: torch.Tensor, output_shape: Shape, pad_mode: str = "constant") -> torch.Tensor:
    """Convolve x (…, N, H, W, C) with each network's filters w; return (schemes, networks, N, H', W', C').

    w is (schemes, networks, kh, kw, C, C'), `output_shape` is (N, H', W', C'), and `pad_mode` as in `Conv`. The
    networks are groups of channels to torch, and the result stays in this memory order, so that layers copy nothing.
    Cutting patches out of x takes five times as long, one call for each network up to twice as long.
    """
    schemes, networks, kh, kw, into, out = w.shape
    x = x.expand(schemes, networks, *x.shape[-4:]).permute(2, 0, 1, 5, 3, 4)
    room = [(size + k - 1 - was) // 2 for size, k, was in zip(output_shape[1:3], (kh, kw), x.shape[-2:], strict=True)]
    filters = w.permute(0, 1, 5, 4, 2, 3).reshape(-1, into, kh, kw)
    x = x.flatten(1, 3)
    if pad_mode != "constant":  # conv2d pads with zeros itself, which is faster
        x, room = pad(x, [room[1], room[1], room[0], room[0]], pad_mode), [0, 0]
    summed = conv2d(x, filters, padding=room, groups=schemes * networks)
    return summed.unflatten(1, (schemes, networks, out)).permute(1, 2, 0, 4, 5, 3)


def load_digit_pictures(device: torch.device) -> Digits:
    """Return the training, validation and test digits as pictures (digits, height, width) in 0..1 on a device."""
    return Digits(*((x.view(-1, DIGIT_SIDE, DIGIT_SIDE), classes) for x, classes in load_digit_parts(device)))
