"""One normalized layer of a stack of networks: x̂ in training with its derivative, and x̂ in inference.

Tensors are (schemes, networks, N, H, W, C); torch differentiates the other layers. In inference a statistic over the
examples of a mini-batch is that of the training data, as in Algorithm 2 of Ioffe & Szegedy 2015: the mean over many
mini-batches of the size in training, for the variance times m/(m-1).
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch

from normviz.core.fields import OWN, Field, Shape
from normviz.core.kinds.whitening import merge_groups, split_into_groups
from normviz.core.registry import Scheme
from normviz.train.gradient import GeneralForm, WhiteningForm
from normviz.train.stack import StackNormalizer


@dataclass
class InferenceStatistics:
    """Statistics of a scheme stored for inference; None for those that are computed from the example itself.

    Attributes:
        mean: E[μ].
        variance: E[m/(m-1) σ²], without ε.
        matrix: for whitening, E[(Σ + εI)^(-1/2)].
    """

    mean: torch.Tensor | None = None
    variance: torch.Tensor | None = None
    matrix: torch.Tensor | None = None


class NormLayer:
    """Normalization layer of a stack of networks: each scheme normalizes its part of (schemes, networks, N, H, W, C).

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
        """Compute x̂ as `__call__` does, for tensors that need a gradient."""
        forms = [form for _, form in self.normalizer.parts if form is not None]
        return _NormalizationFunction.apply(x, self.normalizer) if forms else x

    def prepare_inference(self, axes: int) -> None:
        """Prepare to compute x̂ without gradients of tensors with this many axes after (schemes, networks)."""

    @torch.no_grad()
    def collect_statistics(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize mini-batches joined along N, each by its own statistics; store the mean ones for inference."""

        def normalize(number: int, where: Any, form: Any) -> torch.Tensor:
            cut = x[where].unflatten(2, (-1, self.shape[0]))
            xhat, self.statistics[number] = _normalize_batches(self._find_scheme(where), form, cut, self.shape)
            return xhat

        return self._normalize_parts(x, 5, normalize)

    @torch.no_grad()
    def normalize_in_inference(self, x: torch.Tensor) -> torch.Tensor:
        """Compute x̂ of any number of examples by the stored statistics."""
        return self._normalize_parts(
            x, 4, lambda number, where, form: _normalize_by_stored(form, x[where], self.statistics[number])
        )

    def _normalize_parts(
        self, x: torch.Tensor, axes: int, normalize: Callable[[int, Any, Any], torch.Tensor]
    ) -> torch.Tensor:
        """Replace the part of x of each form by `normalize(number, where, form)`."""
        self.prepare_inference(axes)
        out = x.clone()
        for number, (where, form) in enumerate(self.normalizer.parts):
            if form is not None:
                out[where] = normalize(number, where, form)
        return out

    def _find_scheme(self, where: Any) -> Scheme:
        scheme = self.schemes[where.start if isinstance(where, slice) else int(where[0])]
        assert scheme is not None
        return scheme


def mask_gain(gain: torch.Tensor, schemes: Sequence[Scheme]) -> torch.Tensor:
    """Return γ (schemes, networks, …) with a constant 1 for schemes that learn no gain."""
    has_gain = [scheme.gain is not None for scheme in schemes]
    if all(has_gain):
        return gain
    return torch.where(torch.tensor(has_gain, device=gain.device).view(-1, *[1] * (gain.ndim - 1)), gain, 1.0)


def create_weight_norm(schemes: Sequence[Scheme], shape: Shape, like: torch.Tensor) -> NormLayer:
    """Create the layer that normalizes weights (schemes, networks, kh, kw, Cin, Cout) by the schemes on weights."""
    return NormLayer([scheme.weight_part for scheme in schemes], shape, 0.0, like)


class _NormalizationFunction(torch.autograd.Function):
    """Autograd function of x̂, with the hand-written derivative of `gradient`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, normalizer: StackNormalizer) -> torch.Tensor:
        ctx.normalizer = copy(normalizer)  # each use stores its own tensors for the backward pass
        ctx.normalizer.parts = [(where, copy(form)) for where, form in normalizer.parts]
        return ctx.normalizer.forward(x.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.normalizer.backward(gradients[0].clone()), None


def _normalize_batches(
    scheme: Scheme, form: Any, x: torch.Tensor, shape: Shape
) -> tuple[torch.Tensor, InferenceStatistics]:
    """Compute x̂ of mini-batches (schemes, networks, mini-batches, N, H, W, C), and their mean statistics."""
    form, kept = copy(form), InferenceStatistics()
    if isinstance(form, WhiteningForm):
        mean = split_into_groups(x, form.groups).mean(-2, keepdim=True)
        xhat = form.forward(x.clone())
        kept.mean, kept.matrix = mean.mean(2), form.matrix.mean(2)
        return xhat.flatten(2, 3), kept
    if isinstance(form, GeneralForm):
        a, b = scheme.summation, scheme.suppression
        if form.summation is not None and a is not None and _mixes_examples(a, shape):
            kept.mean = _average_over_examples(form.summation(x))
        xhat = form.forward(x.clone())
        if b is not None and _mixes_examples(b, shape):
            size = b.find_smallest_size(shape)
            unbiased = size / (size - 1) if a == b and size > 1 else 1.0
            kept.variance = _average_over_examples(unbiased * _compute_variance(form, x))
        return xhat.flatten(2, 3), kept
    return form.forward(x.clone()).flatten(2, 3), kept  # no statistics of data


def _compute_variance(form: GeneralForm, x: torch.Tensor) -> torch.Tensor:
    """Compute E_B v² in the shape of the field's statistics, without ε."""
    assert form.suppression is not None
    v = x if form.summation is None else x - form.summation(x)
    return form.suppression(v.square())


def _normalize_by_stored(form: Any, x: torch.Tensor, stored: InferenceStatistics) -> torch.Tensor:
    """Compute x̂ by stored statistics, or by the examples' own where none is stored."""
    if stored.matrix is not None:
        return merge_groups((split_into_groups(x, form.groups) - stored.mean) @ stored.matrix, x.shape)
    if stored.mean is None and stored.variance is None:
        return copy(form).forward(x.clone())
    v = x if form.summation is None else x - (form.summation(x) if stored.mean is None else stored.mean)
    if form.suppression is None:
        return v
    variance = form.suppression(v.square()) if stored.variance is None else stored.variance
    sigma = torch.sqrt(variance + form.eps)
    return v * torch.where(sigma > 0, sigma.reciprocal(), 0.0) * form.scale


def _mixes_examples(field: Field, shape: Shape) -> bool:
    """Return True if several examples share a statistic."""
    return field.simplify(shape).rules[0] != OWN


def _average_over_examples(statistic: torch.Tensor) -> torch.Tensor:
    """Average a statistic over mini-batches and examples, to (schemes, networks, 1, …)."""
    return statistic.mean((2, 3)).unsqueeze(2)
