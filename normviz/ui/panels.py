"""Panels that several topics show."""

import numpy as np

from normviz.core.statistics import Blend, Saturation
from normviz.core.text import typeset
from normviz.ui.components.plot import plot
from normviz.ui.figures import responses

CONTRASTS = np.geomspace(1e-3, 1e3, 49)
RESPONSE_EPS = (0.0, 1e-2, 1.0, 100.0)
"""Beside the page's own ε, whose curve is the thick one."""


def response_chart(one: Saturation | Blend, eps: float, theme: str) -> None:
    """The curves of one element, that of ε first."""
    curves = {f"ε = {typeset(e)}": one.response(CONTRASTS, e) for e in dict.fromkeys((eps, *RESPONSE_EPS))}
    alt = f"x̂ of the chosen element over the contrast of the tensor, a curve for each of {', '.join(curves)}."
    plot(responses(CONTRASTS, curves, "contrast c: all of x times c", theme), "response", alt, "22rem")
