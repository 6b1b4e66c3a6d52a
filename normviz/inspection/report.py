"""The report on a model: a table, HTML and JSON."""

from dataclasses import dataclass
from html import escape
from typing import Any

from normviz.core.text import typeset
from normviz.describe.remarks import list_remarks
from normviz.inspection.findings import ModelFinding
from normviz.inspection.layers import LayerReport

COLUMNS = ("layer", "scheme", "axes", "averaged", "ε", "training / inference", "influence", "gap")
"""The heads of the table's columns."""


@dataclass
class ModelReport:
    """Report on the normalizations of a model: print it, show it in a notebook, or take its JSON.

    Attributes:
        layers: the report on each normalization, in the order of the forward pass.
        model: numbers on the whole model: the influence of other examples and the gap between training and inference,
            in units of the output's standard deviation.
        findings: mistakes that the layers show, with advice.
        notes: what could not be measured, and why.
    """

    layers: list[LayerReport]
    model: dict[str, float | None]
    findings: list[ModelFinding]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON types, for `json.dumps`."""
        return {
            "layers": [layer.to_record() for layer in self.layers],
            "model": dict(self.model),
            "findings": [finding.to_record() for finding in self.findings],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        rows = [COLUMNS, *map(_format_row, self.layers)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines = lines if self.layers else ["No normalization found."]
        lines += ["", *_format_model(self.model)]
        lines += self._list_remarks()
        for finding in self.findings:
            lines += ["", f"{finding.layer or 'model'}: {finding.finding}"]
            lines += [f"  {finding.problem.advice}", f"  {finding.problem.thread}"]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks."""
        rows = ["".join(f"<td>{escape(cell)}</td>" for cell in _format_row(layer)) for layer in self.layers]
        head = "".join(f"<th>{escape(each)}</th>" for each in COLUMNS)
        table = f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
        items = [
            f"<li><b>{escape(each.layer or 'model')}</b>: {escape(each.finding)} {escape(each.problem.advice)} "
            f'<a href="{escape(each.problem.thread)}">thread</a></li>'
            for each in self.findings
        ]
        texts = [*_format_model(self.model), *self._list_remarks(), *self.notes]
        lines = "".join(f"<p>{escape(line)}</p>" for line in texts)
        return f"{table if rows else '<p>No normalization found.</p>'}{lines}<ul>{''.join(items)}</ul>"

    def _list_remarks(self) -> list[str]:
        return [f"{each.name}: {text}" for each in self.layers for text in list_remarks(each.statistics, each.target)]


def _format_row(layer: LayerReport) -> tuple[str, ...]:
    probe = layer.probe
    name = layer.scheme or ("none of the known" if probe.form == "general" else probe.form)
    modes = layer.training or "–"
    if layer.inference and layer.inference != layer.training:
        modes += f" / {layer.inference}"
    eps = "–" if probe.eps is None else typeset(probe.eps, 3)
    return (
        layer.name, name, layer.layout, _format_averaged(layer), eps, modes,
        _format_share(layer.influence), _format_share(layer.train_eval_gap),
    )  # fmt: skip


def _format_averaged(layer: LayerReport) -> str:
    """Return the averaged axes of a layer with the rules that are not `full`: "H, W, C groups(4)"."""
    rules = layer.probe.divisor or layer.probe.mean
    parts = [
        letter if rule.kind == "full" else f"{letter} {rule}"
        for letter, rule, n in zip(layer.layout, rules or (), layer.shape, strict=False)
        if rule.kind != "own" and n > 1
    ]
    return ", ".join(parts) or "–"


def _format_share(value: float | None) -> str:
    return "–" if value is None else "0" if value < 1e-9 else typeset(value, 2)


def _format_model(model: dict[str, float | None]) -> list[str]:
    """Return the numbers on the whole model as lines of text."""
    words = {
        "influence_training": "Influence of other examples on an output, in training",
        "influence_inference": "Influence of other examples on an output, in inference",
        "train_eval_gap": "Gap between training and inference",
        "train_eval_gap_norm": "Gap by batch statistics alone",
    }
    return [f"{words[key]}: {_format_share(model.get(key))}" for key in words if model.get(key) is not None]
