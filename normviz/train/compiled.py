"""Compiled training on a CPU: the numbers that `compiled_kernels.train_network` needs, made from schemes and settings."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch

from normviz.core.fields import Field, Shape
from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train import compiled_kernels as kernels
from normviz.train.problem import TrainingProblem
from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, INITIAL_BIAS, MOMENTUM, Setting

KINDS = {"general": kernels.GENERAL, "tanh": kernels.TANH, "erf": kernels.ERF}
OPTIMIZERS = {"sgd": kernels.SGD, "momentum": kernels.MOMENTUM, "adam": kernels.ADAM}


def can_compile(scheme: Scheme, setting: Setting) -> bool:
    """Return True if the kernel can train a scheme: in float64, by the general form without windows, or pointwise."""
    if setting.dtype != "float64":
        return False
    for part, shapes in ((scheme.activation_part, setting.shapes), (scheme.weight_part, setting.weight_shapes)):
        if part is not None and part.has_effect:
            if part.kind.key not in ("general", "pointwise"):
                return False
            if any(field.simplify(shape).windowed_axes for field in part.fields for shape in shapes):
                return False
    return True


def _plan_rows(scheme: Scheme | None, shape: Shape, order: Sequence[int], keep: int) -> tuple[list[int], np.ndarray]:
    """Plan the rows of a tensor whose axes are stored in this order; at least the first `keep` axes count the rows.

    Returns the plan and the boxes (2, rows) that `compiled_kernels` describes.
    """
    sizes = [shape[axis] for axis in order]
    if scheme is None or not scheme.has_effect:
        return [kernels.NONE, 0, 0, 0, 0, 0, 0], np.zeros((2, 0), int)
    if scheme.function is not None:
        return [KINDS[str(scheme.kind.function)], 0, 0, 0, 0, 0, 0], np.zeros((2, 0), int)
    fields = [None if f is None else [f.simplify(shape).rules[axis].count_statistics(shape[axis]) for axis in order]
              for f in (scheme.summation, scheme.suppression)]
    split = len(order) - 1
    def uniform(counts, at):
        return counts is None or all(c == 1 for c in counts[at:]) or all(c == n for c, n in zip(counts[at:], sizes[at:]))
    while split > keep and all(uniform(counts, split - 1) for counts in fields):
        split -= 1
    rows, length = prod(sizes[:split]), prod(sizes[split:])
    plan, boxes = [kernels.GENERAL, rows, length], np.zeros((2, rows), int)
    for number, counts in enumerate(fields):
        if counts is None:
            plan += [0, 0]
            continue
        index = [np.arange(n) * c // n for n, c in zip(sizes[:split], counts[:split])]
        if index:
            boxes[number] = np.ravel_multi_index(np.meshgrid(*index, indexing="ij"), counts[:split]).ravel()
        plan += [prod(counts[:split]), prod(counts[split:])]
    return plan, boxes


class CompiledRun:
    """Networks of one scheme... prototype."""

    def __init__(self, scheme: Scheme, setting: Setting, problem: TrainingProblem) -> None:
        depth, n, k = setting.depth, setting.batch, setting.kernel
        sides = [DIGIT_SIDE if setting.layer == "conv" else 1, *(shape[1] for shape in setting.shapes)]
        channels = [1 if setting.layer == "conv" else DIGIT_SIDE**2] + [setting.width] * depth
        maps, taps, begin = [], [], 0
        for side, after, c in zip(sides, sides[1:], channels):
            i, j, ci = np.meshgrid(range(k), range(k), range(c), indexing="ij")
            maps.append([side * n, after, after * n, sum(map(len, taps)), begin])
            taps.append((((ci * side + i) * side + j) * n).ravel())
            begin += c * side * side * n
        features = channels[-1] * sides[-1] ** 2
        maps.append([n, 1, n, sum(map(len, taps)), begin])
        begin += features * n
        taps.append(np.arange(features) * n)
        maps += [[0, 0, 0, 0, begin], [0, 0, 0, 0, begin + DIGIT_CLASSES * n]]
        self.maps, self.taps = np.array(maps), np.concatenate(taps)
        networks = len(problem.factor)
        # features from (H, W, C) to (C, H, W)
        classifier = problem.classifier.reshape(sides[-1] ** 2, channels[-1], DIGIT_CLASSES).transpose(1, 0, 2).reshape(features, DIGIT_CLASSES)
        tensors = [*problem.weights]
        rates = [np.broadcast_to(r, w.shape) for r, w in zip(problem.rates, problem.weights)]
        for value in (1.0, INITIAL_BIAS):
            tensors += [np.full((networks, 1, setting.width), value)] * depth
        tensors += [np.broadcast_to(classifier, (networks, *classifier.shape)), np.zeros((networks, 1, DIGIT_CLASSES))]
        rates += [np.full(t.shape, setting.rate) for t in tensors[depth:]]
        at, segments = 0, []
        for t in tensors:
            width = t.shape[-1]
            count = t[0].size // width
            segments.append([at, count, width])
            at += count * width
        self.segments = np.array(segments)
        self.p = np.concatenate([t.reshape(networks, -1) for t in tensors], 1)
        self.rates = np.concatenate([t.reshape(networks, -1) for t in rates], 1)
        self.state = np.zeros((networks, 2 if setting.optimizer == "adam" else 1, self.p.shape[1]))
        self.powers = np.cumprod(np.broadcast_to(np.array(BETAS)[:, None], (2, setting.steps)), 1)
        info = np.finfo(np.float64)
        self.constants = (MOMENTUM, *BETAS, float(info.tiny), GRADIENT_NOISE_FACTOR * float(info.eps))
        self.optimizer = OPTIMIZERS[setting.optimizer]
        parts = (scheme.activation_part, setting.shapes, (3, 1, 2, 0), 1, setting.eps), (scheme.weight_part, setting.weight_shapes, (0, 1, 2, 3), 3, 0.0)
        plans, boxes, numbers = [], [], []
        for part, shapes, order, keep, eps in parts:
            for shape in shapes:
                plan, box = _plan_rows(part, shape, order, keep)
                plans.append(plan); boxes.append(box)
                if part is None: numbers.append([0, 1, 0, 0])
                else: numbers.append([eps, part.compute_scale(shape), part.alpha or 0.0, part.shift or 0.0])
        widest = max(box.shape[1] for box in boxes)
        self.plans = np.array(plans).reshape(2, depth, 7)
        self.boxes = np.stack([np.pad(box, ((0, 0), (0, widest - box.shape[1]))) for box in boxes]).reshape(2, depth, 2, widest)
        self.numbers = np.array(numbers, float).reshape(2, depth, 4)
        total = self.maps[-1, 4]
        P = self.p.shape[1]
        self.arrays = tuple(np.empty(n) for n in (total, total, total, total, P, max(total, P), P, P)) + (np.empty(10*n, np.int64),)
        # images
        side = DIGIT_SIDE
        if setting.layer == "conv":
            y, x = np.divmod(np.arange(side * side), side)
            last = side - k
            py, px = np.minimum(y, last), np.minimum(x, last)
            where, tap = py * (last + 1) + px, (y - py) * k + (x - px)
        else:
            where, tap = np.zeros(side * side, int), np.arange(side * side)
        images = problem.inputs[:, where, tap]
        self.images = np.ascontiguousarray(images[problem.order].transpose(0, 2, 1)).reshape(setting.steps, -1)
        self.labels = problem.labels[problem.order]
        full = (networks, n, *problem.inputs.shape[1:])
        self.factor, self.shift = (np.ascontiguousarray(np.broadcast_to(a, full)[:, :, where, tap].transpose(0, 2, 1)).reshape(networks, -1) for a in (problem.factor, problem.shift))

        self.plain = (self.factor == 1).all(1) & (self.shift == 0).all(1)
        self.none = np.empty(0)

    def run(self, lo: int, hi: int, losses: np.ndarray) -> None:
        for i in range(len(self.p)):
            kernels.train_network(self.images[lo:hi], self.labels[lo:hi], self.none if self.plain[i] else self.factor[i], self.shift[i], losses[lo:hi, i], self.p[i], self.rates[i], self.state[i], self.powers[:, lo:hi], self.optimizer, self.constants, self.segments, self.maps, self.taps, self.plans, self.boxes, self.numbers, self.arrays)

