"""What a training takes, before it starts: memory and time, from the sizes of a setting alone; and how it is cut.

A stack is trained in blocks, of which one at a time holds its tensors; parameters and the optimizer's state of all of
them are there all the time. How large a block may be is the device's `Budget`. The constants of the CPU were measured
on one machine (`benchmarks/bounds.py`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf, prod
from typing import NamedTuple

from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.setting import Setting


class Budget(NamedTuple):
    """What one training may take of a device.

    Attributes:
        memory: bytes that it may hold, at most.
        block: elements of the largest tensor of one block. On a CPU two stacks half as large are faster beyond.
    """

    memory: int
    block: int


CPU_BUDGET = Budget(512 * 2**20, 2**18)
"""The budget of a CPU. Beyond its block every temporary tensor is fresh memory from the system, which costs more than
the calls that are saved (measured on convolutions)."""

MPS_BUDGET = Budget(CPU_BUDGET.memory, 2**26)
"""The budget of an Apple GPU, which shares its memory with the CPU: one block where that fits."""

GPU_MEMORY_SHARE = 0.25
"""The share of a GPU's free memory for one training. A few may run at once, in threads and in another process."""

MAX_PASS_SECONDS = 0.02
"""Seconds that one pass over the largest tensor of a block may take on a GPU. A step makes about fifty passes, and can
be left only between two blocks."""

TENSORS_PER_PARAMETER = {"sgd": 1, "momentum": 2, "adam": 3}
"""Tensors that stay of every parameter: itself, and what the optimizer remembers."""

ALLOCATOR_OVERHEAD = 1.4
"""Times what the tensors of a block need: what the allocator holds beside them (measured)."""

CALL, PRODUCT, PATCH, SUM, PARAMETER = 8e-4, 7.5e-11, 7.5e-9, 3e-8, 1.5e-8
"""Seconds of a step in float64: for the calls of every layer of a block, and of every network for each multiplication,
each element of its patches and of its summed inputs, and each number that it learns."""


TOTAL_DIGITS = 1797
"""Digits to train and to test on, together."""


class TensorSizes(NamedTuple):
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
def compute_tensor_sizes(setting: Setting) -> TensorSizes:
    """The sizes of a setting's tensors."""
    shapes, weights = setting.shapes, setting.weight_shapes
    patches = [prod(shape[:3]) * prod(each[:3]) for shape, each in zip(shapes, weights, strict=True)]
    features = prod(shapes[-1][1:])
    learned = sum(map(prod, weights)) + 2 * setting.depth * setting.width + (features + 1) * DIGIT_CLASSES
    return TensorSizes([prod(shape) for shape in shapes], patches, learned)


def compute_gpu_budget(free: int, bandwidth: float = inf) -> Budget:
    """Return the budget of a GPU with so many bytes free, which copies so many bytes a second; inf: not measured."""
    held = int(GPU_MEMORY_SHARE * free)
    return Budget(held, int(min(bandwidth * MAX_PASS_SECONDS, held)) // 8)


def is_large(setting: Setting, budget: Budget) -> bool:
    """Return True if one network alone is more than a block."""
    return max(compute_tensor_sizes(setting).sums) > budget.block


def find_block_size(setting: Setting, budget: Budget) -> int:
    """Return the most networks that are trained as one block, at least one."""
    return max(budget.block // max(compute_tensor_sizes(setting).sums), 1)


def find_max_schemes(setting: Setting, networks: int, budget: Budget | None = None) -> int:
    """Return the most schemes of one training: as many as fit one block, within the budget, at least one.

    Nothing is saved by training more than a block, and one that is done says more than many that are begun. A training
    that is cut for a GPU fits the CPU as well, in smaller blocks, where it ends if the GPU fails. By default the budget
    is that of a CPU.
    """
    budget = budget or CPU_BUDGET
    most = max(find_block_size(setting, budget) // networks, 1)

    def exceeds(count: int) -> bool:
        return estimate_memory(setting, count, networks) > CPU_BUDGET.memory or not (
            budget is CPU_BUDGET or fits_as_one(setting, count, networks, budget)
        )

    return max(bisect_left(range(1, most + 1), True, key=exceeds), 1)


def fits_as_one(setting: Setting, schemes: int, networks: int, budget: Budget) -> bool:
    """Return True if all networks may be one block, with all their tensors there at once."""
    count = schemes * networks
    fits = count * max(compute_tensor_sizes(setting).sums) <= budget.block
    return fits and estimate_memory(setting, schemes, networks, count) <= budget.memory


def estimate_memory(setting: Setting, schemes: int, networks: int, networks_at_once: int = 0) -> int:
    """Return the bytes that a training of so many schemes, and networks of each, holds at its largest.

    `together`: how many networks' tensors are there at once; by default those of a block on a CPU.
    """
    size = 8 if setting.storage == "float64" else 4
    sums, patches, parameters = compute_tensor_sizes(setting)
    stays = parameters * TENSORS_PER_PARAMETER[setting.optimizer] * schemes * networks
    works = sum(patches) + 4 * sum(sums) + max(patches) + 2 * max(sums)
    gradients = 3 * parameters
    networks_at_once = networks_at_once or min(find_block_size(setting, CPU_BUDGET), schemes * networks)
    data = 8 * setting.steps * (setting.batch + schemes * networks)
    return data + size * (stays + round(ALLOCATOR_OVERHEAD * networks_at_once * (works + gradients)))


def find_max_networks(setting: Setting, networks: int) -> int:
    """Return the most networks of one scheme that one training holds within the budget of a CPU, at least one."""
    return max(
        bisect_right(range(1, networks + 1), CPU_BUDGET.memory, key=lambda count: estimate_memory(setting, 1, count)), 1
    )


def estimate_training_seconds(setting: Setting, schemes: int, networks: int) -> float:
    """Seconds that a training takes on the machine on which this was measured."""
    blocks = -(-schemes * networks // find_block_size(setting, CPU_BUDGET))
    sums, patches, parameters = compute_tensor_sizes(setting)
    products = 3 * (setting.width * sum(patches) + DIGIT_CLASSES * sums[-1])  # forward, and to weights and inputs
    network = products * PRODUCT + sum(patches) * PATCH + sum(sums) * SUM + parameters * PARAMETER
    half = 1.0 if setting.storage == "float64" else 0.5
    return setting.steps * (blocks * setting.depth * CALL + schemes * networks * network * half)


def estimate_dense_seconds(
    schemes: Sequence[Scheme], networks: int, widths: Sequence[int], batch: int, steps: int, measurement_count: int = 0
) -> float:
    """About the time of a stack of `normviz.train.dense` in float32; `measured`: so often on unseen digits."""
    layers = [DIGIT_SIDE**2, *widths, DIGIT_CLASSES]
    learned = sum(into * out for into, out in pairwise(layers))
    units, stack = sum(layers[1:]), networks * len(schemes)
    decomposed = networks * sum(widths) * sum(scheme.kind.decomposes for scheme in schemes)
    passed = 4e-11 * learned + 2e-9 * units  # of an example, forwards
    step = 7e-4 * len(layers) + 2e-4 * len(schemes) * len(widths) + 3.5e-6 * decomposed
    step += stack * (8e-9 * learned + 3.5 * passed * batch)
    settled = 1.5e-6 * decomposed * TOTAL_DIGITS / batch + stack * passed * TOTAL_DIGITS
    return steps * step + measurement_count * settled
