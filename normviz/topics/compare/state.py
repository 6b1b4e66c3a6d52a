"""Page values of the compare page, and the schemes that they select."""

from typing import Any

from normviz.core.registry import SCHEMES, WEIGHT_SCHEMES
from normviz.core.settings import Choice, CustomValue, MultipleChoice
from normviz.ui import cube_view, custom, scheme, tensor
from normviz.ui.cube_row import NOTE_NAMES
from normviz.ui.link import Param, View

PAGE = "compare"
PREFIX = PAGE + " "
FEWEST, MOST = 2, 6
COMPARABLE_KEYS = [key for key in SCHEMES if key not in WEIGHT_SCHEMES]
"""Keys of the schemes that act on the same tensor; schemes of weights have a page of their own."""

SHARED_LAB_VALUES = (*tensor.SIZE_NAMES, "groups", "radius", "eps", "data", "seed", "colour", "focus")
"""Names of the values shared with the tensor lab, so that the tensor follows from page to page."""


def _fit_schemes(value: Any, view: View) -> list[str]:
    return MultipleChoice((), COMPARABLE_KEYS).find_nearest_value(value, view)[:MOST]


def _join_labels(keys: list[str]) -> str:
    return ", ".join(SCHEMES[key].label for key in keys) or "none"


def _explain_too_many(given: Any, view: View) -> str | None:
    asked = given.split(",") if isinstance(given, str) else given
    return f"are {len(asked)}, where at most {MOST} stand side by side" if len(asked) > MOST else None


CAMERA = cube_view.create_camera_param(PREFIX)

SHARED_TENSOR_PARAMS = (*tensor.PARAMS, *scheme.PARAMS, tensor.declare_colour(lambda view: False))
"""Values of the tensor and of all schemes; without γ and β, y is x̂."""

PARAMS = (  # the schemes first: which groups there may be depends on them
    Param(
        PREFIX + "schemes",
        CustomValue(
            ["batch", "layer", "instance", "group"], _fit_schemes, ",".join, shown=_join_labels, why=_explain_too_many
        ),
    ),
    *SHARED_TENSOR_PARAMS,
    Param(PREFIX + "note", Choice("value", NOTE_NAMES, label="Over each cube")),
    CAMERA,
)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value belongs to this page's link."""
    return name in (*SHARED_LAB_VALUES, "camera", "schemes", "note") or (
        name in custom.CUSTOM_KEYS and custom.is_custom_chosen(view["schemes"])
    )
