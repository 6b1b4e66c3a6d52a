"""Meaning of the axes of a layer's input, found by changing an example and a channel of the layer before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from normviz.inspection.model_copy import find_batch_size, replace_examples
from normviz.inspection.recording import LayerCall, Recorder, WeightedCall, record_pass

SEARCHED = 6
"""The number of calls before a layer that are searched for the one that made its channels."""

POSITION_NAMES = {0: "", 1: "T", 2: "HW", 3: "DHW"}
"""Names of the axes of positions by their number."""


@dataclass(frozen=True)
class AxisRoles:
    """Axes of an array that hold examples and channels.

    Attributes:
        example: the axis of examples; None if no axis holds examples.
        channels: the axes of channels; two where channels are cut into heads.
        is_certain: True if a changed channel showed them.
    """

    example: int | None
    channels: tuple[int, ...]
    is_certain: bool

    def make_layout(self, ndim: int) -> str:
        """Return a letter for each of `ndim` axes, such as "NCHW"; heads are H, and their channels C."""
        letters = [""] * ndim
        if self.example is not None:
            letters[self.example] = "N"
        for axis, letter in zip(reversed(self.channels), "CH", strict=False):
            letters[axis] = letter
        free = [axis for axis, letter in enumerate(letters) if not letter]
        names = POSITION_NAMES.get(len(free), "DHWTSUVXYZ")
        if "H" in letters:
            names = "TWXYZ"
        for axis, letter in zip(free, names, strict=False):
            letters[axis] = letter
        return "".join(letters)


def find_axis_roles(model: nn.Module, batch: Any, recorder: Recorder, names: Sequence[str]) -> dict[str, AxisRoles]:
    """Return by name the `AxisRoles` of the inputs of these recorded calls, found by changing examples and channels.

    `recorder`: the record of the model on the batch, in the modes that the model has now.
    """
    other, _ = record_pass(model, replace_examples(batch, [0]))
    size = find_batch_size(batch)
    disturbed: dict[int, dict[str, LayerCall]] = {}
    roles = {}
    for name in names:
        call = recorder.layers[name]
        moved = _find_changed_axes(call, other.layers.get(name)) or ()
        alike = (axis for axis, n in enumerate(call.x.shape) if n == size)  # where a dead layer passes no change on
        example = next(iter(moved), None) if moved else next(alike, None)
        channels = _find_direct_channel_axis(call, recorder)
        for producer in range(call.producer or 0, max((call.producer or 0) - SEARCHED, -1), -1):
            if call.producer is not None and channels is None:
                if producer not in disturbed:
                    disturbed[producer] = record_pass(model, batch, (producer, 0))[0].layers
                channels = _find_changed_axes(call, disturbed[producer].get(name))
        is_certain = channels is not None and 0 < len(channels) <= 2 and example not in channels
        roles[name] = AxisRoles(example, channels if channels and is_certain else (), is_certain)
    return roles


def choose_channel_axis(
    model: nn.Module, batch: Any, recorder: Recorder, call: LayerCall, roles: AxisRoles, gain_axes: tuple[int, ...]
) -> AxisRoles:
    """Return the `AxisRoles` of a call's input: `roles`, or with γ's axis as channels if the next layer agrees.

    The layer before may have mixed tokens, and made tokens of its channels. So γ also decides where the next layer
    takes this axis for its channels. Without γ and without a layer before, PyTorch's convention decides.
    """
    learned = [axis for axis in gain_axes if axis != roles.example]
    if roles.is_certain:
        differs = len(learned) == 1 and learned[0] not in roles.channels
        if differs and _is_axis_summed_next(model, batch, recorder, call, learned[0]):
            return AxisRoles(roles.example, (learned[0],), True)
        return roles
    ndim = call.x.ndim
    default = 1 if ndim >= 4 and roles.example != 1 else ndim - 1
    return AxisRoles(roles.example, (learned[0],) if len(learned) == 1 else (default,), False)


def _find_direct_channel_axis(call: LayerCall, recorder: Recorder) -> tuple[int, ...] | None:
    """Return (axis,) of the channels if a call's input is the unchanged output of a weighted call, else None."""
    producer = None if call.producer is None else recorder.weights[call.producer]
    is_direct = producer is not None and producer.y.shape == call.x.shape and torch.equal(producer.y, call.x)
    return (producer.channel_axis % call.x.ndim,) if producer is not None and is_direct else None


def _is_axis_summed_next(model: nn.Module, batch: Any, recorder: Recorder, call: LayerCall, axis: int) -> bool:
    """Return True if the next layer with weights sums over this axis of a call's output."""
    other, _ = record_pass(model, batch, (call.name, axis))
    if call.consumer >= min(len(recorder.weights), len(other.weights)):
        return False
    consumer = recorder.weights[call.consumer]
    changed = _find_changed_axes(consumer, other.weights[call.consumer]) or ()
    return consumer.channel_axis % consumer.x.ndim in changed


def _find_changed_axes(
    call: LayerCall | WeightedCall, other: LayerCall | WeightedCall | None
) -> tuple[int, ...] | None:
    """Return the axes along which only some indices of a call's input differ; None if nothing differs."""
    if other is None or call.x.shape != other.x.shape or not call.x.is_floating_point():
        return None
    moved = torch.nan_to_num((call.x - other.x).abs()) > 1e-12 * float(call.x.abs().max())
    if not moved.any():
        return None
    lines = [moved.any(dim=[k for k in range(moved.ndim) if k != axis]) for axis in range(moved.ndim)]
    return tuple(axis for axis, line in enumerate(lines) if not line.all())
