"""A scheme with its parameters on any page: its values in the link, the resulting scheme, and ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from normviz.core.fields import AXES, OWN, Field, Rule, Shape, find_divisors
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.core.settings import choice, integer, number_choice, real, value
from normviz.core.text import format_exact
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS
from normviz.ui.link import View, create_params, make_integer_fitter
from normviz.ui.tensor import SIZE_NAMES, get_view_lengths, get_view_shape

EPS_STEPS = (0.0, *(10.0**k for k in range(-12, 2)))

DEFAULT_ALPHA = next(row.alpha for row in SCHEMES.values() if row.function_parameters)
ALPHA_RANGE = (0.01, 100.0)
ALPHA_STEPS = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0, 30.0, 100.0)
ALPHA_LABEL = "α (factor inside)"
"""The control of α of a pointwise scheme: the default of both papers, the limits, the slider's stops and its label."""


def find_grouped_axes(view: View) -> dict[str, int]:
    """Map each axis that the page's schemes divide into groups to its length; only C if none does."""
    keys = view.get("schemes", [view["scheme"]])
    cut = [SCHEMES[key].find_grouped_axes(get_view_shape(view)).items() for key in keys]
    return dict(pair for pairs in cut for pair in pairs) or {"C": view["c"]}


def list_group_counts(view: View) -> list[int]:
    """List the numbers of groups that divide every grouped axis."""
    return find_divisors(gcd(*find_grouped_axes(view).values()))


def _explain_undivided_axes(given: Any, view: View) -> str | None:
    """Return the end of a sentence on the axes that `given` does not divide; "" for no axis, None for no number."""
    try:
        number = float(given)
    except ValueError:
        return None
    cut = [f"{axis} = {n}" for axis, n in find_grouped_axes(view).items() if number < 1 or n % number]
    return f"does not divide {' and '.join(cut)}" if cut else ""


def _fit_averaging_radius(value: Any, view: View) -> str:
    return "same" if value in ("", "same") else str(make_integer_fitter(0, MAX_RADIUS)(value, view))


def _fit_window_axes(value: Any, view: View) -> list[str]:
    return [axis for axis in "HWC" if axis in value] or ["C"]


@dataclass(frozen=True)
class SchemeValues:
    """Page values of the scheme; the tensor's values come before them, since groups depend on its shape."""

    scheme: str = choice("batch", {key: row.label for key, row in SCHEMES.items()})
    groups: int = number_choice(2, list_group_counts, label="Groups G", why=_explain_undivided_axes)
    radius: int = integer(1, 0, MAX_RADIUS, label="Radius R")
    radius_a: str = value("same", _fit_averaging_radius, label="Radius R_A of what is averaged")
    alpha: float = real(DEFAULT_ALPHA, *ALPHA_RANGE, label=ALPHA_LABEL)
    over: Sequence[str] = value(["H", "W", "C"], _fit_window_axes, "".join, label="Windows along")
    eps: float = real(DEFAULT_EPS, 0.0, 1e3, label="ε (smoothing term)")


PARAMS = (*create_params(SchemeValues), *custom.create_custom_params(get_view_lengths))


_PARAMETERS = {"groups": "groups", "radius": "window", "radius_a": "window", "over": "window", "alpha": "alpha"}
"""The parameter of a scheme that a value of a page sets."""


def is_relevant_to_any(keys: Sequence[str], name: str) -> bool:
    """Return False for a value that sets a scheme parameter which no scheme with these keys has; else True."""
    if name in custom.CUSTOM_KEYS:
        return custom.is_custom_chosen(keys)
    return name not in _PARAMETERS or any(_PARAMETERS[name] in SCHEMES[key].parameters for key in keys)


def is_relevant(scheme: Scheme, name: str) -> bool:
    """Return True if the page value called `name` affects a scheme; links and controls omit others."""
    if name == "eps":
        return scheme.eps is not None and scheme.suppression is not None
    return is_relevant_to_any([scheme.key], name)


def build_scheme(view: View) -> Scheme:
    """Build the scheme that the page's values describe, with all its parameters."""
    scheme = get_scheme(view["scheme"], groups=view["groups"], alpha=view["alpha"])
    if custom.is_custom_chosen([scheme.key]):
        return custom.build_custom_scheme(view)
    return apply_radii(scheme, view) if is_relevant(scheme, "radius") else scheme


def build_schemes(view: View) -> list[Scheme]:
    """Build the schemes in a page's values, all with the same number of groups and radius."""
    return [
        custom.build_custom_scheme(view)
        if custom.is_custom_chosen([key])
        else get_scheme(key, view["groups"], view["radius"])
        for key in view["schemes"]
    ]


def apply_radii(scheme: Scheme, view: View) -> Scheme:
    """Return the scheme with the page's window radii, along the axes that have windows."""
    summation = view["radius"] if view["radius_a"] == "same" else int(view["radius_a"])
    radii = zip(scheme.fields, (summation, view["radius"]), strict=True)
    return scheme.with_fields(*(_restrict_windows(field, radius, view["over"]) for field, radius in radii))


def _restrict_windows(field: Field, radius: int, over: list[str]) -> Field:
    """Return the field with its windows set to this radius along the axes `over`, and removed along all others."""
    window = Rule("window", radius)
    rules = zip(field.rules, AXES["activation"], strict=True)
    return Field(tuple(r if r.kind != "window" else window if axis in over else OWN for r, axis in rules))


def make_scheme_link(scheme: Scheme, shape: Shape | None = None) -> dict[str, str]:
    """Return the URL parameters of a scheme: its key, and its parameters or a custom scheme's rules.

    `shape`: of a tensor that fits the rules, so that the target page does not replace them.
    """
    link = {} if shape is None else dict(zip(SIZE_NAMES, map(str, shape), strict=True))
    link["scheme"] = scheme.key
    if custom.is_custom_chosen([scheme.key]):
        return link | custom.make_custom_parameters(scheme)
    link |= {name: format_exact(scheme.parameters[name]) for name in ("groups", "alpha") if name in scheme.parameters}
    if "window" in scheme.parameters:
        first, last = (field.parameters()["window"] for field in (scheme.fields[0], scheme.fields[-1]))
        rules = zip(scheme.axes, scheme.fields[-1].rules, strict=True)
        link |= {"radius": str(last), "radius_a": "same" if first == last else str(first)}
        link["over"] = "".join(axis for axis, rule in rules if rule.kind == "window")
    return link


def get_effective_eps(view: View, scheme: Scheme) -> float:
    """Return the page's ε, or 0 if the scheme has none."""
    return view["eps"] if is_relevant(scheme, "eps") else 0.0
