"""Whitening in two dimensions, and its two simplifications in batch norm: single features, single mini-batches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from normviz.data.digits import DIGIT_SIDE, load_digits

HALF_SIDE = DIGIT_SIDE // 2
CLOUD_SIZE = 1000
"""Number of points of a drawn cloud."""

ELLIPSE_RADIUS = 2.0
"""Radius of the ellipses, in standard deviations."""

BATCH_COUNT = 200
"""Number of mini-batches whose statistics are compared."""


@dataclass(frozen=True)
class DigitFeature:
    """Feature of a digit: its name, and a function (digits, 8, 8) -> (digits,) that averages some pixels."""

    name: str
    compute: Callable[[np.ndarray], np.ndarray]


FEATURES = {
    "top": DigitFeature("ink, upper half", lambda x: x[:, :HALF_SIDE].mean((1, 2))),
    "bottom": DigitFeature("ink, lower half", lambda x: x[:, HALF_SIDE:].mean((1, 2))),
    "left": DigitFeature("ink, left half", lambda x: x[:, :, :HALF_SIDE].mean((1, 2))),
    "right": DigitFeature("ink, right half", lambda x: x[:, :, HALF_SIDE:].mean((1, 2))),
    "middle": DigitFeature("ink, middle", lambda x: x[:, 2:-2, 2:-2].mean((1, 2))),
    "all": DigitFeature("ink, all pixels", lambda x: x.mean((1, 2))),
}
"""Features of digits by key."""


def compute_digit_features(first: str, second: str) -> np.ndarray:
    """Return two features of all digits, given by their keys, (digits, 2)."""
    images, _ = load_digits()
    return np.stack([FEATURES[key].compute(images) for key in (first, second)], axis=-1)


def sample_normal_cloud(correlation: float, ratio: float, seed: int) -> np.ndarray:
    """Sample normal points (`CLOUD_SIZE`, 2): mean (2, 1), this correlation, standard deviations `ratio` and 1."""
    a, b = np.random.default_rng([seed, 20]).standard_normal((2, CLOUD_SIZE))
    second = correlation * a + np.sqrt(max(1 - correlation**2, 0.0)) * b
    return np.stack([ratio * a, second], axis=-1) + np.array([2.0, 1.0])


def compute_covariance(x: np.ndarray) -> np.ndarray:
    """Return the covariance Σ of x, (…, N, C), over its N examples, divided by N: shape (…, C, C)."""
    v = x - x.mean(-2, keepdims=True)
    return v.mT @ v / x.shape[-2]


def compute_correlation(cov: np.ndarray) -> float:
    """Return the correlation Σ₀₁ / √(Σ₀₀ Σ₁₁) of two features from their covariance; 0 if one is constant."""
    scale = float(np.sqrt(cov[0, 0]) * np.sqrt(cov[1, 1]))
    return float(cov[0, 1]) / scale if scale else 0.0


def find_principal_directions(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of a covariance in descending order, and its eigenvectors as columns."""
    values, vectors = np.linalg.eigh(cov)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > 1e-12 * max(float(values[0]), 0.0), values, 0.0)  # without what is only rounding
    largest = vectors[np.abs(vectors).argmax(0), np.arange(len(values))]
    return values, vectors * np.where(largest < 0, -1.0, 1.0)


def make_whitening_matrix(cov: np.ndarray, eps: float, rotate_back: bool) -> np.ndarray:
    """Compute W, (C, C), such that x̂ = W (x − μ) is white: the inverse square root of Σ + εI.

    With Σ = E Λ Eᵀ, PCA whitening is W = (Λ + ε)^(−1/2) Eᵀ; rotated back, ZCA whitening is E (Λ + ε)^(−1/2) Eᵀ. A
    direction without variance gives 0, as `normalize` gives for a constant field.

    Source: Bell & Sejnowski 1997; Huang et al. 2018, arXiv 1804.08450, section 3.
    """
    values, vectors = find_principal_directions(cov)
    w = _compute_inverse_roots(values, eps)[:, None] * vectors.T
    return vectors @ w if rotate_back else w


def _compute_inverse_roots(variances: np.ndarray, eps: float) -> np.ndarray:
    """Return 1/√(σ² + ε) for each variance; 0 if the variance is 0."""
    return np.divide(1.0, np.sqrt(variances + eps), out=np.zeros(len(variances)), where=variances > 0)


@dataclass(frozen=True)
class WhiteningStage:
    """Stage of whitening a cloud: its name, its formula, and the function (Σ, ε) -> W with x̂ = W (x − μ).

    `plain`: the result keeps the cloud's scale.
    """

    name: str
    formula: str
    matrix: Callable[[np.ndarray, float], np.ndarray]
    plain: bool = False

    def __call__(self, x: np.ndarray, eps: float) -> np.ndarray:
        """Return W (x − μ) of all points (N, 2), with their own mean and covariance."""
        return (x - x.mean(0)) @ self.matrix(compute_covariance(x), eps).T


STAGES = {
    "centred": WhiteningStage("Centred", r"x - \mu", lambda cov, eps: np.eye(len(cov)), plain=True),
    "scaled": WhiteningStage(
        "Scaled per feature", r"\hat{x}_c = \frac{x_c - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}}",
        lambda cov, eps: np.diag(_compute_inverse_roots(np.diag(cov), eps)),
    ),
    "zca": WhiteningStage(
        "Whitened (ZCA)",
        r"\hat{x} = (\Sigma + \varepsilon I)^{-1/2} (x - \mu)",
        lambda cov, eps: make_whitening_matrix(cov, eps, True),
    ),
    "pca": WhiteningStage(
        "Whitened (PCA)", r"\hat{x} = (\Lambda + \varepsilon I)^{-1/2} E^\top (x - \mu)",
        lambda cov, eps: make_whitening_matrix(cov, eps, False),
    ),
}  # fmt: skip
"""The stages by key, each of which adds one step to the one before."""


def make_covariance_ellipse(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Compute points (k, 2) on the covariance ellipse at `ELLIPSE_RADIUS` standard deviations from the mean."""
    values, vectors = find_principal_directions(cov)
    turn = np.linspace(0, 2 * np.pi, 97)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return mean + ELLIPSE_RADIUS * (circle * np.sqrt(values)) @ vectors.T


def sample_mini_batches(x: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Sample `BATCH_COUNT` mini-batches, each of distinct points of x: (`BATCH_COUNT`, size, 2)."""
    rng = np.random.default_rng([seed, 21])
    return np.stack([x[rng.choice(len(x), size, replace=False)] for _ in range(BATCH_COUNT)])


def count_statistics(features: int) -> tuple[int, int]:
    """Return how many statistics batch norm and whitening estimate for this number of features."""
    return 2 * features, features + features * (features + 1) // 2
