"""Random layers of PyTorch against the detector: how often it names one scheme, and how often that one is wrong.

Half of them come near to a normalization and are none, as those with a sample variance or a clipped output. From the
folder of the project, `PYTHONPATH=. python tests/topics/same/random_layers.py --count 800 --seed 0` prints the counts.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from misleading_layers import misleading

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES
from normviz.core.layouts import parse_layout
from normviz.core.normalize import normalize
from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.topics.same.detection.detector import Detection, detect_normalization
from normviz.topics.same.detection.fitting import NOTHING, CandidateFit
from normviz.topics.same.detection.precision import find_precision

NN = torch.nn
TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
NO_SCHEME = ("LocalResponseNorm", "Softmax", "ReLU", "Linear", "Dropout")
"""Layers that are no scheme: at most x itself may be named, where rounding makes the output x."""


class Case(NamedTuple):
    """A layer, its input in the layer's own order of axes, and the order in which the detector gets the arrays."""

    name: str
    layer: Callable[[torch.Tensor], torch.Tensor]
    draw: Callable[[], torch.Tensor]
    order: tuple[int, ...]

    def arrays(self, x: torch.Tensor) -> list[np.ndarray]:
        """Return x and the layer's output, as NumPy arrays; bfloat16 as float32."""
        with torch.no_grad():
            pair = (x, self.layer(x))
        wide = (each.float() if each.dtype == torch.bfloat16 else each for each in pair)
        return [each.permute(self.order).numpy() for each in wide]


def layers(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Callable[[], NN.Module]]:
    """Return the layers that take this shape, channels first, by name."""
    c, last = shape[1], len(shape) - 1
    affine, eps = bool(rng.integers(2)), float(rng.choice([1e-3, 1e-5, 1e-6]))
    over = shape[-int(rng.integers(1, last + 1)) :]
    groups = int(rng.choice([g for g in range(1, c + 1) if c % g == 0]))
    norms = {2: NN.BatchNorm1d, 3: NN.BatchNorm1d, 4: NN.BatchNorm2d}[len(shape)]
    found = {
        "BatchNorm": lambda: norms(c, eps, affine=affine),
        "BatchNorm in inference": lambda: norms(c, eps, affine=affine).eval(),
        "LayerNorm": lambda: NN.LayerNorm(over, eps, elementwise_affine=affine),
        "RMSNorm": lambda: NN.RMSNorm(over, eps, elementwise_affine=affine),
        "GroupNorm": lambda: NN.GroupNorm(groups, c, eps, affine=affine),
        "Softmax": lambda: NN.Softmax(int(rng.integers(1, last + 1))),
        "Tanh": NN.Tanh,
        "ReLU": NN.ReLU,
        "Linear": lambda: NN.Linear(shape[-1], shape[-1]),
        "Dropout": lambda: NN.Dropout(0.3),
        "Identity": NN.Identity,
        "LocalResponseNorm": lambda: NN.LocalResponseNorm(3),
    }
    if last > 1:
        instance = {3: NN.InstanceNorm1d, 4: NN.InstanceNorm2d}[len(shape)]
        found["InstanceNorm"] = lambda: instance(c, eps, affine=affine)
    else:
        del found["LocalResponseNorm"]
    return found


def cases(count: int, seed: int) -> Iterator[Case]:
    """Yield random layers with random inputs: shape, type, mean, spread, γ, β and order of axes vary."""
    made_so_far = 0
    for number in itertools.count():
        if made_so_far == count:
            return
        rng = np.random.default_rng([seed, number])  # a case does not depend on how often others are drawn
        torch.manual_seed(number)
        axes = int(rng.integers(2, 5))
        shape = (*(int(n) for n in rng.integers(1, 9, axes)),)
        made = layers(rng, shape)
        near = misleading(rng, shape)
        name = str(rng.choice(list(near if rng.integers(2) else made)))
        kind = TYPES[rng.integers(4)]
        try:
            layer = near[name] if name in near else made[name]().to(kind)
            if isinstance(layer, NN.Module) and rng.integers(2):
                train(layer, rng)
            mean, scale = float(rng.choice([0, 0, 3, 100, 1e4])), float(10.0 ** rng.uniform(-3, 1))
            spreads = [rng.uniform(0.3, 2, [n if k == axis else 1 for k, n in enumerate(shape)]) for axis in (0, 1)]

            if rng.integers(4) == 0:  # constant channels
                spreads[1] = spreads[1] * rng.integers(0, 2, spreads[1].shape)

            def draw(shape=shape, mean=mean, scale=scale, spreads=spreads, kind=kind, rng=rng) -> torch.Tensor:
                x = rng.standard_normal(shape) * np.prod(np.broadcast_arrays(*spreads), axis=0) + mean
                return torch.tensor(x * scale).to(kind)

            channels_last = (0, *range(2, axes), 1)
            case = Case(name, layer, draw, channels_last if rng.integers(2) else tuple(range(axes)))
            case.arrays(draw())
        except (ValueError, RuntimeError):  # a shape or a type that the layer does not take
            continue
        made_so_far += 1
        yield case


def train(layer: NN.Module, rng: np.random.Generator) -> None:
    """Give a layer a γ, a β and running averages that are not the first ones."""
    with torch.no_grad():
        for name, low, high in (("weight", 0.5, 2), ("bias", -1, 1), ("running_mean", -1, 1), ("running_var", 0.5, 2)):
            values = getattr(layer, name, None)
            if values is not None:
                values.copy_(torch.tensor(rng.uniform(low, high, values.shape)))


def is_right(case: Case, fit: CandidateFit, x: np.ndarray, y: np.ndarray) -> bool:
    """Return True if a fit to one input predicts the layer's output for another one."""
    if case.name in NO_SCHEME or (fit.scheme.key, fit.level) == ("none", NOTHING):
        return fit.scheme.key == "none" and np.allclose(x, y, rtol=0.01)  # such as a clip that no number reaches
    return any(predicts(case, fit, eps, x, y) for eps in fit.eps or (0.0,))


def predicts(case: Case, fit: CandidateFit, eps: float, x: np.ndarray, y: np.ndarray) -> bool:
    """Return True if a fit with this ε predicts three other outputs to 5%, or 0.5% of near misses, and rounding."""
    for _ in range(3):
        other, truth = case.arrays(case.draw())
        apart = np.abs(predict(fit, eps, x, y, other) - truth).max()
        if (
            apart
            > (0.05 if isinstance(case.layer, NN.Module) else 0.005) * np.abs(truth - truth.mean()).max()
            + 16 * MACHINE_EPSILONS[find_precision(truth)] * np.abs(truth).max()
        ):
            return False
    return True


def predict(fit: CandidateFit, eps: float, x: np.ndarray, y: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return what a fit computes of another input, with γ and β by least squares of x and y."""
    x_, y_, new = (parse_layout(fit.layout).to_tensor(each.astype(float)) for each in (x, y, other))
    xhat, fresh = (normalize(each, fit.scheme, eps).xhat for each in (x_, new))
    if fit.along:
        over = tuple(k for k, axis in enumerate(AXES["activation"]) if axis not in fit.along)
        centre, level = xhat.mean(over, keepdims=True), y_.mean(over, keepdims=True)
        square = ((xhat - centre) ** 2).sum(over, keepdims=True)
        gain = ((xhat - centre) * (y_ - level)).sum(over, keepdims=True) / np.where(square > 0, square, 1)
        fresh = gain * (fresh - centre) + level
    axes = parse_layout(fit.layout).axes
    missing = tuple(k for k in range(4) if k not in axes)
    return np.transpose(fresh.squeeze(missing), np.argsort(np.argsort(axes)))


def attack(count: int, seed: int) -> tuple[Counter, list[str]]:
    """Return how many answers were right, several, none or wrong, and each wrong one in a line."""
    found, wrong = Counter(), []
    for case in cases(count, seed):
        x, y = case.arrays(case.draw())
        try:
            answer: Detection = detect_normalization(x, y)
        except InvalidInput:  # infinite in half precision
            found["refused"] += 1
            continue
        if not answer.is_unique:
            found["several" if answer.answer else "none"] += 1
        elif is_right(case, answer.answer[0], x, y):
            found["right"] += 1
        else:
            found["wrong"] += 1
            fit = answer.answer[0]
            wrong.append(f"{case.name} {case.layer} {x.shape} {x.dtype} order {case.order}: "
                         f"{[s.key for s in fit.schemes]} {fit.layout} level {fit.level} eps {fit.eps}")  # fmt: skip
    return found, wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, lines = attack(given.count, given.seed)
    print(dict(counts), *lines, sep="\n")
