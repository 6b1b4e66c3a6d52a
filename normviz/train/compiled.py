"""Compiled training on a CPU: loads the kernels, and prepares the arrays of `compiled_kernels.train_network`.

Numba is optional, and its first compilation takes about ten seconds. Nobody waits for it: `start_loading` loads the
kernels in a thread, and `twins` trains with torch until `get_kernels` returns them.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import pairwise
from math import prod
from threading import Lock, Thread, local
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
import torch

from normviz.core.cache_folder import find_cache_folder
from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.problem import TrainingProblem
from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, INITIAL_BIAS, MOMENTUM, Setting

CHUNK_SECONDS = 0.05
"""Seconds of training after which the losses of all networks are known up to the same step."""

MOMENTS = {"sgd": 0, "momentum": 1, "adam": 2}
"""The number of moments of every optimizer."""

FUNCTIONS = (None, "tanh", "erf")
"""The functions of schemes that the kernels know."""

_LOADING = Lock()
_loaded: list[ModuleType | None] = []


def load_kernels() -> ModuleType | None:
    """Compile the kernels, or load them from the cache folder; None if Numba or a writable folder is missing."""
    with _LOADING:
        if not _loaded:
            try:
                _loaded.append(_import_kernels())
            except Exception:  # whatever fails in a compiler: torch trains as well
                _loaded.append(None)
    return get_kernels()


def start_loading() -> None:
    """Load the kernels in a thread."""
    Thread(target=load_kernels, name="kernels", daemon=True).start()


def get_kernels() -> ModuleType | None:
    """Return the kernels if they are loaded."""
    return _loaded[0] if _loaded else None


def _import_kernels() -> ModuleType:
    config: Any = import_module("numba").config
    before = config.CACHE_DIR
    config.CACHE_DIR = before or str(find_cache_folder() / "kernels")
    try:
        from normviz.train import compiled_kernels
    finally:
        config.CACHE_DIR = before
    return compiled_kernels


def can_train(scheme: Scheme, setting: Setting) -> bool:
    """Return True if the kernels can train a scheme: float64, and a general form without windows or a function."""
    if setting.dtype != "float64":
        return False
    for part, shapes in ((scheme.activation_part, setting.shapes), (scheme.weight_part, setting.weight_shapes)):
        if part is not None:
            fields = [field.simplify(shape) for field in part.fields for shape in shapes]
            if part.kind.key not in ("general", "pointwise") or part.kind.function not in FUNCTIONS:
                return False
            if any(field.windowed_axes for field in fields):
                return False
    return True


class CompiledTraining:
    """Networks of schemes that `can_train` allows. A call trains up to a step, in chunks, and stores their losses.

    Args:
        kernels: from `load_kernels`.
        schemes, setting, problem: what is trained.
        losses: to be filled, (steps, schemes, networks), on the CPU.
    """

    def __init__(
        self,
        kernels: ModuleType,
        schemes: Sequence[Scheme],
        setting: Setting,
        problem: TrainingProblem,
        losses: torch.Tensor,
    ) -> None:
        self.kernels, self.setting, self.losses = kernels, setting, losses.numpy()
        self.done, self.chunk, self.memory = 0, 1, local()
        self.optimizer = int(getattr(kernels, setting.optimizer.upper()))
        numbers = np.finfo(np.float64)
        self.constants = (MOMENTUM, *BETAS, float(numbers.tiny), GRADIENT_NOISE_FACTOR * float(numbers.eps))
        self.powers = np.cumprod(np.tile(np.array(BETAS)[:, None], setting.steps), 1)
        pixels = _find_pixels(setting)
        self.images, self.order = torch.from_numpy(problem.inputs[:, *pixels]), torch.from_numpy(problem.order)
        self.labels = problem.labels[problem.order]
        self.changes = _find_changes(problem, pixels)
        self.maps, self.taps = _build_maps(setting)
        self.segments, parameters, self.rates = _flatten_parameters(setting, problem)
        lead = (len(schemes), *parameters.shape)
        self.parameters = np.tile(parameters, (len(schemes), 1, 1))
        self.state = np.zeros((*lead[:2], MOMENTS[setting.optimizer], lead[2]))
        self.plans = [_plan_scheme(kernels, scheme, setting) for scheme in schemes]

    def __call__(self, step: int) -> Iterator[None]:
        """Train to the end of a step, counted from 0, and perhaps beyond; yield after every network."""
        if step < self.done:
            return
        began, chunk = perf_counter(), slice(self.done, self.done + self.chunk)
        batches = self.images[self.order[chunk]].mT.contiguous()  # (steps, pixels, N); NumPy takes eight times as long
        images = batches.flatten(1).numpy()
        places = [(row, column) for row in range(len(self.plans)) for column in range(len(self.changes))]
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            run = map if torch.get_num_threads() == 1 else pool.map  # threads start only when they are used
            for _ in run(lambda place: self._train_network(place, chunk, images), places):
                yield
        self.done += len(images)
        self.chunk = max(int(len(images) * CHUNK_SECONDS / (perf_counter() - began)), 1)

    def _train_network(self, place: tuple[int, int], chunk: slice, images: np.ndarray) -> None:
        row, column = place
        if not hasattr(self.memory, "arrays"):
            size = self.maps[-1, 4] + self.parameters.shape[-1]
            bits = np.empty(DIGIT_CLASSES * self.setting.batch, np.int64)
            self.memory.arrays = np.empty((7, size)), bits
        self.kernels.train_network(
            images, self.labels[chunk], self.changes[column], self.losses[chunk, row, column],
            self.parameters[row, column], self.rates[column], self.state[row, column], self.powers[:, chunk],
            self.optimizer, self.constants, self.segments, self.maps, self.taps, *self.plans[row], *self.memory.arrays,
        )  # fmt: skip


def _find_pixels(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return for every pixel a position of the first layer's filter, and an input of the filter there, that show it."""
    pixels = np.arange(DIGIT_SIDE**2)
    if setting.layer == "dense":
        return np.zeros_like(pixels), pixels
    last = DIGIT_SIDE - setting.kernel
    y, x = np.divmod(pixels, DIGIT_SIDE)
    top, left = np.minimum(y, last), np.minimum(x, last)
    return top * (last + 1) + left, (y - top) * setting.kernel + x - left


def _find_changes(problem: TrainingProblem, pixels: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """Return factor and shift of every pixel and example, (2, pixels · N), for every network; (2, 0) for no change."""
    shape = (problem.order.shape[1], *problem.inputs.shape[1:])
    changes = []
    for factor, shift in zip(problem.factor, problem.shift, strict=True):
        if np.all(factor == 1) and np.all(shift == 0):
            changes.append(np.empty((2, 0)))
        else:
            both = np.stack([np.broadcast_to(each, shape)[:, *pixels].T for each in (factor, shift)])
            changes.append(np.ascontiguousarray(both.reshape(2, -1)))
    return changes


def _build_maps(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Build `maps` and `taps` of all layers and of the classifier."""
    n, k, is_conv = setting.batch, setting.kernel, setting.layer == "conv"
    sides = [DIGIT_SIDE if is_conv else 1, *(shape[1] for shape in setting.shapes)]
    channels = [1 if is_conv else DIGIT_SIDE**2, *(shape[3] for shape in setting.shapes)]
    maps, taps, begin = list[list[int]](), list[np.ndarray](), 0
    for (side, after), count in zip(pairwise(sides), channels, strict=False):
        i, j, c = np.meshgrid(range(k), range(k), range(count), indexing="ij")
        maps.append([side * n, after, after * n, sum(map(len, taps)), begin])
        taps.append((((c * side + i) * side + j) * n).ravel())
        begin += count * side * side * n
    features = channels[-1] * sides[-1] ** 2
    maps += [[n, 1, n, sum(map(len, taps)), begin], [0, 0, 0, 0, begin + features * n]]
    taps.append(np.arange(features) * n)
    return np.array([*maps, [0, 0, 0, 0, maps[-1][-1] + DIGIT_CLASSES * n]]), np.concatenate(taps)


def _flatten_parameters(setting: Setting, problem: TrainingProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, fan-in and units of every parameter tensor; all parameters and rates, (networks, parameters)."""
    networks, positions = len(problem.factor), setting.shapes[-1][1] * setting.shapes[-1][2]
    by_position = problem.classifier.reshape(positions, setting.width, DIGIT_CLASSES)
    classifier = by_position.transpose(1, 0, 2).reshape(-1, DIGIT_CLASSES)  # features (H, W, C) -> (C, H, W)
    tensors = [weight[0].reshape(-1, setting.width) for weight in problem.weights]
    tensors += [np.full((1, setting.width), value) for value in (1.0, INITIAL_BIAS) for _ in problem.weights]
    tensors += [classifier, np.zeros((1, DIGIT_CLASSES))]
    sizes = [tensor.size for tensor in tensors]
    starts = np.cumsum([0, *sizes])
    parameters = np.tile(np.concatenate([tensor.ravel() for tensor in tensors]), (networks, 1))
    rates = np.full_like(parameters, setting.rate)
    for start, weight, rate in zip(starts, problem.weights, problem.rates, strict=False):
        part = slice(start, start + weight[0].size)
        parameters[:, part] = weight.reshape(networks, -1)
        rates[:, part] = np.broadcast_to(rate, weight.shape).reshape(networks, -1)
    segments = [(start, *tensor.shape) for start, tensor in zip(starts, tensors, strict=False)]
    return np.array(segments), parameters, rates


def _plan_scheme(kernels: ModuleType, scheme: Scheme, setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plan how activations (C, H, W, N) and weights (kh, kw, Cin, Cout) of every layer are normalized."""
    parts = (
        (scheme.activation_part, setting.shapes, (3, 1, 2, 0), 1, setting.eps),
        (scheme.weight_part, setting.weight_shapes, (0, 1, 2, 3), 3, 0.0),
    )
    plans, boxes, numbers = [], [], []
    for part, shapes, order, kept, eps in parts:
        for shape in shapes:
            plan, of_rows = _plan_tensor(kernels, part, shape, order, kept)
            plans.append(plan)
            boxes.append(of_rows)
            scale = 1.0 if part is None else part.compute_scale(shape)
            numbers.append((eps, scale, *((part.alpha or 0.0, part.shift or 0.0) if part else (0.0, 0.0))))
    rows = max(each.shape[1] for each in boxes)
    padded = [np.pad(each, ((0, 0), (0, rows - each.shape[1]))) for each in boxes]
    lead = (2, setting.depth)
    return (
        np.array(plans).reshape(*lead, 7),
        np.array(padded).reshape(*lead, 2, rows),
        np.array(numbers).reshape(*lead, 4),
    )


def _plan_tensor(
    kernels: ModuleType, scheme: Scheme | None, shape: Shape, order: Sequence[int], kept: int
) -> tuple[list[int], np.ndarray]:
    """Plan the normalization of a tensor whose axes lie in memory in this order; a row spans none of the first `kept`.

    Returns kind, rows, their length, and boxes and statistics of a row for both fields; and the boxes, (2, rows).
    """
    sizes, none = [shape[axis] for axis in order], np.zeros((2, 1), np.int64)
    if scheme is None or not scheme.has_effect:
        return [kernels.NONE, *[0] * 6], none
    if scheme.kind.function is not None:
        return [getattr(kernels, scheme.kind.function.upper()), *[0] * 6], none
    counts = [
        None if field is None else [field.simplify(shape).compute_statistics_shape(shape)[axis] for axis in order]
        for field in (scheme.summation, scheme.suppression)
    ]

    def is_uniform(count: list[int] | None, start: int) -> bool:
        return count is None or count[start:] in ([1] * (4 - start), sizes[start:])

    split = next(start for start in range(kept, 4) if start == 3 or all(is_uniform(each, start) for each in counts))
    rows = sizes[:split]
    plan, boxes = [kernels.GENERAL, prod(rows), prod(sizes[split:])], np.zeros((2, prod(rows)), np.int64)
    for number, count in enumerate(counts):
        if count is None:
            plan += [0, 0]
            continue
        index = [np.arange(n) * some // n for n, some in zip(rows, count, strict=False)]
        boxes[number] = np.ravel_multi_index(np.meshgrid(*index, indexing="ij"), count[:split]).ravel()
        plan += [prod(count[:split]), prod(count[split:])]
    return plan, boxes
