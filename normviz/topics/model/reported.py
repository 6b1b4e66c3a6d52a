"""The report on a model as a file holds it, checked: layers, findings, and recorded activations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_DRAWN_ELEMENTS, OWN, Rule
from normviz.core.layouts import ArrayLayout, parse_layout
from normviz.core.registry import SCHEMES
from normviz.data.bounds import MAX_LAYERS
from normviz.data.recordings import ModelFile, RecordedLayer
from normviz.describe.markdown import replace_invisible_characters
from normviz.describe.problems import PROBLEMS, Problem
from normviz.describe.remarks import REMARK_KEYS, list_remarks

MAX_TEXT = 400
"""Most characters of a text in a report."""

MAX_NUMBER = 1e300
"""Largest number in a report."""

THREAD = re.compile(r"https://github\.com/[\w.-]{1,60}/[\w.-]{1,60}/(issues|pull)/\d{1,7}")
"""The addresses of threads that become links."""

ArrayFields = tuple[tuple[Rule, ...] | None, tuple[Rule, ...] | None]
"""The rules of the mean and of the divisor for each axis of an array; None where there is none."""


@dataclass(frozen=True)
class ReportedLayer:
    """Normalization of a model, as a report describes it.

    Attributes:
        keys: the keys of the schemes that compute the same, the most usual first; empty if there is none.
        form, target: as in `normviz.inspect`'s report.
        layout, shape: the letters of its input's axes, and their lengths.
        fields: which axes are averaged, for the mean and for the divisor.
        gain, bias: the smallest and the largest γ and β.
        training: where its statistics come from in training: "batch", "example", "constant" or "".
        influence, gap: the changes by other examples, and from training to inference, in units of the output's
            standard deviation; None if not measured.
        alpha: α of a function of each element.
        remarks: what the numbers of the batch show.
        recorded, recorded_fields: the activations that enter it, subsampled, and the fields on these.
    """

    name: str
    keys: tuple[str, ...]
    form: str
    target: str
    layout: str
    shape: tuple[int, ...]
    fields: ArrayFields
    eps: float | None
    gain: tuple[float, float] | None
    bias: tuple[float, float] | None
    training: str
    influence: float | None
    gap: float | None
    alpha: float | None
    remarks: tuple[str, ...]
    recorded: RecordedLayer | None = None
    recorded_fields: ArrayFields = (None, None)

    @property
    def array_layout(self) -> ArrayLayout:
        """The layout of its input."""
        return _parse_layout(self.layout, self.target)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of the divisor for each axis, or else of the mean; without either, one that averages nothing."""
        return self.fields[1] or self.fields[0] or (OWN,) * len(self.layout)


@dataclass(frozen=True)
class ReportedFinding:
    """Finding of a report: the layer's name ("" for the whole model), what was found, and the kind of problem."""

    layer: str
    finding: str
    problem: Problem


@dataclass(frozen=True)
class ReportedModel:
    """Report on a model: its layers in their order, its findings, and notes on what was not measured.

    Attributes:
        gap: the change of the model's output by its normalizations from training to inference, in units of its standard
            deviation; None if not measured.
    """

    layers: tuple[ReportedLayer, ...]
    findings: tuple[ReportedFinding, ...]
    notes: tuple[str, ...]
    gap: float | None = None

    def list_rows(self) -> list[ReportedLayer | None]:
        """Return the rows of the table: None for the whole model, if there are findings on it, then each layer."""
        return [*([None] if self.find_problems("") else []), *self.layers]

    def find_problems(self, name: str) -> list[ReportedFinding]:
        """Return the findings on a layer, or on the whole model for ""."""
        return [each for each in self.findings if each.layer == name]

    def choose_row(self, name: str) -> ReportedLayer | None:
        """Return the row of the layer `name`; if there is none, the first row with a finding, or else the first row."""
        rows = self.list_rows()
        named = [row for row in rows if row is not None and row.name == name]
        with_finding = [row for row in rows if self.find_problems(row.name if row else "")]
        return [*named, *with_finding, *rows][0]


def parse_model_file(file: ModelFile) -> ReportedModel:
    """Check a file's report and recorded activations; return them.

    Raises InvalidInput, with the place, for another value than `normviz.inspect` writes.
    """
    report = _ReportObject(file.report, "the report")
    recorded = _ReportObject(report.values.get("recorded", {}), "recorded")
    layers = [
        _parse_layer(_ReportObject(each, f"layer {k}"), file.layers, recorded)
        for k, each in enumerate(report.take_list("layers", MAX_LAYERS), 1)
    ]
    names = [layer.name for layer in layers]
    if len(set(names)) < len(names):
        raise InvalidInput("the report has two layers of one name.")
    if unknown := file.layers.keys() - set(names):
        raise InvalidInput(f"the file holds activations of {min(unknown)[:60]!r}, a layer that the report lacks.")
    findings = [
        _parse_finding(_ReportObject(each, f"finding {k}"), names)
        for k, each in enumerate(report.take_list("findings", 2 * MAX_LAYERS), 1)
    ]
    notes = [_clean_text(each) for each in report.take_list("notes", MAX_LAYERS) if isinstance(each, str)]
    whole = _ReportObject(report.values.get("model", {}), "'model' of the report")
    gap = whole.take_number("train_eval_gap_norm")
    return ReportedModel(tuple(layers), tuple(findings), tuple(notes), gap)


class _ReportObject:
    """JSON object of a report, whose `take_…` methods return checked values or raise InvalidInput."""

    def __init__(self, values: Any, place: str) -> None:
        if not isinstance(values, dict):
            raise InvalidInput(f"{place} is {_quote_value(values)}; an object as report.to_json() has it is needed.")
        self.values, self.place = values, place

    def refuse(self, key: str, needed: str) -> InvalidInput:
        return InvalidInput(f"{key!r} of {self.place} is {_quote_value(self.values.get(key))}; {needed} is needed.")

    def take_list(self, key: str, most: int) -> list[Any]:
        found = self.values.get(key)
        if not isinstance(found, list) or len(found) > most:
            raise self.refuse(key, f"a list of at most {most}")
        return found

    def take_text(self, key: str, is_optional: bool = False) -> str:
        found = self.values.get(key)
        if found is None and is_optional:
            return ""
        if not isinstance(found, str) or len(found) > MAX_TEXT:
            raise self.refuse(key, f"a text of at most {MAX_TEXT} characters")
        return _clean_text(found)

    def take_choice(self, key: str, options: Sequence[str]) -> str:
        found = self.take_text(key, is_optional=True)
        if found and found not in options:
            raise self.refuse(key, f"one of {', '.join(options[:4])}" if len(options) <= 4 else "a name that is known")
        return found

    def take_number(self, key: str) -> float | None:
        found = self.values.get(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= MAX_NUMBER:
            raise self.refuse(key, "a number or null")
        return float(found)

    def take_parts(self, key: str) -> "_ReportObject | None":
        found = self.values.get(key)
        return None if found is None else _ReportObject(found, f"{key!r} of {self.place}")


def _parse_layer(part: _ReportObject, recorded: Mapping[str, RecordedLayer], fields: _ReportObject) -> ReportedLayer:
    name, layout = part.take_text("layer"), part.take_text("layout")
    part.place = f"layer {name[:60]!r}"
    shape = part.take_list("shape", 8)
    if not re.fullmatch("[A-Z]{1,8}", layout) or len(shape) != len(layout):
        raise part.refuse("layout", "one letter for each axis of the shape")
    if not all(type(n) is int and 1 <= n < 2**40 for n in shape):
        raise part.refuse("shape", "a list of lengths")
    also = part.take_list("also", len(SCHEMES))
    keys = [part.take_choice("scheme", list(SCHEMES)), *(each for each in also if isinstance(each, str))]
    x = recorded.get(name)
    if x is not None and x.x.ndim != len(layout):
        raise InvalidInput(
            f"the activations of {name[:60]!r} have {x.x.ndim} axes, its layout {layout} has {len(layout)}."
        )
    if x is not None and x.x.size > MAX_DRAWN_ELEMENTS:
        raise InvalidInput(f"{name[:60]!r} has {x.x.size:,} activations; up to {MAX_DRAWN_ELEMENTS:,} are shown.")
    numbers = part.take_parts("statistics")
    target = part.take_choice("target", ("activation", "weight"))
    layer = ReportedLayer(
        name,
        tuple(key for key in keys if key in SCHEMES),
        part.take_text("form"),
        target,
        layout,
        tuple(shape),
        _parse_fields(part.take_parts("fields"), layout),
        part.take_number("eps"),
        _parse_range(part.take_parts("gain")),
        _parse_range(part.take_parts("bias")),
        part.take_choice("training", ("batch", "example", "constant")),
        part.take_number("influence"),
        part.take_number("train_eval_gap"),
        part.take_number("alpha"),
        tuple(list_remarks({key: numbers.take_number(key) or 0.0 for key in REMARK_KEYS}, target) if numbers else ()),
        x,
        _parse_fields(fields.take_parts(name), layout) if x is not None else (None, None),
    )
    _parse_layout(layer.layout, layer.target)
    return layer


def _parse_layout(letters: str, target: str) -> ArrayLayout:
    return parse_layout(" ".join(letters), target or "activation")


def _parse_fields(part: _ReportObject | None, layout: str) -> ArrayFields:
    """Return the averaging rules of the mean and of the divisor: each a tuple of one rule per axis, or None."""
    if part is None:
        return None, None
    mean, divisor = (
        None if field is None else tuple(Rule.parse(field.take_text(letter)) for letter in layout)
        for field in (part.take_parts("summation"), part.take_parts("suppression"))
    )
    return mean, divisor


def _parse_range(part: _ReportObject | None) -> tuple[float, float] | None:
    if part is None:
        return None
    low, high = part.take_number("min"), part.take_number("max")
    return None if low is None or high is None else (low, high)


def _parse_finding(part: _ReportObject, names: Sequence[str]) -> ReportedFinding:
    key, advice, thread = part.take_text("key"), part.take_text("advice"), part.take_text("thread", is_optional=True)
    unknown = Problem("see at the right", "", advice, "", thread if THREAD.fullmatch(thread) else "")
    layer, finding = part.take_text("layer", is_optional=True), part.take_text("finding")
    return ReportedFinding(layer if layer in names else "", finding, PROBLEMS.get(key, unknown))


def _clean_text(text: str) -> str:
    """Return a text in one line without characters that cannot be seen."""
    return replace_invisible_characters(" ".join(text[:MAX_TEXT].split()))


def _quote_value(value: Any) -> str:
    """Return a value as an error message quotes it: its beginning, or a description such as "a list of 3"."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        return "a huge number"
    return "missing" if value is None else _clean_text(repr(value[:60]) if isinstance(value, str) else str(value))
