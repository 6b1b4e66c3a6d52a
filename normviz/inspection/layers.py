"""Reports on single layers: scheme, fields, modes, statistics on the batch, and precision."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor

from normviz.core import theory
from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Rule
from normviz.core.layouts import parse_layout
from normviz.core.scheme import Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.inspection.axes import AxisRoles
from normviz.inspection.frozen import ConstantStatistics
from normviz.inspection.influence import compare_first_rows
from normviz.inspection.probing import Probe, Rules, average_by_rules
from normviz.inspection.recording import LayerCall
from normviz.inspection.scheme_match import build_found_scheme, list_probed_schemes

NEGLIGIBLE = 1e-12
"""An output with a smaller deviation is constant up to rounding."""

SHORT_TYPES = ("float16", "bfloat16")
"""The types of half precision in which layers are tried."""

COLLAPSED = 1e-12
"""A field whose mean square is at most this share of the largest one has collapsed."""


@dataclass
class LayerReport:
    """Report on one normalization of a model.

    Attributes:
        name: the layer's name in the model; a function has the name of the module around it and its own.
        schemes: the schemes that compute the same, the most usual first; empty if none has these fields.
        layout, shape: the axes of its input and their lengths.
        probe: what probing found.
        target: "activation" or "weight".
        training, inference: where its statistics come from in each mode: "batch", "example" or "constant"; "" for none.
        train_eval_gap: the root mean square difference of its outputs in the two modes, over their deviation.
        influence: the change of an example's output by other examples in training, in the same unit.
        statistics: numbers on this batch.
        half_precision: the error in float16 and bfloat16, in the same unit; infinite for NaN.
        table1: whether it is invariant to each transformation of Table 1, where theory says.
        flags: facts for the findings.
    """

    name: str
    schemes: list[Scheme]
    layout: str
    shape: tuple[int, ...]
    probe: Probe
    target: str = "activation"
    training: str = ""
    inference: str = ""
    train_eval_gap: float | None = None
    influence: float | None = None
    statistics: dict[str, Any] = field(default_factory=dict)
    half_precision: dict[str, float] = field(default_factory=dict)
    table1: dict[str, bool] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def scheme(self) -> str | None:
        """The key of the scheme, or None."""
        return self.schemes[0].key if self.schemes else None

    @property
    def averaged_axes(self) -> str:
        """The letters of the axes that are averaged over."""
        rules = self.probe.divisor or self.probe.mean
        lengths = zip(self.layout, rules or (), self.shape, strict=False)
        return "".join(letter for letter, rule, n in lengths if rule != OWN and n > 1)

    def to_record(self) -> dict[str, Any]:
        """Return the report as JSON types, as `ModelReport.to_json` holds it."""
        probe = self.probe
        return {
            "layer": self.name,
            "scheme": self.scheme,
            "also": [scheme.key for scheme in self.schemes[1:]],
            "form": probe.form,
            "target": self.target,
            "layout": self.layout,
            "is_channel_axis_measured": self.flags.get("channels_certain", True),
            "shape": list(self.shape),
            "fields": {
                "summation": format_rules(probe.mean, self.layout),
                "suppression": format_rules(probe.divisor, self.layout),
            },
            "centres": probe.mean is not None,
            "divides": probe.divisor is not None,
            "eps": probe.eps,
            "eps_inside_root": probe.is_eps_inside if probe.eps else None,
            "gain": _describe_parameter(probe.gain, probe.gain_axes, self.layout),
            "bias": _describe_parameter(probe.bias, probe.bias_axes, self.layout),
            **dict(probe.parameters),
            "training": self.training or None,
            "inference": self.inference or None,
            "train_eval_gap": _round_for_json(self.train_eval_gap),
            "influence": _round_for_json(self.influence),
            "statistics": {key: _round_for_json(value) for key, value in self.statistics.items()},
            "half_precision": {key: _round_for_json(value) for key, value in self.half_precision.items()},
            "table1": self.table1,
        }


def build_layer_report(
    call: LayerCall, inference: LayerCall | None, roles: AxisRoles, probe: Probe, constant: ConstantStatistics | None
) -> LayerReport:
    """Return the report on a layer from its `call` in training, its call in `inference`, and what its probe found.

    `inference` is None if the call is not made there; `constant`: its statistics if they are constant in training too.
    """
    text = roles.make_layout(call.x.ndim)
    layout = parse_layout(" ".join(text))
    shape = tuple(max(n, 2) if axis == 0 else n for axis, n in enumerate(layout.to_tensor(call.x).shape))
    heads = call.x.shape[text.index("H")] if len(roles.channels) == 2 else 0
    schemes = list_probed_schemes(probe, layout, shape, heads=heads, learns=bool(call.parameters))
    report = LayerReport(call.name, schemes, text, tuple(call.x.shape), probe)
    report.flags["channels_certain"] = roles.is_certain
    is_shared = "N" in report.averaged_axes
    report.training = "constant" if constant else "batch" if is_shared else "example" if report.averaged_axes else ""
    _compare_modes(report, call, inference, roles.example)
    report.statistics = measure_statistics(call.x, probe, text)
    report.half_precision = {name: _measure_half_precision_error(call, getattr(torch, name)) for name in SHORT_TYPES}
    report.table1 = predict_table_row(schemes[0] if schemes else build_found_scheme(probe, layout), shape)
    return report


def measure_statistics(x: Tensor, probe: Probe, layout: str) -> dict[str, float]:
    """Return numbers on a layer's input x by name, such as its largest value, dead channels and mean squares."""
    found: dict[str, float] = {"largest_input": float(x.abs().max())}
    if "C" in layout and x.ndim > 1:
        axis = layout.index("C")
        lines = x.movedim(axis, 0).flatten(1)
        found["channels"] = lines.shape[0]
        found["dead_channels"] = int((lines.max(1).values == lines.min(1).values).sum())
    rules = probe.divisor or probe.mean
    if rules is None or probe.form not in ("general", "local response"):
        return found
    v = x if probe.mean is None else x - average_by_rules(x, probe.mean)
    square = _pick_statistics(average_by_rules(v * v, rules), rules)
    largest = float(square.max())
    found |= {
        "count": square.numel(),
        "field_size": x.numel() / max(square.numel(), 1),
        "smallest_mean_square": float(square.min()),
        "median_mean_square": float(square.median()),
        "largest_mean_square": largest,
        "collapsed_fields": int((square <= COLLAPSED * max(largest, 1e-300)).sum()),
    }
    if probe.eps:
        eps = probe.eps if probe.is_eps_inside else probe.eps**2
        found["eps_over_median"] = eps / float(square.median()) if float(square.median()) > 0 else inf
        found["eps_dominates"] = float((square < eps).double().mean())
    return found


def predict_table_row(scheme: Scheme | None, shape: tuple[int, ...]) -> dict[str, bool]:
    """Return by key of `TRANSFORMATIONS` whether a scheme of activations is invariant; {} if theory has no answer."""
    if scheme is None:
        return {}
    layer = "dense" if shape[1] * shape[2] == 1 else "conv"
    weight_shape = (1, 1, 4, shape[3]) if layer == "dense" else (3, 3, 4, shape[3])
    four = (shape[0], shape[1], shape[2], shape[3])
    try:
        cells = {key: theory.predict(scheme, row, layer, four, weight_shape) for key, row in TRANSFORMATIONS.items()}
    except InvalidInput:
        return {}
    return {key: cell.invariant for key, cell in cells.items()}


def measure_relative_gap(y: Tensor, other: Tensor) -> float:
    """Return the root mean square difference of two outputs, in units of the first one's standard deviation.

    A constant output has its largest magnitude for a unit, or 1.
    """
    if y.shape != other.shape:
        return inf
    units = (float(y.std(correction=0)), float(y.abs().max()))
    unit = next((each for each in units if each > NEGLIGIBLE), 1.0)
    return float((y - other).square().mean().sqrt()) / unit


def _compare_modes(report: LayerReport, call: LayerCall, inference: LayerCall | None, example: int | None) -> None:
    """Set in `report` the source of statistics in inference, the gap between modes, and other examples' influence."""
    y = call.compute(call.x)
    if inference is not None:
        other = inference.compute(call.x)
        report.train_eval_gap = measure_relative_gap(y, other)
        changed = _replace_rows(call.x, example)
        is_shared = example is not None and _measure_influence(inference.compute, call.x, changed, example) > 1e-9
        if report.training == "batch":
            report.inference = "batch" if is_shared else "constant"
        else:
            report.inference = report.training
            if report.training == "example" and report.train_eval_gap > 1e-6:
                report.inference = "constant"
    if example is not None and call.x.shape[example] > 1:
        report.influence = _measure_influence(call.compute, call.x, _replace_rows(call.x, example), example)


def _measure_influence(compute: Callable[[Tensor], Tensor], x: Tensor, changed: Tensor, example: int) -> float:
    return compare_first_rows(compute(x).movedim(example, 0), compute(changed).movedim(example, 0)) or 0.0


def _replace_rows(x: Tensor, example: int | None) -> Tensor:
    """Return a copy of x in which noise replaces all examples but the first; `example` is their axis."""
    changed = x.clone()
    if example is None or x.shape[example] < 2:
        return changed
    part = changed.narrow(example, 1, x.shape[example] - 1)
    noise = torch.randn(part.shape, generator=torch.Generator().manual_seed(4), dtype=x.dtype)
    part.copy_(x.mean() + 1.5 * x.std(correction=0) * noise)
    return changed


def _measure_half_precision_error(call: LayerCall, dtype: torch.dtype) -> float:
    """Return the error of a layer in a low-precision dtype, over the output's standard deviation; infinite for NaN."""
    y = call.compute(call.x)
    try:
        short = call.compute_in_dtype(dtype)
    except (RuntimeError, ValueError, TypeError):
        return 0.0
    gap = measure_relative_gap(y, short.double())
    return gap if isfinite(gap) and bool(torch.isfinite(short).all()) else inf


def _pick_statistics(averaged: Tensor, rules: Rules) -> Tensor:
    """Return one number of each field from an array of averages that `average_by_rules` returned."""
    for axis, rule in enumerate(rules):
        n = averaged.shape[axis]
        count = rule.count_statistics(n)
        step = n // count if rule.kind in ("full", "groups") else 1
        averaged = averaged.index_select(axis, torch.arange(0, n, step))
    return averaged


def format_rules(rules: Sequence[Rule] | None, layout: str) -> dict[str, str] | None:
    """Return the rules of an array's axes as text, by the axes' letters in `layout`; None for no rules."""
    return None if rules is None else {letter: str(rule) for letter, rule in zip(layout, rules, strict=True)}


def _describe_parameter(values: Tensor | None, axes: tuple[int, ...], layout: str) -> dict[str, Any] | None:
    """Return the axes along which γ or β varies, its minimum and its maximum, by name; None without values."""
    if values is None:
        return None
    low, high = float(values.min()), float(values.max())
    return {"axes": [layout[axis] for axis in axes], "min": _round_for_json(low), "max": _round_for_json(high)}


def _round_for_json(value: float | None) -> float | None:
    """Return a number with six significant digits, or None if JSON cannot hold it."""
    if value is None or not isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.6g}")
