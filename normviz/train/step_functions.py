"""Training steps that are run again and again: as they are, or captured once as a CUDA graph and replayed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from threading import Lock

import torch

from normviz.train.stack import Stack, StackData

StepFunction = Callable[[int], Iterable[None]]
"""Trains one step, the one of this number, and writes down its losses; where it yields it may be left."""

_CAPTURING = Lock()
"""Two at once would share the one stream that torch has for captures."""


def make_eager_step(stack: Stack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """The step as it is. Its losses, (schemes, networks), go into `losses`, (steps, schemes, networks)."""

    def advance(step: int) -> tuple[()]:
        losses[step] = stack.step(*data(step))
        return ()

    return advance


def make_layerwise_step(stack: Stack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """The step layer by layer, for networks so large that it takes long."""

    def advance(step: int) -> Iterator[None]:
        losses[step] = yield from stack.step_by_layer(*data(step))

    return advance


def counted(stack: Stack, data: StackData, losses: torch.Tensor) -> tuple[Callable[[], None], torch.Tensor]:
    """A step that never waits for the device, and the counter of steps that it keeps there, a tensor of shape (1,)."""
    counter = torch.zeros(1, dtype=torch.long, device=losses.device)

    def step() -> None:
        losses.index_copy_(0, counter, stack.step(*data(counter))[None])
        counter.add_(1)

    return step, counter


def make_graph_step(stack: Stack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """The step captured once as a CUDA graph, which is replayed."""
    step, counter = counted(stack, data, losses)
    state = [*stack.state(), counter]
    before = [tensor.clone() for tensor in state]
    with _CAPTURING:
        captured = torch.cuda.CUDAGraph()
        capturing = torch.cuda.graph(captured, capture_error_mode="thread_local")  # other threads may be at work
        stream = capturing.capture_stream
        assert stream is not None  # torch has one for all captures
        # Libraries and the allocator set themselves up in a first step, which they must not do in what is captured; on
        # that stream as well, since cuBLAS keeps memory for every stream that it has seen.
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()
        torch.cuda.current_stream().wait_stream(stream)
        _capture(capturing, step)
    for tensor, value in zip(state, before, strict=True):
        tensor.copy_(value)

    def advance(number: int) -> tuple[()]:
        replay_graph(captured, step, number)
        return ()

    return advance


def _capture(capturing: AbstractContextManager[object], step: Callable[[], None]) -> None:
    """Run a step inside of a capture, and raise what the step raised.

    An error leaves the capture broken, of which its exit complains in an error of its own.
    """
    raised: Exception | None = None
    try:
        with capturing:
            try:
                step()
            except Exception as error:
                raised = error
                raise
    except Exception as last:
        if raised is None or last is raised:
            raise
        raise raised from last


def replay_graph(captured: torch.cuda.CUDAGraph, step: Callable[[], None], number: int) -> None:
    """Run a captured step; the reference to `step` keeps the tensors alive whose addresses the graph has recorded."""
    captured.replay()
