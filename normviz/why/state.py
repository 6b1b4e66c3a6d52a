"""The state of the page on why: what its link holds."""

from dataclasses import dataclass

from normviz.core.settings import choice
from normviz.ui.link import View, params

PAGE = "why"

PREFIX = PAGE + " "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {
    "whitening": "Whitening",
    "saturation": "Saturation",
    "outside": "Outside the gradient",
    "identity": "γ and β",
    "style": "Style",
    "history": "History",
}
"""What the page shows; only that is computed."""

BELONGS: dict[str, tuple[str, ...]] = {}
"""Where a value means something; one that is not here does everywhere."""


@dataclass(frozen=True)
class Page:
    """What the page's link holds."""

    show: str = choice("whitening", SHOWN)


PARAMS = params(Page, PREFIX)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))
