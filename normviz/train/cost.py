"""The cost of a training, estimated from the sizes of a setting alone: memory, seconds, and its division into blocks.

A stack is trained in blocks. One block at a time holds its tensors; parameters and optimizer state of all blocks stay
in memory. The device's `TrainingBudget` limits the size of a block. The constants of the CPU were measured on one
machine (`benchmarks/bounds.py`).
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


class TrainingBudget(NamedTuple):
    """Limits of one training on a device: its memory, and the size of a block of networks trained at once.

    Attributes:
        memory: bytes.
        block: elements of the largest tensor of one block. On a CPU larger blocks are slower than two of half the size.
    """

    memory: int
    block: int


CPU_BUDGET = TrainingBudget(512 * 2**20, 2**18)
"""The budget of a CPU. In larger blocks every temporary tensor is new memory from the system, which costs more than the
saved calls (measured on convolutions)."""

MPS_BUDGET = TrainingBudget(CPU_BUDGET.memory, 2**26)
"""The budget of an Apple GPU, which shares its memory with the CPU: one block if it fits."""

GPU_MEMORY_SHARE = 0.25
"""The share of a GPU's free memory for one training, since a few may run at once."""

MAX_PASS_SECONDS = 0.02
"""Seconds of one pass over the largest tensor of a block on a GPU. A step makes about fifty passes, and can be stopped
only between two blocks."""

TENSORS_PER_PARAMETER = {"sgd": 1, "momentum": 2, "adam": 3}
"""Tensors in memory for every parameter: itself, and the optimizer's state."""

ALLOCATOR_OVERHEAD = 1.4
"""The memory of the allocator over that of the tensors of a block (measured)."""

CALL, PRODUCT, PATCH, SUM, PARAMETER = 8e-4, 7.5e-11, 7.5e-9, 3e-8, 1.5e-8
"""Seconds of a step in float64: CALL for every layer of a block; for every network PRODUCT for each multiplication,
PATCH for each element of its patches, SUM for each pre-activation, and PARAMETER for each learned number."""

TOTAL_DIGITS = 1797
"""The number of digits for training and test."""


class TensorSizes(NamedTuple):
    """Number of elements of one network's tensors: pre-activations and input patches of each layer, and parameters."""

    sums: list[int]
    patches: list[int]
    parameters: int


@lru_cache(maxsize=1024)  # every run of a page asks for the same
def compute_tensor_sizes(setting: Setting) -> TensorSizes:
    """Return the `TensorSizes` of one network of a setting."""
    shapes, weights = setting.shapes, setting.weight_shapes
    patches = [prod(shape[:3]) * prod(each[:3]) for shape, each in zip(shapes, weights, strict=True)]
    features = prod(shapes[-1][1:])
    learned = sum(map(prod, weights)) + 2 * setting.depth * setting.width + (features + 1) * DIGIT_CLASSES
    return TensorSizes([prod(shape) for shape in shapes], patches, learned)


def compute_gpu_budget(free: int, bandwidth: float = inf) -> TrainingBudget:
    """Return the `TrainingBudget` of a GPU with `free` bytes that copies `bandwidth` bytes/s (inf: not measured)."""
    held = int(GPU_MEMORY_SHARE * free)
    return TrainingBudget(held, int(min(bandwidth * MAX_PASS_SECONDS, held)) // 8)


def is_larger_than_block(setting: Setting, budget: TrainingBudget) -> bool:
    """Return True if the largest tensor of a single network has more elements than the budget's block."""
    return max(compute_tensor_sizes(setting).sums) > budget.block


def find_networks_per_block(setting: Setting, budget: TrainingBudget) -> int:
    """Return the largest number of networks, at least 1, that fit one block: the networks trained at once."""
    return max(budget.block // max(compute_tensor_sizes(setting).sums), 1)


def find_max_schemes(setting: Setting, networks: int, budget: TrainingBudget | None = None) -> int:
    """Return the largest number of schemes, at least 1, that one training can hold with `networks` networks of each.

    More than a block saves no time, and one finished training shows more than many that have begun. A training divided
    for a GPU fits the CPU as well, in smaller blocks, if the GPU fails. The default budget is that of a CPU.
    """
    budget = budget or CPU_BUDGET
    most = max(find_networks_per_block(setting, budget) // networks, 1)

    def exceeds(count: int) -> bool:
        return estimate_memory(setting, count, networks) > CPU_BUDGET.memory or not (
            budget is CPU_BUDGET or fits_one_block(setting, count, networks, budget)
        )

    return max(bisect_left(range(1, most + 1), True, key=exceeds), 1)


def fits_one_block(setting: Setting, schemes: int, networks: int, budget: TrainingBudget) -> bool:
    """Return True if `networks` networks of each of `schemes` schemes fit one block and the memory of the budget."""
    count = schemes * networks
    fits = count * max(compute_tensor_sizes(setting).sums) <= budget.block
    return fits and estimate_memory(setting, schemes, networks, count) <= budget.memory


def estimate_memory(setting: Setting, schemes: int, networks: int, networks_at_once: int = 0) -> int:
    """Estimate the peak bytes of training `networks` networks per scheme, with `networks_at_once` in one block.

    By default they are as many as a block of a CPU holds.
    """
    size = 8 if setting.storage == "float64" else 4
    sums, patches, parameters = compute_tensor_sizes(setting)
    stays = parameters * TENSORS_PER_PARAMETER[setting.optimizer] * schemes * networks
    works = sum(patches) + 4 * sum(sums) + max(patches) + 2 * max(sums)
    gradients = 3 * parameters
    networks_at_once = networks_at_once or min(find_networks_per_block(setting, CPU_BUDGET), schemes * networks)
    data = 8 * setting.steps * (setting.batch + schemes * networks)
    return data + size * (stays + round(ALLOCATOR_OVERHEAD * networks_at_once * (works + gradients)))


def find_max_networks(setting: Setting, networks: int) -> int:
    """Return the largest number of networks of one scheme, 1 to `networks`, whose training fits the memory of a CPU."""
    return max(
        bisect_right(range(1, networks + 1), CPU_BUDGET.memory, key=lambda count: estimate_memory(setting, 1, count)), 1
    )


def estimate_training_seconds(setting: Setting, schemes: int, networks: int) -> float:
    """Estimate the seconds of a training on the machine where the constants of this module were measured."""
    blocks = -(-schemes * networks // find_networks_per_block(setting, CPU_BUDGET))
    sums, patches, parameters = compute_tensor_sizes(setting)
    # Forward, and gradients of weights and inputs.
    products = 3 * (setting.width * sum(patches) + DIGIT_CLASSES * sums[-1])
    network = products * PRODUCT + sum(patches) * PATCH + sum(sums) * SUM + parameters * PARAMETER
    half = 1.0 if setting.storage == "float64" else 0.5
    return setting.steps * (blocks * setting.depth * CALL + schemes * networks * network * half)


def estimate_dense_seconds(
    schemes: Sequence[Scheme], networks: int, widths: Sequence[int], batch: int, steps: int, measurement_count: int = 0
) -> float:
    """Estimate the seconds to train `Dense` networks in float32 and measure errors `measurement_count` times."""
    layers = [DIGIT_SIDE**2, *widths, DIGIT_CLASSES]
    learned = sum(into * out for into, out in pairwise(layers))
    units, stack = sum(layers[1:]), networks * len(schemes)
    decomposed = networks * sum(widths) * sum(scheme.kind.decomposes for scheme in schemes)
    passed = 4e-11 * learned + 2e-9 * units  # one example, forward
    step = 7e-4 * len(layers) + 2e-4 * len(schemes) * len(widths) + 3.5e-6 * decomposed
    step += stack * (8e-9 * learned + 3.5 * passed * batch)
    settled = 1.5e-6 * decomposed * TOTAL_DIGITS / batch + stack * passed * TOTAL_DIGITS
    return steps * step + measurement_count * settled
