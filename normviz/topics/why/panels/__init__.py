"""The panels of the page "Why normalize", of which one is open."""

from collections.abc import Callable

from normviz.topics.why.panels import history, identity, learning, outside, saturation, whitening
from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {
    "learning": learning.show,
    "saturation": saturation.show,
    "whitening": whitening.show,
    "outside": outside.show,
    "identity": identity.show,
    "history": history.show,
}
"""The function that draws each panel of `state.SHOWN`, for a view and a theme."""
