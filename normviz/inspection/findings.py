"""Findings on the normalizations of a model, each with advice and the public thread on the same mistake."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf
from types import MappingProxyType
from typing import Any

from normviz.core.text import join_words, typeset
from normviz.inspection.layers import LayerReport

GAP_LIMIT = 0.25
"""A gap between training and inference above this share of the output's deviation is a finding."""

SMALL_FIELD = 16
"""Batch norm over fewer elements has noisy statistics."""

PRECISION_LIMIT = 0.1
"""An error in half precision above this share of the output's deviation is a finding."""


@dataclass(frozen=True)
class ModelFinding:
    """Finding on one layer, or on the whole model if `layer` is empty: what was measured, and what to change.

    Attributes:
        key: the kind of mistake, a key of `CHECKS`, or "train-eval-gap"; "folding" is none.
        layer: the layer's name.
        finding: what was measured, in a sentence.
        advice: what to change, in a sentence.
        thread: the address of a public thread on this mistake.
    """

    key: str
    layer: str
    finding: str
    advice: str
    thread: str

    @property
    def is_mistake(self) -> bool:
        """True unless the finding is only the advice that batch norms can be folded."""
        return self.key != "folding"

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON types."""
        return {"layer": self.layer or None, **{k: getattr(self, k) for k in ("key", "finding", "advice", "thread")}}


@dataclass(frozen=True)
class Check:
    """Check of a layer for one kind of mistake: `find` returns a sentence if the layer has it, or None."""

    find: Callable[[LayerReport], str | None]
    advice: str
    thread: str


def _find_wrong_axis(layer: LayerReport) -> str | None:
    is_example = "N" not in layer.averaged_axes
    if layer.scheme or layer.probe.mean or not layer.averaged_axes or not is_example or "C" in layer.averaged_axes:
        return None
    if layer.probe.form != "general":
        return None
    return f"The root mean square runs over {_name_axes(layer.averaged_axes)}, not over the channels."


def _find_wrong_shape(layer: LayerReport) -> str | None:
    axes = layer.averaged_axes
    positions = set(axes) - {"N", "C"}
    if layer.probe.mean is None or layer.probe.form != "general" or not axes or "N" in axes or layer.target == "weight":
        return None
    if positions and "C" not in axes and layer.scheme is None:
        return f"The mean and variance run over {_name_axes(axes)}, not over the channels."
    learned = {layer.layout[axis] for axis in layer.probe.gain_axes} - {"N", "C", "H" if "T" in layer.layout else ""}
    if positions and learned & positions:
        return f"γ differs from position to position ({_name_axes(''.join(sorted(learned)))}), so only this size fits."
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
        return "Its parameters are frozen, but its running statistics change with every batch in training."
    if layer.flags.get("is_thawed_by_train"):
        return "It is in inference mode inside a model in training; the next model.train() lets its statistics move."
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
    size = layer.statistics.get("field_size", 0)
    if layer.training != "batch" or layer.target == "weight" or not 0 < size < SMALL_FIELD:
        return None
    return f"In training, each mean and variance comes from only {size:.0f} elements, so it is noisy."


def _find_precision_loss(layer: LayerReport) -> str | None:
    for name, error in layer.half_precision.items():
        if error > PRECISION_LIMIT:
            size = (
                "has NaN or infinite values"
                if isinf(error)
                else f"is off by {typeset(error, 2)} times its standard deviation"
            )
            return f"In {name} its output {size} on this batch."
    return None


CHECKS: dict[str, Check] = {
    "wrong-axis": Check(
        _find_wrong_axis,
        "Average over the channels: move them to the last axis first, or use a norm that takes the axis.",
        "https://github.com/huggingface/diffusers/issues/11387",
    ),
    "normalized-shape": Check(
        _find_wrong_shape,
        "Pass the number of channels as normalized_shape, and move the channels to the last axis first.",
        "https://github.com/pytorch/pytorch/issues/71465",
    ),
    "all-but-first": Check(
        _find_all_but_first,
        "Pass the last axis alone as normalized_shape, unless tokens are meant to be mixed.",
        "https://github.com/Qualcomm-AI-research/geometric-algebra-transformer/pull/8",
    ),
    "moving-statistics": Check(
        _find_moving_statistics,
        "Call eval() on the layer after every model.train(), or use a frozen batch norm without running updates.",
        "https://github.com/pytorch/pytorch/issues/86590",
    ),
    "small-groups": Check(
        _find_small_groups,
        "Use fewer groups, or normalize before the positions are pooled.",
        "https://github.com/pytorch/pytorch/issues/19250",
    ),
    "small-batch": Check(
        _find_small_batch,
        "Use larger batches or group norm. Drop a last batch of one example.",
        "https://github.com/pytorch/pytorch/issues/4534",
    ),
    "half-precision": Check(
        _find_precision_loss,
        "Compute its statistics in float32, with an ε that the type can hold.",
        "https://github.com/pytorch/pytorch/pull/133085",
    ),
}
"""The checks of a layer by their keys."""

GAP_ADVICE = (
    "Train for more steps, or collect the running averages again, on data like that of inference.",
    "https://github.com/pytorch/vision/issues/2079",
)
"""The advice and the thread on a gap between training and inference."""


FOLDING_ADVICE = (
    "Once training is over, fuse them for inference, with fuse_conv_bn_eval and fuse_linear_bn_eval of torch.nn.utils.",
    "https://github.com/pytorch/pytorch/issues/104593",
)
"""The advice on batch norms that can be folded, and the thread on one that cannot."""

MAX_NAMED = 5
"""Most layers that a finding on folding names."""


def list_findings(
    layers: list[LayerReport], gap: float | None, obstacles: Mapping[str, str] = MappingProxyType({})
) -> Iterator[ModelFinding]:
    """Yield the findings on these layers and on the whole model.

    `gap`: the change of the output between training and inference that batch statistics make. `obstacles`: for each
    batch norm, what keeps it from being folded into the layer before; "" if nothing does.
    """
    for layer in layers:
        for key, check in CHECKS.items():
            found = check.find(layer)
            if found:
                yield ModelFinding(key, layer.name, found, check.advice, check.thread)
    if gap is not None and gap > GAP_LIMIT:
        size = typeset(gap, 2)
        found = f"In inference, with running averages, the output differs from training by {size} standard deviations."
        yield ModelFinding("train-eval-gap", "", found, *GAP_ADVICE)
    if not all(obstacles.values()):
        yield ModelFinding("folding", "", _describe_folding(obstacles), *FOLDING_ADVICE)


def _describe_folding(obstacles: Mapping[str, str]) -> str:
    """Return sentences on which batch norms can be folded into the layer before, and why others cannot."""
    names = [name for name, obstacle in obstacles.items() if not obstacle]
    named = join_words(names[:MAX_NAMED], "and") + (", and others" if len(names) > MAX_NAMED else "")
    others = [f" Not {name}: {obstacle}." for name, obstacle in obstacles.items() if obstacle]
    found = f"{len(names)} of {len(obstacles)} batch norms can be folded into the layer before: {named}."
    return found + "".join(others[:MAX_NAMED])


def _name_axes(letters: str) -> str:
    return ", ".join(letters)
