"""Compiled training on a CPU: loads the kernels, and prepares the arrays of `compiled_kernels.train_network`.

Numba is optional, and its first compilation takes about fifteen seconds. Nobody waits for it: `start_loading` loads the
kernels in a thread, and `twins` trains with torch until `get_kernels` returns them.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from math import prod
from threading import Lock, Thread, local
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

from normviz.core.cache_folder import find_cache_folder
from normviz.core.fields import Shape
from normviz.core.registry import SCHEMES, Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.problem import TrainingProblem, make_problem
from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, INITIAL_BIAS, MOMENTUM, Setting

CHUNK_SECONDS = 0.05
"""Seconds of training after which the losses of all networks are known up to the same step."""

LAYER = np.dtype(
    {
        "names": ["rows", "units", "stride", "height", "length", "channels", "weight", "bias", "gain", "count", "width",
                  "begin", "end"],
        "formats": [np.int64] * 13,
    }
)  # fmt: skip
"""A layer, or the classifier: where its inputs and units start in a table of rows; distance, number and length of
segments; channels of the input; where weights, β or the offset, and γ start among the parameters; fan-in and units;
where input and output start among all activations."""

TENSOR = np.dtype(
    [(name, np.int64) for name in ("kind", "length", "a_boxes", "a_count", "b_boxes", "b_count")]
    + [(name, np.float64) for name in ("eps", "scale", "alpha", "shift")]
)
"""Normalization of a tensor: its kind, the length of a row, boxes and statistics of a row by field, and numbers."""

MOMENTS = {"sgd": 0, "momentum": 1, "adam": 2}
"""The number of moments of every optimizer."""

DTYPES, FUNCTIONS = ("float64", "float32"), (None, "tanh", "erf")
"""The types and the functions of schemes that the kernels know."""

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
    """Return the module of compiled kernels, or None while it is not loaded."""
    return _loaded[0] if _loaded else None


def _import_kernels() -> ModuleType:
    config: Any = import_module("numba").config
    before = config.CACHE_DIR
    config.CACHE_DIR = before or str(find_cache_folder() / "kernels")
    try:
        from normviz.train import compiled_kernels
    finally:
        config.CACHE_DIR = before
    for dtype in DTYPES:  # the first call with a type compiles
        setting, losses = Setting(steps=1, batch=2, width=2, dtype=dtype), torch.empty(1, 1, 1)
        training = CompiledTraining(compiled_kernels, [SCHEMES["none"]], setting, make_problem(setting, [0]), losses)
        deque(training(0), maxlen=0)
    return compiled_kernels


def can_train(scheme: Scheme, setting: Setting) -> bool:
    """Return True if the kernels can train a scheme: float32 or float64, the general form or a function, no windows."""
    if setting.dtype not in DTYPES:
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
    """Training of networks, whose schemes `can_train` allows. A call trains up to a step and stores the losses.

    `losses`: to be filled, (steps, schemes, networks), on the CPU.
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
        self.done, self.chunk, self.thread = 0, 4, local()
        numbers, optimizer = np.finfo(setting.dtype), getattr(kernels, setting.optimizer.upper())
        noise = GRADIENT_NOISE_FACTOR * float(numbers.eps)
        self.optimizer = (optimizer, MOMENTUM, *BETAS, float(numbers.tiny), noise)
        self.powers = np.cumprod(np.tile(np.array(BETAS), (setting.steps, 1)), 0)
        pixels = locate_input_pixels(setting)
        images = problem.inputs[:, *pixels].astype(numbers.dtype)
        self.images, self.order = torch.from_numpy(images), torch.from_numpy(problem.order)
        self.labels = problem.labels[problem.order]
        self.changes = [change.astype(numbers.dtype) for change in _list_image_changes(problem, pixels)]
        self.layout, parameters, self.rates = _place_layers(setting, problem)
        lead = (len(schemes), *parameters.shape)
        self.parameters = np.tile(parameters, (len(schemes), 1, 1))
        self.state = np.zeros((*lead[:2], MOMENTS[setting.optimizer], lead[2]), numbers.dtype)
        self.norms = [_pack_norms(kernels, scheme, setting) for scheme in schemes]

    def __call__(self, step: int) -> Iterator[None]:
        """Train to the end of a step, counted from 0, and perhaps beyond; yield after every network."""
        if step < self.done:
            return
        began, chunk = perf_counter(), slice(self.done, self.done + self.chunk)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # waiting threads of OpenMP would take a core from the kernels
        images = self.images[self.order[chunk]].mT.flatten(1)  # (steps, pixels · N); NumPy takes eight times as long
        batches = (pad(images, (0, self.kernels.LANES)).numpy(), self.labels[chunk], self.powers[chunk])
        torch.set_num_threads(threads)
        places = [(row, column) for row in range(len(self.norms)) for column in range(len(self.changes))]
        with ThreadPoolExecutor(threads) as pool:
            run = map if threads == 1 else pool.map  # threads start only when they are used
            for _ in run(lambda place: self._train_network(place, batches), places):
                yield
        self.done += len(images)
        self.chunk = max(int(len(images) * CHUNK_SECONDS / (perf_counter() - began)), 1)

    def _train_network(self, place: tuple[int, int], batches: tuple[np.ndarray, ...]) -> None:
        row, column = place
        if not hasattr(self.thread, "buffers"):
            size = self.layout[0][-1]["end"] + DIGIT_CLASSES * self.setting.batch + self.parameters.shape[-1]
            self.thread.buffers = tuple(np.empty((7, size), self.parameters.dtype))
        losses = np.empty(len(batches[0]))
        network = (
            self.changes[column], self.parameters[row, column], self.rates[column], self.state[row, column], losses
        )  # fmt: skip
        self.kernels.train_network(batches, network, self.layout, self.norms[row], self.optimizer, self.thread.buffers)
        self.losses[self.done : self.done + len(losses), row, column] = losses


def locate_input_pixels(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return for every pixel a filter position of the first layer that covers it, and its index in that patch."""
    pixels = np.arange(DIGIT_SIDE**2)
    if setting.layer == "dense":
        return np.zeros_like(pixels), pixels
    last = DIGIT_SIDE - setting.kernel
    y, x = np.divmod(pixels, DIGIT_SIDE)
    top, left = np.minimum(y, last), np.minimum(x, last)
    return top * (last + 1) + left, (y - top) * setting.kernel + x - left


def _list_image_changes(problem: TrainingProblem, pixels: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """List for every network the factor and shift of its images, (2, pixels · N), or (2, 0) for unchanged images."""
    shape = (problem.order.shape[1], *problem.inputs.shape[1:])
    changes = []
    for factor, shift in zip(problem.factor, problem.shift, strict=True):
        if np.all(factor == 1) and np.all(shift == 0):
            changes.append(np.empty((2, 0)))
        else:
            both = np.stack([np.broadcast_to(each, shape)[:, *pixels].T for each in (factor, shift)])
            changes.append(np.ascontiguousarray(both.reshape(2, -1)))
    return changes


def _place_layers(setting: Setting, problem: TrainingProblem) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Return the `layout` of `train_network`, and parameters and rates of all networks, (networks, parameters)."""
    n, width, count, rate = setting.batch, setting.width, len(problem.factor), np.array([[setting.rate]])
    tensors: list[tuple[np.ndarray, np.ndarray]] = []
    for weight, of_weight in zip(problem.weights, problem.rates, strict=True):
        tensors.append((weight.reshape(count, -1, width), of_weight.reshape(count, 1, width)))
        tensors += [(np.full((1, width), INITIAL_BIAS), rate), (np.ones((1, width)), rate)]
    tensors += [(problem.classifier, rate), (np.zeros((1, DIGIT_CLASSES)), rate)]
    shapes = [tensor.shape[-2:] for tensor, _ in tensors]
    starts = np.cumsum([0, *map(prod, shapes)])
    parameters, rates = (
        np.concatenate(
            [np.broadcast_to(pair[i], (count, *pair[0].shape[-2:])).reshape(count, -1) for pair in tensors], 1
        ).astype(setting.dtype)
        for i in range(2)
    )
    first = (DIGIT_SIDE, 1) if setting.layer == "conv" else (1, DIGIT_SIDE**2)
    sides, channels = zip(first, *((shape[1], shape[3]) for shape in setting.shapes), strict=True)
    layers, rows, begin, at = [], list[np.ndarray](), 0, 0
    for number, (side, after, depth) in enumerate(zip(sides, (*sides[1:], 1), channels, strict=True)):
        size, length = side - after + 1, after * n  # the classifier is a convolution of the size of its input
        y, x, c = np.indices((size, size, depth)).reshape(3, -1)
        rows += [((c * side + y) * side + x) * n, np.arange(shapes[3 * number][1]) * after * length]
        end = begin + depth * side**2 * n
        layers.append(
            (at, at + len(c), side * n, after, length, depth, *starts[3 * number : 3 * number + 3], *shapes[3 * number],
             begin, end)
        )  # fmt: skip
        begin, at = end, at + len(c) + len(rows[-1])
    segments = np.array([(start, *shape) for start, shape in zip(starts, shapes, strict=False)])
    return (np.array(layers, LAYER), np.concatenate(rows), segments), parameters, rates


def _pack_norms(kernels: ModuleType, scheme: Scheme, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return a scheme as the argument `norms` of `train_network`: what each layer normalizes, and its boxes."""
    parts = (
        (scheme.activation_part, setting.shapes, (3, 1, 2, 0), 1, setting.eps),
        (scheme.weight_part, setting.weight_shapes, (0, 1, 2, 3), 3, 0.0),
    )
    most = max(prod(shape) // shape[order[-1]] for _, shapes, order, _, _ in parts for shape in shapes)
    tensors, boxes = np.zeros((2, setting.depth + 1), TENSOR), np.zeros((2, setting.depth + 1, 2, most), np.int64)
    for number, (part, shapes, order, kept, eps) in enumerate(parts):
        for layer, shape in enumerate(shapes):
            if part is not None and part.has_effect:
                *fields, of_rows = _pack_norm(kernels, part, shape, order, kept)
                numbers = (eps, part.compute_scale(shape), part.alpha or 0.0, part.shift or 0.0)
                tensors[number, layer] = (*fields, *numbers)
                boxes[number, layer, :, : of_rows.shape[1]] = of_rows
    return tensors, boxes


def _pack_norm(kernels: ModuleType, scheme: Scheme, shape: Shape, order: Sequence[int], first: int) -> tuple[Any, ...]:
    """Return the integers of a `TENSOR`, and the number of each row's box (set with one statistic) by field, (2, rows).

    `order`: the axes as they lie in memory; a row spans none before `first`.
    """
    if scheme.kind.function is not None:
        return getattr(kernels, scheme.kind.function.upper()), *[0] * 5, np.zeros((2, 1), np.int64)
    sizes = [shape[axis] for axis in order]
    counts = [
        None if field is None else [field.simplify(shape).compute_statistics_shape(shape)[axis] for axis in order]
        for field in (scheme.summation, scheme.suppression)
    ]

    def is_uniform(count: list[int] | None, start: int) -> bool:
        return count is None or count[start:] in ([1] * (4 - start), sizes[start:])

    split = next(start for start in range(first, 4) if start == 3 or all(is_uniform(each, start) for each in counts))
    plan, boxes = [kernels.GENERAL, prod(sizes[split:])], np.zeros((2, prod(sizes[:split])), np.int64)
    for number, count in enumerate(counts):
        if count is not None:
            index = [np.arange(n) * some // n for n, some in zip(sizes[:split], count, strict=False)]
            boxes[number] = np.ravel_multi_index(np.meshgrid(*index, indexing="ij"), count[:split]).ravel()
        plan += [0, 0] if count is None else [prod(count[:split]), prod(count[split:])]
    return *plan, boxes
