"""Words on the layers of a reported model."""

from collections.abc import Iterable, Mapping

from normviz.core.fields import Rule
from normviz.core.registry import SCHEMES
from normviz.core.text import typeset
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import describe_rule, format_shape, pluralize
from normviz.topics.model.reported import ReportedFinding, ReportedLayer, ReportedModel

SOURCE_WORDS = {"batch": "the batch", "example": "each example", "constant": "running averages", "": "none"}
"""Words for where statistics come from."""

NEGLIGIBLE = 1e-6
"""A change of an output by less than this share of its deviation is rounding."""


def name_scheme(layer: ReportedLayer) -> str:
    """Return the name of a layer's scheme for a table: "Batch"; "unknown kind" where its axes have no name."""
    if layer.keys:
        return SCHEMES[layer.keys[0]].label
    return {"general": "unknown kind", "local response": "Local response", "unknown": "unknown formula"}.get(
        layer.form, layer.form
    )


def describe_averaged_axes(layer: ReportedLayer) -> str:
    """Describe the axes that a statistic runs over: "N, H, W"; "H, W, C in 4 groups"; "–" for none."""
    words = [
        _describe_axis(letter, rule)
        for letter, rule, n in zip(layer.layout, layer.rules, layer.shape, strict=True)
        if rule.kind != "own" and n > 1
    ]
    return ", ".join(sorted(words, key=len)) or "–"


def _describe_axis(letter: str, rule: Rule) -> str:
    return letter if rule.kind == "full" else f"{letter} {describe_rule(rule, 2**20)}"


def describe_sources(layer: ReportedLayer) -> str:
    """Describe where the statistics come from in training, and in inference if that differs."""
    training = SOURCE_WORDS[layer.training]
    if layer.inference in ("", layer.training):
        return training
    return f"{training}, then {SOURCE_WORDS[layer.inference]}"


def describe_change(value: float | None) -> str:
    """Describe a change in units of the output's deviation: "0.5 σ"; "none" for one of rounding."""
    return "–" if value is None else "none" if abs(value) < NEGLIGIBLE else f"{typeset(value, 2)} σ"


def tabulate_layers(model: ReportedModel) -> dict[str, list[str]]:
    """Return the layers of a model in columns by their titles."""
    found = {finding.layer for finding in model.findings}
    return {
        "Layer": [f"⚠ {layer.name}" if layer.name in found else layer.name for layer in model.layers],
        "Normalization": [name_scheme(layer) for layer in model.layers],
        "Averages over": [describe_averaged_axes(layer) for layer in model.layers],
        "Change by other examples": [describe_change(layer.influence) for layer in model.layers],
        "Change by eval()": [describe_change(layer.gap) for layer in model.layers],
    }


COLUMN_HELP = {
    "Change by other examples": "Change of an example's output in training when all others of its batch are replaced.",
    "Change by eval()": "Change of the layer's output from training to inference mode.",
}
"""Explanations of the columns."""

CHANGE_UNIT = (
    "**σ** is the standard deviation of a layer's output: 0.1 σ is a small change, 1 σ a large one. "
    "With batch norm some change is normal."
)
"""The unit of the table's changes, and what is normal."""

MERE_ADVICE = ("folding",)
"""Findings that are no problem."""


def group_findings(findings: Iterable[ReportedFinding]) -> list[tuple[ReportedFinding, list[str]]]:
    """Group findings with one text: the first of them, and the names of their layers ("" for the model)."""
    groups: dict[tuple[str, str], tuple[ReportedFinding, list[str]]] = {}
    for finding in findings:
        groups.setdefault((finding.key, finding.finding), (finding, []))[1].append(finding.layer)
    return list(groups.values())


def summarize_model(model: ReportedModel) -> str:
    """Summarize a model in a line: "7 normalizations: 6 Batch, 1 Group. 3 problems found."."""
    names = [name_scheme(layer) for layer in model.layers]
    counts = sorted(((names.count(name), name) for name in set(names)), key=lambda pair: (-pair[0], pair[1]))
    kinds = ", ".join(f"{number} {name}" for number, name in counts)
    layers = pluralize(len(names), "normalization") + (f": {kinds}" if counts else "")
    problems = len(list_problems(model))
    return f"{layers}. {pluralize(problems, 'problem') if problems else 'No problem'} found."


def list_problems(model: ReportedModel) -> list[ReportedFinding]:
    """Return the findings that are problems, and not mere advice."""
    return [finding for finding in model.findings if finding.key not in MERE_ADVICE]


def describe_output(model: ReportedModel) -> str:
    """Describe what changes the output of a whole model: other examples, and inference; "" if nothing was measured."""
    if model.influence is None or model.gap is None:
        return ""
    outputs = "no output" if abs(model.influence) < NEGLIGIBLE else "each output"
    mode = "does not change" if abs(model.gap) < NEGLIGIBLE else "changes"
    return f"In training, {outputs} depends on the rest of its batch. Calling eval() {mode} outputs."


def explain_axes(model: ReportedModel) -> str:
    """Explain the letters of the axes."""
    letters = set("".join(layer.layout for layer in model.layers))
    heads = any({"H", "T"} <= set(layer.layout) for layer in model.layers)
    words = {"N": "examples", "C": "channels", "T": "tokens", "H": "heads" if heads else "height", "W": "width"}
    return ", ".join(f"{letter}: {word}" for letter, word in words.items() if letter in letters) + "."


def describe_layer(layer: ReportedLayer) -> str:
    """Describe a layer in a line: its axes, ε, γ and β."""
    eps = "" if layer.eps is None else f", ε = {typeset(layer.eps, 3)}"
    values = ((name, ends) for name, ends in (("γ", layer.gain), ("β", layer.bias)) if ends is not None)
    learned = "".join(f", {name} {_describe_range(*ends)}" for name, ends in values)
    axes = describe_averaged_axes(layer)
    over = "No axis is averaged" if axes == "–" else f"Averages over {axes}"
    sources = f" Statistics from {describe_sources(layer)}." if layer.training else ""
    return f"{over} of ({', '.join(layer.layout)}) = {format_shape(layer.shape)}{eps}{learned}.{sources}"


def _describe_range(low: float, high: float) -> str:
    """Describe a range; ends that differ by rounding alone are one number."""
    low, high = (0.0 if abs(end) < 1e-6 else float(f"{end:.6g}") for end in (low, high))
    return f"= {typeset(low, 3)}" if high - low < 1e-5 else f"from {typeset(low, 3)} to {typeset(high, 3)}"


def list_cancelled(table1: Mapping[str, bool], cancelled: bool) -> str:
    """List the changes of Table 1 that a layer cancels, or does not cancel: "weight matrix re-scaling"."""
    names = [TRANSFORMATIONS[key].name for key, value in table1.items() if value is cancelled]
    return ", ".join(names) or "any change of Table 1"
