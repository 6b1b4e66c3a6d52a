"""Findings on the normalizations of a model, each with advice and the public thread on the same mistake."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf, prod
from types import MappingProxyType
from typing import Any

from normviz.core.text import join_words
from normviz.describe.problems import GAP_LIMIT, PROBLEMS, Problem, name_axis
from normviz.inspection.layers import LayerReport

SMALL_FIELD = 16
"""Batch norm over fewer elements has noisy statistics."""

PRECISION_LIMIT = 0.1
"""An error in half precision above this share of the output's deviation is a finding."""


@dataclass(frozen=True)
class ModelFinding:
    """Finding on one layer, or on the whole model if `layer` is empty; `key` is that of its kind in `PROBLEMS`."""

    key: str
    layer: str
    finding: str

    @property
    def problem(self) -> Problem:
        """The words on its kind of problem."""
        return PROBLEMS[self.key]

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON types."""
        problem = {"advice": self.problem.advice, "thread": self.problem.thread}
        return {"layer": self.layer or None, "key": self.key, "finding": self.finding} | problem


def _find_wrong_axis(layer: LayerReport) -> str | None:
    is_example = "N" not in layer.averaged_axes
    if layer.scheme or layer.probe.mean or not layer.averaged_axes or not is_example or "C" in layer.averaged_axes:
        return None
    if layer.probe.form != "general":
        return None
    return f"The root mean square runs over {_name_axes(layer.averaged_axes, layer.layout)}, not channels."


def _find_wrong_shape(layer: LayerReport) -> str | None:
    axes = layer.averaged_axes
    positions = set(axes) - {"N", "C"}
    if layer.probe.mean is None or layer.probe.form != "general" or not axes or "N" in axes or layer.target == "weight":
        return None
    if positions and "C" not in axes and layer.scheme is None:
        return f"The mean and variance run over {_name_axes(axes, layer.layout)}, not over the channels."
    learned = {layer.layout[axis] for axis in layer.probe.gain_axes} - {"N", "C", "H" if "T" in layer.layout else ""}
    if positions and learned & positions:
        names = _name_axes("".join(sorted(learned)), layer.layout)
        return f"γ differs from position to position ({names}), so only this size fits."
    return None


def _find_all_but_first(layer: LayerReport) -> str | None:
    axes = set(layer.averaged_axes)
    is_sequence = "T" in layer.layout and layer.layout.endswith("C")
    if "N" in axes or not {"T", "C"} <= axes or not is_sequence or layer.target == "weight":
        return None
    return "All axes but the first are averaged, so every token changes with all others of its example."


def _find_moving_statistics(layer: LayerReport) -> str | None:
    if not layer.flags.get("state_moves"):
        return None
    if layer.flags.get("is_frozen"):
        return "Its weights are frozen, but its running averages change in training."
    if layer.flags.get("is_thawed_by_train"):
        return "It is in inference mode, but the next model.train() lets its running averages change again."
    return None


def _find_small_groups(layer: LayerReport) -> str | None:
    if layer.target == "weight" or layer.training not in ("example", "") or layer.probe.mean is None:
        return None
    size = layer.statistics.get("field_size", 0)
    if size == 1:
        return "Each mean is that of one element, so the output does not depend on the input."
    if size == 2:
        return "Each mean is that of two elements, so x̂ is 1 and -1 whatever the input is."
    return None


def _find_small_batch(layer: LayerReport) -> str | None:
    lengths = (n for letter, n in zip(layer.layout, layer.shape, strict=True) if letter in layer.averaged_axes)
    size = layer.statistics.get("field_size", prod(lengths))  # a field of two examples hides the formula
    if layer.training != "batch" or layer.target == "weight" or not 0 < size < SMALL_FIELD:
        return None
    return f"In training, each mean and variance comes from only {size:.0f} numbers."


def _find_precision_loss(layer: LayerReport) -> str | None:
    for name, error in layer.half_precision.items():
        if error > PRECISION_LIMIT:
            size = "has NaN or infinite values" if isinf(error) else f"is off by {error:.0%} of its standard deviation"
            return f"In {name} its output {size} on this batch."
    return None


CHECKS: dict[str, Callable[[LayerReport], str | None]] = {
    "wrong-axis": _find_wrong_axis,
    "normalized-shape": _find_wrong_shape,
    "all-but-first": _find_all_but_first,
    "moving-statistics": _find_moving_statistics,
    "small-groups": _find_small_groups,
    "small-batch": _find_small_batch,
    "half-precision": _find_precision_loss,
}
"""The checks of a layer by the keys of their problems: what each finds, or None."""

MAX_NAMED = 5
"""Most layers that a finding on folding names."""


def iterate_findings(
    layers: list[LayerReport], gap: float | None, obstacles: Mapping[str, str] = MappingProxyType({})
) -> Iterator[ModelFinding]:
    """Yield the findings: mistakes of layers, a large train-eval `gap`, and batch norms without `obstacles` to folding.

    `gap`: the change of the output between training and inference that batch statistics make. `obstacles`: for each
    batch norm, what keeps it from being folded into the layer before; "" if nothing does.
    """
    for layer in layers:
        for key, check in CHECKS.items():
            if found := check(layer):
                yield ModelFinding(key, layer.name, found)
    if gap is not None and gap > GAP_LIMIT:
        cause = "eval() replaces the batch's mean and variance by running averages of earlier batches."
        found = f"This changes the outputs by {gap:.2f} times their standard deviation; a model's limit is {GAP_LIMIT}."
        reason = "Usual reasons: few training steps, or training on other data."
        yield ModelFinding("train-eval-gap", "", f"{cause} {found} {reason}")
    if not all(obstacles.values()):
        yield ModelFinding("folding", "", _describe_folding(obstacles))


def _describe_folding(obstacles: Mapping[str, str]) -> str:
    """Return sentences on which batch norms can be folded into the layer before, and why others cannot."""
    names = [name for name, obstacle in obstacles.items() if not obstacle]
    named = join_words(names[:MAX_NAMED], "and") + (", and others" if len(names) > MAX_NAMED else "")
    others = [f" Not {name}: {obstacle}." for name, obstacle in obstacles.items() if obstacle]
    found = f"{len(names)} of {len(obstacles)} batch norms can be folded into the layer before: {named}."
    return found + "".join(others[:MAX_NAMED])


def _name_axes(letters: str, layout: str) -> str:
    return ", ".join(name_axis(letter, layout) for letter in letters)
