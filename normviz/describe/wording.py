"""Sentences about fields and statistics, derived from a scheme's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from normviz.core.fields import AXIS_NAMES, AxisNames, Field, Index, Rule, Shape
from normviz.core.registry import SCHEMES, Reference, Scheme
from normviz.core.text import capitalize_first as capitalize_first
from normviz.core.text import typeset

PARAMETER_SYMBOLS = {"groups": "G", "window": "R", "alpha": "α"}
"""The symbols of parameters, of rules and of functions."""

SPATIAL_AXES = ("H", "W", "kh", "kw")
"""The axes that a dense layer lacks: texts omit them if their length is 1."""

POSITION_AXIS = AxisNames("h", "position", "positions", "positions")
"""The names of H in a sequence, which has no W."""


def name_axes(axes: Sequence[str], shape: Shape) -> list[AxisNames]:
    """Return the names of each axis; height is named "positions" where the shape has width 1."""
    lengths = dict(zip(axes, shape, strict=True))
    return [
        POSITION_AXIS if name == "H" and n > 1 == lengths.get("W") else AXIS_NAMES[name] for name, n in lengths.items()
    ]


BOX_TEMPLATES = {"all": "all {}", "of": "{} of {}", "one": "{} element: {}", "several": "{} elements: {}"}
"""Templates of the words for a field's box."""


class RangeWords(NamedTuple):
    """Words for one or several indices along an axis, from `lo` to `last`, and for the whole axis.

    `whole` is None for an index that stands alone, where that is not written.
    """

    whole: str | None
    one: str
    several: str


def format_ranges(field: Field, axes: Sequence[str], shape: Shape) -> list[RangeWords | None]:
    """Return word templates for the indices along each axis that share a statistic, "rows {lo} to {last}".

    None for an axis without words: rows and columns if there is only one.
    """
    return [
        None
        if n == 1 and name in SPATIAL_AXES
        else RangeWords(
            None if rule.kind == "own" else axis.letter, f"{axis.one} {{lo}}", f"{axis.many} {{lo}} to {{last}}"
        )
        for name, axis, rule, n in zip(axes, name_axes(axes, shape), field.rules, shape, strict=True)
    ]


def describe_field_box(
    field: Field, index: Index, shape: Shape, axes: Sequence[str], templates: Mapping[str, str] = BOX_TEMPLATES
) -> str:
    """Describe the elements that share a statistic with the one at `index`: "96 elements: all h, w, c of example 2"."""
    whole, rest = [], []
    for said, (lo, hi), n in zip(format_ranges(field, axes, shape), field.find_box(index, shape), shape, strict=True):
        if said is None:
            continue
        if hi - lo == n and said.whole:
            whole.append(said.whole)
        else:
            rest.append((said.one if hi - lo == 1 else said.several).format(lo=lo, last=hi - 1))
    parts = [*([templates["all"].format(", ".join(whole))] if whole else []), *([", ".join(rest)] if rest else [])]
    count = field.count_elements(index, shape)
    where = templates["of"].format(*parts) if len(parts) == 2 else parts[0]
    return templates["one" if count == 1 else "several"].format(f"{count:,}", where)


class FieldStatistics(NamedTuple):
    """A field and the names of its statistics: "mean", "variance", "mean square", "covariance matrix", …."""

    names: tuple[str, ...]
    field: Field


def find_windowed_axes(field: Field, shape: Shape) -> list[int]:
    """Return the axes with windows that are shorter than the axis."""
    return [axis + 4 for axis, _ in field.simplify(shape).windowed_axes]


class FieldWords(NamedTuple):
    """Words for the field of a chosen element, which is all elements that share a statistic with the chosen one.

    Attributes:
        names: of the statistics over it.
        where: the box: "96 elements: all h, w, c of example 2".
        what: its statistics: "they share a mean and a variance".
        sentence: both, about the element.
        shared: templates for both, by "one" and "several": "{} elements share one mean and variance: {}"; for windows,
            which are not shared, `BOX_TEMPLATES`.
    """

    names: tuple[str, ...]
    where: str
    what: str
    sentence: str
    shared: dict[str, str]


@dataclass(frozen=True)
class SchemeOnShape:
    """A scheme on tensors of one shape; its methods describe in words the statistics that it computes there."""

    scheme: Scheme
    shape: Shape

    @cached_property
    def statistics(self) -> list[FieldStatistics]:
        """The fields that the scheme averages over, each with the names of its statistics, the mean's first.

        E_B[v²] is a variance if v is centred over that very box and all of its elements have that box. It is a mean
        square without centring, in windows, and if A and B differ. Whitening has a matrix if a group has several
        channels.
        """
        scheme = self.scheme
        named = {"mean": scheme.summation, scheme.kind.statistic: scheme.suppression}
        parts = [FieldStatistics((name,), field) for name, field in named.items() if field is not None]
        if len({part.field.simplify(self.shape) for part in parts}) == len(parts):
            return parts
        spread = "mean square" if find_windowed_axes(parts[-1].field, self.shape) else "variance"
        return [FieldStatistics(("mean", spread), parts[-1].field)]

    @cached_property
    def axis_names(self) -> list[AxisNames]:
        """The names of the four axes of the tensor that the scheme normalizes, with their lengths."""
        return name_axes(self.scheme.axes, self.shape)

    def is_averaged(self, axes: Sequence[int]) -> bool:
        """Return True if the title of these axes says that one of them is averaged, in whole or in parts."""
        words = (_describe_axis(self.scheme, axis, self.shape[axis]) for axis in self._list_named_axes(axes))
        return any(word not in ("", "kept") for word in words)

    def describe_sharing(self) -> str:
        """Describe the statistics that elements share: "a mean and a variance", "every row has a mean of its own"."""
        parts = self.statistics
        if len(parts) == 2 and not any(find_windowed_axes(part.field, self.shape) for part in parts):
            (mean,), (square,) = (part.names for part in parts)
            return f"a {mean} over one field, a {square} over another"
        return "; ".join(self._describe_windows(part) or _add_articles(part) for part in parts) or "nothing"

    def describe_boxes(self, index: Index) -> list[FieldWords]:
        """Describe, for each field, the elements that share statistics with the one at `index`."""
        return [self._describe_box(part, index) for part in self.statistics]

    def describe_statistic_counts(self) -> str:
        """Describe how many statistics there are, and of how many elements: "4 statistics, each of 96 elements"."""
        nouns = ["statistic"] if len(self.statistics) == 1 else [part.names[0] for part in self.statistics]
        counted = (
            _count_fields(noun, part.field, self.shape) for noun, part in zip(nouns, self.statistics, strict=True)
        )
        return "; ".join(counted) or "no statistics"

    def describe_axes(self, axes: Sequence[int], names: Sequence[str] = ()) -> str:
        """Describe whether axes are averaged or kept: "N averaged", "H and W kept"; `names`: names of all four."""
        names = names or self.scheme.axes
        parts = [(names[axis], _describe_axis(self.scheme, axis, self.shape[axis])) for axis in axes]
        if len({done for _, done in parts}) == 1:
            return f"{' and '.join(name for name, _ in parts)} {parts[0][1]}".strip()
        return ", ".join(f"{name} {done}" for name, done in parts)

    def format_axis_title(self, axes: Sequence[int]) -> str:
        """Format the title of a side of the cube: "C (channels) kept"; "" for several axes that all have length 1."""
        drawn = self._list_named_axes(axes)
        if not drawn:
            return ""
        names = list(self.scheme.axes)
        word = POSITION_AXIS.many if len(drawn) > 1 else self.axis_names[drawn[0]].length
        names[drawn[-1]] += f" ({word})"
        return self.describe_axes(drawn, names)

    def _list_named_axes(self, axes: Sequence[int]) -> list[int]:
        return [axis for axis in axes if self.shape[axis] > 1 or len(axes) == 1]

    def describe_cube(self, focus: Index, view: str, colour: str) -> str:
        """Write the alternative text of the cube: its view, its colours and the chosen element, in a sentence."""
        named = ", ".join(f"{name} = {n}" for name, n in zip(self.scheme.axes, self.shape, strict=True))
        text = f"A tensor with {named}, drawn as cells in 3-D, {view}, coloured by {colour}. "
        return f"{text}{capitalize_first(self.scheme.name)}: {self.describe_lit_elements(focus)}."

    def describe_lit_elements(self, focus: Index) -> str:
        """Describe which elements of the cube are lit for the chosen one: how many, and where."""
        parts = self.describe_boxes(focus)
        if not parts:
            return "no elements share a statistic"
        *dashed, lit = parts
        of = f" of its {' and '.join(lit.names)}" if dashed else ""
        text = f"lit is the field{of or ' of the chosen element'}, {lit.where}"
        return text + "".join(f"; dashed that of its {box.names[0]}, {box.where}" for box in dashed)

    def _describe_box(self, part: FieldStatistics, index: Index) -> FieldWords:
        where = describe_field_box(part.field, index, self.shape, self.scheme.axes)
        given, own = _add_articles(part), self._describe_windows(part)
        if own:
            return FieldWords(
                part.names, where, f"its window: {own}", f"It takes {given} of its own over {where}.", BOX_TEMPLATES
            )
        one = given if "largest" in given else f"one {' and '.join(part.names)}"
        shared = BOX_TEMPLATES | {
            "one": f"{{}} element has {given} of its own: {{}}",
            "several": f"{{}} elements share {one}: {{}}",
        }
        if part.field.count_elements(index, self.shape) == 1:
            return FieldWords(part.names, where, f"it has {given}", f"It has {given} of its own: {where}.", shared)
        return FieldWords(part.names, where, f"they share {given}", f"It shares {given} among {where}.", shared)

    def _describe_windows(self, statistics: FieldStatistics) -> str:
        """Describe statistics over a window at every index: "every row has a mean of its own"; "" without windows."""
        moving = find_windowed_axes(statistics.field, self.shape)
        if not moving:
            return ""
        alone = statistics.field.simplify(self.shape).with_own_windows.compute_sizes(self.shape).max() == 1
        one = "element" if alone else " and ".join(self.axis_names[axis].one for axis in moving)
        return f"every {one} has {_add_articles(statistics)} of its own"


def _add_articles(part: FieldStatistics) -> str:
    return " and ".join(f"{'the' if 'largest' in name else 'a'} {name}" for name in part.names)


def _count_fields(noun: str, field: Field, shape: Shape) -> str:
    sizes = field.compute_sizes(shape)
    least, most = int(sizes.min()), int(sizes.max())
    count = prod(field.compute_statistics_shape(shape))
    of = pluralize(most, "element") if least == most else f"{least} to {most} elements"
    return f"{pluralize(count, noun)}, {'each ' if count > 1 else ''}of {of}"


def format_parameters(scheme: Scheme) -> list[str]:
    """Format the parameters of a scheme: ["G = 3"], ["α = 0.5"]."""
    return [f"{PARAMETER_SYMBOLS[kind]} = {typeset(value)}" for kind, value in scheme.parameters.items()]


def format_function_text(scheme: Scheme) -> str:
    """Format the function of a pointwise scheme as text: "tanh(αx)", "erf(αx + s)"."""
    return f"{scheme.kind.function}({'αx' if scheme.shift is None else 'αx + s'})"


def format_scheme_name(scheme: Scheme) -> str:
    """Format a scheme's name with its parameters and weight scheme: "group normalization with G = 3"."""
    name, behind, front = scheme.name.partition(" behind ")
    return " with ".join([name, *filter(None, [" and ".join(format_parameters(scheme))])]) + behind + front


def explain_weight_scheme(schemes: Sequence[Scheme]) -> str:
    """Explain that a weight scheme does not act on activations; empty if none of `schemes` has one.

    With several schemes, the text names the concerned ones by their labels.
    """
    behind = [scheme for scheme in schemes if scheme.weight is not None]
    fronts = " or ".join(dict.fromkeys(SCHEMES[scheme.weight].name for scheme in behind if scheme.weight))
    whose = f"{', '.join(scheme.label for scheme in behind)}: " if len(schemes) > 1 else ""
    given = f"{whose}x stands for what a layer with {fronts} gives, and what is in front changes no number here."
    return given if behind else ""


def format_references(scheme: Scheme) -> str:
    """Format a scheme's papers as Markdown with links."""
    return "; also ".join(map(format_reference_link, scheme.references))


def format_reference_link(reference: Reference) -> str:
    """Format a paper as Markdown, with a link if it is on arXiv."""
    return f"[{reference.text}]({reference.url})" if reference.url else reference.text


def format_scheme_label(scheme: Scheme) -> str:
    """Format the scheme's label with its parameters: "Group, G = 3"."""
    return ", ".join([scheme.label, *format_parameters(scheme)])


def format_shape(shape: Sequence[int]) -> str:
    """Format a shape as 4 × 4 × 4 × 6, with spaces that break no line."""
    return "\u00a0×\u00a0".join(map(str, shape))


def describe_reduction(field: Field, axes: Sequence[str], shape: Shape) -> str:
    """Describe which axes are averaged and kept, leaving out those of length 1: "N, H, W averaged, C kept"."""
    done: dict[str, list[str]] = {}
    for name, rule, n in zip(axes, field.rules, shape, strict=True):
        if n > 1:
            done.setdefault(describe_rule(rule, n), []).append(name)
    return ", ".join(f"{', '.join(names)} {words}" for words, names in done.items()) or "one element alone"


def pluralize(number: int, noun: str) -> str:
    """Format a count with its noun: "1 element", "96 elements", "4,096 elements"."""
    plural = f"{noun.removesuffix('ix')}ices" if noun.endswith("matrix") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def format_gap(gap: float) -> str:
    """Format a relative difference in a few characters: 0, 2·10⁻¹⁶, 0.39, 12, ∞; empty for NaN."""
    if gap != gap:
        return ""
    if 1e-2 <= gap < 1e4:
        return f"{gap:.2g}" if gap < 99.5 else f"{gap:.0f}"
    return typeset(gap, 1)


def format_decimals(value: float, digits: int = 3) -> str:
    """Format a number with `digits` decimals, −0.250; as a power of ten if all would be 0: 2·10⁻¹⁶."""
    if value == 0:
        return "0"
    if abs(value) >= 10.0**-digits / 2:
        return f"{value:,.{digits}f}".replace("-", "−")
    return typeset(value, 1)


def format_duration(seconds: float) -> str:
    """Format seconds as a duration of one or two digits: 20 seconds, 3 minutes, 14 hours."""
    unit, name = next(
        (each for each in ((86400, "day"), (3600, "hour"), (60, "minute")) if seconds >= 1.5 * each[0]), (1, "second")
    )
    count = max(round(seconds / unit), 1)
    if name == "second" and count > 10:
        count = round(count, -1)
    return pluralize(count, name)


def _describe_axis(scheme: Scheme, axis: int, n: int) -> str:
    """Describe how a scheme averages along an axis of length n, separately for mean and divisor if they differ."""
    rules = [field.rules[axis] for field in scheme.fields]
    if len({rule.simplify(n) for rule in rules}) == 2:
        return ", ".join(f"{describe_rule(rule, n)} in {name}" for name, rule in zip("AB", rules, strict=True))
    return describe_rule(rules[-1], n) if rules else ""


def describe_rule(rule: Rule, n: int) -> str:
    """Describe an averaging rule on an axis of length n: "kept", "averaged", "in 2 groups", "within ±1".

    One group is all of the axis, and groups of one element are each kept.
    """
    rule = rule.simplify(n) if rule.kind == "groups" else rule
    return {
        "own": "kept",
        "full": "averaged",
        "groups": f"in {rule.parameter} groups",
        "window": f"within ±{rule.parameter}",
    }[rule.kind if n > 1 or rule.kind != "window" else "own"]
