"""Recording of a forward pass: every module and functional call that may normalize, and the layers before it."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name of it
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from normviz.inspection.inline import Operation, OperationLog
from normviz.inspection.model_copy import call_model, list_tensors, map_tensors, use_seed_zero

FUNCTIONS: dict[Any, str] = {
    getattr(F, name): name
    for name in (
        "batch_norm", "layer_norm", "group_norm", "rms_norm", "instance_norm", "local_response_norm", "normalize",
    )
    if hasattr(F, name)
}  # fmt: skip
"""The functional calls that may normalize, with their names."""

TRANSPOSED_CONVOLUTIONS = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
"""Convolutions whose weight's first axis is that of the inputs."""

CHANNEL_AXES: dict[Any, int] = {
    **dict.fromkeys((F.linear, F.embedding, F.multi_head_attention_forward), -1),
    **dict.fromkeys((F.conv1d, F.conv2d, F.conv3d, *TRANSPOSED_CONVOLUTIONS), 1),
}
"""The axis of the output's channels of the calls that make channels."""

MATRIX_PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__)
"""Calls that make channels along the last axis if their second argument is a matrix."""

INLINE_NAME = "inline"
"""The name of a normalization that is written between other operations, after that of the module around it."""

ROOT_NAME = "(model)"
"""The name of the model itself as a layer."""

MAX_DESCENDANTS = 4
"""A module with more modules inside of it is no normalization by itself."""


@dataclass
class LayerCall:
    """Recorded call of a module or a function whose output has the shape of one of its tensors.

    Attributes:
        name: the module's name in the model; for a function the name of the module around it and the function.
        x, y: the tensor and the output.
        parameters: the tensors that the call may learn.
        state: the tensors of statistics that a function may change; a module's are its buffers.
        producer: the number of the last call before it that made channels; None if there was none.
        module: the module; None for a function.
        consumer: the number of the next call after it that makes channels, whether there is one or not.
        is_frozen: True if it has parameters and none of them is trained.
        around: for a function, the module whose forward pass calls it.
        run: computes the output for another tensor in the place of x, in a type.
        is_inline: True for operations between others, of which most are no normalization.
    """

    name: str
    x: Tensor
    y: Tensor
    parameters: list[Tensor]
    state: list[Tensor]
    producer: int | None
    module: nn.Module | None
    consumer: int
    is_frozen: bool
    around: nn.Module | None
    run: Callable[[Tensor, torch.dtype], Tensor] = field(repr=False)
    is_inline: bool = False

    def compute(self, x: Tensor) -> Tensor:
        """Return the output for another input; state and random numbers are restored after it."""
        with torch.no_grad(), use_seed_zero(), keep_state(self.module, self.state):
            return self.run(x, torch.float64)

    def compute_in_dtype(self, dtype: torch.dtype) -> Tensor:
        """Return the output for the recorded input, with all floating-point tensors converted to `dtype`."""
        with torch.no_grad(), torch._C.DisableTorchFunction(), use_seed_zero(), keep_state(self.module, self.state):
            return self.run(self.x, dtype)

    def has_moving_state(self) -> bool:
        """Return True if the call changes its own buffers or statistics."""
        with torch.no_grad(), use_seed_zero(), keep_state(self.module, self.state) as before:
            self.run(self.x, torch.float64)
            after = [*(self.module.buffers() if self.module else ()), *self.state]
            return any(not torch.equal(a, b) for a, b in zip(before, after, strict=True) if a.is_floating_point())


@dataclass
class WeightedCall:
    """Recorded call that makes channels with the weight of a module: a dense layer, a convolution or an embedding.

    Attributes:
        module, name: the module around the call, and its name.
        weight: the weight that the call took.
        parameters: the parameters of the module.
        modes: its training flags.
        is_output_first: True if the weight's first axis is that of the units, False for transposed convolutions.
        arguments, named: the arguments of the module.
        x, y: the input and the output of the call.
        channel_axis: the axis of the channels of both, which may be -1.
    """

    module: nn.Module | None
    name: str
    weight: Tensor | None
    parameters: list[Tensor]
    modes: list[bool]
    is_output_first: bool
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    x: Tensor
    y: Tensor
    channel_axis: int


@contextmanager
def keep_state(module: nn.Module | None, tensors: Sequence[Tensor] = ()) -> Iterator[list[Tensor]]:
    """Yield copies of a module's buffers and of some tensors, and restore their values after the block."""
    owners = [(each, key) for each in module.modules() for key in each._buffers] if module else []
    held = [(each, key, buffer) for each, key in owners if (buffer := each._buffers[key]) is not None]
    buffers = [buffer.detach().clone() for _, _, buffer in held]
    values = [tensor.detach().clone() for tensor in tensors]
    try:
        yield [*buffers, *values]
    finally:
        for (each, key, _), value in zip(held, buffers, strict=True):
            each._buffers[key] = value
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def list_modes(module: nn.Module) -> list[bool]:
    """Return the training flags of a module and all modules inside of it, in the order of `modules()`."""
    return [each.training for each in module.modules()]


def set_modes(module: nn.Module, modes: Sequence[bool]) -> None:
    """Set the training flags of a module and all modules inside of it, as `list_modes` returned them."""
    for each, mode in zip(module.modules(), modes, strict=True):
        each.training = mode


@contextmanager
def use_modes(module: nn.Module, modes: Sequence[bool]) -> Iterator[None]:
    """Set the training flags `modes` inside the block, and restore the former ones after it."""
    before = list_modes(module)
    try:
        set_modes(module, modes)
        yield
    finally:
        set_modes(module, before)


class Recorder(TorchFunctionMode):
    """Context that records the calls of a model's forward pass that may normalize, and the weighted layers before them.

    Attributes:
        layers: the calls that may normalize, by their names, in their order.
        weights: the calls that made channels, in their order.
        untraced: names of products with statistics that could not be traced back to one tensor, and of calls on a
            tensor with one axis.
    """

    def __init__(self, model: nn.Module, disturbed: tuple[int | str, int] | None = None) -> None:
        """Prepare to record.

        `disturbed` adds noise to a slice of the output of one call: to the channel of this number behind the call of a
        number that makes channels, or to index 0 along this axis behind the layer of a name.
        """
        super().__init__()
        self.model, self.disturbed = model, disturbed
        self.layers: dict[str, LayerCall] = {}
        self.weights: list[WeightedCall] = []
        self.untraced: list[str] = []
        self._order: dict[str, int] = {}
        self._stack: list[tuple[nn.Module, str, tuple[Any, ...], dict[str, Any], int | None]] = []
        self.log = OperationLog(model.buffers())
        self._exits = ExitStack()
        self._parametrizations = 0

    def __enter__(self) -> "Recorder":
        for name, module in self.model.named_modules():
            entry: Any = self._make_entry(name or ROOT_NAME)
            leave: Any = self._leave_module
            if ".parametrizations." in f".{name}.":
                entry, leave = self._enter_parametrization, self._leave_parametrization
            before = module.register_forward_pre_hook(entry, with_kwargs=True, prepend=True)
            after = module.register_forward_hook(leave, with_kwargs=True)
            self._exits.callback(before.remove)
            self._exits.callback(after.remove)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self._exits.close()
        self._record_inline_normalizations()
        super().__exit__(*error)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Perform a call, and record it if it may normalize or makes channels."""
        named = kwargs or {}
        if func in FUNCTIONS and not self._parametrizations and named.get("out") is None:
            return self._record_function(func, args, named)
        axis = CHANNEL_AXES.get(func)
        if func in MATRIX_PRODUCTS and len(args) > 1 and args[1].ndim == 2 and args[0].ndim >= 2:
            axis = -1
        result = func(*args, **named)
        if axis is None and not self._parametrizations:
            around, place = self._stack[-1][:2] if self._stack else (None, ROOT_NAME)
            name = getattr(func, "__name__", "")
            self.log.record(Operation(name, func, args, named, result, place, around, len(self.weights)))
        return result if axis is None else self._record_weight(func, args, named, result, axis)

    def _make_entry(self, name: str) -> Callable[..., None]:
        def enter(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            small = sum(1 for _ in module.modules()) <= 1 + MAX_DESCENDANTS
            kept = map_tensors(_copy, (arguments, named)) if small else ((), {})
            self._stack.append((module, name, *kept, self._find_producer()))

        return enter

    def _enter_parametrization(self, *_: Any) -> None:
        self._parametrizations += 1

    def _leave_parametrization(self, *_: Any) -> None:
        self._parametrizations -= 1

    def _leave_module(self, module: nn.Module, arguments: Any, named: Any, output: Any) -> Tensor | None:
        _, name, kept, kept_named, producer = self._stack.pop()
        if not isinstance(output, Tensor) or not output.is_floating_point() or name in self.layers:
            return None
        places = [(k, each) for k, each in (*enumerate(kept), *kept_named.items()) if _is_like(each, output)]
        if not places:
            return None
        place, x = places[0]
        modes = list_modes(module)

        def run(other: Tensor, dtype: torch.dtype) -> Tensor:
            chosen = module if dtype == torch.float64 else copy.deepcopy(module).to(dtype)
            replaced = [other if k == place else each for k, each in enumerate(kept)]
            replaced_named = {k: other if k == place else each for k, each in kept_named.items()}
            replaced, replaced_named = map_tensors(lambda each: _convert(each, dtype), (replaced, replaced_named))
            with use_modes(chosen, modes):
                return chosen.forward(*replaced, **replaced_named)

        learned: list[Tensor] = [*module.parameters()]
        is_frozen = bool(learned) and not any(each.requires_grad for each in learned)
        self._order[name] = len(self.log.operations)
        self.layers[name] = LayerCall(
            name, x, _copy(output), learned, [], producer, module, len(self.weights), is_frozen, None, run
        )
        return self._disturb_layer(name, output)

    def _record_function(self, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
        kept, kept_named = map_tensors(_copy, (args, named))
        result = func(*args, **named)
        x = kept[0] if kept else kept_named.pop("input")
        around, place = self._stack[-1][:2] if self._stack else (None, ROOT_NAME)
        name = self._make_name(place, f"F.{FUNCTIONS[func]}")
        if x.ndim < 2:
            self.untraced.append(name)
            return result

        def run(other: Tensor, dtype: torch.dtype) -> Tensor:
            if dtype == torch.float64:  # statistics that the call changes are those that it keeps
                return func(_copy(other), *kept[1:], **kept_named)
            converted = map_tensors(lambda each: _convert(each, dtype), (other, *kept[1:]))
            return func(*converted, **map_tensors(lambda each: _convert(each, dtype), kept_named))

        rest = [each for each in list_tensors([kept[1:], kept_named]) if each.is_floating_point()]
        statistics = (*kept[1:3], *(kept_named.get(key) for key in ("running_mean", "running_var")))
        has_state = FUNCTIONS[func] in ("batch_norm", "instance_norm")
        state = [each for each in statistics if has_state and isinstance(each, Tensor)]
        learned = [each for each in rest if not any(each is other for other in state)]
        is_trained = any(each.requires_grad for each in list_tensors([args[1:], named]))
        self._order[name] = len(self.log.operations)
        self.layers[name] = LayerCall(
            name, x, _copy(result), learned, state, self._find_producer(), None, len(self.weights),
            bool(learned) and not is_trained, around, run,
        )  # fmt: skip
        return self._disturb_layer(name, result)

    def _record_inline_normalizations(self) -> None:
        """Add normalizations in single tensor operations to `self.layers`, or their names to `self.untraced`."""
        for candidate in self.log.list_candidates():
            product, x = candidate.product, candidate.x
            name = self._make_name(product.place, INLINE_NAME)
            if x is None or x.ndim < 2 or not x.is_floating_point():
                if candidate.has_root:
                    self.untraced.append(name)
                continue
            learned = candidate.list_parameters()
            is_frozen = bool(learned) and not any(each.requires_grad for each in learned)
            producer = candidate.operations[0].weight_calls - 1
            self.layers[name] = LayerCall(
                name, _copy(x), _copy(candidate.y), learned, [], producer if producer >= 0 else None, None,
                product.weight_calls, is_frozen, product.around, candidate.replay, True,
            )  # fmt: skip
            self._order[name] = candidate.position
        self.layers = dict(sorted(self.layers.items(), key=lambda item: self._order[item[0]]))
        self.untraced += [self._make_name(place, INLINE_NAME) for place in self.log.overwritten]

    def _make_name(self, place: str, kind: str) -> str:
        """Return a name for a call of this kind in the forward pass of the module `place` that no layer has yet."""
        stem = f"{place}:{kind}".removeprefix(f"{ROOT_NAME}:")
        numbered = chain([stem], (f"{stem}#{k}" for k in count(2)))
        return next(each for each in numbered if each not in self.layers and each not in self.untraced)

    def _record_weight(self, func: Any, args: tuple[Any, ...], named: dict[str, Any], result: Any, axis: int) -> Any:
        output = result[0] if isinstance(result, tuple) else result
        weight = args[1] if len(args) > 1 else named.get("weight")
        module, name, kept, kept_named, _ = self._stack[-1] if self._stack else (None, ROOT_NAME, (), {}, None)
        self.weights.append(
            WeightedCall(
                module,
                name,
                weight if isinstance(weight, Tensor) and func in CHANNEL_AXES else None,
                list(module.parameters()) if module else [],
                list_modes(module) if module else [],
                func not in TRANSPOSED_CONVOLUTIONS,
                kept,
                kept_named,
                args[0] if args else named["input"],
                output,
                axis,
            )
        )
        if self.disturbed is None or self.disturbed[0] != len(self.weights) - 1:
            return result
        changed = _add_noise(output, axis, self.disturbed[1])
        return (changed, *result[1:]) if isinstance(result, tuple) else changed

    def _disturb_layer(self, name: str, output: Tensor) -> Tensor:
        is_chosen = self.disturbed is not None and self.disturbed[0] == name
        return _add_noise(output, self.disturbed[1], 0) if is_chosen and self.disturbed else output

    def _find_producer(self) -> int | None:
        return len(self.weights) - 1 if self.weights else None


def run_in_inference(model: nn.Module, batch: Any) -> None:
    """Run a model on a batch in inference mode, then restore its modes and buffers."""
    with use_modes(model, list_modes(model)), keep_state(model):
        call_model(model.eval(), batch)


def record_pass(model: nn.Module, batch: Any, disturbed: tuple[int | str, int] | None = None) -> tuple[Recorder, Any]:
    """Run a model in a `Recorder`; return recorder and output. `disturbed`: a call and an axis to add noise at."""
    with keep_state(model), Recorder(model, disturbed) as recorder:
        output = call_model(model, batch)
    return recorder, output


def _is_like(value: Any, output: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == output.shape and value.is_floating_point() and value.ndim >= 2


def _add_noise(output: Tensor, axis: int, index: int) -> Tensor:
    """Return a copy of an output with noise at one index of an axis."""
    changed = output.clone()
    part = changed.select(axis, index)
    noise = torch.randn(part.shape, generator=torch.Generator().manual_seed(2), dtype=part.dtype)
    part.add_((1 + output.abs().max()) * noise)
    return changed


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone()


def _convert(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.detach().to(dtype, copy=True) if tensor.is_floating_point() else _copy(tensor)
