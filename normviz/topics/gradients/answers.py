"""Check the arrays of a homework answer: out, dx, dgamma and dbeta are right, or a known mistake explains them.

No submitted code runs. An array is compared with the core's result, then with the result of each known mistake, alone
and combined. The nearest one within rounding is reported; among equally near ones, the one with the fewest mistakes.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.layouts import check_layout
from normviz.core.registry import Scheme
from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.topics.gradients.candidates import (
    generate_combined_mistakes,
    generate_single_mistakes,
    measure_relative_error,
)
from normviz.topics.gradients.case import MAX_ELEMENTS, HomeworkCase, require_usable_arrays, separate_usable_arrays
from normviz.topics.gradients.homework import MistakeKeys
from normviz.topics.gradients.implied import find_statistics_mistake, generate_gamma_exchanges
from normviz.topics.gradients.layouts import check_size, get_parameter_shape
from normviz.topics.gradients.mistakes import MISTAKES

ANSWER_NAMES = ("out", "dx", "dgamma", "dbeta")
"""The arrays of an answer, by the names that courses use."""

INPUT_NAMES = ("x", "gamma", "beta", "eps", "dout")

Candidates = Iterable[tuple[MistakeKeys, np.ndarray]]
"""Mistakes, and the array that each leads to."""


class AnswerVerdict(NamedTuple):
    """Verdict on one array of a homework answer: right, or the mistake that explains it.

    Attributes:
        right: True if it is right to the precision of its type and of the inputs' types.
        error: the largest difference from the right result over the largest magnitude; None if shapes differ.
        mistake: a key of `MISTAKES`; None if the array is right or no known mistake explains it.
        beside: the key of a second mistake; None for a single one.
        problem: the reason why the array cannot be judged; None if it was judged.
    """

    right: bool
    error: float | None
    mistake: str | None = None
    beside: str | None = None
    problem: str | None = None

    @property
    def explanation(self) -> str:
        """Sentences on the mistake and its remedy, or why the array cannot be judged; "" if the array is right."""
        if self.right:
            return ""
        if self.problem is not None:
            return self.problem
        rows = [MISTAKES[key] for key in (self.mistake, self.beside) if key]
        return " ".join(f"{row.description} {row.remedy}" for row in rows) or "No mistake that is known explains it."

    def to_record(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON; `beside` and `problem` only if they are not None."""
        error = None if self.error is None or not np.isfinite(self.error) else self.error
        plain = {"right": self.right, "error": error, "mistake": self.mistake}
        return plain | {key: value for key in ("beside", "problem") if (value := getattr(self, key)) is not None}


def make_inputs(
    scheme: Scheme, layout: str, shape: tuple[int, ...], seed: int = 0, dtype: str = "float64", eps: float | None = None
) -> dict[str, np.ndarray]:
    """Return random x, gamma, beta, eps and dout by name, on which mistakes show; `shape` is that of x in the layout.

    Means and standard deviations differ along every axis, and the latter are near √ε, so that the place of ε matters.

    Raises:
        InvalidInput: an unknown layout or type, a shape of another layout, or one too large to judge.
    """
    check_layout(layout)
    check_size(shape, layout, MAX_ELEMENTS)
    if dtype not in ("float64", "float32"):
        raise InvalidInput(f"{dtype!r} is not a type of answers; float64 and float32 are.")
    eps = (scheme.eps or 0.0) if eps is None else eps
    rng = np.random.default_rng(seed)

    def uneven(*lengths: int) -> np.ndarray:
        numbers = rng.standard_normal(lengths)
        for axis, n in enumerate(lengths):
            along = [1] * len(lengths)
            along[axis] = n
            numbers = numbers * rng.uniform(0.6, 1.6, along) + rng.uniform(-0.6, 0.6, along)
        return numbers

    scale = 3 * eps**0.5 if eps else 1.0
    inputs = {"x": uneven(*shape) * scale, "eps": np.array(eps), "dout": uneven(*shape)}
    for name, low in (("gamma", 0.5), ("beta", -1.0)):
        inputs[name] = rng.uniform(low, 2.0, get_parameter_shape(scheme, name, layout, shape))
    return {name: inputs[name] if name == "eps" else inputs[name].astype(dtype) for name in INPUT_NAMES}


def judge_answer(
    scheme: Scheme,
    layout: str,
    inputs: Mapping[str, np.ndarray],
    answer: Mapping[str, np.ndarray],
    eps: float | None = None,
) -> dict[str, AnswerVerdict]:
    """Return a verdict on each array of one homework answer by name, as `AnswerJudge.judge` does.

    Raises:
        InvalidInput: unusable inputs, or an answer of which no array can be judged.
    """
    return AnswerJudge(scheme, layout, inputs, eps).judge(answer)


class AnswerJudge:
    """Judge of answers to one homework task, which compares arrays with right results and those of known mistakes.

    Args:
        scheme, layout: of the task; the layout, a key of `LAYOUTS`, is that of x, dout, out and dx.
        inputs: x, and gamma (1 if missing), beta (0), eps, dout (needed for gradients).
        eps: ε if the inputs do not hold it; by default the scheme's own.
        keeps_results: True to compute the results of mistakes once, for many answers: up to 1 GB at `MAX_ELEMENTS`.

    Raises:
        InvalidInput: an unknown layout, or unusable inputs: an unknown name, an array that is too large, of another
            shape than x, or not of finite real numbers, or a division by 0.
    """

    @np.errstate(all="ignore")
    def __init__(
        self,
        scheme: Scheme,
        layout: str,
        inputs: Mapping[str, np.ndarray],
        eps: float | None = None,
        keeps_results: bool = False,
    ) -> None:
        check_layout(layout)
        self.case = HomeworkCase(scheme, layout, require_usable_arrays(inputs, INPUT_NAMES, "inputs"), eps)
        self.generators: tuple[Callable[[HomeworkCase, str], Candidates], ...] = (
            generate_single_mistakes,
            generate_combined_mistakes,
        )
        if keeps_results:
            self.generators = tuple(cache(lambda *given, make=make: list(make(*given))) for make in self.generators)

    @np.errstate(all="ignore")
    def judge(self, answer: Mapping[str, np.ndarray]) -> dict[str, AnswerVerdict]:
        """Return a verdict on each array of an answer by name, each judged by itself.

        An array that cannot be judged gets a verdict with a `problem`: a name other than out, dx, dgamma and dbeta,
        values other than finite real numbers, too many of them, or a gradient without dout.

        Raises:
            InvalidInput: no array can be judged.
        """
        given, problems = separate_usable_arrays(answer, ANSWER_NAMES, "answer")
        for name in [name for name in given if name not in self.case.right]:
            del given[name]
            problems[name] = f"{name} is judged by dout, and the inputs hold none."
        if not given:
            raise InvalidInput(" ".join(problems.values()) or f"the answer holds none of {', '.join(ANSWER_NAMES)}.")
        verdicts = {name: self._judge_array(name, array) for name, array in given.items()}
        verdicts |= {name: AnswerVerdict(False, None, problem=problem) for name, problem in problems.items()}
        return {name: verdicts[name] for name in sorted(verdicts, key=[*ANSWER_NAMES, *problems].index)}

    def _judge_array(self, name: str, array: np.ndarray) -> AnswerVerdict:
        case = self.case
        wanted, allowed = (
            case.to_layout_order(tensor) for tensor in np.broadcast_arrays(case.right[name], case.allowed[name])
        )
        flat = array.astype(float).squeeze()
        error = measure_relative_error(flat, wanted) if flat.shape == wanted.shape else None
        roundings = case.list_roundings(array)
        if error is not None and np.all(np.abs(flat - wanted) <= max(roundings) * allowed):
            return AnswerVerdict(True, error)
        limits = [min(rounding * case.condition, 0.02) for rounding in roundings]  # for any inputs
        exchanges = generate_gamma_exchanges(case, name, flat)
        singles, combinations = (make(case, name) for make in self.generators)
        keys = _find_nearest_mistakes(flat, chain(singles, exchanges), limits)
        keys = keys or _find_nearest_mistakes(flat, combinations, limits)
        if keys:
            return AnswerVerdict(False, error, *keys[:2])
        if error is None:
            return AnswerVerdict(False, None, "wrong-shape")
        if np.all(np.abs(flat - wanted) <= MACHINE_EPSILONS["float32"] * allowed):
            return AnswerVerdict(False, error, "precision")
        return AnswerVerdict(False, error, find_statistics_mistake(case, name, flat, limits[-1]))


def _find_nearest_mistakes(flat: np.ndarray, candidates: Candidates, limits: Iterable[float]) -> MistakeKeys:
    """Return the keys of the fewest mistakes that explain the array `flat` within the first possible limit, or ()."""
    errors = [
        (keys, measure_relative_error(flat, array)) for keys, array in candidates if keys and array.shape == flat.shape
    ]
    for limit in limits:
        near = [(keys, error) for keys, error in errors if error <= limit]
        if near:
            fewest = min(len(keys) for keys, _ in near)
            near = [(keys, error) for keys, error in near if len(keys) == fewest]
            best = min(error for _, error in near)
            return next(keys for keys, error in near if error <= max(4 * best, limit / 16))
    return ()
