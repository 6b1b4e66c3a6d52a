"""Recording of the activations that enter a model's normalizations, few enough to be looked at."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Rule
from normviz.data.bounds import MAX_LAYERS, MAX_UPLOAD_BYTES
from normviz.data.output import write_file
from normviz.data.recordings import RecordedLayer, encode_recording
from normviz.inspection.frozen import find_constant_statistics
from normviz.inspection.inspector import InspectedModel, inspect_calls
from normviz.inspection.layers import LayerReport, format_rules
from normviz.inspection.probing import Probe, Rules
from normviz.inspection.recording import LayerCall, keep_state
from normviz.inspection.report import ModelReport

MAX_LAYER_ELEMENTS = 2048
"""Most activations of a layer that are recorded: a cube of them is still seen."""


def record(model: nn.Module, batch: Any, path: str | Path) -> ModelReport:
    """Inspect a PyTorch model, and save the report with the activations that enter its normalizations, as .npz.

    The page "Your model" of the app opens this file: the report in JSON, and the activations of each layer with its γ
    and β, in at most 5 MB. Of each layer up to 2,048 activations are saved, at even spacing along every axis; of groups
    whole ones. Nothing is pickled.

    Model and batch are as in `inspect`. Raises InvalidInput for a model that cannot be inspected, one of too many
    layers, or a file that cannot be written.

    >>> import tempfile, torch, normviz
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))
    >>> path = f"{tempfile.mkdtemp()}/layers.npz"
    >>> report = normviz.record(model, torch.randn(32, 4), path)
    >>> import numpy as np
    >>> np.load(path)["x.1"].shape
    (32, 8)
    """
    check_recording_path(path)
    inspected = inspect_calls(model, batch)
    report = inspected.report
    if len(report.layers) > MAX_LAYERS:
        raise InvalidInput(f"the model has {len(report.layers)} normalizations; up to {MAX_LAYERS} are recorded.")
    most = MAX_LAYER_ELEMENTS
    while len(content := _encode_layers(inspected, most)) > MAX_UPLOAD_BYTES and most > 1:
        most //= 2
    write_file(Path(path), content)
    return report


def check_recording_path(path: str | Path) -> None:
    """Raise InvalidInput if a file's name does not end in .npz."""
    if Path(path).suffix.lower() != ".npz":
        raise InvalidInput(f"{path} does not end in .npz; the app opens a recording by this ending.")


def _encode_layers(inspected: InspectedModel, most: int) -> bytes:
    """Encode a report, with at most `most` activations of each layer, as the bytes of an .npz file."""
    layers, fields = {}, {}
    for layer in inspected.report.layers:
        if layer.target == "activation":
            call, chosen = inspected.training[layer.name], choose_elements(layer, most)
            channels = compare_channels(layer, call, inspected.inference.get(layer.name), most)
            layers[layer.name] = _extract_layer(layer, call.x, chosen.indices, channels)
            fields[layer.name] = chosen.fields
    return encode_recording(inspected.report.to_json() | {"recorded": fields}, layers)


def compare_channels(
    layer: LayerReport, training: LayerCall, inference: LayerCall | None, max_numbers: int
) -> np.ndarray | None:
    """Return each channel's batch mean and variance, running ones, and those after one more pass, (6, channels).

    At most `max_numbers` / 6 channels, at even spacing. None unless the layer uses running averages in inference.
    """
    if inference is None or (layer.training, layer.inference) != ("batch", "constant"):
        return None
    found = find_constant_statistics(inference)
    mean_rules = found[0].mean if found else None
    if found is None or mean_rules is None:
        return None
    running = found[1]
    lines = training.x.movedim(mean_rules.index(OWN), 0).flatten(1)
    if len(lines) != len(running.mean):
        return None
    rows = torch.stack([lines.mean(1), lines.var(1, correction=0), running.mean, running.variance])
    with torch.no_grad(), keep_state(training.module, training.state):
        training.run(training.x, torch.float64)
        after = (find_constant_statistics(inference) or found)[1]
        rows = torch.cat([rows, torch.stack([after.mean, after.variance])])
    few = min(len(lines), max(max_numbers // len(rows), 1))
    return rows.numpy()[:, np.arange(few) * len(lines) // few].astype(np.float32)


class ChosenElements(NamedTuple):
    """Indices along each axis of a layer's input, and the fields on these elements, by the axes' letters."""

    indices: list[np.ndarray]
    fields: dict[str, dict[str, str] | None]


def choose_elements(layer: LayerReport, max_elements: int) -> ChosenElements:
    """Return evenly spaced indices of at most `max_elements` elements of a layer's input, and its fields there as text.

    The longest axes are halved until few enough are left, at even spacing. Windows keep neighbours. An axis in groups
    keeps whole groups, or the same share of each.
    """
    mean, divisor = layer.probe.mean, layer.probe.divisor
    rules = [_pick_rule(axis, mean, divisor) for axis in range(len(layer.shape))]
    groups = [rule.parameter_or_zero if rule.kind == "groups" else 1 for rule in rules]
    lengths = [length for n, g in zip(layer.shape, groups, strict=True) for length in (g, n // g)]
    kept = list(lengths)
    while prod(kept) > max_elements:
        longest = kept.index(max(kept))
        kept[longest] = (kept[longest] + 1) // 2
    indices = []
    for axis, rule in enumerate(rules):
        outer, inner = (
            np.arange(few) if rule.kind == "window" else np.arange(few) * n // few
            for n, few in zip(lengths[2 * axis : 2 * axis + 2], kept[2 * axis : 2 * axis + 2], strict=True)
        )
        indices.append((outer[:, None] * lengths[2 * axis + 1] + inner).ravel())
    left = [Rule("groups", kept[2 * axis]) if rule.kind == "groups" else rule for axis, rule in enumerate(rules)]
    fields = {
        name: None
        if field is None
        else [own if own.kind != "groups" else few for own, few in zip(field, left, strict=True)]
        for name, field in (("summation", mean), ("suppression", divisor))
    }
    return ChosenElements(indices, {name: format_rules(field, layer.layout) for name, field in fields.items()})


def _pick_rule(axis: int, mean: Rules | None, divisor: Rules | None) -> Rule:
    """Return the rule of the divisor or else the mean along an axis; rules with groups or windows come first."""
    rules = [each[axis] for each in (divisor, mean) if each is not None] or [OWN]
    return next((rule for rule in rules if rule not in (FULL, OWN)), rules[0])


def _extract_layer(
    layer: LayerReport, x: Tensor, indices: Sequence[np.ndarray], statistics: np.ndarray | None
) -> RecordedLayer:
    """Return a layer's input at these indices, its γ and β along the axes where they vary, and channel `statistics`."""
    probe: Probe = layer.probe
    with np.errstate(over="ignore"):
        chosen = x.detach().numpy()[np.ix_(*indices)].astype(np.float32)
    return RecordedLayer(
        chosen,
        _extract_parameter(probe.gain, probe.gain_axes, layer.shape, indices),
        _extract_parameter(probe.bias, probe.bias_axes, layer.shape, indices),
        statistics,
    )


def _extract_parameter(
    values: Tensor | None, axes: tuple[int, ...], shape: Sequence[int], indices: Sequence[np.ndarray]
) -> np.ndarray | None:
    """Return γ or β at chosen indices, of length 1 along other axes; None if it was probed at another length."""
    if values is None or any(values.shape[axis] != shape[axis] for axis in axes):
        return None
    where = [each if axis in axes else np.zeros(1, int) for axis, each in enumerate(indices)]
    return values.detach().numpy()[np.ix_(*where)].astype(np.float32)
