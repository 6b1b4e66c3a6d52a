"""Small dense networks that classify digits, several side by side along a leading axis, in NumPy.

    a = x W,   x̂ = (a - μ) / √(σ² + ε),   h = φ(γ x̂ + β), the next layer's x;   logits = h V + c

Without batch norm, h = φ(a + β). NumPy, since torch takes longer to import than these networks take to train.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE

LayerMoments = tuple[np.ndarray, np.ndarray]
"""Mean and variance (1/m) of the units of one layer, each (…, networks, 1, units)."""


class HiddenLayer(NamedTuple):
    """Values of one hidden layer in a forward pass, each (…, networks, digits, units).

    Attributes:
        x: the layer's input.
        xhat, inverse, moments: x̂, 1/√(σ²+ε) and (μ, σ²); None without batch norm.
        a: the input of the activation.
        y: the output.
    """

    x: np.ndarray
    xhat: np.ndarray | None
    inverse: np.ndarray | None
    a: np.ndarray
    y: np.ndarray
    moments: LayerMoments | None


class NetworkPass(NamedTuple):
    """Hidden layers and logits (…, networks, digits, classes) that a forward pass computed."""

    layers: list[HiddenLayer]
    logits: np.ndarray

    @property
    def moments(self) -> list[LayerMoments]:
        """Mean and variance of each hidden layer's pre-activations; empty without batch norm."""
        return [layer.moments for layer in self.layers if layer.moments]


@dataclass(frozen=True)
class DenseNetworks:
    """Dense networks of one architecture on a leading axis, in NumPy; training changes their arrays in place.

    Attributes:
        weights: (networks, in, out) of the hidden layers and of the classifier.
        gains: γ (networks, 1, out) of the hidden layers; empty without batch norm.
        biases: β (networks, 1, out) of the hidden layers and of the classifier.
        eps: ε of batch norm.
        activation: "relu" or "sigmoid".
    """

    weights: list[np.ndarray]
    gains: list[np.ndarray]
    biases: list[np.ndarray]
    eps: float
    activation: str = "relu"

    @property
    def parameters(self) -> list[np.ndarray]:
        """All weights, then all gains, then all biases."""
        return [*self.weights, *self.gains, *self.biases]

    def run(self, x: np.ndarray, frozen: Sequence[LayerMoments] = ()) -> NetworkPass:
        """Return the `NetworkPass` of digits x (…, networks or 1, digits, 64); `frozen` moments replace those of x.

        `frozen` has a pair for each layer with batch norm. Where σ² + ε = 0, x̂ = 0.
        """
        layers = []
        for k, bias in enumerate(self.biases[:-1]):
            a, xhat, inverse, moments = x @ self.weights[k], None, None, None
            if self.gains:
                mean, variance = moments = frozen[k] if frozen else _compute_moments(a)
                deviation = np.sqrt(variance + self.eps)
                inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
                xhat = (a - mean) * inverse
                a = self.gains[k] * xhat
            a = a + bias
            y = 0.5 + 0.5 * np.tanh(a / 2) if self.activation == "sigmoid" else np.maximum(a, 0.0)
            layers.append(HiddenLayer(x, xhat, inverse, a, y, moments))
            x = y
        return NetworkPass(layers, x @ self.weights[-1] + self.biases[-1])

    def compute_gradients(self, forward: NetworkPass, labels: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the mean cross-entropy (networks,) and a list of its gradients in the order of `parameters`.

        The forward pass used the statistics of its own digits. `labels`: (digits,) or (networks, digits).
        """
        is_label = labels[..., None] == np.arange(DIGIT_CLASSES)
        logits = forward.logits - forward.logits.max(-1, keepdims=True)
        norm = np.log(np.exp(logits).sum(-1, keepdims=True))
        loss = (norm[..., 0] - np.where(is_label, logits, 0).sum(-1)).mean(-1)
        g = (np.exp(logits - norm) - is_label) / labels.shape[-1]
        weights, gains, biases = [forward.layers[-1].y.mT @ g], [], [g.sum(-2, keepdims=True)]
        for k, layer in reversed(list(enumerate(forward.layers))):
            slope = layer.y * (1 - layer.y) if self.activation == "sigmoid" else layer.y > 0
            g = (g @ self.weights[k + 1].mT) * slope
            biases.append(g.sum(-2, keepdims=True))
            if layer.xhat is not None:
                gains.append((g * layer.xhat).sum(-2, keepdims=True))
                g = g * self.gains[k]
                g = layer.inverse * (g - _average_digits(g) - layer.xhat * _average_digits(g * layer.xhat))
            weights.append(layer.x.mT @ g)
        return loss, [*reversed(weights), *reversed(gains), *reversed(biases)]


def initialize_networks(
    generators: Sequence[np.random.Generator], widths: Sequence[int], eps: float,
    activation: str = "relu", normalized: bool = True, scale: float = 1.0,
) -> DenseNetworks:  # fmt: skip
    """Return one untrained network per generator: weights N(0, scale²/fan-in), biases 0, gains 1 if `normalized`."""
    sizes, count = list(zip((DIGIT_SIDE**2, *widths), (*widths, DIGIT_CLASSES), strict=True)), len(generators)
    weights = [scale * size[0] ** -0.5 * np.stack([rng.standard_normal(size) for rng in generators]) for size in sizes]
    gains = [np.ones((count, 1, width)) for width in widths if normalized]
    return DenseNetworks(weights, gains, [np.zeros((count, 1, outs)) for _, outs in sizes], eps, activation)


def _average_digits(a: np.ndarray) -> np.ndarray:
    """Compute the means over the digits of (…, digits, units); a matrix product is four times as fast as `mean`."""
    return np.full((1, a.shape[-2]), 1 / a.shape[-2]) @ a


def _compute_moments(a: np.ndarray) -> LayerMoments:
    mean = _average_digits(a)
    return mean, _average_digits((a - mean) ** 2)
