"""Weight and spectral norm of a trained layer: its vectors, its singular values, and its Lipschitz bound.

A layer is a weight tensor (kh, kw, Cin, Cout) on digits, cut into patches of fan-in = kh·kw·Cin numbers. Its matrix M
is (fan-in, Cout), a column for each unit; a dense layer has one patch, the whole digit.
"""

from dataclasses import dataclass
from math import isqrt, prod
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.rows import index_by_key
from normviz.core.text import format_number
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, cut_patches, load_digits

BATCH = 64
RATE = 0.3
MAX_TRAINING = 400
PAIR_COUNT = 2000


@dataclass(frozen=True)
class FirstLayer:
    """First layer of a small network on digits: its key, its name, and the shape of its weights."""

    key: str
    name: str
    shape: Shape

    @property
    def fan_in(self) -> int:
        """The number of inputs of a unit."""
        return prod(self.shape[:-1])

    @property
    def units(self) -> int:
        """The number of units, the columns of the weight matrix."""
        return self.shape[-1]

    @property
    def side(self) -> int:
        """The side length of the square patch that a unit sees."""
        return isqrt(self.fan_in)

    @property
    def overlap(self) -> int:
        """The largest number of patches that hold one pixel."""
        return min(self.side, DIGIT_SIDE - self.side + 1) ** 2


FIRST_LAYERS: dict[str, FirstLayer] = index_by_key(
    FirstLayer("dense", "Dense, 64 → 32", (1, 1, 64, 32)),
    FirstLayer("square", "Dense, 64 → 64", (1, 1, 64, 64)),
    FirstLayer("conv", "Convolution, 3 × 3", (3, 3, 1, 8)),
)


def train_first_layer(layer: FirstLayer, steps: int, seed: int) -> np.ndarray:
    """Train a layer, ReLU and a classifier by SGD on the digits; return the layer's weights (kh, kw, Cin, Cout).

    Initial variance 2 / fan-in (He), batches of 64, learning rate 0.3.
    """
    if not 0 <= steps <= MAX_TRAINING:
        raise InvalidInput(f"the layer is trained for 0 to {MAX_TRAINING} steps; {steps} were asked for.")
    images, labels = load_digits()
    inputs = cut_patches(images, layer.side)
    rng = np.random.default_rng(seed)
    m = rng.normal(0, (2 / layer.fan_in) ** 0.5, (layer.fan_in, layer.units))
    features = inputs.shape[1] * layer.units
    classifier = rng.normal(0, features**-0.5, (features, DIGIT_CLASSES))
    for _ in range(steps):
        chosen = rng.integers(0, len(images), BATCH)
        x, hot = inputs[chosen], np.eye(DIGIT_CLASSES)[labels[chosen]]
        sums = x @ m
        hidden = np.maximum(sums, 0).reshape(BATCH, features)
        scores = hidden @ classifier
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (share / share.sum(axis=1, keepdims=True) - hot) / BATCH
        back = (error @ classifier.T).reshape(sums.shape) * (sums > 0)
        classifier -= RATE * hidden.T @ error
        m -= RATE * np.einsum("npi,npo->io", x, back)
    return m.reshape(layer.shape)


def flatten_to_matrix(w: np.ndarray) -> np.ndarray:
    """Reshape weights (kh, kw, Cin, Cout) to the matrix (kh·kw·Cin, Cout)."""
    return w.reshape(-1, w.shape[-1])


def build_operator_matrix(w: np.ndarray, layer: FirstLayer) -> np.ndarray:
    """Return the matrix (64, patches·Cout) of the whole layer, with weights w, as a linear map of pictures.

    For a dense layer it equals the layer's matrix. For a convolution it is larger, with other singular values than
    those of `flatten_to_matrix(w)`.
    """
    pixels = np.eye(DIGIT_SIDE * DIGIT_SIDE).reshape(-1, DIGIT_SIDE, DIGIT_SIDE)
    return (cut_patches(pixels, layer.side) @ flatten_to_matrix(w)).reshape(DIGIT_SIDE * DIGIT_SIDE, -1)


def apply_weight_norm(v: np.ndarray, g: np.ndarray | float) -> np.ndarray:
    """Return w = g v / ‖v‖ for every column of v (fan-in, Cout), or for one vector.

    Source: Salimans & Kingma 2016, eq. 2.
    """
    return g * _compute_direction(v)


def backpropagate_weight_norm(v: np.ndarray, g: np.ndarray | float, dw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ∂L/∂v, at right angles to v, and ∂L/∂g of w = g v / ‖v‖ from dw = ∂L/∂w.

    Shapes as in `apply_weight_norm`. Source: Salimans & Kingma 2016, eq. 3.
    """
    direction = _compute_direction(v)
    dg = np.sum(dw * direction, axis=0)
    return g / np.linalg.norm(v, axis=0) * (dw - dg * direction), dg


def _compute_direction(v: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(v, axis=0)
    if not np.all((length > 0) & np.isfinite(length)):
        raise InvalidInput(
            f"a vector of length {format_number(np.min(length))} has no direction; w = g v/‖v‖ needs finite v ≠ 0."
        )
    return v / length


class PowerIteration(NamedTuple):
    """Power iteration by step: its vectors and estimates, with all singular values.

    Attributes:
        sigma: the estimates of σ₁, (steps + 1,).
        u, v: vectors over units (steps + 1, Cout), and over inputs (steps + 1, fan-in).
        values: the singular values, descending.
    """

    sigma: np.ndarray
    u: np.ndarray
    v: np.ndarray
    values: np.ndarray


def run_power_iteration(m: np.ndarray, steps: int, seed: int = 0) -> PowerIteration:
    """Return the `PowerIteration` from a random vector to the largest singular value of a matrix m (fan-in, Cout).

    Source: Miyato et al. 2018, Algorithm 1.
    """
    if m.ndim != 2 or not np.all(np.isfinite(m)) or not m.any():
        raise InvalidInput(f"power iteration needs a matrix of finite numbers that are not all 0; this is {m.shape}.")
    v = _make_unit_vector(np.random.default_rng(seed).standard_normal((len(m),)))
    u = _make_unit_vector(m.T @ v)
    us, vs, sigma = [u], [v], [u @ m.T @ v]
    for _ in range(steps):
        v = _make_unit_vector(m @ u)
        u = _make_unit_vector(m.T @ v)
        us.append(u)
        vs.append(v)
        sigma.append(u @ m.T @ v)
    return PowerIteration(np.array(sigma), np.array(us), np.array(vs), np.linalg.svd(m, compute_uv=False))


def _make_unit_vector(v: np.ndarray) -> np.ndarray:
    """Return v/‖v‖; 0 stays 0."""
    length = np.linalg.norm(v)
    return v / length if length else v


def sample_digit_pairs(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random pairs of different digits as rows: two arrays (count, 64)."""
    images, _ = load_digits()
    flat = images.reshape(len(images), -1)
    rng = np.random.default_rng([seed, 1])
    first = rng.integers(0, len(flat), count)
    return flat[first], flat[(first + rng.integers(1, len(flat), count)) % len(flat)]


def make_singular_pairs(k: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of inputs 0.1 apart along singular directions of k, most stretched first: two arrays (64, 64).

    Directions that K maps to nothing are among them.
    """
    x, _ = sample_digit_pairs(len(k), seed)
    directions, _, _ = np.linalg.svd(k)
    return x, x + 0.1 * directions.T


def compute_lipschitz_ratios(k: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ‖f(x) - f(y)‖ / ‖x - y‖ for every pair of rows, with f(x) = Kᵀx; at most σ₁(K)."""
    gap = np.linalg.norm(x - y, axis=1)
    if not gap.all():
        raise InvalidInput("a pair of equal points has no ratio; the points of a pair must differ.")
    return np.linalg.norm((x - y) @ k, axis=1) / gap


def measure_critic_gradients(k: np.ndarray, x: np.ndarray, seed: int) -> np.ndarray:
    """Return ‖∇f(x)‖ at every row of x for a random critic f(x) = aᵀ max(Kᵀx, 0); at most σ₁(K).

    The random a is spectrally normalized too, ‖a‖ = 1, and ReLU multiplies by 0 or 1.
    """
    a = _make_unit_vector(np.random.default_rng([seed, 3]).standard_normal((k.shape[1],)))
    return np.linalg.norm(((x @ k > 0) * a) @ k.T, axis=1)
