"""One normalized layer of a stack of networks: x̂ in training with its derivative, and x̂ in inference.

Tensors are (schemes, networks, N, H, W, C); torch differentiates the other layers. In inference a statistic over the
examples of a mini-batch is that of the training data, as in Algorithm 2 of Ioffe & Szegedy 2015: the mean over many
mini-batches of the size in training, for the variance times m/(m-1).
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.train.gradient import InferenceStatistics, TrainingForm
from normviz.train.stack import StackNormalizer


class NormLayer:
    """Normalization layer of a stack: tensors are (schemes, networks, N, H, W, C), and each scheme normalizes its part.

    Args:
        schemes: one for each position of the first axis; None for no normalization.
        shape: (N, H, W, C) in training.
        eps: ε of all schemes.
        like: a tensor of the networks' type and device.
    """

    def __init__(self, schemes: Sequence[Scheme | None], shape: Shape, eps: float, like: torch.Tensor) -> None:
        self.schemes, self.shape = list(schemes), shape
        self.normalizer = StackNormalizer(schemes, shape, like.dtype, eps, like)
        self.statistics: dict[int, InferenceStatistics] = {}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂ by the statistics of x itself, as in training."""
        return self.normalize_in_training(x)

    def normalize_in_training(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂ by the statistics of x itself; autograd can differentiate it."""
        forms = [form for _, form in self.normalizer.parts if form is not None]
        return _NormalizationFunction.apply(x, self.normalizer) if forms else x

    def prepare_inference(self, axes: int) -> None:
        """Do nothing: a subclass may prepare its forms for tensors with `axes` axes after (schemes, networks)."""

    @torch.no_grad()
    def collect_statistics(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂ of mini-batches joined along N, each by its own statistics; store their mean for inference."""

        def normalize(number: int, where: Any, form: TrainingForm) -> torch.Tensor:
            xhat, self.statistics[number] = form.collect_statistics(x[where].unflatten(2, (-1, self.shape[0])))
            return xhat.flatten(2, 3)

        return self._normalize_parts(x, 5, normalize)

    @torch.no_grad()
    def normalize_in_inference(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂ of any number of examples by the stored statistics."""
        return self._normalize_parts(
            x, 4, lambda number, where, form: form.apply_statistics(x[where], self.statistics[number])
        )

    def _normalize_parts(
        self, x: torch.Tensor, axes: int, normalize: Callable[[int, Any, TrainingForm], torch.Tensor]
    ) -> torch.Tensor:
        """Return a copy of x with x[where] = `normalize(number, where, form)` for each scheme and its forward pass."""
        self.prepare_inference(axes)
        out = x.clone()
        for number, (where, form) in enumerate(self.normalizer.parts):
            if form is not None:
                out[where] = normalize(number, where, form)
        return out


def mask_gain(gain: torch.Tensor, schemes: Sequence[Scheme]) -> torch.Tensor:
    """Return γ (schemes, networks, …), replaced by 1 for schemes that learn no gain."""
    has_gain = [scheme.gain is not None for scheme in schemes]
    if all(has_gain):
        return gain
    return torch.where(torch.tensor(has_gain, device=gain.device).view(-1, *[1] * (gain.ndim - 1)), gain, 1.0)


def create_weight_norm(schemes: Sequence[Scheme], shape: Shape, like: torch.Tensor) -> NormLayer:
    """Return the layer that normalizes weights (schemes, networks, kh, kw, Cin, Cout) by the schemes on weights."""
    return NormLayer([scheme.weight_part for scheme in schemes], shape, 0.0, like)


class _NormalizationFunction(torch.autograd.Function):
    """Autograd function that computes x̂, with derivatives written by hand in `gradient`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, normalizer: StackNormalizer) -> torch.Tensor:
        ctx.normalizer = copy(normalizer)  # each use stores its own tensors for the backward pass
        ctx.normalizer.parts = [(where, copy(form)) for where, form in normalizer.parts]
        return ctx.normalizer.forward(x.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.normalizer.backward(gradients[0].clone()), None
