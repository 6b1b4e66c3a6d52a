"""Twins: a network and its transformed copies, trained from the same start on the same mini-batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from normviz.core.registry import Scheme
from normviz.train import compiled, cost, devices
from normviz.train.problem import (
    BASE_POSITIONS,
    MEASURED_NETWORKS,
    NETWORKS,
    NonFiniteTensor,
    TrainingProblem,
    make_problem,
)
from normviz.train.setting import Setting
from normviz.train.stack import NetworkStack, StackData
from normviz.train.step_functions import StepFunction, make_eager_step, make_graph_step, make_layerwise_step


def train_stepwise(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))
) -> Iterator[torch.Tensor]:
    """Train networks of all schemes; yield the losses so far, (steps so far, schemes, networks), on the device.

    `networks`: indices of `NETWORKS`. Yields after every step and at points within one where it may be abandoned.
    Raises InvalidInput if a field does not fit the layers, or the device is missing.
    """
    setting.check(schemes)
    is_on_cpu = devices.resolve_device(setting.device, setting.storage) == "cpu"
    kernels = compiled.get_kernels() if is_on_cpu else None
    by_kernels = [kernels is not None and compiled.can_train(scheme, setting) for scheme in schemes]
    if kernels is None or not any(by_kernels):
        yield from _train_as_stack(schemes, setting, networks)
        return
    mine, others = ([row for row in range(len(schemes)) if by_kernels[row] is chosen] for chosen in (True, False))
    losses = torch.full((setting.steps, len(schemes), len(networks)), torch.nan, dtype=torch.float64)
    of_kernels = torch.empty(setting.steps, len(mine), len(networks), dtype=torch.float64) if others else losses
    problem = make_problem(setting, networks)
    train = compiled.CompiledTraining(kernels, [schemes[row] for row in mine], setting, problem, of_kernels)
    stack = _train_as_stack([schemes[row] for row in others], setting, networks) if others else None
    for step in range(setting.steps):
        for _ in train(step):
            yield losses[:step]
        if others:
            losses[step, mine] = of_kernels[step]
        for of_stack in stack or ():
            if len(of_stack) > step:
                losses[step, others] = of_stack[step].double()
                break
            yield losses[:step]
        yield losses[: step + 1]


@torch.inference_mode()
def _train_as_stack(schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int]) -> Iterator[torch.Tensor]:
    """Train in torch, as one stack, and yield the losses so far as `train_stepwise` does."""
    setting.check(schemes)
    device, dtype = devices.open_device(setting.device, setting.storage), getattr(torch, setting.storage)
    budget = devices.measure_budget(device)
    losses = torch.full((setting.steps, len(schemes), len(networks)), torch.nan, device=device, dtype=dtype)
    start = PreparedProblem.of(make_problem(setting, networks), device, dtype)
    as_one, advances = _is_one_block(schemes, len(networks), setting, device, budget), list[StepFunction]()
    for rows, columns in _split_into_blocks(schemes, len(networks), setting, as_one, budget):
        data, stack = start.select_networks(columns).build_stack(schemes[rows], setting)
        advances.append(
            _choose_step_function(schemes[rows], setting, device, as_one, budget)(stack, data, losses[:, rows, columns])
        )
    for step in range(setting.steps):
        for block, advance in enumerate(advances):
            if block:
                yield losses[:step]
            for _ in advance(step):
                yield losses[:step]
        yield losses[: step + 1]


def _is_one_block(
    schemes: Sequence[Scheme], networks: int, setting: Setting, device: torch.device, budget: cost.TrainingBudget
) -> bool:
    """Return True if all networks are trained at once, as one block: on a GPU, if they fit the budget."""
    return device.type != "cpu" and cost.fits_one_block(setting, len(schemes), networks, budget)


def _choose_step_function(
    schemes: Sequence[Scheme], setting: Setting, device: torch.device, as_one: bool, budget: cost.TrainingBudget
) -> Callable[[NetworkStack, StackData, torch.Tensor], StepFunction]:
    """Return the function that makes a block's steps: a CUDA graph on a GPU if the stack is one block (`as_one`)."""
    if device.type == "cuda" and as_one and not NetworkStack.waits_for_device(schemes[0]):
        return make_graph_step
    return make_layerwise_step if cost.is_larger_than_block(setting, budget) else make_eager_step


def _split_into_blocks(
    schemes: Sequence[Scheme], networks: int, setting: Setting, as_one: bool, budget: cost.TrainingBudget
) -> Iterator[tuple[slice, slice]]:
    """Yield slices of schemes and networks to train at once: a single block if `as_one`, else many small ones.

    Schemes that wait for a GPU get blocks of their own. `cost.find_networks_per_block` limits the size of small blocks.
    """
    if as_one:
        start = 0
        for _, same in groupby(schemes, NetworkStack.waits_for_device):
            stop = start + len(list(same))
            yield slice(start, stop), slice(0, networks)
            start = stop
        return
    fitting = cost.find_networks_per_block(setting, budget)
    columns = min(fitting, networks)
    columns = -(-networks // -(-networks // columns))  # blocks of even size
    rows = max(fitting // networks, 1)
    for row in range(0, len(schemes), rows):
        for column in range(0, networks, columns):
            yield slice(row, row + rows), slice(column, column + columns)


@torch.inference_mode()
def measure_output_gaps(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """Return max|x̂' - x̂| / max|x̂| of every network's x̂' and its base's x̂, (schemes, `MEASURED_NETWORKS`).

    In the first layer. Infinite where a number is not finite. Needs the memory of one training step.
    """
    device, dtype = devices.open_device(setting.device, setting.storage), getattr(torch, setting.storage)
    problem = make_problem(replace(setting, steps=1), range(len(MEASURED_NETWORKS)))
    data, stack = PreparedProblem.of(problem, device, dtype).build_stack(schemes, setting)
    outputs = stack.compute_first_outputs(data(0)[0])
    sizes = outputs.abs().amax((2, 3, 4, 5))
    gaps = torch.empty_like(sizes)
    for network, base in enumerate(BASE_POSITIONS):
        gaps[:, network] = (outputs[:, network] - outputs[:, base]).abs().amax((1, 2, 3, 4))
    gaps /= torch.where(sizes > 0, sizes, 1.0)[:, BASE_POSITIONS]
    return torch.nan_to_num(gaps, nan=torch.inf).cpu().numpy()


@torch.inference_mode()
def iterate_failures(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int]
) -> Iterator[dict[tuple[int, int], NonFiniteTensor]]:
    """Train the networks again; yield a dict of each one's first tensor that is not finite, by (scheme, network).

    It is yielded after every step, with the failures so far. Ends when all networks have one.
    """
    found: dict[tuple[int, int], NonFiniteTensor] = {}

    def watch(name: str, tensor: torch.Tensor) -> None:
        wrong = ~tensor.isfinite() if tensor.ndim == 2 else ~tensor.isfinite().flatten(2).all(2)
        for place in map(tuple, wrong.nonzero().tolist()):
            found.setdefault((corner[0] + place[0], corner[1] + place[1]), NonFiniteTensor(step + 1, name))

    device, dtype = devices.open_device(setting.device, setting.storage), getattr(torch, setting.storage)
    budget = devices.measure_budget(device)
    start = PreparedProblem.of(make_problem(setting, networks), device, dtype)
    as_one = _is_one_block(schemes, len(networks), setting, device, budget)
    for rows, columns in _split_into_blocks(schemes, len(networks), setting, as_one, budget):
        data, stack = start.select_networks(columns).build_stack(schemes[rows], setting)
        corner, size = (rows.start, columns.start), len(schemes[rows]) * len(networks[columns])
        before = len(found)
        for step in range(setting.steps):
            for _ in stack.step_by_layer(*data(step), watch):
                yield found
            yield found
            if len(found) - before == size:
                break


class PreparedProblem(NamedTuple):
    """Training problem on a device; selections of its networks share the digits and their order."""

    data: StackData
    weights: list[torch.Tensor]
    rates: list[torch.Tensor]
    classifier: torch.Tensor

    @classmethod
    def of(cls, problem: TrainingProblem, device: torch.device, dtype: torch.dtype) -> "PreparedProblem":
        """Copy a training problem to a device in this dtype."""

        def real(array: np.ndarray) -> torch.Tensor:
            return torch.tensor(array, dtype=dtype, device=device)

        labels, order = (torch.tensor(array, device=device) for array in (problem.labels, problem.order))
        data = StackData(real(problem.inputs), labels, order, real(problem.factor), real(problem.shift))
        weights, rates = ([real(array) for array in arrays] for arrays in (problem.weights, problem.rates))
        return cls(data, weights, rates, real(problem.classifier))

    def select_networks(self, networks: slice) -> "PreparedProblem":
        """Return the problem for a slice of the networks."""
        data = replace(self.data, factor=self.data.factor[networks], shift=self.data.shift[networks])
        weights, rates = ([tensor[networks] for tensor in tensors] for tensors in (self.weights, self.rates))
        return PreparedProblem(data, weights, rates, self.classifier)

    def build_stack(self, schemes: Sequence[Scheme], setting: Setting) -> tuple[StackData, NetworkStack]:
        """Return the data of the mini-batches, and the untrained networks of these schemes."""
        return self.data, NetworkStack(schemes, setting, self.weights, self.rates, self.classifier)
