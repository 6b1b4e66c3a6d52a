"""Wrong results: the arrays that a homework answer has after each known mistake, alone or combined."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np

from normviz.core.backward import compute_gradients as exact
from normviz.core.layouts import parse_layout
from normviz.topics.gradients.case import HomeworkCase
from normviz.topics.gradients.homework import (
    FormulaVariant,
    ForwardSteps,
    HomeworkInputs,
    MistakeKeys,
    broadcast_mean,
    compute_bessel_factor,
    compute_forward_steps,
    generate_input_gradients,
    generate_wrong_denominators,
    generate_wrong_formulas,
    make_right_formula,
)
from normviz.topics.gradients.min_max import MinMaxScaling, generate_min_max_variants
from normviz.topics.gradients.misreadings import generate_misread_views, generate_wrong_fields, has_fitting_groups

MistakeCandidates = Iterator[tuple[MistakeKeys, np.ndarray]]
"""Pairs of mistakes and the array that they lead to."""


def generate_single_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) for the answer's array `name` by each single mistake, squeezed; simplest first."""
    wanted = case.to_layout_order(case.right[name])
    for order in permutations(range(wanted.ndim)):
        if order != tuple(range(wanted.ndim)):
            yield ("transposed",), wanted.transpose(order)
    for keys, tensor in _generate_tensor_mistakes(case, name):
        yield keys, case.to_layout_order(tensor)
    for keys, array in _generate_sum_mistakes(case, name):
        yield keys, array.squeeze()


def generate_combined_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) for the answer's array `name` by two or three mistakes together, squeezed."""
    task, scheme = case.task, case.scheme
    if not scheme.is_general_form or name == "dbeta":
        return
    right = make_right_formula(scheme, task.x.shape, case.eps)
    for keys, formula in (
        *generate_wrong_formulas(scheme, right),
        *generate_wrong_fields(right, task.x.shape, case.layout),
    ):
        for more, tensor in _generate_arrays(name, task, formula):
            yield tuple(dict.fromkeys((*keys, *more))), case.to_layout_order(tensor)
    for keys, formula in generate_wrong_denominators(right):
        yield keys, case.to_layout_order(_compute_array(name, task, formula))
    for keys, placed in generate_wrong_fields(right, task.x.shape, case.layout):
        for more, formula in generate_wrong_denominators(placed):
            yield (*keys, *more), case.to_layout_order(_compute_array(name, task, formula))
    for view in generate_misread_views(task, scheme, case.layout):
        if all(has_fitting_groups(field, view.order.shape) for field in scheme.fields):
            for more, tensor in _generate_arrays(name, view.task, right):
                yield (view.key, *more), case.to_layout_order(view.restore_order(tensor))


def _generate_tensor_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) by each mistake, as a tensor (N, H, W, C) or parameter; common mistakes first."""
    if name in ("dgamma", "dbeta"):
        yield ("swapped",), case.right["dbeta" if name == "dgamma" else "dgamma"]
    if not case.scheme.is_general_form and case.normalized.deviation is not None:
        yield from _generate_divisor_mistakes(case, name)
    if case.scheme.is_general_form and name != "dbeta":
        yield from _generate_general_form_mistakes(case, name)
    yield from _generate_any_scheme_mistakes(case, name)


def _generate_general_form_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) by mistakes in schemes that divide by a root mean square, such as a wrong divisor."""
    task, scheme = case.task, case.scheme
    right = make_right_formula(scheme, task.x.shape, case.eps)
    yield from _generate_arrays(name, task, right)
    for keys, formula in (
        *generate_wrong_formulas(scheme, right),
        *generate_wrong_fields(right, task.x.shape, case.layout),
    ):
        yield keys, _compute_array(name, task, formula)
    if "running mean" in scheme.keeps:
        yield from _generate_running_average_mistakes(case, name)
    for view in generate_misread_views(task, scheme, case.layout):
        if all(has_fitting_groups(field, view.order.shape) for field in scheme.fields):
            yield (view.key,), view.restore_order(_compute_array(name, view.task, right))
    if name == "dx" and right.suppression is not None:
        assert task.dout is not None
        sample = replace(right, sample=True)
        for keys, tensor in generate_input_gradients(
            task.x, task.dout * task.gamma, sample, compute_forward_steps(task.x, sample)
        ):
            if keys == ("sample-variance",):
                yield keys, tensor
    if right.suppression is not None:
        for variant in generate_min_max_variants(task.x, right.suppression, case.eps):
            yield from _generate_min_max_mistakes(task, name, variant)


def _generate_min_max_mistakes(task: HomeworkInputs, name: str, variant: MinMaxScaling) -> MistakeCandidates:
    """Yield (mistake keys, array `name`) with a variant of min–max scaling for the scheme, with γ and β or without."""
    if name == "out":
        found = _generate_affine_mistakes(task, variant.xhat)
    elif name == "dgamma":
        assert task.dout is not None
        found = iter([((), _sum_to_parameter(task.dout * variant.xhat, task.gamma))])
    else:
        assert task.dout is not None
        found = iter([((), variant.backward(task.dout * task.gamma))])
    for keys, tensor in found:
        yield ("min-max", *keys), tensor


def _generate_any_scheme_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) by mistakes that every scheme allows, such as γ + 1 in place of γ."""
    task = case.task
    if name == "out":
        yield ("gamma-plus-one",), case.normalized.xhat * (1 + task.gamma) + task.beta
        yield ("x-itself",), task.x
    elif name == "dx":
        assert task.dout is not None
        yield ("gamma-plus-one",), exact(task.x, task.dout, case.scheme, case.eps, 1 + task.gamma, task.beta).dx
        yield ("x-itself",), task.dout


def _generate_running_average_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) by running averages, after no or one step, in place of the batch's statistics."""
    task, field = case.task, case.scheme.suppression
    assert field is not None
    mean = broadcast_mean(task.x, field)
    variance = broadcast_mean((task.x - mean) ** 2, field)
    for share in (0.0, 0.1, 0.01, 0.001, 0.9, 0.99):  # of the batch: none yet, or one step of a usual momentum
        for start in (1.0, 0.0):
            for factor in (1.0, compute_bessel_factor(field, task.x.shape)):
                r = 1 / np.sqrt((1 - share) * start + share * variance * factor + case.eps)
                steps = ForwardSteps(task.x, task.x, r, r, (task.x - share * mean) * r)
                formula = FormulaVariant(None, None, case.eps)
                yield ("running-statistics",), next(_generate_array_variants(name, task, formula, steps))[1]


def _generate_divisor_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) for a scheme whose divisor is no root mean square, such as spectral norm."""
    task, xhat = case.task, case.normalized.xhat
    sigma = np.asarray(case.normalized.deviation)
    if name == "out":
        yield from _generate_affine_mistakes(task, xhat)
        yield ("no-division",), task.x * task.gamma + task.beta
        yield ("no-root",), task.x / sigma**2 * task.gamma + task.beta
    elif name == "dx":
        assert task.dout is not None
        yield ("variance-path",), task.dout * task.gamma / sigma
        yield ("forgot-gamma",), exact(task.x, task.dout, case.scheme, case.eps).dx
        yield ("sign",), -case.right["dx"]
    elif name == "dgamma":
        yield ("x-for-xhat",), _sum_to_parameter(task.dout * task.x, task.gamma)


def _generate_sum_mistakes(case: HomeworkCase, name: str) -> MistakeCandidates:
    """Yield (mistake keys, array) of dgamma or dbeta with wrong axes summed, or with means in place of sums."""
    if name not in ("dgamma", "dbeta"):
        return
    task = case.task
    assert task.dout is not None
    parameter = task.gamma if name == "dgamma" else task.beta
    terms = parse_layout(case.layout).from_tensor(task.dout * (case.normalized.xhat if name == "dgamma" else 1.0))
    kept = parse_layout(case.layout).from_tensor(parameter).shape
    right = {axis for axis, n in enumerate(kept) if n == 1}
    for count in range(terms.ndim + 1):
        for over in combinations(range(terms.ndim), count):
            key = "missing-sum" if set(over) < right else "wrong-axis"
            if set(over) != right:
                yield (key,), terms.sum(over)
    total = case.to_layout_order(case.right[name])
    for m in {terms.shape[0], terms.size // max(total.size, 1)}:
        yield ("mean-instead-of-sum",), total / m


def _compute_array(name: str, task: HomeworkInputs, formula: FormulaVariant) -> np.ndarray:
    """Return the array `name` of an answer that computes x̂ by a formula, right or wrong, and all else right."""
    return next(_generate_array_variants(name, task, formula, compute_forward_steps(task.x, formula)))[1]


def _generate_arrays(name: str, task: HomeworkInputs, formula: FormulaVariant) -> MistakeCandidates:
    """Yield (mistake keys, array `name`) with x̂ by a formula: first without, then with each further mistake."""
    steps = compute_forward_steps(task.x, formula)
    yield from _generate_array_variants(name, task, formula, steps)
    if name == "dx" and task.dout is not None:
        for keys, tensor in generate_input_gradients(task.x, task.dout, formula, steps):
            yield ("forgot-gamma", *keys), tensor


def _generate_array_variants(
    name: str, task: HomeworkInputs, formula: FormulaVariant, steps: ForwardSteps
) -> MistakeCandidates:
    if name == "out":
        return _generate_affine_mistakes(task, steps.xhat)
    if name == "dgamma":
        return _generate_gain_mistakes(task, steps)
    assert task.dout is not None
    return generate_input_gradients(task.x, task.dout * task.gamma, formula, steps)


def _generate_affine_mistakes(task: HomeworkInputs, xhat: np.ndarray) -> MistakeCandidates:
    yield (), xhat * task.gamma + task.beta
    yield ("forgot-gamma",), xhat + task.beta
    yield ("forgot-beta",), xhat * task.gamma
    yield ("affine-order",), (xhat + task.beta) * task.gamma
    yield ("forgot-gamma", "forgot-beta"), xhat


def _generate_gain_mistakes(task: HomeworkInputs, steps: ForwardSteps) -> MistakeCandidates:
    assert task.dout is not None
    yield (), _sum_to_parameter(task.dout * steps.xhat, task.gamma)
    for other in (task.x, steps.v, steps.xhat * task.gamma + task.beta):
        yield ("x-for-xhat",), _sum_to_parameter(task.dout * other, task.gamma)


def _sum_to_parameter(terms: np.ndarray, parameter: np.ndarray) -> np.ndarray:
    return terms.sum(tuple(axis for axis, n in enumerate(parameter.shape) if n == 1), keepdims=True)


def measure_relative_error(array: np.ndarray, wanted: np.ndarray) -> float:
    """Return max|a − b| / max|b| of an array and the wanted one; infinite if shapes differ or values are not finite."""
    if array.shape != wanted.shape:
        return float("inf")
    gap, most = np.abs(array - wanted).max(initial=0.0), np.abs(wanted).max(initial=0.0)
    relative = float(gap / most if most else gap)
    return relative if np.isfinite(relative) else float("inf")
