"""Normalization as homework writes it, right or wrong: one formula with a place for each mistake.

    v = x - E_A[x],   w = v,   s = E_B[w²],   r = 1/√(s + ε),   x̂ = v r
    ∂L/∂x = (1 - E_Aᵀ)(g r + 2 w E_Bᵀ[g v ∂r/∂s])

In plain float64, without the care that `normviz.core` takes of extreme numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from normviz.core.backward import compute_diagonal_gradient
from normviz.core.fields import Field, Shape
from normviz.core.reductions import apply_transposed_average, broadcast_statistic, centre
from normviz.core.registry import Scheme, make_custom_scheme

MistakeKeys = tuple[str, ...]
"""Keys of the mistakes that were made together; () without a mistake."""


class HomeworkInputs(NamedTuple):
    """The inputs of a homework task as tensors (N, H, W, C); gamma and beta broadcast to x; dout may be None."""

    x: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray
    dout: np.ndarray | None


@dataclass(frozen=True)
class FormulaVariant:
    """A right or wrong formula of normalization: the averaged elements, ε, the root and constant factors.

    Attributes:
        summation, suppression: the fields A and B; None: not centred, or not divided.
        eps: ε, added inside of the root, outside of it, or to a variance without one.
        root: "inside", "outside" or "none"; with absolute values also "squared", 1/√(s² + ε).
        sample: True if squares are averaged with m - 1.
        sample_mean: True if the mean is a sum over m - 1, too.
        absolute: True if absolute values are averaged, in place of squares.
        centred_squares: True if the squared numbers are centred, w = v; otherwise w = x.
        scale: a constant factor of x̂.
    """

    summation: Field | None
    suppression: Field | None
    eps: float
    root: str = "inside"
    sample: bool = False
    sample_mean: bool = False
    absolute: bool = False
    centred_squares: bool = True
    scale: float = 1.0


class ForwardSteps(NamedTuple):
    """The forward pass of a formula: centred v, averaged w, r = 1/σ, its derivative ∂r/∂s by the mean square s, and x̂.

    For absolute values, w is half of the sign, so that 2w is the derivative of the averaged quantity, as for squares.
    """

    v: np.ndarray
    w: np.ndarray
    r: np.ndarray
    slope: np.ndarray
    xhat: np.ndarray


def broadcast_mean(x: np.ndarray, field: Field) -> np.ndarray:
    """Return for each element the mean over the elements that its field averages, in the shape of x."""
    return np.broadcast_to(broadcast_statistic(centre(x, field)[1], x.shape), x.shape)


def compute_bessel_factor(field: Field, shape: Shape) -> np.ndarray:
    """Return m/(m − 1) for every element, where m elements share its statistic; 1 where m = 1."""
    m = field.compute_sizes(shape)
    return m / np.maximum(m - 1, 1)


def compute_forward_steps(x: np.ndarray, formula: FormulaVariant) -> ForwardSteps:
    """Return the `ForwardSteps` of x by a right or wrong formula, from the centred v to x̂."""
    v = x
    if formula.summation is not None:
        v = x - broadcast_mean(x, formula.summation) * (
            compute_bessel_factor(formula.summation, x.shape) if formula.sample_mean else 1.0
        )
    if formula.suppression is None:
        one = np.ones_like(x)
        return ForwardSteps(v, v, one, np.zeros_like(x), v * formula.scale)
    w = v if formula.centred_squares else x
    factor = compute_bessel_factor(formula.suppression, x.shape) if formula.sample else np.ones_like(x)
    s = broadcast_mean(np.abs(w) if formula.absolute else w * w, formula.suppression) * factor
    if formula.root == "inside":
        r = 1 / np.sqrt(s + formula.eps)
        slope = -(r**3) / 2
    elif formula.root == "outside":
        r = 1 / (np.sqrt(s) + formula.eps)
        slope = -(r**2) / (2 * np.sqrt(s))
    elif formula.root == "squared":
        r = 1 / np.sqrt(s * s + formula.eps)
        slope = -s * r**3
    else:
        r = 1 / (s + formula.eps)
        slope = -(r**2)
    half = np.sign(w) / 2 if formula.absolute else w
    return ForwardSteps(v, half, r * formula.scale, slope * factor * formula.scale, v * r * formula.scale)


def generate_input_gradients(
    x: np.ndarray, g: np.ndarray, formula: FormulaVariant, steps: ForwardSteps
) -> Iterator[tuple[MistakeKeys, np.ndarray]]:
    """Yield (mistake keys, ∂L/∂x) from g = ∂L/∂x̂ and the forward `steps`: the right one, then one per mistake."""
    a, b = formula.summation, formula.suppression
    direct = g * steps.r
    kept = compute_bessel_factor(a, x.shape) if a is not None and formula.sample_mean else 1.0

    def reach(times: float | np.ndarray = 1.0) -> np.ndarray:
        """Return the path through the variance, with each average multiplied by `times`."""
        return (
            np.zeros_like(x)
            if b is None
            else 2 * steps.w * apply_transposed_average(g * steps.v * steps.slope * times, b)
        )

    def back(z: np.ndarray, times: float | np.ndarray = kept) -> np.ndarray:
        return np.zeros_like(x) if a is None else np.broadcast_to(apply_transposed_average(z * times, a), x.shape)

    through = reach()
    inner = through if formula.centred_squares else 0.0  # through v, or straight to x
    outer = 0.0 if formula.centred_squares else through
    dx = direct + inner - back(direct + inner) + outer
    yield (), dx
    if a is not None:
        yield ("mean-path",), direct + through
    if b is not None:
        yield ("variance-path",), direct - back(direct)
        yield ("constant-statistics",), direct
    if (
        formula.root == "inside"
        and formula.centred_squares
        and not (formula.sample or formula.sample_mean or formula.absolute)
    ):
        own = make_custom_scheme(a, b)
        yield ("diagonal-gradient",), compute_diagonal_gradient(x, g * formula.scale, own, formula.eps)
        if b is not None:
            yield ("diagonal-gradient",), direct + 2 * steps.w * g * steps.v * steps.slope / b.compute_sizes(x.shape)
    for of_mean, of_variance in ((1, 0), (0, 1), (1, 1)):
        n = 1.0 if a is None or not of_mean else a.compute_sizes(x.shape)
        m = 1.0 if b is None or not of_variance else b.compute_sizes(x.shape)
        dv = direct + through * m
        yield ("sum-instead-of-mean",), dv - back(dv) * n
    for factor in (0.5, 2.0):
        dv = direct + factor * through
        yield ("factor-of-two",), dv - back(dv)
    yield ("sign",), -dx
    for of_mean, of_variance in ((1, -1), (-1, 1), (-1, -1)):
        dv = direct + of_variance * through
        yield ("sign",), dv - of_mean * back(dv)
    for m in {x.size, x.shape[0], 1 if b is None else int(b.compute_sizes(x.shape).max())}:
        yield ("mean-instead-of-sum",), dx / m
    if b is not None and formula.centred_squares and not formula.sample_mean:
        # m − 1 in the forward pass only, in the backward pass only, and in the sums through the mean as well.
        more = compute_bessel_factor(b, x.shape)
        of_means = [1.0] if a is None else [1.0, compute_bessel_factor(a, x.shape)]
        for of_mean, of_variance in [*product(of_means, [1.0, 1 / more if formula.sample else more])][1:]:
            dv = direct + reach(of_variance)
            yield ("sample-variance",), dv - back(dv, of_mean)


def make_right_formula(scheme: Scheme, shape: Shape, eps: float) -> FormulaVariant:
    """Return the formula, without mistakes, of a scheme that divides by a root mean square."""
    return FormulaVariant(scheme.summation, scheme.suppression, eps, scale=scheme.compute_scale(shape))


def generate_wrong_formulas(scheme: Scheme, formula: FormulaVariant) -> Iterator[tuple[MistakeKeys, FormulaVariant]]:
    """Yield (mistake keys, formula) for each wrong formula over the right elements, such as a missing root."""
    if formula.suppression is None:
        if formula.summation is not None:
            yield ("no-centring",), replace(formula, summation=None)
        return
    if formula.eps:
        yield ("eps-outside-root",), replace(formula, root="outside")
    yield ("no-root",), replace(formula, root="none")
    yield ("sample-variance",), replace(formula, sample=True)
    if formula.eps:
        yield ("no-eps",), replace(formula, eps=0.0)
    if formula.summation is not None:
        yield ("no-centring",), replace(formula, summation=None)
        yield ("mean-square",), replace(formula, centred_squares=False)
    else:
        yield ("centred",), replace(formula, summation=formula.suppression)
    yield ("no-division",), replace(formula, suppression=None)
    defaults = (1e-3, 1e-5, 1e-6, 1e-8, 1e-12)  # of frameworks and of homework
    for other in dict.fromkeys((formula.eps**2, formula.eps**0.5, *defaults)):
        if other != formula.eps:
            yield ("other-eps",), replace(formula, eps=other)
    if scheme.per_fan_in:
        yield ("no-scale",), replace(formula, scale=1.0)
    if formula.summation is not None:
        yield ("sample-variance",), replace(formula, sample=True, sample_mean=True)
        yield ("no-centring", "no-division"), replace(formula, summation=None, suppression=None)
    for root, eps in (("none", formula.eps), ("none", 0.0), ("squared", formula.eps), ("inside", formula.eps)):
        yield ("absolute-deviation",), replace(formula, absolute=True, root=root, eps=eps)


def generate_wrong_denominators(formula: FormulaVariant) -> Iterator[tuple[MistakeKeys, FormulaVariant]]:
    """Yield (mistake keys, formula) for the most common mistakes in the divisor, alone and in pairs."""
    if formula.suppression is None:
        return
    roots = {"inside": (), "none": ("no-root",), **({"outside": ("eps-outside-root",)} if formula.eps else {})}
    for (root, first), sample in product(roots.items(), (False, True)):
        keys = (*first, *(("sample-variance",) if sample else ()))
        if keys:
            yield keys, replace(formula, root=root, sample=sample)
    if formula.eps:
        yield ("no-eps",), replace(formula, eps=0.0)
        yield ("no-eps", "sample-variance"), replace(formula, eps=0.0, sample=True)
