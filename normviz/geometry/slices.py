"""The loss of a trained network in a plane of two random directions: a slice through its landscape.

Where a layer absorbs the length of its weights, a direction of fixed length moves long weights by little, and the slice
looks flat. A direction that has the length of each unit's own weights does not depend on it.

Source: Li et al. 2018 (arXiv 1712.09913), section 4: filter-wise normalized directions. Biases and γ stay.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from normviz.core.settings import choice, real, whole
from normviz.geometry.network import Net, digits, gradients, layers, losses, start

WIDTHS = (32, 32)
BATCH = 64
RATE = 0.1
MAX_TRAINING = 400
SEEN = 256
"""Digits whose mean loss is shown; with batch norm they are the batch."""

GRID = 21
AT_ONCE = 49
"""Networks whose losses are computed together."""

OTHER = 3.0
"""δ that is told of where the page has δ = 1."""

NORMALIZED = {"batch": "Batch", "layer": "Layer"}
DIRECTIONS = {"filter": "As long as each unit's weights", "fixed": "As long at every δ"}


@dataclass(frozen=True)
class Slice:
    """How long the networks are trained, and how they are looked at."""

    beside: str = choice("batch", NORMALIZED, label="Normalization")
    trained: int = whole(200, 0, MAX_TRAINING, label="Trained, steps", stops=(0, 50, 100, 200, MAX_TRAINING))
    directions: str = choice("filter", DIRECTIONS, label="Directions", control="menu")
    times: float = real(1.0, 0.1, 10.0, label="δ: W₀ times δ, W₁ over δ", symbol="δ", stops=(0.1, 0.3, 1.0, 3.0, 10.0))
    reach: float = real(1.0, 0.1, 2.0, label="Reach", stops=(0.1, 0.3, 0.5, 1.0, 2.0))
    seed: int = whole(0, 0, 9999, label="Seed")


def trained(scheme: str, steps: int, seed: int) -> dict[str, np.ndarray]:
    """A network after some steps of SGD: two layers of 32 units, mini-batches of 64, learning rate 0.1."""
    x, labels = digits()
    rng = np.random.default_rng([seed, 1])
    net = start(seed, WIDTHS)
    for _ in range(steps):
        chosen = rng.integers(0, len(x), BATCH)
        _, _, g = gradients(net, x[chosen], labels[chosen], scheme)
        net = {name: part - RATE * g[name] for name, part in net.items()}
    return net


def rescaled(net: Net, scheme: str, delta: float) -> dict[str, np.ndarray]:
    """The same function with W₀ times δ and W₁ over δ.

    Normalization absorbs both. Without it ReLU carries δ on to W₁, once β₀ is multiplied too.
    """
    made = dict(net) | {"w0": delta * net["w0"], "w1": net["w1"] / delta}
    return made | ({"bias0": delta * net["bias0"]} if scheme == "none" else {})


def directions(net: Net, like: Net, seed: int) -> list[dict[str, np.ndarray]]:
    """Two random directions of all weights, every unit's part as long as its weights in `like`."""
    rng = np.random.default_rng([seed, 2])
    names = [*(f"w{k}" for k in layers(net)), "classifier"]
    drawn = [{name: rng.standard_normal(net[name].shape) for name in names} for _ in range(2)]
    return [{name: part / _lengths(part) * _lengths(like[name]) for name, part in each.items()} for each in drawn]


def _lengths(w: np.ndarray) -> np.ndarray:
    return np.linalg.norm(w, axis=-2, keepdims=True)


class Landscape(NamedTuple):
    """Losses (GRID, GRID), the first direction along the second axis; where they are taken, and that of the middle."""

    at: np.ndarray
    losses: np.ndarray

    @property
    def middle(self) -> float:
        """The trained network's own."""
        return float(self.losses[GRID // 2, GRID // 2])

    @property
    def along(self) -> np.ndarray:
        """Those where β = 0."""
        return self.losses[GRID // 2]

    @property
    def border(self) -> float:
        """The mean over the edge of the picture."""
        inside = self.losses[1:-1, 1:-1]
        return float((self.losses.sum() - inside.sum()) / (self.losses.size - inside.size))


def landscape(net: Net, scheme: str, setting: Slice) -> Landscape:
    """The mean loss on digits of the networks θ + α d + β e, with α and β from -reach to reach."""
    at = np.linspace(-setting.reach, setting.reach, GRID)
    beta, alpha = np.meshgrid(at, at, indexing="ij")
    return Landscape(at, _along(net, scheme, setting, alpha.ravel(), beta.ravel()).reshape(GRID, GRID))


def line(net: Net, scheme: str, setting: Slice) -> np.ndarray:
    """The same where β = 0, (GRID,)."""
    at = np.linspace(-setting.reach, setting.reach, GRID)
    return _along(net, scheme, setting, at, np.zeros(GRID))


def _along(net: Net, scheme: str, setting: Slice, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The losses at pairs of α and β."""
    here = rescaled(net, scheme, setting.times)
    first, second = directions(here, here if setting.directions == "filter" else net, setting.seed)
    x, labels = (each[:SEEN] for each in digits())
    found = []
    for k in range(0, len(alpha), AT_ONCE):
        a, b = (each[k : k + AT_ONCE].reshape(-1, 1, 1) for each in (alpha, beta))
        moved = {name: here[name] + a * first[name] + b * second[name] for name in first}
        found.append(losses(here | moved, x, labels, scheme))
    return np.concatenate(found)


class Slices(NamedTuple):
    """Landscapes by scheme, without normalization and with it; and how far the loss comes from that at δ = 1.

    other: a δ that is not 1, the setting's or 3. own: by scheme, how far the network's own loss comes at that δ; apart:
    by scheme and by kind of directions, how far the loss along the first direction does; relative to the largest.
    """

    landscapes: dict[str, Landscape]
    other: float
    own: dict[str, float]
    apart: dict[tuple[str, str], float]


def slices(setting: Slice) -> Slices:
    """Everything that the panel shows."""
    other = setting.times if setting.times != 1 else OTHER
    made: dict[str, Landscape] = {}
    own: dict[str, float] = {}
    apart: dict[tuple[str, str], float] = {}
    for scheme in ("none", setting.beside):
        net = trained(scheme, setting.trained, setting.seed)
        made[scheme] = landscape(net, scheme, setting)
        plain = line(net, scheme, replace(setting, times=1.0))
        for kind in DIRECTIONS:
            moved = line(net, scheme, replace(setting, times=other, directions=kind))
            apart[scheme, kind] = float(np.abs(moved - plain).max() / plain.max())
            own[scheme] = float(abs(moved[GRID // 2] - plain[GRID // 2]) / plain[GRID // 2])
    return Slices(made, other, own, apart)
