"""What a training takes, before it starts: memory and time, from the sizes of a setting alone; and how it is cut.

A stack is trained in blocks, of which one at a time holds its tensors; parameters and the optimizer's state of all of
them are there all the time. The constants were measured on one machine (`benchmarks/bounds.py`).
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from normviz.core.schemes import Scheme
from normviz.data.digits import CLASSES, SIDE
from normviz.networks.setting import Setting

BUDGET = 512 * 2**20
"""Bytes that a training may hold, at most."""

BLOCK = 2**18
"""Elements of a tensor up to which one stack is faster than two half as large. Beyond, every temporary tensor is fresh
memory from the system, which costs more than the calls that are saved (measured on convolutions)."""

SLOTS = {"sgd": 1, "momentum": 2, "adam": 3}
"""Tensors that stay of every parameter: itself, and what the optimizer remembers."""

KEPT = 1.4
"""Times what the tensors of a block need: what the allocator holds beside them (measured)."""

CALL, PRODUCT, PATCH, SUM, PARAMETER = 8e-4, 7.5e-11, 7.5e-9, 3e-8, 1.5e-8
"""Seconds of a step in float64: for the calls of every layer of a block, and of every network for each multiplication,
each element of its patches and of its summed inputs, and each number that it learns."""


EXAMPLES = 1797
"""Digits to train and to test on, together."""


class Sizes(NamedTuple):
    """What of a setting costs memory and time, of one network.

    Attributes:
        sums: elements of the summed inputs of every layer.
        patches: elements of what every layer's weights are multiplied with.
        parameters: numbers that are learned.
    """

    sums: list[int]
    patches: list[int]
    parameters: int


@lru_cache(maxsize=1024)  # a page that is run asks for the same again and again
def sizes(setting: Setting) -> Sizes:
    """The sizes of a setting's tensors."""
    shapes, weights = setting.shapes, setting.weight_shapes
    patches = [prod(shape[:3]) * prod(each[:3]) for shape, each in zip(shapes, weights, strict=True)]
    features = prod(shapes[-1][1:])
    learned = sum(map(prod, weights)) + 2 * setting.depth * setting.width + (features + 1) * CLASSES
    return Sizes([prod(shape) for shape in shapes], patches, learned)


def large(setting: Setting) -> bool:
    """Whether one network alone is more than a block."""
    return max(sizes(setting).sums) > BLOCK


def block(setting: Setting) -> int:
    """The most networks that are trained as one stack."""
    return max(BLOCK // max(sizes(setting).sums), 1)


def rows(setting: Setting, networks: int) -> int:
    """The most schemes that one training takes within its budget: one where not even its own networks fit a block.

    Nothing is saved then by training several together, and one that is done says more than many that are begun.
    """
    most = max(block(setting) // networks, 1)
    return max(bisect_right(range(1, most + 1), BUDGET, key=lambda count: memory(setting, count, networks)), 1)


def fits_as_one(setting: Setting, schemes: int, networks: int) -> bool:
    """Whether the tensors of all networks may be there at once, as a GPU takes them."""
    return memory(setting, schemes, networks, schemes * networks) <= BUDGET


def together(setting: Setting, networks: int) -> int:
    """The most schemes whose networks' tensors may all be there at once, at least one."""
    most = BUDGET // (8 * sizes(setting).parameters) + 1
    return max(bisect_right(range(1, most), False, key=lambda count: not fits_as_one(setting, count, networks)), 1)


def memory(setting: Setting, schemes: int, networks: int, together: int = 0) -> int:
    """Bytes that a training of so many schemes, and networks of each, holds at its largest.

    `together`: how many networks' tensors are there at once; by default those of a block.
    """
    size = 8 if setting.storage == "float64" else 4
    sums, patches, parameters = sizes(setting)
    stays = parameters * SLOTS[setting.optimizer] * schemes * networks
    works = sum(patches) + 4 * sum(sums) + max(patches) + 2 * max(sums)
    gradients = 3 * parameters
    together = together or min(block(setting), schemes * networks)
    data = 8 * setting.steps * (setting.batch + schemes * networks)
    return data + size * (stays + round(KEPT * together * (works + gradients)))


def columns(setting: Setting, networks: int) -> int:
    """The most networks of one scheme that one training holds within its budget, at least one."""
    return max(bisect_right(range(1, networks + 1), BUDGET, key=lambda count: memory(setting, 1, count)), 1)


def seconds(setting: Setting, schemes: int, networks: int) -> float:
    """Seconds that a training takes on the machine on which this was measured."""
    blocks = -(-schemes * networks // block(setting))
    sums, patches, parameters = sizes(setting)
    products = 3 * (setting.width * sum(patches) + CLASSES * sums[-1])  # forward, and to weights and inputs
    network = products * PRODUCT + sum(patches) * PATCH + sum(sums) * SUM + parameters * PARAMETER
    half = 1.0 if setting.storage == "float64" else 0.5
    return setting.steps * (blocks * setting.depth * CALL + schemes * networks * network * half)


def dense_seconds(
    schemes: Sequence[Scheme], networks: int, widths: Sequence[int], batch: int, steps: int, measured: int = 0
) -> float:
    """About the time of a stack of `normviz.networks.dense` in float32; `measured`: so often on unseen digits."""
    layers = [SIDE**2, *widths, CLASSES]
    learned = sum(into * out for into, out in pairwise(layers))
    units, stack = sum(layers[1:]), networks * len(schemes)
    decomposed = networks * sum(widths) * sum(scheme.spectral or scheme.whitens for scheme in schemes)
    passed = 4e-11 * learned + 2e-9 * units  # of an example, forwards
    step = 7e-4 * len(layers) + 2e-4 * len(schemes) * len(widths) + 3.5e-6 * decomposed
    step += stack * (8e-9 * learned + 3.5 * passed * batch)
    settled = 1.5e-6 * decomposed * EXAMPLES / batch + stack * passed * EXAMPLES
    return steps * step + measured * settled
