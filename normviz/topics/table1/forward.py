"""Gaps between the normalized outputs of an original and a transformed first layer, in one forward pass."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from normviz.core.fields import Field, Shape
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.registry import Scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.spec import Job, JobStep
from normviz.topics.table1.fade import EpsEffect, compute_eps_effects
from normviz.train.problem import BASE_POSITIONS, MEASURED_NETWORKS, make_problem
from normviz.train.setting import Setting

MAX_PIECE_ELEMENTS = 2**20
"""Most elements of laid out windows that are normalized at once: an eighth of a second."""

Slices = tuple[slice, ...]


def measure_forward_gaps(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """Return the relative change of the first layer's outputs by every transformation, (schemes, `MEASURED_NETWORKS`).

    It is max|x̂' - x̂| / max|x̂|, x̂' of a network, x̂ of its base: the original, or the network of which a control is
    a disturbed copy. x̂ is the output of the layer's normalization: of a = Wx if the scheme normalizes activations, or
    a itself, with normalized W. A gap is infinite if a number is not finite, as when float16 overflows.
    """
    gaps = np.empty((len(schemes), len(MEASURED_NETWORKS)))
    for row, scheme in enumerate(schemes):
        for gaps[row] in iterate_forward_gaps(scheme, setting):
            pass
    return gaps


@lru_cache(maxsize=1024)
def reduce_to_first_layer(setting: Setting) -> Setting:
    """Return the setting with fixed values where a value does not affect the first layer's forward pass."""
    depth = setting.depth if setting.kernel == 2 else 1  # the filters of such a convolution depend on it
    return replace(setting, steps=1, depth=depth, optimizer="sgd", rate=1.0, device="cpu")


class ForwardMeasurement(NamedTuple):
    """Gaps of the first layer's outputs for one row of Table 1, (networks,), NaN where not measured yet.

    `fades`: effect of every re-scaling through ε, by transformation; empty if the row has no ε, None until known, which
    is last.
    """

    gaps: np.ndarray
    fades: dict[str, EpsEffect] | None = None


def has_eps(scheme: Scheme) -> bool:
    """Return True if a scheme divides activations, so that ε is added to what it divides by."""
    on_activations = scheme.activation_part
    return on_activations is not None and on_activations.suppression is not None


@dataclass(frozen=True)
class ForwardJob(Job[ForwardMeasurement], kind="table1/forward", version=2):
    """Job that measures one row of the table in forward passes."""

    row: SchemeSpec
    setting: Setting

    @classmethod
    def of(cls, scheme: Scheme, setting: Setting) -> "ForwardJob":
        """Return the job that measures a scheme in a setting."""
        return cls(SchemeSpec.of(scheme), reduce_to_first_layer(setting))

    def steps(self) -> Iterator[JobStep[ForwardMeasurement]]:
        """Yield a `JobStep` with the `ForwardMeasurement` so far after every network; the last has the effects of ε."""
        scheme = self.row.scheme
        for gaps in iterate_forward_gaps(scheme, self.setting):
            yield JobStep(float(np.mean(~np.isnan(gaps))), partial(ForwardMeasurement, gaps))
        fades = compute_eps_effects(scheme, self.setting) if self.setting.eps > 0 and has_eps(scheme) else {}
        yield JobStep(1.0, partial(ForwardMeasurement, gaps, fades))


def iterate_forward_gaps(scheme: Scheme, setting: Setting) -> Iterator[np.ndarray]:
    """Yield the relative changes of one scheme's outputs so far, (`MEASURED_NETWORKS`,), NaN where not measured yet.

    Only the tensors of a few networks are in memory. Yields after every network, and within it wherever the
    computation may be stopped.
    """
    start = _make_layer_inputs(reduce_to_first_layer(setting))
    outputs: dict[int, np.ndarray] = {}
    gaps = np.full(len(MEASURED_NETWORKS), np.nan)
    for number, network in enumerate(MEASURED_NETWORKS):
        same = MEASURED_NETWORKS.index(network._replace(follows=True))  # the learning rate matters in training alone
        if same == number:
            x = (start.examples * start.factor[number] + start.shift[number]).astype(setting.storage)
            for out in _iterate_partial_outputs(x, start.weights[number], scheme, setting):
                outputs[number] = out
                yield gaps.copy()
            gaps[number] = measure_output_gap(outputs[number], outputs[BASE_POSITIONS[number]])
            if number not in BASE_POSITIONS:
                del outputs[number]
        else:
            gaps[number] = gaps[same]
        yield gaps.copy()


class _LayerInputs(NamedTuple):
    """Inputs and weights of the first layer for all networks of a setting, with names as in `TrainingProblem`."""

    examples: np.ndarray
    factor: np.ndarray
    shift: np.ndarray
    weights: np.ndarray


@lru_cache(maxsize=4)  # schemes are measured one after the other on the same numbers
def _make_layer_inputs(setting: Setting) -> _LayerInputs:
    problem = make_problem(setting, range(len(MEASURED_NETWORKS)))
    weights = problem.weights[0].astype(setting.storage)
    return _LayerInputs(problem.inputs[problem.order[0]], problem.factor, problem.shift, weights)


def compute_first_outputs(scheme: Scheme, setting: Setting, networks: Sequence[int]) -> list[np.ndarray]:
    """Return x̂ of the first layer on the first mini-batch, (N, H, W, C), for each of these networks."""
    start, found = _make_layer_inputs(reduce_to_first_layer(setting)), []
    for number in networks:
        x = (start.examples * start.factor[number] + start.shift[number]).astype(setting.storage)
        (out,) = deque(_iterate_partial_outputs(x, start.weights[number], scheme, setting), maxlen=1)
        found.append(out)
    return found


def compute_pre_activations(x: np.ndarray, weights: np.ndarray, scheme: Scheme, setting: Setting) -> np.ndarray:
    """Return a = Wx, (N, H, W, C), of patches x (N, positions, fan-in); a scheme on weights normalizes W."""
    w = weights
    if scheme.weight_part is not None:
        w = _round_to_dtype(normalize(_round_to_dtype(w, setting), scheme.weight_part, 0.0).xhat, setting)
    return (x.reshape(-1, x.shape[-1]) @ w.reshape(-1, w.shape[-1])).reshape(setting.shapes[0])


def _iterate_partial_outputs(
    x: np.ndarray, weights: np.ndarray, scheme: Scheme, setting: Setting
) -> Iterator[np.ndarray]:
    """Yield a layer's outputs (N, H, W, C) after each computed piece; the last ones are complete."""
    a, on_activations = compute_pre_activations(x, weights, scheme, setting), scheme.activation_part
    if on_activations is None:
        yield a
        return
    for out in normalize_in_pieces(_round_to_dtype(a, setting), on_activations, setting.eps):
        yield out
    yield _round_to_dtype(out, setting)


def normalize_in_pieces(x: np.ndarray, scheme: Scheme, eps: float) -> Iterator[np.ndarray]:
    """Yield x̂ after each computed piece, so that a caller may stop in between; the last one is complete.

    `normalize` lays the windows out, seventeen times the tensor at a radius of 8.
    """
    fields = [field for field in scheme.fields if field.windowed_axes]
    if max((field.count_window_elements(x.shape) for field in fields), default=0) <= MAX_PIECE_ELEMENTS:
        yield normalize(x, scheme, eps).xhat
        return
    for field, alone in (
        (scheme.summation, scheme.with_fields(scheme.summation, None)),
        (scheme.suppression, scheme.with_fields(None, scheme.suppression)),
    ):
        out = np.empty_like(x)
        for inner, outer in [] if field is None else _iterate_pieces(field, x.shape):
            part = normalize(x[outer], alone, eps).xhat
            kept = tuple(slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True))
            out[inner] = part[kept]
            yield out
        x = x if field is None else out
    yield x


def _iterate_pieces(field: Field, shape: Shape) -> Iterator[tuple[Slices, Slices]]:
    """Yield slices that cut a tensor along one axis, each with slices of all elements that are averaged with these."""
    reach = [
        {"own": 0, "window": rule.parameter_or_zero}.get(rule.kind, n)
        for rule, n in zip(field.rules, shape, strict=True)
    ]
    axis = max(range(4), key=lambda axis: shape[axis] - 2 * reach[axis])
    n, near = shape[axis], min(reach[axis], shape[axis])
    length = max(n * MAX_PIECE_ELEMENTS // field.count_window_elements(shape), near, 1)
    whole = [slice(0, size) for size in shape]
    for start in range(0, n, length):
        inner = slice(start, min(start + length, n))
        outer = slice(max(inner.start - near, 0), min(inner.stop + near, n))
        yield (*whole[:axis], inner, *whole[axis + 1 :]), (*whole[:axis], outer, *whole[axis + 1 :])


@ignore_float_warnings
def measure_output_gap(out: np.ndarray, base: np.ndarray) -> float:
    """Return the relative difference max|out − base| / max|base|; infinite if a number is not finite."""
    found = np.abs(out - base).max() / (np.abs(base).max() or 1.0)
    return float("inf") if np.isnan(found) else float(found)


@ignore_float_warnings
def _round_to_dtype(x: np.ndarray, setting: Setting) -> np.ndarray:
    if setting.dtype == "bfloat16":
        import torch  # which has a bfloat16; NumPy has none

        return torch.tensor(x).bfloat16().float().numpy()
    return x.astype(setting.dtype).astype(x.dtype)
