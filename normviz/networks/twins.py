"""Twins: the original network and its transformed copies, trained from the same start on the same mini-batches."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import prod
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch

from normviz.core.errors import InvalidInput
from normviz.core.schemes import Scheme
from normviz.networks.problem import NETWORKS, Failure, Problem, make_problem
from normviz.networks.setting import Setting
from normviz.networks.stack import Stack

BLOCK = 2**18
"""Elements of a tensor up to which one larger stack is faster than two: beyond, every temporary is fresh memory from
the system, which costs more than the calls that are saved (measured on conv layers)."""

_CAPTURING = Lock()


class Trained(NamedTuple):
    """The losses of every step, (steps, schemes, networks), and what it ran on, in words."""

    losses: np.ndarray
    device: str


@dataclass
class Data:
    """The mini-batches as every network sees them, on the device."""

    inputs: torch.Tensor
    labels: torch.Tensor
    order: torch.Tensor
    factor: torch.Tensor
    shift: torch.Tensor

    def __call__(self, step: int | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(networks, cases · positions, fan-in) and (cases,); a step on the device is a tensor of one number, since
        one without axes would be fetched from there."""
        chosen = self.order[step].flatten()
        return torch.addcmul(self.shift, self.inputs[chosen], self.factor).flatten(1, 2), self.labels[chosen]


@torch.inference_mode()
def training(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))
) -> Iterator[torch.Tensor]:
    """Train the networks at these positions of `NETWORKS`, of all schemes, as one stack.

    Yields after every step the losses so far, (steps so far, schemes, networks), on the device. Raises InvalidInput
    where a field does not fit the setting's layers, or there is no such device.
    """
    setting.check(schemes)
    device, dtype = torch.device(resolve_device(setting)), getattr(torch, setting.storage)
    losses = torch.full((setting.steps, len(schemes), len(networks)), torch.nan, device=device, dtype=dtype)
    advances = []
    for rows, columns in _blocks(schemes, len(networks), setting, device):
        some = make_problem(setting, networks[columns])
        data, stack = prepare(schemes[rows], setting, some, device, dtype)
        captured = device.type == "cuda" and not Stack.waits(schemes[rows][0])
        follow = _graph if captured else _eager
        advances.append(follow(stack, data, losses[:, rows, columns]))
    for step in range(setting.steps):
        for advance in advances:
            advance(step)
        yield losses[: step + 1]


def train(schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))) -> Trained:
    """All steps of `training` at once."""
    (losses,) = deque(training(schemes, setting, networks), maxlen=1)
    return Trained(losses.cpu().double().numpy(), device_words(losses.device))


def _blocks(
    schemes: Sequence[Scheme], networks: int, setting: Setting, device: torch.device
) -> Iterator[tuple[slice, slice]]:
    """The stack cut into blocks whose summed inputs are not larger than `BLOCK`; a GPU takes it whole, but for the
    schemes that wait for it, which go by themselves."""
    if device.type != "cpu":
        start = 0
        for _, same in groupby(schemes, Stack.waits):
            stop = start + len(list(same))
            yield slice(start, stop), slice(0, networks)
            start = stop
        return
    fitting = max(BLOCK // max(map(prod, setting.shapes)), 1)
    columns = min(fitting, networks)
    columns = -(-networks // -(-networks // columns))  # blocks of even size
    rows = max(fitting // networks, 1)
    for row in range(0, len(schemes), rows):
        for column in range(0, networks, columns):
            yield slice(row, row + rows), slice(column, column + columns)


def device_words(device: torch.device) -> str:
    """What a device is called."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()


@torch.inference_mode()
def diagnosis(
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
            found.setdefault(place, Failure(step + 1, name))

    device, dtype = torch.device(resolve_device(setting)), getattr(torch, setting.storage)
    data, stack = prepare(schemes, setting, make_problem(setting, networks), device, dtype)
    for step in range(setting.steps):
        stack.step(*data(step), watch)
        yield found
        if len(found) == len(schemes) * len(networks):
            return


def resolve_device(setting: Setting) -> str:
    """The device that "auto" means here: a GPU where there is one; MPS has no float64."""
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if setting.device == "mps" and setting.storage == "float64":
        raise InvalidInput("MPS has no float64; dtype float32 or device cpu would do.")
    if not there.get(setting.device, True):
        raise InvalidInput(f"there is no {setting.device} device here; auto or cpu would do.")
    if setting.device != "auto":
        return setting.device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if setting.storage == "float32" and torch.backends.mps.is_available() else "cpu"


def prepare(
    schemes: Sequence[Scheme],
    setting: Setting,
    problem: Problem,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[Data, Stack]:
    """A problem on its device."""

    def real(array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, dtype=dtype, device=device)

    labels, order = (torch.tensor(array, device=device) for array in (problem.labels, problem.order))
    data = Data(real(problem.inputs), labels, order, real(problem.factor), real(problem.shift))
    weights, rates = ([real(array) for array in arrays] for arrays in (problem.weights, problem.rates))
    return data, Stack(schemes, setting, weights, rates, real(problem.classifier))


def _eager(stack: Stack, data: Data, losses: torch.Tensor) -> Callable[[int], None]:
    def advance(step: int) -> None:
        losses[step] = stack.step(*data(step))

    return advance


def counted(stack: Stack, data: Data, losses: torch.Tensor) -> tuple[Callable[[], None], torch.Tensor]:
    """A training step that never waits for the device, and the counter of steps, (1,), that it keeps there."""
    counter = torch.zeros(1, dtype=torch.long, device=losses.device)

    def step() -> None:
        losses.index_copy_(0, counter, stack.step(*data(counter))[None])
        counter.add_(1)

    return step, counter


def _graph(stack: Stack, data: Data, losses: torch.Tensor) -> Callable[[int], None]:
    """The training step captured once as a CUDA graph and replayed."""
    step, counter = counted(stack, data, losses)
    state = [*stack.state(), counter]
    before = [tensor.clone() for tensor in state]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()  # warms up libraries and allocator, which a capture may not
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # Other sessions' threads may be at work; those that capture too would share torch's one stream for it.
    with _CAPTURING, torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    for tensor, value in zip(state, before, strict=True):
        tensor.copy_(value)
    return partial(_replay, graph, step)


def _replay(graph: torch.cuda.CUDAGraph, captured: Callable[[], None], number: int) -> None:
    """Run what was captured; holding on to it keeps the tensors whose places the graph has noted."""
    graph.replay()
