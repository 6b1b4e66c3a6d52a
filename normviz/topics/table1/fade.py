"""Effect of a re-scaling that ε > 0 lets through, computed from the pre-activations alone.

A re-scaling by s multiplies v by s and E_B[v²] by s², but not ε:

    x̂ = v / sqrt(E_B[v²] + ε)    becomes    x̂' = s v / sqrt(s² E_B[v²] + ε)

Whitening does the same along the eigenvectors of the covariance matrix, each with its own variance. Behind spectral
norm any change of the weights is a re-scaling too: it changes the number that divides them all.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from normviz.core.fields import FULL, Field
from normviz.core.normalize import normalize
from normviz.core.registry import Scheme
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.train.problem import ORIGINAL, find_firing_unit, find_network_index, make_problem
from normviz.train.setting import Setting


class EpsEffect(NamedTuple):
    """Relative change of the outputs by a re-scaling because ε > 0: the largest of any output, and the typical one.

    `largest`, max|x̂' - x̂| / max|x̂|, is for gaps of a forward pass. `typical`, ‖x̂' - x̂‖ / ‖x̂‖, is for gaps of
    losses, and far smaller if ε affects few elements.
    """

    largest: float
    typical: float


def compute_eps_effects(scheme: Scheme, setting: Setting) -> dict[str, EpsEffect]:
    """Return by transformation how far every re-scaling changes the first layer's outputs because ε > 0, in float64.

    Valid if s is constant inside every field and a shift cancels, for a scheme that divides activations. Raises
    InvalidInput if the scheme does not fit the setting.
    """
    v, square, unit = compute_centred_squares(scheme, setting)
    axes, matrices = np.eye(v.shape[-1]), scheme.count_covariances(v.shape)
    if matrices:
        axes = _compute_eigenvectors(v, matrices)
        v = v @ axes
        square = (v**2).mean((0, 1, 2))  # of each direction
    before = _divide_by_root(v, square + setting.eps)
    largest, norm = np.abs(before @ axes.T).max() or 1.0, np.linalg.norm(before) or 1.0
    places = {(): (), ("C",): (..., unit), ("N",): (0,)}
    gaps = {}
    for key, change in TRANSFORMATIONS.items():
        front = _compute_weight_scheme_factor(scheme, change, setting)
        if change.factor is not None or front != 1.0:
            s = np.full(v.shape, front)
            if change.factor is not None:
                s[places[change.factor]] *= setting.delta
            apart = _divide_by_root(s * v, s**2 * square + setting.eps) - before
            gaps[key] = EpsEffect(float(np.abs(apart @ axes.T).max() / largest), float(np.linalg.norm(apart) / norm))
    return gaps


def compute_centred_squares(
    scheme: Scheme, setting: Setting, change: Transformation | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the first layer's centred pre-activations v, their mean squares, and the unit that a change scales.

    `change`: None for the original network. The scheme acts on activations. Raises InvalidInput if it does not fit.
    """
    setting.check([scheme])
    problem = make_problem(replace(setting, steps=1), [ORIGINAL if change is None else find_network_index(change)])
    x = problem.inputs[problem.order[0]] * problem.factor[0] + problem.shift[0]
    w = problem.weights[0][0]
    unit = find_firing_unit(w)
    if scheme.weight_part is not None:
        v, square = _compute_numerator_and_mean_square(w, scheme.weight_part)
        below = np.sqrt(square) if scheme.weight_part.is_general_form else _compute_divisor(w, scheme.weight_part)
        w = v / below * scheme.weight_part.compute_scale(w.shape)
    a = (x.reshape(-1, x.shape[-1]) @ w.reshape(-1, w.shape[-1])).reshape(setting.shapes[0])
    return *_compute_numerator_and_mean_square(a, scheme), unit


def _compute_weight_scheme_factor(scheme: Scheme, change: Transformation, setting: Setting) -> float:
    """Return the factor by which a transformation re-scales all normalized weights; 1 if it is not a single number."""
    front = scheme.weight_part
    if front is None or not divides_by_one_number(front) or change.on != "weights":
        return 1.0
    before, after = make_problem(replace(setting, steps=1), [ORIGINAL, find_network_index(change)]).weights[0]
    return float((_compute_divisor(before, front) / _compute_divisor(after, front)).item())


def divides_by_one_number(scheme: Scheme) -> bool:
    """Return True if one number divides the whole tensor, as in spectral norm."""
    return scheme.suppression == Field((FULL,) * 4)


def _compute_divisor(w: np.ndarray, scheme: Scheme) -> np.ndarray:
    return np.asarray(normalize(w, scheme, 0.0).deviation)


def _compute_eigenvectors(v: np.ndarray, groups: int) -> np.ndarray:
    """Return the eigenvectors of the covariance matrices of all channel groups, as columns of one matrix (C, C).

    Directions in which v is only rounding are zero, as even a tiny ε would act there.
    """
    size = v.shape[-1] // groups
    found = np.zeros((v.shape[-1], v.shape[-1]))
    for start in range(0, v.shape[-1], size):
        part = slice(start, start + size)
        rows = v[..., part].reshape(-1, size)
        squares, vectors = np.linalg.eigh(rows.T @ rows)
        found[part, part] = vectors * (squares > size * np.finfo(float).eps * squares[-1])
    return found


def _compute_numerator_and_mean_square(x: np.ndarray, scheme: Scheme) -> tuple[np.ndarray, np.ndarray]:
    """Return the centred numerator v and the mean square E_B[v²] of x̂ = v / √(ε + E_B[v²]); 1 if nothing divides."""
    v = x if scheme.summation is None else x - _average_over_fields(x, scheme.summation)
    return v, np.ones(1) if scheme.suppression is None else _average_over_fields(v**2, scheme.suppression)


def _average_over_fields(x: np.ndarray, field: Field) -> np.ndarray:
    """Return, in a shape that broadcasts against x, the mean over the elements that share each element's statistic."""
    for axis, (rule, n) in enumerate(zip(field.rules, x.shape, strict=True)):
        if rule.kind == "full":
            x = x.mean(axis, keepdims=True)
        elif rule.kind != "own":
            index, (low, high) = np.arange(n), rule.compute_bounds(n).T[:, :, None]
            inside = (index >= low) & (index < high)
            x = np.moveaxis(np.tensordot(inside / inside.sum(1, keepdims=True), x, (1, axis)), 0, axis)
    return x


def _divide_by_root(v: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return v / √square, with 0/0 = 0."""
    return v / np.sqrt(np.where(square > 0, square, 1.0))
