"""The start of a training in NumPy: digits, initial weights, and their transformed copies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from normviz.core.tolerances import CONTROL_ROUNDINGS, MACHINE_EPSILONS
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, cut_patches, load_digits, order_mini_batches
from normviz.train.setting import Setting

PROBE_SIZE = 0.1
"""The relative deviation of the probe's first weights and data, large enough to show in the losses."""


class NetworkSpec(NamedTuple):
    """Specification of one network of a stack: its transformation of Table 1, and its random disturbance.

    Attributes:
        transformation: the change of its weights or data; None for the original.
        follows: True if the learning rate of re-scaled weights is scaled with them.
        disturbed: the random disturbance of its first layer's weights and its data: "" for none, "rounding",
            "magnified" for rounding times `MAGNIFIED`, "probe" for `PROBE_SIZE`, "twin" for rounding of a re-scaled
            twin.
        draw: the number of the random stream of its disturbance.
    """

    transformation: Transformation | None
    follows: bool = True
    disturbed: str = ""
    draw: int = 1


RECENTRINGS = [row for row in TRANSFORMATIONS.values() if row.factor is None]
RESCALINGS = [row for row in TRANSFORMATIONS.values() if row.factor is not None]

NETWORKS = (
    NetworkSpec(None),
    *(NetworkSpec(row) for row in TRANSFORMATIONS.values()),
    *(NetworkSpec(row, follows=False) for row in TRANSFORMATIONS.values() if row.weight_factor is not None),
    *(NetworkSpec(row, disturbed="rounding") for row in (None, *RECENTRINGS)),
    *(NetworkSpec(None, disturbed="magnified", draw=draw) for draw in (2, 3)),
    NetworkSpec(None, disturbed="probe", draw=4),
)
"""The networks of every scheme: the original, its six twins, and the twins with re-scaled weights once more at the
original's learning rate. Then the controls, which differ by rounding alone from the original or from a re-centred twin,
whose sums are large beside their differences: their distance shows the effect of rounding. Last the probe, which
differs so much from the original that losses which do not show it show nothing."""

MEASURED_NETWORKS = (*NETWORKS, *(NetworkSpec(row, disturbed="twin") for row in RESCALINGS))
"""The networks that a forward pass measures: `NETWORKS`, and a control of every re-scaled twin. The rounding error of a
constant field, or of a singular covariance matrix, is δ times as large in a re-scaled twin, while ε is the same: there
rounding can change the twin more than the original."""

ORIGINAL, PROBE = 0, len(NETWORKS) - 1


def find_network_index(transformation: Transformation | None, follows: bool = True) -> int:
    """Return the index in `NETWORKS` of a transformed network; `follows`: the one with a scaled learning rate."""
    same_rate = transformation is None or transformation.weight_factor is None
    return NETWORKS.index(NetworkSpec(transformation, follows or same_rate))


BASE_POSITIONS = [
    find_network_index(network.transformation) if network.disturbed else ORIGINAL for network in MEASURED_NETWORKS
]
"""The index of the network that each of `MEASURED_NETWORKS` is compared with; for a control, its original."""


@lru_cache(maxsize=128)  # every cell of Table 1 asks several times
def find_control_networks(key: str, disturbed: str, count: int = len(MEASURED_NETWORKS)) -> list[int]:
    """Return the indices in `MEASURED_NETWORKS` of the original and one transformed network with this noise.

    `key`: of the transformation. `disturbed`: as in `NetworkSpec`. `count`: only indices below this number.
    """
    found = [
        (place, network.transformation)
        for place, network in enumerate(MEASURED_NETWORKS[:count])
        if network.disturbed == disturbed
    ]
    return [place for place, change in found if change is None or change.key == key]


class NonFiniteTensor(NamedTuple):
    """Step, counted from 1, and name of the first tensor of a network that was not finite in training."""

    step: int
    tensor: str


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """Data and initial weights of a training; all networks start from the same seeded numbers.

    Attributes:
        inputs: all digits, (digits, positions, fan-in).
        labels: their classes.
        order: the digits of every mini-batch, (steps, batch).
        factor, shift: the change of a network's mini-batch, factor · x + shift; both broadcast against (networks,
            batch, positions, fan-in).
        weights: of every normalized layer, transformed, (networks, kh, kw, Cin, Cout).
        rates: their learning rates, (networks, 1, 1, 1, Cout).
        classifier: the last layer's weights, (features, classes).
    """

    inputs: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    factor: np.ndarray
    shift: np.ndarray
    weights: list[np.ndarray]
    rates: list[np.ndarray]
    classifier: np.ndarray


def make_problem(setting: Setting, networks: Sequence[int] = range(len(NETWORKS))) -> TrainingProblem:
    """Return the data and initial weights of a setting, for the networks at these indices of `MEASURED_NETWORKS`.

    The order, τ of the data, every layer and the classifier draw from random streams of their own,
    `default_rng([seed, k])`, so that more steps or another width do not change the other numbers. The disturbance of a
    network's data or first layer comes from `default_rng([seed, k, draw])`.
    """
    images, labels = load_digits()
    chosen = [MEASURED_NETWORKS[position] for position in networks]
    rng = np.random.default_rng([setting.seed, 0])
    order = order_mini_batches(rng, len(images), setting.steps, setting.batch)
    inputs = _build_inputs(images, setting)
    factor, shift = _find_data_changes(setting, chosen, inputs.shape[-1])
    weights, rates = [], []
    for layer, shape in enumerate(setting.weight_shapes):
        rng = np.random.default_rng([setting.seed, 2 + layer])
        fan_in = np.prod(shape[:3])
        first = rng.standard_normal(shape) * fan_in**-0.5
        tau = setting.shift * fan_in**-0.5 * rng.standard_normal((*shape[:3], 1))
        starts = (transform_weights(first, network.transformation, setting.delta, tau) for network in chosen)
        if layer == 0:
            starts = (w * _sample_disturbance(row, setting, 2, shape) for w, row in zip(starts, chosen, strict=True))
        weights.append(np.stack([*starts]))
        rates.append(np.stack([_find_unit_rates(first, network, setting) for network in chosen]))
    rng = np.random.default_rng([setting.seed, 2 + setting.depth])
    features = int(np.prod(setting.shapes[-1][1:]))
    classifier = rng.standard_normal((features, DIGIT_CLASSES)) * features**-0.5
    return TrainingProblem(inputs, labels, order, factor, shift, weights, rates, classifier)


MAX_PICTURED = 4
"""The maximal number of pictured images or units of a network."""


def make_changed_samples(setting: Setting, change: Transformation) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures, or weights as pictures, before and after a transformation, two arrays (count, height, width).

    They show images of the first mini-batch, of different classes and the first among them. Or they show the weights of
    some units of the first layer, with the unit that a change of one unit is about. A unit of a dense layer has one
    weight for every pixel.
    """
    problem = make_problem(replace(setting, steps=1), [ORIGINAL, find_network_index(change)])
    count = min(MAX_PICTURED, setting.batch if change.on == "data" else setting.width)
    if change.on == "weights":
        unit = find_firing_unit(problem.weights[0][0])
        units = [unit, *(other for other in range(setting.width) if other != unit)][:count]
        sides = (DIGIT_SIDE, DIGIT_SIDE) if setting.layer == "dense" else (setting.kernel, setting.kernel)
        flat = problem.weights[0].reshape(2, -1, setting.width)[..., units]
        before, after = flat.transpose(0, 2, 1).reshape(2, count, *sides)
        return before, after
    images, classes = (each[problem.order[0]] for each in load_digits())
    firsts = np.unique(classes, return_index=True)[1]
    places = sorted(range(setting.batch), key=lambda place: (place not in firsts, place))[:count]
    shift = problem.shift[1].reshape(-1)
    shift = shift.reshape(DIGIT_SIDE, DIGIT_SIDE) if setting.layer == "dense" else shift[0]
    return images[places], images[places] * problem.factor[1, places] + shift


def compute_noise_levels(dtype: str) -> dict[str, float]:
    """Return the relative standard deviation of the noise by each value of `NetworkSpec.disturbed`, in this dtype."""
    rounding = MACHINE_EPSILONS[dtype] / 4
    return {
        "rounding": rounding,
        "twin": rounding,
        "magnified": CONTROL_ROUNDINGS[dtype] * rounding,
        "probe": PROBE_SIZE,
    }


def _sample_disturbance(
    network: NetworkSpec, setting: Setting, stream: int, shape: Sequence[int]
) -> np.ndarray | float:
    """Return random factors around 1 that disturb a network's data or weights of this shape; 1.0 for no disturbance."""
    if not network.disturbed:
        return 1.0
    rng = np.random.default_rng([setting.seed, stream, network.draw])
    return 1 + compute_noise_levels(setting.dtype)[network.disturbed] * rng.standard_normal(shape)


def _find_data_changes(setting: Setting, networks: Sequence[NetworkSpec], fan_in: int) -> tuple[np.ndarray, np.ndarray]:
    """Return factor and shift of the data of every network, as in `TrainingProblem`; all examples get the same τ."""
    tau = sample_data_shift(setting)
    factor = np.ones((len(networks), setting.batch, 1, 1))
    shift = np.zeros((len(networks), 1, 1, fan_in))
    for row, network in enumerate(networks):
        change = network.transformation
        if change is not None and change.on == "data":
            if change.factor is None:
                shift[row] = tau
            else:
                factor[row, : 1 if "N" in change.factor else None] = setting.delta
    if not any(network.disturbed for network in networks):
        return factor, shift
    pictures = (setting.batch, DIGIT_SIDE, DIGIT_SIDE)
    disturbed = np.stack(
        [np.broadcast_to(_sample_disturbance(network, setting, 1, pictures), pictures) for network in networks]
    )
    ripple = np.stack([_build_inputs(each, setting) for each in disturbed])
    return factor * ripple, shift * ripple


@lru_cache(maxsize=64)
def sample_data_shift(setting: Setting) -> np.ndarray:
    """Return the shift τ of the data, a number per pixel, or one for a convolution; read-only and cached."""
    count = DIGIT_SIDE**2 if setting.layer == "dense" else 1
    tau = setting.shift * np.random.default_rng([setting.seed, 1]).standard_normal(count)
    tau.flags.writeable = False
    return tau


def _build_inputs(images: np.ndarray, setting: Setting) -> np.ndarray:
    """Build the inputs of the first layer, (n, positions, fan-in), from pictures (n, side, side)."""
    return cut_patches(images, setting.kernel) if setting.layer == "conv" else images.reshape(len(images), 1, -1)


def transform_weights(weight: np.ndarray, change: Transformation | None, delta: float, tau: np.ndarray) -> np.ndarray:
    """Return W (kh, kw, Cin, Cout) after `change`: all times δ, one unit's vector times δ, or every vector plus τ."""
    if change is None or change.on == "data":
        return weight
    if change.weight_factor is None:
        return weight + tau
    units = find_firing_unit(weight) if change.weight_factor else slice(None)
    factor = np.ones(weight.shape[-1])
    factor[units] = delta
    return weight * factor


def _find_unit_rates(weight: np.ndarray, network: NetworkSpec, setting: Setting) -> np.ndarray:
    """Return the units' learning rates, (1, 1, 1, Cout), scaled with re-scaled weights if `network.follows`."""
    rates = np.full((1, 1, 1, weight.shape[-1]), setting.rate)
    if network.transformation is not None and network.follows:
        units = find_firing_unit(weight) if network.transformation.weight_factor else slice(None)
        rates[..., units] *= network.transformation.compute_rate_factor(setting.optimizer, setting.delta)
    return rates


def find_firing_unit(weight: np.ndarray) -> int:
    """Return the index of the unit with the largest sum of weights, so that inputs from 0 to 1 activate it."""
    return int(weight.sum((0, 1, 2)).argmax())
