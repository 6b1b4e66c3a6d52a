"""Page values of "Find a scheme", and the demands and the scheme that they select."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normviz.core.registry import SCHEMES
from normviz.core.scheme import Scheme
from normviz.core.settings import Choice, CustomValue, choice, multiple_choice
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.topics.design.conditions import CONDITIONS
from normviz.topics.design.demands import ANY_KEY, SHAPES, Demands, parse_weight_keys
from normviz.topics.design.questions import QUESTIONS
from normviz.topics.experiments.experiment import format_custom_scheme, parse_custom_scheme
from normviz.ui import cube_view
from normviz.ui.custom import WEIGHT_SCHEME_LABELS
from normviz.ui.link import Param, View, create_params
from normviz.ui.tensor import fit_index, format_index

PAGE = "design"
PREFIX = PAGE + " "

DEMAND_LABELS = {"either": "Does not matter", "need": "Ignored", "without": "Not ignored"}
"""Labels of what may be demanded of each transformation."""


def format_pick(scheme: Scheme, layer: str) -> str:
    """Format a scheme as URL text: its fields and its weight scheme, or its key.

    Schemes that compute the same on the layer have the same text.
    """
    if scheme.activation_part is None or not scheme.fields:
        return scheme.key
    shape, fields = SHAPES[layer][0], (scheme.summation, scheme.suppression)
    return format_custom_scheme(
        scheme.with_fields(*(None if field is None else field.simplify(shape) for field in fields))
    )


def parse_pick(text: str) -> Scheme | None:
    """Parse a scheme from a text of `format_pick`; None for an empty text. Raises InvalidInput."""
    if not text:
        return None
    row = SCHEMES.get(text)
    return parse_custom_scheme(text) if row is None or (row.activation_part and row.fields) else row


def validate_pick(given: Any, view: View) -> str:
    """Return `given`, the URL text of a picked scheme. Raises ValueError if the scheme does not fit the layer."""
    text = str(given)
    if (scheme := parse_pick(text)) is not None and scheme.activation_part is not None:
        scheme.check(SHAPES[view["layer"]][0])
    return text


@dataclass(frozen=True)
class Page:
    """Values of the page's link, without the demands on each transformation."""

    layer: str = choice("conv", {key: key.capitalize() for key in LAYERS}, label="Layer")
    weights: str = choice("none", WEIGHT_SCHEME_LABELS | {ANY_KEY: "Anything"}, label="Weight normalization in front")
    conditions: Sequence[str] = multiple_choice(
        (), {key: each.name for key, each in CONDITIONS.items()}, label="The scheme has to"
    )


CAMERA = cube_view.create_camera_param(PREFIX)

PARAMS = (
    *create_params(Page, PREFIX),
    # A scheme that is not among the answers, as of another layer, is replaced by the first of them without a note.
    Param(PREFIX + "pick", CustomValue("", validate_pick, label="Scheme", why=lambda given, view: "")),
    CAMERA,
    Param(
        "focus",
        CustomValue(
            (0, 0, 0, 0),
            lambda given, view: fit_index(given, SHAPES[view["layer"]][0]),
            format_index,
            label="Locked element",
        ),
    ),
    *create_params(
        {key: Choice("either", DEMAND_LABELS, label=each.name) for key, each in TRANSFORMATIONS.items()}, PREFIX
    ),
)


def is_relevant(view: View, name: str) -> bool:
    """Return True: what the page shows depends on every value."""
    return True


def read_demands(view: View) -> Demands:
    """Return the demands in the page's values; those of the first question if there are none."""
    need, without = (tuple(key for key in TRANSFORMATIONS if view[key] == label) for label in ("need", "without"))
    conditions = tuple(view["conditions"])
    if not (need or without or conditions):
        need, conditions = QUESTIONS[0].need, QUESTIONS[0].conditions
    return Demands(view["layer"], need, without, parse_weight_keys(view["weights"]), conditions)


FORMER_NAMES = ("show", "set", "train", "page", "source", "scheme", "function", "alpha", "delta", "seed", "code")
"""Names of values in links to former panels of the page."""


def translate_former_link(former: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Convert the URL parameters of a former panel; return today's page and its URL parameters.

    The map opens as the question for the changes of its set. Pointwise schemes are in the tensor lab, and so is
    instance norm, of which a former panel showed γ and β of another picture.

    Example:
        >>> translate_former_link({"show": "map", "set": "case-rescaling", "layer": "conv"})[1]["case-rescaling"]
        'need'
        >>> translate_former_link({"show": "pointwise", "function": "dynamic-erf", "alpha": "2"})
        ('tensor_lab', {'scheme': 'dynamic-erf', 'tab': 'response', 'alpha': '2'})
        >>> translate_former_link({"show": "conditional", "source": "sums"})
        ('tensor_lab', {'scheme': 'instance'})
    """
    show = former.get("show")
    if show == "conditional":
        return "tensor_lab", {"scheme": "instance"}
    if show == "pointwise":
        target = {"scheme": former.get("function", "dynamic-tanh"), "tab": "response"}
        return "tensor_lab", target | {name: former[name] for name in ("alpha",) if name in former}
    kept = {name: text for name, text in former.items() if name not in FORMER_NAMES}
    if show == "map" and former.get("set"):
        kept |= {key: "need" for key in former["set"].split(",") if key in TRANSFORMATIONS}
    return PAGE, kept
