"""A homework task with its right result, and the tolerance of an answer to rounding."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from normviz.core.backward import compute_gradients
from normviz.core.errors import InvalidInput
from normviz.core.layouts import parse_layout
from normviz.core.normalize import normalize
from normviz.core.reductions import apply_transposed_average, broadcast_statistic, reduce_boxes
from normviz.core.registry import Scheme
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS
from normviz.topics.gradients.homework import HomeworkInputs
from normviz.topics.gradients.layouts import check_size, get_parameter_shape, reshape_parameter

MAX_ELEMENTS = 2**14
"""Largest number of elements of x: judging computes a few hundred wrong results."""


def require_usable_arrays(arrays: Mapping[str, Any], names: tuple[str, ...], source: str) -> dict[str, np.ndarray]:
    """Return the arrays in the order of `names`, or raise InvalidInput, with `source` as a name for all of them."""
    usable, problems = separate_usable_arrays(arrays, names, source)
    for problem in problems.values():
        raise InvalidInput(problem)
    return usable


def separate_usable_arrays(
    arrays: Mapping[str, Any], names: tuple[str, ...], source: str
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the usable arrays in the order of `names`, and by name the reason why each other one is not usable.

    Usable are known names with up to `MAX_ELEMENTS` finite real numbers in at most four axes.
    """
    problems = {name: _describe_unknown_name(str(name), names, source) for name in arrays if name not in names}
    usable = {}
    for name in names:
        if name in arrays:
            array = np.asarray(arrays[name])
            problem = _explain_unusable_array(name, array)
            if problem is None:
                usable[name] = array
            else:
                problems[name] = problem
    return usable, problems


def _describe_unknown_name(name: str, names: tuple[str, ...], source: str) -> str:
    """Return a sentence that says which names the `source` knows, with the most similar one."""
    alike = get_close_matches(name[:40].lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean {alike[0]}?" if alike else ""
    return f"{name[:40]!r} is no name in the {source}; {', '.join(names)} are.{hint}"


def _explain_unusable_array(name: str, array: np.ndarray) -> str | None:
    """Return a sentence on why an array cannot be judged, or None if it can."""
    if array.dtype.kind not in "fiub":
        return f"{name} holds {array.dtype.name} values; real numbers are needed."
    if array.size > MAX_ELEMENTS:
        return f"{name} has {array.size:,} elements; up to {MAX_ELEMENTS:,} are judged."
    if array.ndim > 4:
        return f"{name} has {array.ndim} axes; up to 4 are read."
    if not np.isfinite(array).all():
        return f"{name} holds {np.sum(~np.isfinite(array)):,} NaN or infinite values; finite ones are needed."
    return None


class HomeworkCase:
    """Right results for the inputs of a homework task, and the rounding errors that an answer may have.

    Attributes:
        task: the inputs, as tensors.
        normalized: the result of `normalize`.
        right: each array of a right answer, as a tensor; gradients only if dout is given.
        allowed: the tolerance of each number of `right`, for a rounding of 1.
        condition: the largest factor by which the inputs magnify a rounding of 1.
    """

    def __init__(self, scheme: Scheme, layout: str, inputs: dict[str, np.ndarray], eps: float | None) -> None:
        if "x" not in inputs:
            raise InvalidInput("the inputs hold no x.")
        x = inputs["x"]
        check_size(x.shape, layout, MAX_ELEMENTS)
        self.scheme, self.layout, self.inputs = scheme, layout, inputs
        if "eps" in inputs:
            if inputs["eps"].size != 1:
                raise InvalidInput(f"eps has {inputs['eps'].size} elements; it is one number.")
            given = float(inputs["eps"].reshape(()))
            if eps is not None and abs(eps - given) > MACHINE_EPSILONS["float32"] * abs(given):
                raise InvalidInput(f"ε is {given:g} in the inputs and {eps:g} beside them; one of them is enough.")
            eps = given
        self.eps = (scheme.eps or 0.0) if eps is None else eps
        gamma, beta = (
            reshape_parameter(self._get_parameter(name).astype(float), scheme, name, layout, x.shape)
            for name in ("gamma", "beta")
        )
        dout = inputs.get("dout")
        if dout is not None and dout.shape != x.shape:
            raise InvalidInput(f"dout has the shape {dout.shape}; x has {x.shape}.")
        above = None if dout is None else parse_layout(layout).to_tensor(dout.astype(float))
        self.task = HomeworkInputs(parse_layout(layout).to_tensor(x.astype(float)), gamma, beta, above)
        scheme.check(self.task.x.shape, 2**19)  # elements in all windows
        self.right = self._compute_correct_results()
        self.allowed, self.condition = self._compute_tolerances()

    def _get_parameter(self, name: str) -> np.ndarray:
        shape = get_parameter_shape(self.scheme, name, self.layout, self.inputs["x"].shape)
        return self.inputs.get(name, np.full(shape, 1.0 if name == "gamma" else 0.0))

    def _compute_correct_results(self) -> dict[str, np.ndarray]:
        """Return the right arrays by name as tensors (N, H, W, C), gradients only with dout; set `normalized`."""
        task, scheme = self.task, self.scheme
        self.normalized = normalize(task.x, scheme, self.eps, task.gamma, task.beta)
        sigma = self.normalized.deviation
        if sigma is not None and sigma.min() <= 1e-12 * np.abs(task.x).max():
            raise InvalidInput("the inputs divide 0 by 0: a field of x is constant, and ε is 0; give an ε above 0.")
        right = {"out": self.normalized.y}
        if task.dout is not None:
            found = compute_gradients(task.x, task.dout, scheme, self.eps, task.gamma, task.beta)
            right |= {"dx": found.dx, "dgamma": found.dgain, "dbeta": found.dbias}
        return right

    def _compute_tolerances(self) -> tuple[dict[str, np.ndarray], float]:
        """Return the tolerance of each number of each array, and the largest factor on a rounding error of the inputs.

        x̂ loses the digits by which x exceeds σ, and σ those by which a mean square exceeds the variance.
        """
        task, scheme, xhat = self.task, self.scheme, np.abs(self.normalized.xhat)
        beside = np.ones((1, 1, 1, 1))
        longest = 1
        r = np.full_like(xhat, max(scheme.alpha, 1.0))
        if scheme.suppression is not None:
            slope = scheme.kind.compute_steepest_slope(scheme, self.normalized, self.eps)
            terms = scheme.kind.count_terms(scheme, xhat.shape)
            r = np.broadcast_to(slope * (scheme.compute_scale(xhat.shape) * terms), xhat.shape)
        for field in scheme.fields:
            most = broadcast_statistic(reduce_boxes(np.abs(task.x), field.with_full_windows, np.max), xhat.shape) * r
            beside = np.maximum(beside, most / scheme.compute_scale(xhat.shape))
            longest = max(longest, int(field.compute_sizes(xhat.shape).max()))
        summing = ANSWER_ROUNDINGS * (1 + max(longest, task.x.size // task.beta.size) ** 0.5 / 16)
        lost = summing * (2 + beside * (1 if scheme.summation is None else beside))
        scaled = lost * (xhat + scheme.compute_scale(xhat.shape))
        gamma = np.abs(task.gamma)
        allowed = {"out": gamma * scaled + ANSWER_ROUNDINGS * np.abs(task.beta)}
        if task.dout is not None:
            g = np.abs(task.dout) * gamma
            dv = lost * g * r
            if scheme.suppression is not None:
                through = np.abs(apply_transposed_average(lost * g * (xhat + 1) * r**2, scheme.suppression))
                dv = dv + (np.abs(self.normalized.v) + 1 / r) * through / scheme.compute_scale(xhat.shape) ** 2
            allowed["dx"] = dv if scheme.summation is None else dv + apply_transposed_average(dv, scheme.summation)
            summed = {"dgamma": np.abs(task.dout) * scaled, "dbeta": summing * np.abs(task.dout)}
            for name, terms in summed.items():
                parameter = task.gamma if name == "dgamma" else task.beta
                over = tuple(axis for axis, n in enumerate(parameter.shape) if n == 1)
                allowed[name] = terms.sum(over, keepdims=True)
        return allowed, float(lost.max())

    def list_roundings(self, array: np.ndarray) -> list[float]:
        """Return the relative roundings that an array may show: float64's, then that of the coarsest dtype in use."""
        types = [a.dtype.name for n, a in self.inputs.items() if n != "eps"] + [array.dtype.name]
        shorter = [MACHINE_EPSILONS[name] for name in types if name in MACHINE_EPSILONS]
        if np.array_equal(array, array.astype(np.float32)):
            shorter.append(MACHINE_EPSILONS["float32"])  # computed in float32, and saved as float64
        return sorted({MACHINE_EPSILONS["float64"], max(shorter)}) if shorter else [MACHINE_EPSILONS["float64"]]

    def to_layout_order(self, tensor: np.ndarray) -> np.ndarray:
        """Return a tensor (N, H, W, C) with its axes in the order of the layout, without axes of length 1."""
        return parse_layout(self.layout).from_tensor(tensor).squeeze()

    def from_layout_order(self, flat: np.ndarray) -> np.ndarray:
        """Return an array in the layout of out and dx, without axes of length 1, as a tensor (N, H, W, C)."""
        order = self.to_layout_order(np.arange(self.task.x.size).reshape(self.task.x.shape))
        tensor = np.empty(self.task.x.size)
        tensor[order.ravel()] = flat.ravel()
        return tensor.reshape(self.task.x.shape)
