"""The custom scheme on any page: its rules in the link, the resulting scheme, and its controls."""

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field, Rule, find_divisors
from normviz.core.registry import CUSTOM_SCHEME, WEIGHT_SCHEMES, Scheme, make_custom_scheme
from normviz.core.settings import Choice, CustomValue, Switch, find_closest
from normviz.ui.link import Param, View, create_params, make_choice_fitter
from normviz.ui.locks import make_widget_arguments
from normviz.ui.scheme_picker import format_scheme_choice
from normviz.ui.tensor import SIZE_NAMES

MAX_RADIUS = 16

LengthsFunction = Callable[[View], dict[str, int]]
"""Function from a view to the lengths of the axes n, h, w and c."""

DEFAULT_RULES = {
    f"{side}_{size}": (size, str(rule))
    for side, field in zip("ab", CUSTOM_SCHEME.fields, strict=True)
    for size, rule in zip(SIZE_NAMES, field.rules, strict=True)
}
"""Keys of the custom scheme's rules, with axis and default: a_n … a_c for the mean, b_n … b_c for the divisor."""

WEIGHT_SCHEME_LABELS = {"none": "Nothing"} | {key: row.label for key, row in WEIGHT_SCHEMES.items()}
"""Labels of the weight schemes that can precede the custom scheme."""

CUSTOM_KEYS = (*DEFAULT_RULES, "centre", "divide", "apart", "front")


def create_custom_params(get_lengths: LengthsFunction, prefix: str = "") -> tuple[Param, ...]:
    """Return the `Param`s of a custom scheme; `prefix` starts their session keys."""
    rules = {
        key: CustomValue(
            rule, _make_rule_fitter(size, get_lengths), label=_format_axis_label(key[0], size), shown=format_rule
        )
        for key, (size, rule) in DEFAULT_RULES.items()
    }
    switches = {"centre": Switch(True), "divide": Switch(True), "apart": Switch(False)}
    return create_params(switches | rules | {"front": Choice("none", WEIGHT_SCHEME_LABELS, label="In front")}, prefix)


def is_custom_chosen(keys: Iterable[str]) -> bool:
    """Return True if the custom scheme is one of the schemes with these keys, so that the page needs its rules."""
    return CUSTOM_SCHEME.key in keys


def build_custom_scheme(view: View) -> Scheme:
    """Build the custom scheme from the rules in the page's values."""
    a, b = (Field(tuple(Rule.parse(view[f"{side}_{size}"]) for size in SIZE_NAMES)) for side in "ab")
    divisor = b if view["apart"] and view["centre"] else a
    weight = None if view["front"] == "none" else view["front"]
    return make_custom_scheme(a if view["centre"] else None, divisor if view["divide"] else None, weight=weight)


def make_custom_parameters(scheme: Scheme) -> dict[str, str]:
    """Return a custom scheme's rules and weight scheme as URL query parameters; {} for a registered scheme."""
    if not scheme.is_custom:
        return {}
    a, b = scheme.summation, scheme.suppression
    switches = {"centre": a is not None, "divide": b is not None, "apart": None not in (a, b) and a != b}
    rules = {"a": a or b or CUSTOM_SCHEME.summation, "b": b or a or CUSTOM_SCHEME.suppression}
    return {
        **{key: str(int(on)) for key, on in switches.items()},
        **{
            f"{side}_{size}": str(rule)
            for side, field in rules.items()
            if field is not None
            for size, rule in zip(SIZE_NAMES, field.rules, strict=True)
        },
        "front": scheme.weight or "none",
    }


def draw_custom_controls(
    keys: Iterable[str], view: View, get_lengths: LengthsFunction, prefix: str = "", has_weights: bool = True
) -> None:
    """Draw the controls of the custom scheme if it is among `keys`: rules of mean and divisor, and weight scheme.

    `has_weights`: True if weights stand in front of what is normalized.
    """
    if not is_custom_chosen(keys):
        return
    if st.toggle("Subtract a mean", **make_widget_arguments(f"{prefix}centre")):
        _draw_rule_menus(get_lengths(view), prefix, "a")
    if st.toggle("Divide by the root mean square", **make_widget_arguments(f"{prefix}divide")):
        if not view["centre"]:
            _draw_rule_menus(get_lengths(view), prefix, "a")
        elif st.toggle("… over a field of its own", **make_widget_arguments(f"{prefix}apart")):
            _draw_rule_menus(get_lengths(view), prefix, "b")
    if has_weights:
        st.selectbox(
            "In front, of the weights",
            list(WEIGHT_SCHEME_LABELS),
            **make_widget_arguments(f"{prefix}front"),
            format_func=_format_weight_scheme_label,
        )


def list_axis_rules(n: int) -> list[str]:
    """List the averaging rules that differ on an axis of length n: "own", "full", "groups(g)" and "window(r)"."""
    groups = [f"groups({g})" for g in find_divisors(n) if 1 < g < n]
    return ["own", "full", *groups, *(f"window({r})" for r in range(1, min(n - 1, MAX_RADIUS) + 1))]


def format_rule(text: str) -> str:
    """Format a rule for a control: all, own, 2 groups, radius 1."""
    rule = Rule.parse(text)
    return {"full": "all", "groups": f"{rule.parameter} groups", "window": f"radius {rule.parameter}"}.get(
        rule.kind, rule.kind
    )


def _format_weight_scheme_label(key: str) -> str:
    """Return a weight scheme's label with its formula: "Weight – ÷ ‖w‖"."""
    return WEIGHT_SCHEME_LABELS[key] if key == "none" else format_scheme_choice(key)


def _format_axis_label(side: str, size: str) -> str:
    return f"{size.upper()}: {'averaged' if side == 'a' else 'squares'} over"


def _draw_rule_menus(lengths: dict[str, int], prefix: str, side: str) -> None:
    columns = st.columns(2)
    for number, size in enumerate(SIZE_NAMES):
        options = list_axis_rules(lengths[size])
        columns[number % 2].selectbox(
            _format_axis_label(side, size),
            options,
            **make_widget_arguments(f"{prefix}{side}_{size}"),
            format_func=format_rule,
        )


def _make_rule_fitter(size: str, lengths: LengthsFunction) -> Callable[[Any, View], str]:
    def nearest(value: Any, view: View) -> str:
        n = lengths(view)[size]
        options = list_axis_rules(n)
        if value in options:
            return value
        try:
            rule = Rule.parse(value)
        except InvalidInput:
            return make_choice_fitter(options)(value, view)
        if rule.parameter is not None:
            nearest_one = find_closest(
                find_divisors(n) if rule.kind == "groups" else range(MAX_RADIUS + 1), rule.parameter
            )
            rule = Rule(rule.kind, nearest_one)
        return str(rule.simplify(n))

    return nearest
