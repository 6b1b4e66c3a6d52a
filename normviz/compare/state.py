"""The compare page: what its link holds, and the schemes that stand side by side."""

from typing import Any

from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.ui import custom, scheme, tensor
from normviz.ui.link import Param, View, choice

PAGE = "compare"
PREFIX = PAGE + " "
FEWEST, MOST = 2, 6
KEYS = [key for key, scheme in SCHEMES.items() if scheme.acts_on != "weight"]
"""Those that act on the same tensor; the schemes of weights have a page of their own."""

SHARED = (*tensor.SIZES, "groups", "radius", "eps", "data", "seed", "colour", "focus")
"""What the page has in common with the tensor lab: the tensor follows the user."""


def _schemes(value: Any, view: View) -> list[str]:
    given = value.split(",") if isinstance(value, str) else value
    return list(dict.fromkeys(choice(KEYS)(key.strip(), view) for key in given if key.strip()))[:MOST]


PARAMS = (
    *tensor.PARAMS,
    *scheme.PARAMS,
    Param(PREFIX + "schemes", ["batch", "layer", "instance", "group"], _schemes, ",".join),
)

TITLE = "# Which elements share a statistic?"


def has(view: View, name: str) -> bool:
    """Whether a value belongs into this page's link."""
    return name in (*SHARED, "schemes")


def schemes_of(view: View) -> list[Scheme]:
    """The schemes with the view's parameters; the custom one as it is set in the tensor lab."""
    made = {"custom": custom.scheme_of(view)} if "custom" in view["schemes"] else {}
    return [made.get(key) or get_scheme(key, view["groups"], view["radius"]) for key in view["schemes"]]
