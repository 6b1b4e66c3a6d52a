"""Copies of models and batches in float64, on which probing changes nothing of the user's."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from normviz.core.errors import InvalidInput


def copy_model(model: nn.Module) -> nn.Module:
    """Return a copy of a model on the CPU in float64, with its modes, buffers and hooks.

    Tensors that PyTorch cannot copy, such as a weight that a hook computes, are detached first. Objects that cannot be
    copied, such as locks, are shared. Raises InvalidInput for no module, or one that cannot be copied.
    """
    if not isinstance(model, nn.Module):
        raise InvalidInput(f"the model is a {type(model).__name__}; a torch.nn.Module is needed.")
    known: dict[int, Any] = {
        id(value): value.detach().clone()
        for module in model.modules()
        for value in (*vars(module).values(), *module._buffers.values())
        if isinstance(value, Tensor) and not value.is_leaf
    }
    try:
        try:
            copied = copy.deepcopy(model, dict(known))
        except TypeError:
            copied = copy.deepcopy(model, known | _find_uncopyable(model))
        return _undo_compilation(copied).to(device="cpu", dtype=torch.float64)
    except Exception as error:
        raise InvalidInput(
            f"the model cannot be copied ({shorten_error(error)}); inspection works on a copy."
        ) from error


def _undo_compilation(model: nn.Module) -> nn.Module:
    """Undo `torch.compile` of a model's modules in place, as compiled code has no calls to record; return the model."""
    model = getattr(model, "_orig_mod", model)
    for module in list(model.modules()):
        module._compiled_call_impl = None
        for name, child in module.named_children():
            setattr(module, name, getattr(child, "_orig_mod", child))
    return model


def convert_batch(batch: Any) -> Any:
    """Return a copy of a batch with its tensors detached, on the CPU, and floating-point ones in float64."""

    def convert(tensor: Tensor) -> Tensor:
        kept = tensor.detach().to("cpu")
        return kept.to(torch.float64) if kept.is_floating_point() else kept.clone()

    return map_tensors(convert, batch)


def map_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    """Return nested tuples, lists and dicts with `function` applied to every tensor; other values stay."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(function, each) for each in value))
    if isinstance(value, tuple | list):
        return type(value)(map_tensors(function, each) for each in value)
    if isinstance(value, Mapping):
        return {key: map_tensors(function, each) for key, each in value.items()}
    return value


def list_tensors(value: Any) -> list[Tensor]:
    """Return the tensors in nested tuples, lists and dicts, or in the attributes of an object, in their order."""
    found: list[Tensor] = []
    map_tensors(found.append, vars(value) if not isinstance(value, Tensor) and hasattr(value, "__dict__") else value)
    return found


def split_arguments(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and named arguments that a batch stands for, which is a tensor, tuple, list or dict."""
    if isinstance(batch, Mapping):
        return (), dict(batch)
    return (tuple(batch), {}) if isinstance(batch, tuple | list) else ((batch,), {})


def call_model(model: nn.Module, batch: Any) -> Any:
    """Return the output of a model on a batch, computed without gradients and with the random numbers of seed 0.

    Raises InvalidInput if the model fails on this batch.
    """
    arguments, named = split_arguments(batch)
    try:
        with torch.no_grad(), use_seed_zero():
            return model(*arguments, **named)
    except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        raise InvalidInput(f"the model fails on this batch: {shorten_error(error)}") from error


class DoublePrecision(TorchFunctionMode):
    """Context in which casts to low-precision types, such as `float()`, give float64."""

    SHORT = (torch.float32, torch.float16, torch.bfloat16)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Perform a call with float64 in the place of shorter types."""
        if func in (Tensor.float, Tensor.half, Tensor.bfloat16):
            return args[0].double()
        named = {
            key: torch.float64 if isinstance(value, torch.dtype) and value in self.SHORT else value
            for key, value in (kwargs or {}).items()
        }
        if func is Tensor.to:
            args = tuple(
                torch.float64 if isinstance(each, torch.dtype) and each in self.SHORT else each for each in args
            )
        return func(*args, **named)


@contextmanager
def use_double_precision(is_forced: bool) -> Iterator[None]:
    """Make float64 the default type inside the block; if `is_forced`, casts to lower precision give it, too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with DoublePrecision() if is_forced else nullcontext():
            yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Make torch compute with this number of threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_thread_count(compute: Callable[[], Any]) -> int:
    """Return the number of threads that makes `compute` faster: one, or as many as torch uses now.

    On a busy machine, threads that wait for each other take several times as long as one.
    """
    counts, seconds = (1, torch.get_num_threads()), []
    for count in counts:
        with use_threads(count):
            start = perf_counter()
            compute()
            seconds.append(perf_counter() - start)
    return counts[seconds[1] < seconds[0]]


@contextmanager
def use_seed_zero() -> Iterator[None]:
    """Seed torch's random numbers on the CPU with 0 inside the block, and restore their state after it."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        yield


def find_batch_size(batch: Any) -> int:
    """Return the number of examples in a batch: the length of the first axis of the first tensor.

    Raises InvalidInput if no tensor has an axis.
    """
    sizes = [tensor.shape[0] for tensor in list_tensors(batch) if tensor.ndim]
    if not sizes or sizes[0] == 0:
        raise InvalidInput("the batch holds no tensor with examples; pass what the model takes.")
    return sizes[0]


def replace_examples(batch: Any, examples: Sequence[int]) -> Any:
    """Return a copy of the batch with noise, or other integers of the range, in the examples at these indices."""
    size, chosen = find_batch_size(batch), list(examples)
    generator = torch.Generator().manual_seed(1)

    def replace(tensor: Tensor) -> Tensor:
        if tensor.ndim == 0 or tensor.shape[0] != size or tensor.dtype == torch.bool:
            return tensor
        changed = tensor.clone()
        part = changed[chosen]
        if tensor.is_floating_point():
            noise = torch.randn(part.shape, generator=generator, dtype=tensor.dtype)
            spread = tensor.std(correction=0)
            changed[chosen] = tensor.mean() + 1.5 * (spread if spread > 0 else 1.0) * noise
        else:
            low, high = int(tensor.min()), int(tensor.max())
            changed[chosen] = (part - low + 1) % (high - low + 1) + low
        return changed

    return map_tensors(replace, batch)


def extend_batch(batch: Any) -> Any:
    """Return a batch of one example with a second, different one, which `replace_examples` makes of the first."""
    size = find_batch_size(batch)
    twice = map_tensors(lambda t: torch.cat([t, t]) if t.ndim and t.shape[0] == size else t, batch)
    return replace_examples(twice, [1])


def _find_uncopyable(model: nn.Module) -> dict[int, Any]:
    """Return the attributes of modules that `copy.deepcopy` cannot copy, by their ids."""
    found: dict[int, Any] = {}
    for module in model.modules():
        for value in vars(module).values():
            try:
                if not isinstance(value, Tensor | nn.Module | dict):
                    copy.deepcopy(value)
            except Exception:
                found[id(value)] = value
    return found


def shorten_error(error: Exception) -> str:
    """Return the first line of an error's message, cut to 200 characters."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
