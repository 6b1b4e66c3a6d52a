"""Dense networks on digits, with normalized layers and ReLU, for many schemes and seeds at once."""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, load_digit_split
from normviz.train.learning import compute_error_rate, sample_initial_weights
from normviz.train.norm import NormLayer, create_weight_norm, mask_gain

COMPARISON_DTYPE = torch.float64
"""The type of networks that are compared up to rounding."""

NormCall = Callable[[NormLayer, torch.Tensor], torch.Tensor]
"""A method of `NormLayer`: `__call__`, after training once `collect_statistics`, then `normalize_in_inference`."""

OutputTransform = Callable[[torch.Tensor], torch.Tensor]
"""A function of a hidden layer's outputs (schemes, networks, N, units), as dropout."""


def return_unchanged(outputs: torch.Tensor) -> torch.Tensor:
    """Return `outputs` itself; the default where another function, such as dropout, may change a layer's outputs."""
    return outputs


class Dense:
    """Stack of dense networks, one per scheme and seed: layers a = Wx, ReLU(γ x̂ + β), then a linear classifier.

    Schemes without a gain, such as no normalization, have γ = 1.

    Args:
        schemes: normalize a, or W.
        seeds: of the first weights, N(0, 2/fan-in), one network each.
        widths: units of the normalized layers.
        batch: examples of a mini-batch.
        eps: ε on activations.
        dtype: of all numbers.
    """

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], widths: Sequence[int], batch: int, eps: float,
        device: torch.device, dtype: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        sizes = [DIGIT_SIDE**2, *widths, DIGIT_CLASSES]
        self.weights, self.gains, self.biases = [], [], []
        for part, (into, out) in enumerate(pairwise(sizes)):
            first = sample_initial_weights(
                seeds, len(schemes), into, out, scale=(2 / into) ** 0.5, part=part, dtype=dtype
            )
            self.weights.append(first.to(device))
            self.gains.append(torch.ones(len(schemes), len(seeds), 1, out, device=device, dtype=dtype))
            self.biases.append(torch.zeros(len(schemes), len(seeds), 1, out, device=device, dtype=dtype))
        self.gains.pop()  # of the classifier
        like = self.weights[0]
        self.schemes = schemes
        self.from_data = [k for k, scheme in enumerate(schemes) if scheme.key == "weight"]
        self.widths, self.eps = widths, eps
        self.norms = self._build_norms(batch)
        self.on_weights = [
            create_weight_norm(schemes, (1, 1, *shape), like) for shape in zip(sizes, widths, strict=False)
        ]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors, each (schemes, networks, …)."""
        return [*self.weights, *self.gains, *self.biases]

    def with_batch_size(self, size: int) -> "Dense":
        """Return networks that share these parameters and normalize mini-batches of `size` examples.

        Their `NormLayer.collect_statistics` normalizes every `size` examples along N by their own statistics.
        """
        resized = copy(self)
        resized.norms = self._build_norms(size)
        return resized

    def compute_logits(
        self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__, transform: OutputTransform = return_unchanged
    ) -> torch.Tensor:
        """Compute logits (schemes, networks, N, classes) of pictures x (networks or 1, N, pixels).

        `norm_method`: the method of `NormLayer` that computes x̂. `transform`: a function of hidden outputs.
        """
        for k in range(len(self.norms)):
            gain = mask_gain(self.gains[k], self.schemes)
            x = transform(torch.relu(gain * self._normalize_layer(k, x, norm_method) + self.biases[k]))
        return x @ self.weights[-1] + self.biases[-1]

    @torch.no_grad()
    def initialize_from_data(self, x: torch.Tensor) -> None:
        """Set γ and β of weight normalization so that every unit has mean 0 and variance 1 on the mini-batch x.

        x is (networks or 1, N, pixels). Other schemes do not change. Source: Salimans & Kingma 2016, section 3.
        """
        if not self.from_data:
            return
        for k in range(len(self.norms)):
            xhat = self._normalize_layer(k, x, NormLayer.__call__)
            mean, deviation = xhat.mean(2, keepdim=True), xhat.std(2, keepdim=True).clamp_min(1e-3)
            for scheme in self.from_data:
                self.gains[k][scheme] = 1 / deviation[scheme]
                self.biases[k][scheme] = -mean[scheme] / deviation[scheme]
            x = torch.relu(mask_gain(self.gains[k], self.schemes) * xhat + self.biases[k])

    @torch.no_grad()
    def measure_errors(
        self, x: torch.Tensor, batch: int, unseen: Sequence[tuple[torch.Tensor, torch.Tensor]]
    ) -> list[torch.Tensor]:
        """Return error rates (schemes, networks) on each set in `unseen`, by statistics of mini-batches of digits x.

        Args:
            x: the digits for the statistics of inference, (N, pixels), or (networks, N, pixels), or (schemes, networks,
                N, pixels).
            batch: the size of a mini-batch.
            unseen: sets of digits and their classes.
        """
        self.compute_logits(trim_to_batches(x if x.ndim > 2 else x[None], batch), NormLayer.collect_statistics)
        return [
            compute_error_rate(self.compute_logits(pictures[None], NormLayer.normalize_in_inference), answers)
            for pictures, answers in unseen
        ]

    @torch.no_grad()
    def measure_errors_in_training_mode(
        self, pictures: torch.Tensor, answers: torch.Tensor, size: int, digit_orders: np.ndarray
    ) -> torch.Tensor:
        """Return error rates (schemes, networks), with each batch of `size` digits normalized by its own statistics.

        Each network takes the pictures (N, pixels) in its row of `digit_orders`, (networks, N), without a smaller rest.
        """
        order = torch.from_numpy(digit_orders[:, : len(pictures) // size * size]).to(pictures.device)
        return compute_error_rate(
            self.with_batch_size(size).compute_logits(pictures[order], NormLayer.collect_statistics), answers[order]
        )

    def _build_norms(self, batch: int) -> list[NormLayer]:
        """Return the `NormLayer` of every layer, for mini-batches of `batch` examples."""
        activations = [scheme.activation_part for scheme in self.schemes]
        return [NormLayer(activations, (batch, 1, 1, width), self.eps, self.weights[0]) for width in self.widths]

    def _normalize_layer(self, k: int, x: torch.Tensor, norm_method: NormCall) -> torch.Tensor:
        """Return x̂ of layer k, (schemes, networks, N, units), for the layer's inputs x."""
        w = self.on_weights[k](self.weights[k][:, :, None, None])[:, :, 0, 0]
        return norm_method(self.norms[k], (x @ w)[:, :, :, None, None])[:, :, :, 0, 0]


def load_digit_rows(test: bool = False, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """Load the training digits, or the test digits if `test`, as rows in 0..1 (digits, 64), and their classes."""
    pictures, classes = load_digit_split(test)
    x = torch.tensor(pictures.reshape(len(pictures), -1), dtype=dtype)
    return x, torch.tensor(classes)


class Digits(NamedTuple):
    """Training, validation and test digits; each part is a tensor of rows of pixels and a tensor of classes.

    Attributes:
        train: rows (898, 64) and classes for training.
        validation: 449 rows and classes for the choice of learning rates.
        test: 450 rows and classes for the result alone.
    """

    train: tuple[torch.Tensor, torch.Tensor]
    validation: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]


def load_digit_parts(device: torch.device) -> Digits:
    """Return the training, validation and test digits as rows of pixels (digits, 64) in 0..1 on a device."""
    (x, labels), test = load_digit_rows(), load_digit_rows(test=True)
    held_out = torch.arange(len(x)) % 3 == 1
    parts = ((x[~held_out], labels[~held_out]), (x[held_out], labels[held_out]), test)
    return Digits(*((pictures.to(device), classes.to(device)) for pictures, classes in parts))


def trim_to_batches(x: torch.Tensor, batch: int) -> torch.Tensor:
    """Return the examples of x (…, N, pixels) that fill whole mini-batches, or all if they fill none."""
    return x[..., : max(x.shape[-2] // batch, 1) * batch, :]
