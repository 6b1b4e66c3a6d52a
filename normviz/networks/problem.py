"""What is trained on, in NumPy: the digits, the first weights, and what each transformation does to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.data.digits import CLASSES, SIDE, cut_patches, load_digits
from normviz.networks.setting import Setting

SHIFT = 0.5
"""Size of τ in the re-centrings, beside data in 0..1 and weights of that order."""


class Network(NamedTuple):
    """One network of a stack: what is transformed (None: nothing), whether its learning rate follows, and whether its
    weights are disturbed by a rounding error, to see what training makes of one."""

    transformation: Transformation | None
    follows: bool = True
    disturbed: bool = False


NETWORKS = (
    Network(None),
    *(Network(row) for row in TRANSFORMATIONS.values()),
    *(Network(row, follows=False) for row in TRANSFORMATIONS.values() if row.weight_factor is not None),
    Network(None, disturbed=True),
)
"""Of every scheme: the original, its six twins, those with re-scaled weights at the same learning rate, and the
control, which differs from the original by rounding alone."""

ORIGINAL, CONTROL = 0, len(NETWORKS) - 1


def position(transformation: Transformation | None, follows: bool = True) -> int:
    """Where a twin stands in the stack; a change that asks for no other learning rate stands there once."""
    wanted = Network(
        transformation,
        follows or transformation is None or transformation.weight_factor is None,
    )
    return NETWORKS.index(wanted)


class Failure(NamedTuple):
    """Where a network stopped being finite: the step, counted from 1, and the tensor."""

    step: int
    tensor: str


@dataclass(frozen=True, eq=False)
class Problem:
    """One training run before it starts; every network starts from the same seeded numbers.

    Attributes:
        inputs: all digits as (digits, positions, fan-in); labels: their classes.
        order: (steps, batch), which digits each mini-batch has.
        factor, shift: what a network does to them: (networks, batch, 1, 1) and (networks, 1, 1, fan-in).
        weights: of every normalized layer, (networks, kh, kw, Cin, Cout), transformed.
        rates: their learning rates, (networks, 1, 1, 1, Cout).
        classifier: (features, classes).
    """

    inputs: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    factor: np.ndarray
    shift: np.ndarray
    weights: list[np.ndarray]
    rates: list[np.ndarray]
    classifier: np.ndarray


def make_problem(setting: Setting, networks: Sequence[int] = range(len(NETWORKS))) -> Problem:
    """The problem of a setting for some of the networks, given by their positions.

    Order, data, layers and classifier each draw from a stream of their own, `default_rng([seed, k])`: more steps or
    another width leave the others' numbers as they were.
    """
    images, labels = load_digits()
    chosen = [NETWORKS[position] for position in networks]
    rng = np.random.default_rng([setting.seed, 0])
    epochs = setting.steps * setting.batch // len(images) + 1
    order = np.concatenate([rng.permutation(len(images)) for _ in range(epochs)])
    order = order[: setting.steps * setting.batch].reshape(setting.steps, setting.batch)
    inputs = cut_patches(images, setting.kernel) if setting.layer == "conv" else images.reshape(len(images), 1, -1)
    factor, shift = _data_changes(setting, chosen, inputs.shape[-1])
    weights, rates = [], []
    for layer, shape in enumerate(setting.weight_shapes):
        rng = np.random.default_rng([setting.seed, 2 + layer])
        fan_in = np.prod(shape[:3])
        first = rng.standard_normal(shape) * fan_in**-0.5
        tau = SHIFT * fan_in**-0.5 * rng.standard_normal((*shape[:3], 1))
        noise = first * (1 + _rounding(setting) * rng.standard_normal(shape))
        starts = (noise if network.disturbed else first for network in chosen)
        pairs = zip(starts, chosen, strict=True)
        weights.append(np.stack([transform_weights(w, row.transformation, setting.delta, tau) for w, row in pairs]))
        rates.append(np.stack([_rates(first, network, setting) for network in chosen]))
    rng = np.random.default_rng([setting.seed, 2 + setting.depth])
    features = int(np.prod(setting.shapes[-1][1:]))
    classifier = rng.standard_normal((features, CLASSES)) * features**-0.5
    return Problem(inputs, labels, order, factor, shift, weights, rates, classifier)


def before_and_after(setting: Setting, change: Transformation, cases: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """What is changed, to look at: weights as (inputs, units), or the first digits of the first mini-batch in rows of
    four, (rows · side, 4 · side)."""
    problem = make_problem(replace(setting, steps=1), [ORIGINAL, position(change)])
    if change.on == "weights":
        before, after = problem.weights[0].reshape(2, -1, setting.width)
        return before, after
    cases = min(cases, setting.batch) // 4 * 4 or min(cases, setting.batch)
    images = load_digits()[0][problem.order[0][:cases]]
    shift = problem.shift[1].reshape(-1)
    shift = shift.reshape(SIDE, SIDE) if setting.layer == "dense" else shift[0]
    columns = min(cases, 4)

    def tiled(pictures: np.ndarray) -> np.ndarray:
        rows = pictures.reshape(-1, columns, SIDE, SIDE).transpose(0, 2, 1, 3)
        return rows.reshape(-1, columns * SIDE)

    return tiled(images), tiled(images * problem.factor[1, :cases] + shift)


def _rounding(setting: Setting) -> float:
    """The spacing of the numbers at 1 in the setting's type; bfloat16, which NumPy has not, keeps 8 bits."""
    return 2.0**-7 if setting.dtype == "bfloat16" else float(np.finfo(setting.dtype).eps)


def _data_changes(setting: Setting, networks: Sequence[Network], fan_in: int) -> tuple[np.ndarray, np.ndarray]:
    """Factor and shift of the data by network. One τ for all examples; for a convolution one number per input channel,
    of which digits have one."""
    rng = np.random.default_rng([setting.seed, 1])
    tau = SHIFT * rng.standard_normal(fan_in if setting.layer == "dense" else 1)
    factor = np.ones((len(networks), setting.batch, 1, 1))
    shift = np.zeros((len(networks), 1, 1, fan_in))
    for row, (change, *_) in enumerate(networks):
        if change is not None and change.on == "data":
            if change.factor is None:
                shift[row] = tau
            else:
                factor[row, : 1 if "N" in change.factor else None] = setting.delta
    return factor, shift


def transform_weights(weight: np.ndarray, change: Transformation | None, delta: float, tau: np.ndarray) -> np.ndarray:
    """W' of a weight tensor (kh, kw, Cin, Cout): δW, W with one unit times δ, or every unit plus τ."""
    if change is None or change.on == "data":
        return weight
    if change.weight_factor is None:
        return weight + tau
    units = firing_unit(weight) if change.weight_factor else slice(None)
    factor = np.ones(weight.shape[-1])
    factor[units] = delta
    return weight * factor


def _rates(weight: np.ndarray, network: Network, setting: Setting) -> np.ndarray:
    """The learning rate of every unit's weights, (1, 1, 1, Cout)."""
    rates = np.full((1, 1, 1, weight.shape[-1]), setting.rate)
    if network.transformation is not None and network.follows:
        units = firing_unit(weight) if network.transformation.weight_factor else slice(None)
        rates[..., units] *= network.transformation.rate_factor(setting.optimizer, setting.delta)
    return rates


def firing_unit(weight: np.ndarray) -> int:
    """The unit whose vector is re-scaled: that with the largest sum of weights, which inputs from 0 up make fire."""
    return int(weight.sum((0, 1, 2)).argmax())
