"""Twins: a network and its transformed copies, trained from the same start on the same mini-batches."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from normviz.core.registry import Scheme
from normviz.train import cost, devices
from normviz.train.devices import format_device_name
from normviz.train.problem import NETWORKS, Failure, Problem, make_problem
from normviz.train.setting import Setting
from normviz.train.stack import Stack, StackData
from normviz.train.step_functions import StepFunction, make_eager_step, make_graph_step, make_layerwise_step


class TrainingResult(NamedTuple):
    """The losses of every step, (steps, schemes, networks), and what it ran on, in words."""

    losses: np.ndarray
    device: str


@torch.inference_mode()
def train_stepwise(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))
) -> Iterator[torch.Tensor]:
    """Train the networks at these positions of `NETWORKS`, of all schemes, as one stack in blocks.

    Yields after every step, and within one wherever it may be left, the losses so far, (steps so far, schemes,
    networks), on the device. Raises InvalidInput where a field does not fit the setting's layers, or there is no such
    device.
    """
    setting.check(schemes)
    device, dtype = devices.open_device(setting.device, setting.storage), getattr(torch, setting.storage)
    budget = devices.measure_budget(device)
    losses = torch.full((setting.steps, len(schemes), len(networks)), torch.nan, device=device, dtype=dtype)
    start = PreparedProblem.of(make_problem(setting, networks), device, dtype)
    as_one, advances = _as_one(schemes, len(networks), setting, device, budget), list[StepFunction]()
    for rows, columns in _blocks(schemes, len(networks), setting, as_one, budget):
        data, stack = start.part(columns).build_stack(schemes[rows], setting)
        advances.append(_how(schemes[rows], setting, device, as_one, budget)(stack, data, losses[:, rows, columns]))
    for step in range(setting.steps):
        for block, advance in enumerate(advances):
            if block:
                yield losses[:step]
            for _ in advance(step):
                yield losses[:step]
        yield losses[: step + 1]


def _as_one(
    schemes: Sequence[Scheme], networks: int, setting: Setting, device: torch.device, budget: cost.Budget
) -> bool:
    """Return True if the whole stack is one block: on a GPU, where it fits into the budget."""
    return device.type != "cpu" and cost.fits_as_one(setting, len(schemes), networks, budget)


def _how(
    schemes: Sequence[Scheme], setting: Setting, device: torch.device, as_one: bool, budget: cost.Budget
) -> Callable[[Stack, StackData, torch.Tensor], StepFunction]:
    """Return how a block takes its steps. A graph keeps its tensors for good: it is for what fits as one."""
    if device.type == "cuda" and as_one and not Stack.waits(schemes[0]):
        return make_graph_step
    return make_layerwise_step if cost.is_large(setting, budget) else make_eager_step


def train_twins(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))
) -> TrainingResult:
    """All steps of `training` at once."""
    (losses,) = deque(train_stepwise(schemes, setting, networks), maxlen=1)
    return TrainingResult(losses.cpu().double().numpy(), format_device_name(losses.device))


def _blocks(
    schemes: Sequence[Scheme], networks: int, setting: Setting, as_one: bool, budget: cost.Budget
) -> Iterator[tuple[slice, slice]]:
    """Cut the stack into blocks, as (schemes, networks), of at most as many networks as `cost.block` says.

    As one it is a single block, only without the schemes that wait for a GPU, which get blocks of their own.
    """
    if as_one:
        start = 0
        for _, same in groupby(schemes, Stack.waits):
            stop = start + len(list(same))
            yield slice(start, stop), slice(0, networks)
            start = stop
        return
    fitting = cost.find_block_size(setting, budget)
    columns = min(fitting, networks)
    columns = -(-networks // -(-networks // columns))  # blocks of even size
    rows = max(fitting // networks, 1)
    for row in range(0, len(schemes), rows):
        for column in range(0, networks, columns):
            yield slice(row, row + rows), slice(column, column + columns)


@torch.inference_mode()
def find_failures(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int]
) -> Iterator[dict[tuple[int, int], Failure]]:
    """Train the networks again to find for each, by its place (scheme, network), the first tensor that is not finite.

    Yields after every step what has been found so far, and ends once it is found for all. Networks that stay finite
    are left out.
    """
    found: dict[tuple[int, int], Failure] = {}

    def watch(name: str, tensor: torch.Tensor) -> None:
        wrong = ~tensor.isfinite() if tensor.ndim == 2 else ~tensor.isfinite().flatten(2).all(2)
        for place in map(tuple, wrong.nonzero().tolist()):
            found.setdefault((corner[0] + place[0], corner[1] + place[1]), Failure(step + 1, name))

    device, dtype = devices.open_device(setting.device, setting.storage), getattr(torch, setting.storage)
    budget = devices.measure_budget(device)
    start = PreparedProblem.of(make_problem(setting, networks), device, dtype)
    as_one = _as_one(schemes, len(networks), setting, device, budget)
    for rows, columns in _blocks(schemes, len(networks), setting, as_one, budget):
        data, stack = start.part(columns).build_stack(schemes[rows], setting)
        corner, size = (rows.start, columns.start), len(schemes[rows]) * len(networks[columns])
        before = len(found)
        for step in range(setting.steps):
            for _ in stack.step_by_layer(*data(step), watch):
                yield found
            yield found
            if len(found) - before == size:
                break


def prepare_stack(
    schemes: Sequence[Scheme], setting: Setting, problem: Problem, device: torch.device, dtype: torch.dtype
) -> tuple[StackData, Stack]:
    """A problem's data and its untrained networks on a device."""
    return PreparedProblem.of(problem, device, dtype).build_stack(schemes, setting)


class PreparedProblem(NamedTuple):
    """A problem on a device; of its parts all share the digits and their order."""

    data: StackData
    weights: list[torch.Tensor]
    rates: list[torch.Tensor]
    classifier: torch.Tensor

    @classmethod
    def of(cls, problem: Problem, device: torch.device, dtype: torch.dtype) -> "PreparedProblem":
        """The start of a problem."""

        def real(array: np.ndarray) -> torch.Tensor:
            return torch.tensor(array, dtype=dtype, device=device)

        labels, order = (torch.tensor(array, device=device) for array in (problem.labels, problem.order))
        data = StackData(real(problem.inputs), labels, order, real(problem.factor), real(problem.shift))
        weights, rates = ([real(array) for array in arrays] for arrays in (problem.weights, problem.rates))
        return cls(data, weights, rates, real(problem.classifier))

    def part(self, networks: slice) -> "PreparedProblem":
        """That of some of the networks."""
        data = replace(self.data, factor=self.data.factor[networks], shift=self.data.shift[networks])
        weights, rates = ([tensor[networks] for tensor in tensors] for tensors in (self.weights, self.rates))
        return PreparedProblem(data, weights, rates, self.classifier)

    def build_stack(self, schemes: Sequence[Scheme], setting: Setting) -> tuple[StackData, Stack]:
        """The mini-batches, and the untrained networks of these schemes."""
        return self.data, Stack(schemes, setting, self.weights, self.rates, self.classifier)
