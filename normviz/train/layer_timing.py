"""Times of a normalization, forward and backward, in PyTorch's own layers and in the general form of this package.

Each implementation gets the tensor in its own memory order: PyTorch's layers over the last axis and the general form
have the channels last, PyTorch's other layers have them first.
"""

from collections.abc import Callable
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.train.norm import NormLayer

IMPLEMENTATIONS = ("torch", "general")
"""The implementations: PyTorch's own layer, and the general form."""

CHANNELS_LAST = ("layer-channels", "rms")
"""The schemes whose layers in PyTorch take channels last."""

LayerFunction = Callable[..., torch.Tensor]
"""A function (x, γ, β) -> y."""


def make_torch_layer(scheme: Scheme, eps: float) -> LayerFunction | None:
    """Return PyTorch's own layer of a scheme as a function (x, γ, β) -> y, or None if PyTorch has no such layer."""

    def channels(x: torch.Tensor) -> tuple[int, ...]:
        return tuple(x.shape[-1:])

    layers: dict[str, LayerFunction] = {
        "batch": lambda x, g, b: functional.batch_norm(x, None, None, g, b, True, eps=eps),
        "layer": lambda x, g, b: functional.layer_norm(x, tuple(x.shape[1:]), g, b, eps),
        "layer-channels": lambda x, g, b: functional.layer_norm(x, channels(x), g, b, eps),
        "layer-spatial": lambda x, g, b: functional.instance_norm(x, weight=g, bias=b, eps=eps),
        "instance": lambda x, g, b: functional.instance_norm(x, weight=g, bias=b, eps=eps),
        "group": lambda x, g, b: functional.group_norm(x, scheme.parameters["groups"], g, b, eps),
        "rms": lambda x, g, _: functional.rms_norm(x, channels(x), g, eps),
    }
    return layers.get(scheme.key)


def normalize_with_torch(x: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """Return x̂ of x (N, H, W, C), computed by PyTorch's own layer. Raises InvalidInput if there is none."""
    layer = make_torch_layer(scheme, eps)
    if layer is None:
        raise InvalidInput(f"PyTorch has no layer for {scheme.name}.")
    there, back = ((0, 1, 2, 3),) * 2 if scheme.key in CHANNELS_LAST else ((0, 3, 1, 2), (0, 2, 3, 1))
    return layer(torch.from_numpy(x).permute(there), None, None).permute(back).numpy()


def make_general_layer(scheme: Scheme, shape: Shape, eps: float, like: torch.Tensor) -> LayerFunction:
    """Return a function (x, γ, β) -> y that normalizes by the general form of a scheme; β may be None."""
    norm = NormLayer([scheme], shape, eps, like)

    def layer(x: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        y = gain * norm(x[None, None])[0, 0]
        return y if bias is None else y + bias

    return layer


class TimedLayer:
    """Layer of a scheme with a fixed input (N, H, W, C), γ and β, whose forward and backward passes can be timed.

    Attributes:
        operations: the number of PyTorch operations in a forward pass.
    """

    def __init__(self, layer: LayerFunction, scheme: Scheme, implementation: str, x: torch.Tensor) -> None:
        first = implementation == "torch" and scheme.key not in CHANNELS_LAST
        self.layer, self.x = layer, (x.permute(0, 3, 1, 2).contiguous() if first else x.clone()).requires_grad_()
        shape = [n if axis in (scheme.gain or ()) else 1 for axis, n in zip(scheme.axes, x.shape, strict=True)]
        if first:
            shape = [shape[0], shape[3], *shape[1:3]]
        sizes = shape[1:] if len(scheme.gain or ()) > 1 else [prod(shape)]  # one axis for one number per channel
        self.gain = torch.ones(sizes, device=x.device, requires_grad=True)
        self.bias = None if scheme.bias is None else torch.zeros(sizes, device=x.device, requires_grad=True)
        self.gradient = torch.ones_like(self.x)
        with _OperationCounter() as counting, torch.no_grad():
            self.forward()
        self.operations = counting.count

    @torch.no_grad()
    def forward(self) -> torch.Tensor:
        """Return y, computed without the graph that a backward pass needs."""
        return self.layer(self.x, self.gain, self.bias)

    def run_both_passes(self) -> list[torch.Tensor]:
        """Run a forward and a backward pass; return the gradients of x, γ and β."""
        learned = [each for each in (self.x, self.gain, self.bias) if each is not None]
        y = self.layer(self.x, self.gain, self.bias)
        return list(torch.autograd.grad(y, learned, self.gradient))


class LayerBenchmark:
    """Benchmark of the layers of all schemes in both `IMPLEMENTATIONS`, and of a plain copy of the tensor.

    Attributes:
        operations: of PyTorch in a forward pass, (implementations, schemes); 0 if PyTorch has no such layer.
    """

    def __init__(self, schemes: list[Scheme], shape: Shape, eps: float, seed: int, device: torch.device) -> None:
        drawn = np.random.default_rng(seed).standard_normal(shape, np.float32)
        self.x = torch.from_numpy(drawn).to(device)
        self.into = torch.empty_like(self.x)
        self.calls = max(2**16 // self.x.numel(), 1)
        self.timed: list[list[TimedLayer | None]] = [[], []]
        for scheme in schemes:
            theirs = make_torch_layer(scheme, eps)
            self.timed[0].append(None if theirs is None else TimedLayer(theirs, scheme, "torch", self.x))
            ours = make_general_layer(scheme, shape, eps, self.x)
            self.timed[1].append(TimedLayer(ours, scheme, "general", self.x))
        self.operations = np.array([[each.operations if each else 0 for each in way] for way in self.timed])
        self._passes = [
            ((w, k, p), getattr(each, name))
            for w, way in enumerate(self.timed)
            for p, name in enumerate(("forward", "run_both_passes"))
            for k, each in enumerate(way)
            if each
        ]

    def time_layers(self, repeats: int) -> tuple[float, np.ndarray]:
        """Return the seconds of a copy and of both passes of every layer, each the shortest of `repeats` times.

        Layers are timed one after the other, in alternating order, so that all of them meet the same load. Their times
        are (implementations, schemes, 2), for a forward pass and for both passes, NaN if PyTorch has no such layer.
        """
        copied, times = np.full(repeats, np.nan), np.full((repeats, *self.operations.shape, 2), np.nan)
        for repeat in range(repeats):
            copied[repeat] = self._measure_seconds(lambda: self.into.copy_(self.x))
            for place, call in self._passes[:: 1 if repeat % 2 == 0 else -1]:
                times[repeat][place] = self._measure_seconds(call)
        return float(copied.min()), times.min(0)

    def _measure_seconds(self, call: Callable[[], Any]) -> float:
        self._wait_for_device()
        begun = perf_counter()
        for _ in range(self.calls):
            call()
        self._wait_for_device()
        return (perf_counter() - begun) / self.calls

    def _wait_for_device(self) -> None:
        if self.x.device.type != "cpu":
            getattr(torch, self.x.device.type).synchronize()


class _OperationCounter(TorchDispatchMode):
    """Context manager that counts torch operations, except views, in `count`."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not function.is_view
        return function(*args, **(kwargs or {}))
