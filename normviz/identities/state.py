"""The identities page: what its link holds, and the two schemes of one's own that are compared."""

from normviz.core.fields import AXES, OWN, Field
from normviz.core.schemes import SCHEMES, Scheme
from normviz.identities.identities import IDENTITIES
from normviz.ui import scheme, tensor
from normviz.ui.link import Param, View, choice
from normviz.ui.tensor import OWN_DATA, SIZES

PAGE = "identities"
PREFIX = PAGE + " "
"""Of the keys that are this page's own; the tensor's are those of the tensor lab, and follow from page to page."""

RESIDUAL = (
    "Every claim is measured on your tensor. Residual: the largest difference of the two x̂, relative to the largest x̂; "
    "about 10⁻¹⁶ is rounding (10⁻⁷ in float32), and at 0 the two agree to the last bit."
)
"""What the numbers on the page are."""
PANELS = {"same": "The same", "belief": "Refuted", "own": "Two of your own"}
SHARED = (*SIZES, "data", "seed", "eps")
SIDES = ("left", "right")
FIELD_LABELS = {"mean": "Mean subtracted over", "divide": "Divided by the root mean square over"}
"""The two fields of a scheme of one's own, by the last part of their names in the link."""

HOW = (
    "A rule for every axis that is not its own: full, groups(2) or window(1), as in N=full,C=groups(2). "
    "Empty: no such step."
)
KNOWN = {
    key: row
    for key, row in SCHEMES.items()
    if row.acts_on in ("activation", "none") and row.in_the_form and key != "custom"
}
"""The schemes that fields alone make."""


def field_text(field: Field | None) -> str:
    """A field as one types it, without the axes that are their own: "H=full,W=full,C=groups(2)"; empty: no field."""
    if field is None:
        return ""
    named = {axis: rule for axis, rule in field.named().items() if rule != str(OWN)}
    return ",".join(f"{axis}={rule}" for axis, rule in (named or {AXES["activation"][0]: str(OWN)}).items())


def field_texts(scheme: Scheme) -> dict[str, str]:
    """Both fields of a scheme as one types them, by the last part of their names in the link."""
    return dict(zip(FIELD_LABELS, map(field_text, (scheme.summation, scheme.suppression)), strict=True))


def _typed(side: str, key: str) -> list[Param]:
    defaults = field_texts(SCHEMES[key]).items()
    return [Param(f"{PREFIX}{side}_{name}", text, lambda value, view: str(value)[:120]) for name, text in defaults]


def _claim(key: str) -> str:
    return f"“{IDENTITIES[key].claim}”" if key else "none"


PARAMS = (
    *(param for param in (*tensor.PARAMS, *scheme.PARAMS) if param.name in SHARED),
    Param(f"{PREFIX}panel", "same", choice(list(PANELS)), label="Show", words=PANELS.__getitem__),
    Param(
        f"{PREFIX}row",
        "",
        choice(["", *IDENTITIES]),
        label="Open row",
        words=_claim,
    ),
    *_typed("left", "layer"),
    *_typed("right", "instance"),
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything in this view."""
    return name != "seed" or view["data"] != OWN_DATA


def scheme_of(view: View, side: str) -> Scheme:
    """The scheme that is typed on one side; raises InvalidInput."""
    texts = (view[f"{side}_{name}"].strip() for name in FIELD_LABELS)
    return SCHEMES["custom"].with_fields(*(Field.parse(text) if text else None for text in texts))
