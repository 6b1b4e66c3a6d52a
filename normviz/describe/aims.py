"""The aim of a scheme, the statistics of every field after it as measured, and its scope, in words."""

from collections.abc import Sequence

import numpy as np

from normviz.core.fields import AXIS_NAMES, FULL, OWN, AxisNames, Field, Rule, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import ignore_float_warnings
from normviz.core.reductions import reduce_boxes
from normviz.core.registry import NAMED_SCHEMES, SCHEMES, Scheme
from normviz.core.text import join_words, typeset
from normviz.describe.kinds import AIM_TOLERANCE, KIND_FORMULAS, are_all_near
from normviz.describe.wording import find_windowed_axes, name_axes

_SINGLE_GROUP = Rule("groups", 1)


@ignore_float_warnings
def describe_guarantee(scheme: Scheme, x: np.ndarray, result: NormalizationResult, threshold: float = 0.0) -> str:
    """Describe x̂ of x as measured in `result`, the normalized x: "Afterwards every channel has mean 0 and variance 1."

    `threshold`: τ of a scheme with y = max(y, τ). Empty for windows, which share nothing, and for numbers not finite.
    """
    if not scheme.has_effect:
        return ""
    if any(find_windowed_axes(field, x.shape) for field in scheme.fields):
        return ""
    reached = _describe_normalized_property(scheme, x.shape, result)
    return f"{_format_guarantee_opening(scheme, result, threshold)} {reached}." if reached else ""


def name_field(field: Field, axes: tuple[str, ...], shape: Shape) -> str:
    """Return the name of the elements that share a statistic: "channel", "group of channels"; empty if all share it.

    >>> name_field(Field.parse("own, full, full, groups(2)"), ("N", "H", "W", "C"), (4, 4, 4, 6))
    'group of channels of every example'
    """
    return _format_field_noun(field.simplify(shape), axes, name_axes(axes, shape))


def describe_scope(scheme: Scheme) -> str:
    """Describe what a scheme normalizes and over what it averages, in words that hold for every shape.

    >>> from normviz.core.registry import SCHEMES
    >>> describe_scope(SCHEMES["group"])
    'every group of channels of every example alone, over all positions'
    >>> describe_scope(SCHEMES["rms"])
    'every position of every example alone, over all channels; no mean is subtracted'
    """
    fields, note = scheme.kind.list_dependence_fields(scheme), KIND_FORMULAS[scheme.kind.key].note
    scopes = list(dict.fromkeys(_describe_scope(field, scheme.axes) for field in fields))
    if len(scopes) != 1:
        alone = "every element alone" if scheme.has_effect else "nothing"
        return f"mean: {scopes[0]}; divisor: {scopes[1]}" if scopes else alone
    notes = {
        "no mean is subtracted": scheme.summation is None,
        "only the mean is subtracted": scheme.suppression is None,
        note: bool(note),
    }
    return "; ".join([*scopes, *(note for note, holds in notes.items() if holds)])


def _describe_scope(field: Field, axes: tuple[str, ...]) -> str:
    """Describe the elements that share a statistic: "every channel alone, over all examples"."""
    called = [AXIS_NAMES[name] for name in axes]
    field = Field(tuple(FULL if rule == _SINGLE_GROUP else rule for rule in field.rules))
    if all(rule == OWN for rule in field.rules):
        return "every element alone"
    noun = _format_field_noun(field, axes, called)
    parts = {"full": "all {}", "window": "the {} near each element"}
    names = {kind: _name_axes_by_rule(field, kind, axes, [each.many for each in called]) for kind in parts}
    over = " and ".join(parts[kind].format(join_words(each.values(), "and")) for kind, each in names.items() if each)
    return f"{f'every {noun} alone' if noun else 'the whole tensor'}{over and f', over {over}'}"


def _format_field_noun(field: Field, axes: tuple[str, ...], axis_names: Sequence[AxisNames]) -> str:
    own = _name_axes_by_rule(field, "own", axes, [each.one for each in axis_names])
    groups = _name_axes_by_rule(field, "groups", axes, [each.many for each in axis_names])
    named = own | {axis: f"group of {name}" for axis, name in groups.items()}
    return " of every ".join(named[axis] for axis in sorted(named, reverse=True))


def _name_axes_by_rule(field: Field, kind: str, axes: tuple[str, ...], axis_names: Sequence[str]) -> dict[int, str]:
    """Map the axes with rules of one kind to their names; height and width together are "positions"."""
    names = {axis: axis_names[axis] for axis, rule in enumerate(field.rules) if rule.kind == kind}
    rows, columns = (1, 2) if "H" in axes else (0, 1)
    if rows in names and columns in names:
        names[rows] = names[rows].replace("row", "position")
        del names[columns]
    return names


def summarize_scheme(scheme: Scheme) -> str:
    """Summarize in a few characters what tells a scheme from similar ones: "N·H·W", "C, no mean, one γ", "− μ, ÷ σ".

    The summary has the averaged axes and the omitted steps, the divisor of weights, or the function. It is empty for a
    custom scheme and for one that computes nothing.
    """
    formulas = KIND_FORMULAS[scheme.kind.key]
    if scheme.key not in NAMED_SCHEMES or not scheme.fields:
        return formulas.format_function(scheme)
    symbol = formulas.symbol
    if scheme.activation_part is None:
        divisor = symbol or ("‖w‖" if scheme.per_fan_in else "σ")
        return f"− μ, ÷ {divisor}" if scheme.summation else f"÷ {divisor}"
    words = {"full": "{}", "groups": "{} in groups", "window": "{} windows"}
    rules = list(zip(scheme.axes, scheme.fields[-1].rules, strict=True))
    over = {kind: "·".join(axis for axis, rule in rules if rule.kind == kind) for kind in words}
    told = [text.format(over[kind]) for kind, text in words.items() if over[kind]]
    told = [told[0], f"÷ {symbol}"] if symbol else told
    if scheme.suppression is None:
        return ", ".join([*told, "mean only"])
    alike = (row for row in SCHEMES.values() if row.key != scheme.key and row.acts_on == scheme.acts_on)
    others = any((row.summation, row.suppression) == (scheme.summation, scheme.suppression) for row in alike)
    learned = "" if scheme.gain or not others else "no γ" if scheme.gain is None else "one γ"
    return ", ".join(filter(None, [*told, "" if scheme.summation else "no mean", learned]))


def _format_guarantee_opening(scheme: Scheme, result: NormalizationResult, threshold: float) -> str:
    """Return the first words of the sentence on x̂: "Afterwards", or "Before γ and β," if γ and β change x̂."""
    values = result.xhat if scheme.has_xhat else result.v
    unchanged = np.array_equal(result.y, values, equal_nan=True)
    cut = scheme.threshold is not None and bool((result.y < threshold).any())
    if unchanged and not cut:
        return "Afterwards"
    learned = [scheme.gain_symbol] * (scheme.gain is not None) + ["β"] * (scheme.bias is not None)
    return f"Before {join_words([*learned, *(['τ'] if cut else [])], 'and')},"


def _describe_normalized_property(scheme: Scheme, shape: Shape, result: NormalizationResult) -> str:
    """Describe the property of x̂ in every set of elements that share statistics: "every channel has mean 0"."""
    own = KIND_FORMULAS[scheme.kind.key].describe_guarantee(scheme, result)
    if own is not None:
        return own
    values = result.xhat if scheme.has_xhat else result.v
    mean, square = scheme.summation, scheme.suppression
    size = 1.0 if square is not None else float(np.abs(values).max()) or 1.0
    centred = mean is not None and are_all_near(reduce_boxes(values, mean, np.mean) / size, 0)
    if square is None:
        return f"{_format_every_field(scheme, mean, shape)} has mean 0" if mean is not None and centred else ""
    squares = reduce_boxes(values**2, square, np.mean)
    if not np.isfinite(squares).all():
        return ""
    if scheme.per_fan_in:
        lengths = np.sqrt(reduce_boxes(values**2, square, np.sum))
        noun = name_field(square, scheme.axes, shape)
        return f"the weights of every {noun} have length 1" if are_all_near(lengths, 1) else ""
    joint = mean is not None and mean.simplify(shape) == square.simplify(shape)
    name = "variance" if joint and centred else "mean square"
    measure = f"{name} {_format_mean_square_range(squares, result, scheme)}"
    if centred and joint:
        return f"{_format_every_field(scheme, square, shape)} has mean 0 and {measure}"
    clauses = [f"{_format_every_field(scheme, mean, shape)} has mean 0"] if centred else []
    return ", and ".join([*clauses, f"{_format_every_field(scheme, square, shape)} has {measure}"])


def _format_every_field(scheme: Scheme, field: Field | None, shape: Shape) -> str:
    noun = name_field(field, scheme.axes, shape) if field is not None else ""
    return f"every {noun}" if noun else "the whole tensor"


def _format_mean_square_range(squares: np.ndarray, result: NormalizationResult, scheme: Scheme) -> str:
    """Format the range of mean squares of x̂, or "1", and why they differ from 1: equal elements, or ε."""
    if are_all_near(squares, 1):
        return "1"
    low, high = (typeset(float(each), 3) for each in (squares.min(), squares.max()))
    wide = low if low == high else f"{low} to {high}"
    if squares.max() == 0:
        return "0: all numbers of a field are equal"
    if squares.min() == 0:
        return f"{wide}: 0 where all numbers of a field are equal"
    return f"{wide}, below 1 because of ε" if scheme.eps is not None and squares.max() <= 1 + AIM_TOLERANCE else wide
