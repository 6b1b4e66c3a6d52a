"""Dense networks on digits whose pixels are in no order: normalized layers and ReLU, of many schemes and seeds."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch

from normviz.core.schemes import Scheme
from normviz.data.digits import CLASSES, SIDE, digits
from normviz.networks.learning import started
from normviz.networks.norm import Norm, weights

EXACT = torch.float64
"""The type of networks that are compared with each other to rounding."""

How = Callable[[Norm, torch.Tensor], torch.Tensor]
"""`Norm.__call__` in training, `Norm.settle` once behind it, `Norm.infer` from then on."""

Between = Callable[[torch.Tensor], torch.Tensor]
"""What becomes of a hidden layer's outputs (schemes, networks, N, units) on their way to the next."""


def unchanged(outputs: torch.Tensor) -> torch.Tensor:
    """They pass as they are."""
    return outputs


class Dense:
    """Networks of all schemes × seeds: every layer a = Wx, ReLU(γ â + β); then a linear classifier.

    Args:
        schemes: by which a, or W, is normalized.
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
        sizes = [SIDE**2, *widths, CLASSES]
        self.weights, self.gains, self.biases = [], [], []
        for part, (into, out) in enumerate(pairwise(sizes)):
            first = started(seeds, len(schemes), into, out, scale=(2 / into) ** 0.5, part=part, dtype=dtype)
            self.weights.append(first.to(device))
            self.gains.append(torch.ones(len(schemes), len(seeds), 1, out, device=device, dtype=dtype))
            self.biases.append(torch.zeros(len(schemes), len(seeds), 1, out, device=device, dtype=dtype))
        self.gains.pop()  # of the classifier
        like = self.weights[0]
        activations = [scheme.on_activations for scheme in schemes]
        self.norms = [Norm(activations, (batch, 1, 1, width), eps, like) for width in widths]
        self.on_weights = [weights(schemes, (1, 1, *shape), like) for shape in zip(sizes, widths, strict=False)]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All that is learned."""
        return [*self.weights, *self.gains, *self.biases]

    def logits(self, x: torch.Tensor, how: How = Norm.__call__, between: Between = unchanged) -> torch.Tensor:
        """(schemes, networks, N, classes) of pictures (networks or 1, N, pixels)."""
        for k, norm in enumerate(self.norms):
            w = self.on_weights[k](self.weights[k][:, :, None, None])[:, :, 0, 0]
            summed = x @ w
            xhat = how(norm, summed[:, :, :, None, None])[:, :, :, 0, 0]
            x = between(torch.relu(self.gains[k] * xhat + self.biases[k]))
        return x @ self.weights[-1] + self.biases[-1]


def rows(test: bool = False, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """Digits as rows of pixels in 0..1, (digits, 64), and their classes."""
    pictures, classes = digits(test)
    x = torch.tensor(pictures.reshape(len(pictures), -1), dtype=dtype)
    return x, torch.tensor(classes)


def both(device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """On a device, the rows and classes to train on, and those to test on."""
    x, labels, unseen, answers = (each.to(device) for each in (*rows(), *rows(test=True)))
    return x, labels, unseen, answers


def whole(x: torch.Tensor, batch: int) -> torch.Tensor:
    """As many examples as fill mini-batches, for `Norm.settle`; at least one mini-batch."""
    return x[: max(len(x) // batch, 1) * batch]
