"""Functions that take a training step: directly, or captured once as a CUDA graph and replayed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from threading import Lock

import torch

from normviz.train.stack import NetworkStack, StackData

StepFunction = Callable[[int], Iterable[None]]
"""A function that takes the training step of this number and stores its losses; a caller may abandon it at a yield."""

_CAPTURING = Lock()
"""A lock for captures, which share one stream of torch."""


def make_eager_step(stack: NetworkStack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """Return a function of the step number that trains one step and stores its losses in `losses[step]`.

    `losses`: (steps, schemes, networks).
    """

    def advance(step: int) -> tuple[()]:
        losses[step] = stack.step(*data(step))
        return ()

    return advance


def make_layerwise_step(stack: NetworkStack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """Return a function of the step number that trains one step and yields after every layer, for long steps."""

    def advance(step: int) -> Iterator[None]:
        losses[step] = yield from stack.step_by_layer(*data(step))

    return advance


def make_counted_step(
    stack: NetworkStack, data: StackData, losses: torch.Tensor
) -> tuple[Callable[[], None], torch.Tensor]:
    """Return a function that trains the next step and stores its losses, and its counter of steps, a tensor (1,)."""
    counter = torch.zeros(1, dtype=torch.long, device=losses.device)

    def step() -> None:
        losses.index_copy_(0, counter, stack.step(*data(counter))[None])
        counter.add_(1)

    return step, counter


def make_graph_step(stack: NetworkStack, data: StackData, losses: torch.Tensor) -> StepFunction:
    """Return a function of the step number that replays one training step, captured once as a CUDA graph."""
    step, counter = make_counted_step(stack, data, losses)
    state = [*stack.list_state_tensors(), counter]
    before = [tensor.clone() for tensor in state]
    with _CAPTURING:
        captured = torch.cuda.CUDAGraph()
        capturing = torch.cuda.graph(captured, capture_error_mode="thread_local")  # other threads may compute meanwhile
        stream = capturing.capture_stream
        assert stream is not None  # torch has one stream for all captures
        # Libraries and the allocator initialize themselves in a first step, which a capture forbids. It runs on this
        # stream, since cuBLAS holds memory for every stream.
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()
        torch.cuda.current_stream().wait_stream(stream)
        _capture_step(capturing, step)
    for tensor, value in zip(state, before, strict=True):
        tensor.copy_(value)

    def advance(number: int) -> tuple[()]:
        replay_graph(captured, step, number)
        return ()

    return advance


def _capture_step(capturing: AbstractContextManager[object], step: Callable[[], None]) -> None:
    """Capture a step as a CUDA graph in the context `capturing`; if the step fails, raise its own error."""
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
    """Replay a captured step in place; holding `step` keeps its tensors alive, and `number` only fits the signature."""
    captured.replay()
