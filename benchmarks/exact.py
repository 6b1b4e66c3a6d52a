"""Table 1 by arithmetic that shares nothing with the app's: the general form in long double, box by box of an axis.

What the app predicts comes from a rule on fields, what it measures from its kernels. Here a change of weights or data
is written out on the summed inputs and normalized, with some 19 digits, so that what is equal is equal to 1e-15, and
what is not is seen although δ is 1 ± 1e-6.
"""

from itertools import combinations

import numpy as np

from normviz.core.fields import Field
from normviz.core.registry import Scheme
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.data.digits import cut_patches, load_digits
from normviz.train.setting import Setting

NOTHING = 1e-14
"""A root mean square that is this small beside the numbers it is left of is zero but for rounding: there, 0/0 is 0."""

SWEEPS = 10
"""Jacobi rotations converge quadratically: six sweeps are enough for 16 channels."""


def exact_gaps(scheme: Scheme, setting: Setting) -> dict[str, float]:
    """max|x̂' - x̂| / max|x̂| of the first layer on the first mini-batch, by transformation."""
    original = _outputs(scheme, setting, None)
    largest = np.abs(original).max() or 1.0
    changes = TRANSFORMATIONS.items()
    return {key: float(np.abs(_outputs(scheme, setting, row) - original).max() / largest) for key, row in changes}


def _outputs(scheme: Scheme, setting: Setting, change: Transformation | None) -> np.ndarray:
    """x̂ of the first layer, with a change."""
    x, w = _numbers(setting, change.key if change is not None else "", np.longdouble(setting.delta))
    if scheme.weight_part is not None:
        w = _general(w, scheme.weight_part, 0.0)
    fan_in = w.shape[0] * w.shape[1] * w.shape[2]
    x, w = x.reshape(-1, fan_in), w.reshape(fan_in, -1)
    a = x @ w
    a = np.where(np.abs(a) <= NOTHING * (np.abs(x) @ np.abs(w)), 0, a).reshape(setting.shapes[0])  # 0 but for rounding
    return a if scheme.activation_part is None else _general(a, scheme.activation_part, setting.eps)


def _numbers(setting: Setting, change: str, delta: np.longdouble) -> tuple[np.ndarray, np.ndarray]:
    """Return the changed data of the first mini-batch, (examples, positions, fan-in), and the changed weights."""
    images = load_digits()[0]
    chosen = np.random.default_rng([setting.seed, 0]).permutation(len(images))
    if setting.batch > len(chosen):
        raise ValueError("one epoch is enough for a batch")
    x = images[chosen[: setting.batch]].astype(np.longdouble)
    rng = np.random.default_rng([setting.seed, 2])
    shape = setting.weight_shapes[0]
    fan_in = shape[0] * shape[1] * shape[2]
    w = (rng.standard_normal(shape) * fan_in**-0.5).astype(np.longdouble)
    by_input = setting.shift * fan_in**-0.5 * rng.standard_normal((*shape[:3], 1))
    count = 64 if setting.layer == "dense" else 1
    tau = setting.shift * np.random.default_rng([setting.seed, 1]).standard_normal(count)
    match change:
        case "weight-matrix-rescaling":
            w = delta * w
        case "weight-matrix-recentering":
            w = w + by_input
        case "weight-vector-rescaling":
            w[..., w.sum((0, 1, 2)).argmax()] *= delta
        case "dataset-rescaling":
            x = delta * x
        case "dataset-recentering":
            x = x + tau.reshape((8, 8) if setting.layer == "dense" else (1, 1))
        case "case-rescaling":
            x[0] *= delta
    return cut_patches(x, setting.kernel) if setting.layer == "conv" else x.reshape(len(x), 1, -1), w


def _general(x: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """Normalize one tensor by the general form, the spectral norm or whitening."""
    if scheme.kind.key == "spectral":
        matrix = x.reshape(-1, x.shape[-1])
        return x / _largest_singular_value(matrix)
    v = x if scheme.summation is None else x - _average(x, scheme.summation)
    v = np.where(np.abs(v) <= NOTHING * _average(np.abs(x), scheme.summation or OWN), 0, v)
    if scheme.suppression is None:
        return v
    if scheme.kind.key == "whitening":
        parts = np.split(v, scheme.count_covariances(x.shape), axis=-1)
        return np.concatenate([_whitened(part, eps) for part in parts], axis=-1)
    square = _average(v * v, scheme.suppression)
    root = np.sqrt(square + np.longdouble(eps))
    scale = np.longdouble(x.shape[0] * x.shape[1] * x.shape[2]) ** -0.5 if scheme.per_fan_in else 1
    return np.where(root > 0, v / np.where(root > 0, root, 1), 0) * scale


def _whitened(v: np.ndarray, eps: float) -> np.ndarray:
    """Return (Σ + εI)^(-1/2) v of one group of channels, where a direction without deviation gives 0."""
    turned, axes = _principal_axes(v.reshape(-1, v.shape[-1]))
    squares = (turned * turned).mean(0)
    least = (max(turned.shape) * np.finfo(float).eps) ** 2 * squares.max() if len(axes) > 1 else 0
    kept = squares > least
    inverse = np.where(kept, 1 / np.sqrt(np.where(kept, squares + np.longdouble(eps), 1)), 0)
    return ((turned * inverse) @ axes.T).reshape(v.shape)


def _principal_axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows @ Q, whose columns are orthogonal, and the orthogonal matrix Q, by one-sided Jacobi rotations.

    LAPACK has double precision alone: its singular vectors of 1568 rows are off by 1e-14, so that x̂ is by 1e-13.
    """
    turned, axes = rows.T.copy(), np.eye(rows.shape[1], dtype=rows.dtype)
    negligible = np.finfo(rows.dtype).eps
    for _ in range(SWEEPS):
        for pair in combinations(range(len(axes)), 2):
            p, q = turned[[*pair]]
            pp, qq, pq = p @ p, q @ q, p @ q
            if abs(pq) > negligible * np.sqrt(pp * qq):
                ratio = (qq - pp) / (2 * pq)
                tangent = np.copysign(1, ratio) / (abs(ratio) + np.sqrt(1 + ratio**2))
                rotation = np.array([[1, -tangent], [tangent, 1]]) / np.sqrt(1 + tangent**2)
                for tensor in (turned, axes):
                    tensor[[*pair]] = rotation @ tensor[[*pair]]
    return turned.T, axes.T


def _largest_singular_value(matrix: np.ndarray) -> np.longdouble:
    """By the power method from LAPACK's vector, in long double."""
    gram = matrix.T @ matrix
    v = np.linalg.svd(matrix.astype(float))[2][0].astype(np.longdouble)
    for _ in range(200):
        v = gram @ v
        v /= np.sqrt((v * v).sum())
    u = matrix @ v
    return np.sqrt((u * u).sum())


OWN = Field.parse("own, own, own, own")


def _average(x: np.ndarray, field: Field) -> np.ndarray:
    """Return the mean over the box of every element, axis by axis, from where each box begins and ends."""
    for axis, (rule, n) in enumerate(zip(field.rules, x.shape, strict=True)):
        if rule.kind == "full":
            x = x.mean(axis, keepdims=True)
        elif rule.kind != "own":
            x = np.stack([x.take(range(lo, hi), axis).mean(axis) for lo, hi in rule.compute_bounds(n)], axis)
    return x
