"""Page values of "Same or different?", and the two schemes that they select."""

from normviz.core.fields import AXES, OWN, Field
from normviz.core.layouts import ALL_LAYOUTS
from normviz.core.registry import NAMED_SCHEMES, SCHEMES, Scheme, make_custom_scheme
from normviz.core.settings import Choice, CustomValue, Switch
from normviz.describe.snippets import FRAMEWORKS
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.identities import IDENTITIES
from normviz.ui import cube_view, scheme, tensor
from normviz.ui.link import View, create_params, make_choice_fitter
from normviz.ui.tensor import OWN_DATA, SIZE_NAMES

PAGE = "identities"
PREFIX = PAGE + " "

PANELS = {"same": "Pairs", "variants": "Three layer norms", "own": "Two of your own", "detect": "Detect a layer"}
"""Titles of the panels, by their names in the link."""

PAIRS = (
    "one-group", "rms-is-layer", "layer-is-over-the-batch", "one-case", "layer-is-batch-at-one-case", "all-groups",
    "one-channel", "layer-is-its-default", "dense", "over-positions", "groups-are-sizes", "layer-is-over-positions",
    "centred-rms", "whitening-is-batch", "whitening-alone", "over-positions-one-case", "windows-batch", "windows-layer",
    "weight-length",
)  # fmt: skip
"""All pairs in the order of the questions, the easy ones first."""

PANELS_BY_VALUE = {
    **dict.fromkeys(("focus", "camera"), ("same", "variants", "own")),
    "code": ("variants",),
    **dict.fromkeys(("try", "layout"), ("detect",)),
    **dict.fromkeys(("row", "reveal"), ("same",)),
}
"""Panels in which a value matters, for values that do not matter in all panels."""

SHARED_TENSOR_VALUES = (*SIZE_NAMES, "data", "seed", "focus", "eps")
CAMERA = cube_view.create_camera_param(PREFIX)

VARIANT_FRAMEWORKS = {name: name for name in FRAMEWORKS if name != "NumPy"}
"""Frameworks of a variant's code."""

ANY_LAYOUT = "guess"
LAYOUT_NAMES = {ANY_LAYOUT: "Any"} | {key: f"({', '.join(key)})" for key in ALL_LAYOUTS}
"""Labels of the layouts of uploaded arrays; "Any": the detector tries all layouts with as many axes."""

OWN_FILES = "own"
ARRAY_SOURCES = {key: example.name for key, example in EXAMPLES.items()} | {OWN_FILES: "Your own files"}
"""Names of the detector's examples and of the visitor's files."""

SIDES = ("left", "right")
FIELD_LABELS = {"mean": "mean over", "divide": "root mean square over"}
"""Labels of the two fields of a typed scheme, by the last part of their names in the link."""

FIELD_HELP = (
    "A rule for every axis that is not its own: full, groups(2) or window(1), as in N=full,C=groups(2). "
    "Empty: no such step."
)
KNOWN_SCHEMES = {key: row for key, row in NAMED_SCHEMES.items() if row.weight_part is None and row.is_general_form}
"""Schemes that are determined by their fields."""


def format_field_text(field: Field | None) -> str:
    """Format a field's averaging rules as visitors type them: "H=full,W=full,C=groups(2)"; "" for no field."""
    if field is None:
        return ""
    named = {axis: rule for axis, rule in field.to_dict().items() if rule != str(OWN)}
    return ",".join(f"{axis}={rule}" for axis, rule in (named or {AXES["activation"][0]: str(OWN)}).items())


def format_field_texts(scheme: Scheme) -> dict[str, str]:
    """Format both fields of a scheme as visitors type them, by the last part of their URL parameter's name."""
    return dict(zip(FIELD_LABELS, map(format_field_text, (scheme.summation, scheme.suppression)), strict=True))


VALUES = {
    "panel": CustomValue(
        # "belief" is a former panel, now that of pairs
        "same", lambda value, view: make_choice_fitter(list(PANELS))("same" if value == "belief" else value, view),
        label="Show", shown=PANELS.__getitem__, why=lambda given, view: "" if given == "belief" else None,
    ),
    "row": CustomValue(
        PAIRS[0], lambda value, view: make_choice_fitter(PAIRS)(value or PAIRS[0], view), label="Pair",
        shown=lambda key: f"“{IDENTITIES[key].question}”", why=lambda given, view: None if given else "",
    ),
    "reveal": Switch(False),
    **{
        f"{side}_{name}": CustomValue(text, lambda value, view: str(value)[:120])
        for side, key in zip(SIDES, ("layer", "instance"), strict=True)
        for name, text in format_field_texts(SCHEMES[key]).items()
    },
    "code": Choice("PyTorch", VARIANT_FRAMEWORKS, label="Framework"),
    "try": Choice(next(iter(EXAMPLES)), ARRAY_SOURCES, label="Try"),
    "layout": Choice(ANY_LAYOUT, LAYOUT_NAMES, label="Axes"),
}  # fmt: skip

PARAMS = (
    *(param for param in (*tensor.PARAMS, *scheme.PARAMS) if param.name in SHARED_TENSOR_VALUES),
    CAMERA,
    *create_params(VALUES, PREFIX),
)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value matters for what the page shows; links and controls omit irrelevant values."""
    if name == "seed":
        return view["data"] != OWN_DATA
    return view["panel"] in PANELS_BY_VALUE.get(name, PANELS)


def parse_side(view: View, side: str) -> Scheme:
    """Return the scheme whose averaging rules the visitor typed for one side. Raises InvalidInput."""
    texts = (view[f"{side}_{name}"].strip() for name in FIELD_LABELS)
    return make_custom_scheme(*(Field.parse(text) if text else None for text in texts))
