"""Words on the layers of a reported model."""

from normviz.core.registry import SCHEMES
from normviz.core.text import capitalize_first, typeset
from normviz.describe.problems import name_axis
from normviz.describe.wording import describe_rule, format_shape, pluralize
from normviz.topics.model.reported import ReportedLayer, ReportedModel

WHOLE_MODEL = "whole model"
"""Name of the row of findings on the whole model."""

NEGLIGIBLE = 1e-6
"""A change of an output by less than this share of its deviation is rounding."""


def name_scheme(layer: ReportedLayer) -> str:
    """Return the name of a layer's scheme: "batch norm"; "not a standard norm" where its axes have no name."""
    if layer.keys:
        name = SCHEMES[layer.keys[0]].name.replace("normalization", "norm")
        return "RMS norm (query-key)" if layer.keys[0] == "query-key" else name
    return {"general": "not a standard norm", "unknown": "unknown formula"}.get(layer.form, layer.form)


def describe_averaged_axes(layer: ReportedLayer) -> str:
    """Describe the axes that a statistic runs over: "batch, height, width"; "channels in 4 groups"; "–" for none."""
    words = [
        name_axis(letter, layer.layout) + ("" if rule.kind == "full" else f" {describe_rule(rule, 2**20)}")
        for letter, rule, n in zip(layer.layout, layer.rules, layer.shape, strict=True)
        if rule.kind != "own" and n > 1
    ]
    return ", ".join(sorted(words, key=lambda each: " " in each)) or "–"


def describe_influences(layer: ReportedLayer) -> str:
    """Describe how much the rest of the batch and eval() change a layer's output; "" if neither was measured."""
    measured = {"replacing the rest of its batch by noise": layer.influence, "calling eval()": layer.gap}
    changes = {cause: abs(change) for cause, change in measured.items() if change is not None}
    if changes and max(changes.values()) < NEGLIGIBLE:
        return f"{capitalize_first(' or '.join(changes))} does not change its output."
    words = " and ".join(f"by {change:.2f} when {cause}" for cause, change in changes.items())
    return words and f"Its output changes {words}, in standard deviations of its outputs."


def tabulate_rows(model: ReportedModel) -> dict[str, list[str]]:
    """Map the column titles of a model's table to their cells, one for each row."""
    rows = model.list_rows()
    return {
        "Layer": [row.name if row else WHOLE_MODEL for row in rows],
        "Problem": [_list_titles(row, model) for row in rows],
        "Normalization": [capitalize_first(name_scheme(row)) if row else "–" for row in rows],
    }


def _list_titles(row: ReportedLayer | None, model: ReportedModel) -> str:
    """Return the titles of a row's problems, or else tips, as text: "⚠ batch too small"; "–" for none.

    A layer without a problem of its own may be part of the model's.
    """
    found = dict.fromkeys(finding.problem for finding in model.find_problems(row.name if row else ""))
    if mistakes := [each.title for each in found if each.is_mistake]:
        return f"⚠ {'; '.join(mistakes)}"
    shares = row is not None and shares_problem(row, model)
    return "; ".join(each.title for each in found) or ("part of the first problem" if shares else "–")


def name_bar(layer: ReportedLayer) -> str:
    """Return the name of a layer's bar in the chart of changes; with its scheme if eval() does not change it."""
    return layer.name if (layer.gap or 0.0) > NEGLIGIBLE else f"{layer.name} ({name_scheme(layer)})"


def shares_problem(layer: ReportedLayer, model: ReportedModel) -> bool:
    """Return True if eval() changes the layer's output and the report names this as a problem of the whole model."""
    return (layer.gap or 0.0) > NEGLIGIBLE and any(each.problem.is_mistake for each in model.find_problems(""))


def summarize_model(model: ReportedModel) -> str:
    """Summarize a model in a sentence: "3 problems found in this model and its 7 normalizations"."""
    problems = sum(finding.problem.is_mistake for finding in model.findings)
    count = pluralize(problems, "problem") if problems else "No problem"
    return f"{count} found in this model and its {pluralize(len(model.layers), 'normalization')}"


def name_statistics(layer: ReportedLayer) -> str:
    """Name the statistics of a field of a layer: "a mean and variance"."""
    has_mean, has_divisor = (field is not None for field in layer.fields)
    return ("a mean and variance" if has_mean else "a root mean square") if has_divisor else "a mean"


def describe_layer(layer: ReportedLayer) -> str:
    """Describe a layer in a line: its axes, ε, γ and β."""
    eps = "" if layer.eps is None else f", ε = {typeset(layer.eps, 3)}"
    values = ((name, ends) for name, ends in (("γ", layer.gain), ("β", layer.bias)) if ends is not None)
    learned = "".join(f", {name} {_describe_range(*ends)}" for name, ends in values)
    axes = describe_averaged_axes(layer)
    over = "No axis is averaged" if axes == "–" else f"Averages over {axes}"
    return f"{over} of ({', '.join(layer.layout)}) = {format_shape(layer.shape)}{eps}{learned}."


def _describe_range(low: float, high: float) -> str:
    """Return a range "low to high" as text; one number if the ends differ by rounding alone."""
    low, high = (0.0 if abs(end) < 1e-6 else float(f"{end:.6g}") for end in (low, high))
    return f"= {typeset(low, 3)}" if high - low < 1e-5 else f"from {typeset(low, 3)} to {typeset(high, 3)}"


def name_thread(address: str) -> str:
    """Return the name of a GitHub thread from its address: "pytorch/vision issue 2079"."""
    owner, project, kind, number = address.split("/")[-4:]
    return f"{owner}/{project} {kind.removesuffix('s')} {number}"


def format_fix(code: str, name: str) -> str:
    """Return code with a layer's path filled in: "model.layer1[0].bn1.eval()"; if no path, "layer.eval()"."""
    parts = name.partition(":")[0].split(".")
    is_path = all(part.isidentifier() or part.isdecimal() for part in parts)
    path = "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in parts)
    return code.replace("LAYER", f"model{path}" if is_path else "layer")
