"""Small networks on digits, several side by side along a leading axis, forward and back by hand, at ε = 0.

a = x W,   x̂ = a normalized,   h = max(γ x̂ + β, 0), the next layer's x;   softmax of h V + c
"""

from collections.abc import Mapping, Sequence

import numpy as np

from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, load_digits
from normviz.topics.geometry.norms import NormalizedSums, backward, normalize_sums

PIXELS = DIGIT_SIDE * DIGIT_SIDE

NetParameters = Mapping[str, np.ndarray]
"""Parameters by name, each with a leading axis of networks: "w0" (networks, in, out), "gain0" and "bias0" (networks, 1,
out) and so on for every layer, "classifier" and "offset"; or their gradients."""


def load_digit_rows() -> tuple[np.ndarray, np.ndarray]:
    """All digits (digits, 64) and their classes."""
    images, labels = load_digits()
    return images.reshape(len(images), -1), labels


def initialize_network(seed: int, widths: Sequence[int]) -> dict[str, np.ndarray]:
    """One network before training: weights of He's variance 2 / fan-in, γ = 1, β = 0."""
    rng = np.random.default_rng(seed)
    sizes, net = [PIXELS, *widths], {}
    for k, (size, units) in enumerate(zip(sizes, widths, strict=False)):
        net[f"w{k}"] = rng.normal(0, (2 / size) ** 0.5, (1, size, units))
        net[f"gain{k}"], net[f"bias{k}"] = np.ones((1, 1, units)), np.zeros((1, 1, units))
    net["classifier"] = rng.normal(0, widths[-1] ** -0.5, (1, widths[-1], DIGIT_CLASSES))
    return net | {"offset": np.zeros((1, 1, DIGIT_CLASSES))}


def get_layer_indices(net: NetParameters) -> range:
    """The normalized layers."""
    return range(sum(name.startswith("w") for name in net))


def compute_scores_and_gradients(
    net: NetParameters, x: np.ndarray, labels: np.ndarray, scheme: str
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The class scores (networks, examples, 10), the mean cross-entropy (networks,), and its gradient."""
    scores, kept = _scores(net, x, scheme)
    loss, g = _cross_entropy(scores, labels)
    hidden = kept[-1][2]
    found = {"classifier": np.swapaxes(hidden, 1, 2) @ g, "offset": g.sum(axis=1, keepdims=True)}
    back = g @ np.swapaxes(net["classifier"], 1, 2)
    for k in reversed(get_layer_indices(net)):
        seen, normed, hidden = kept[k]
        back = back * (hidden > 0)
        found[f"gain{k}"] = (back * normed.xhat).sum(axis=1, keepdims=True)
        found[f"bias{k}"] = back.sum(axis=1, keepdims=True)
        by_sums = backward(back * net[f"gain{k}"], normed, scheme)
        found[f"w{k}"] = np.swapaxes(seen, -1, -2) @ by_sums
        if k:
            back = by_sums @ np.swapaxes(net[f"w{k}"], 1, 2)
    return scores, loss, {name: found[name] for name in net}


def _scores(
    net: NetParameters, x: np.ndarray, scheme: str
) -> tuple[np.ndarray, list[tuple[np.ndarray, NormalizedSums, np.ndarray]]]:
    """The class scores; and of every layer its input, its normalized sums and its output."""
    kept = []
    for k in get_layer_indices(net):
        normed = normalize_sums(x @ net[f"w{k}"], scheme)
        hidden = np.maximum(normed.xhat * net[f"gain{k}"] + net[f"bias{k}"], 0)
        kept.append((x, normed, hidden))
        x = hidden
    return x @ net["classifier"] + net["offset"], kept


def _cross_entropy(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the examples, (networks,), and its gradient by the scores."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    g = np.exp(shifted)
    total = g.sum(axis=-1, keepdims=True)
    rows = np.arange(len(labels))
    loss = (np.log(total[..., 0]) - shifted[:, rows, labels]).mean(axis=-1)
    g /= total
    g[:, rows, labels] -= 1
    return loss, g / len(labels)
