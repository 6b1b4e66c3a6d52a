"""Data for the panel beside the lab's cube: the chosen element in words, numbers and flat pictures."""

import re
from math import prod
from typing import Any

import numpy as np

from normviz.charts.palette import NOT_FINITE_COLOUR, THEMES
from normviz.core.fields import AXIS_NAMES, FULL, Field
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import LayerScalars, ignore_float_warnings
from normviz.core.registry import Scheme, find_equal_schemes
from normviz.core.text import join_words, typeset
from normviz.describe import live, wording
from normviz.describe.aims import name_field
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.mathml import convert_to_mathml
from normviz.ui.link import View


def build_element_data(
    view: View, scheme_on_shape: wording.SchemeOnShape, x: np.ndarray, result: NormalizationResult, layer: LayerScalars,
    roles: tuple[int, int, int, int], theme: str,
) -> dict[str, Any]:  # fmt: skip
    """Build the JSON data from which the browser describes any element: texts, formulas and numbers.

    `layer`: ε, γ, β and τ; `roles`: the axes drawn in the places of N, H, W and C.
    """
    scheme, shape, colours = scheme_on_shape.scheme, scheme_on_shape.shape, THEMES[theme]
    boxes = scheme_on_shape.describe_boxes(view["focus"])
    fields = [
        {
            "part": None if len(boxes) == 1 else part,
            "bounds": each.field.compute_bounds(shape),
            "ranges": wording.format_ranges(each.field, scheme.axes, shape),
            "words": box.shared,
            "what": "" if box.shared != wording.BOX_TEMPLATES else box.what,
        }
        for part, each, box in zip(("mean", "divides"), scheme_on_shape.statistics, boxes, strict=False)
    ]
    numbers = live.compute_live_numbers(scheme, x, result, layer)
    pictures = _list_pictures(scheme, x, result)
    return {
        "focus": list(view["focus"]),
        "shape": list(shape),
        "roles": list(roles),
        "axes": [(AXIS_NAMES[name].letter, n - 1) for name, n in zip(scheme.axes, shape, strict=True)],
        "fields": fields,
        "says": _describe_sharing(scheme_on_shape),
        "words": {"cut": "Shown: {}."},
        "ranges": wording.format_ranges(Field((FULL,) * 4), scheme.axes, shape),
        "statistics": _convert_formulas(live.build_statistic_formulas(scheme)),
        "lines": _convert_formulas(live.build_step_formulas(scheme, shape)),
        "note": _format_parameter_note(scheme),
        "numbers": {
            name: {"values": shorten_floats(each.values), "shape": list(each.shape)} for name, each in numbers.items()
        },
        "pictures": pictures,
        "caption": _format_colour_caption(pictures),
        "colours": {
            "mean": colours.mean, "divides": colours.divides, "element": colours.element, "ink": colours.ink,
            "low": colours.low, "middle": colours.middle, "high": colours.high, "gaps": NOT_FINITE_COLOUR,
        },
    }  # fmt: skip


def _format_parameter_note(scheme: Scheme) -> str:
    gain, bias, threshold = scheme.gain is not None, scheme.bias is not None, scheme.threshold is not None
    learned = [scheme.gain_symbol] * gain + ["β"] * bias + ["τ"] * threshold
    notes = [f"{join_words(learned, 'and')} {'are' if len(learned) > 1 else 'is'} learned"] if learned else []
    if scheme.eps is not None:
        notes.append("ε > 0 keeps the divisor above 0")
    return f"{'; '.join(notes)}." if notes else ""


def _describe_sharing(scheme_on_shape: wording.SchemeOnShape) -> str:
    scheme, shape = scheme_on_shape.scheme, scheme_on_shape.shape
    if scheme.field is None:
        return f"<b>Nothing is shared:</b> every element {KIND_FORMULAS[scheme.kind.key].describe_element(scheme)}."
    (first, *others) = scheme_on_shape.statistics
    noun = name_field(first.field, scheme.axes, shape)
    if others or not noun or wording.find_windowed_axes(first.field, shape):
        return f"In all: {scheme_on_shape.describe_statistic_counts()}."
    count = prod(first.field.compute_statistics_shape(shape))
    counted = " and ".join(wording.pluralize(count, name) for name in first.names)
    return f"In all: {counted}, one for every {noun}."


def describe_equal_schemes(scheme: Scheme, shape: tuple[int, ...]) -> str:
    """Return a sentence on other schemes that compute the same x̂ on this shape; "" if there are none.

    γ, β and the state for inference may differ.
    """
    same = find_equal_schemes(scheme, shape) if scheme.has_effect or scheme.weight else []
    # Whitening of single channels, or one group of all channels, adds nothing to the scheme itself.
    is_general = scheme.has_effect and scheme.is_general_form
    news = [other for other in same if other.is_general_form or not is_general]
    twins = [wording.format_scheme_name(other) for other in news if other.parameters.get("groups") != 1]
    hat = f"{scheme.symbol}̂"
    # Without a step of its own, the scheme equals the weight scheme in front of it.
    verb = f"On this shape, {hat} is that of" if scheme.has_effect else "This is"
    return f"{verb} {join_words(twins, 'and')}." if twins else ""


def _convert_formulas(formulas: list[live.LiveFormula]) -> list[dict]:
    """Return the name of each formula, and its MathML in symbols and in numbers, each as a list of lines."""
    return [
        {
            "name": each.name,
            "forms": [
                [convert_to_mathml(side) for side in re.split(r" (?==|\\to|\+ \\cdots|\+ \\num\*\{w)", form)]
                for form in each.forms
            ],
        }
        for each in formulas
    ]


def shorten_floats(values: np.ndarray) -> np.ndarray:
    """Return the values flattened, as float32 if they agree to six digits, else in their own dtype."""
    with np.errstate(over="ignore", under="ignore"):
        half = values.astype(np.float32) if values.dtype == np.float64 else values
    return (half if np.allclose(half, values, rtol=1e-6, atol=0, equal_nan=True) else values).ravel()


@ignore_float_warnings
def _list_pictures(scheme: Scheme, x: np.ndarray, result: NormalizationResult) -> list[dict]:
    """Return name, title and the value of the strongest colour for each picture: x, x̂ (or v), y.

    The scale of x̂ does not depend on ε, so that the effect of ε shows.
    """
    symbol = scheme.symbol
    largest = _find_largest_finite(x)
    pictures = [{"name": "x", "title": symbol, "largest": largest}]
    if scheme.has_xhat:
        usual = scheme.kind.usual_max
        after = _find_largest_finite(result.xhat) if usual is None else usual * scheme.compute_scale(x.shape)
        pictures.append({"name": "xhat", "title": f"{symbol}̂", "largest": after})
    elif scheme.summation is not None:
        pictures.append({"name": "v", "title": "v", "largest": largest})
    before = result.xhat if scheme.has_xhat else result.v
    if not np.array_equal(result.y, before, equal_nan=True):
        pictures.append({"name": "y", "title": "y", "largest": pictures[-1]["largest"]})
    return pictures if len(pictures) > 1 else []


def _find_largest_finite(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0)) or 1.0


def _format_colour_caption(pictures: list[dict]) -> str:
    scales: dict[float, list[str]] = {}
    for each in pictures:
        scales.setdefault(each["largest"], []).append(each["title"])
    if len(scales) == 1:
        return f"Blue is below 0, orange above; one scale, to ±{typeset(next(iter(scales)), 3)}."
    said = ", ".join(f"{' and '.join(titles)} to ±{typeset(to, 3)}" for to, titles in scales.items())
    return f"Blue is below 0, orange above: {said}."
