"""Charts of one element's response to contrast, for several topics."""

from collections.abc import Mapping

import numpy as np

from normviz.charts.common_charts import draw_contrast_responses
from normviz.core.normalize import ignore_float_warnings
from normviz.core.scheme import Scheme
from normviz.core.statistics import SaturationCurve, SplitSaturationCurve
from normviz.core.text import format_number, typeset
from normviz.web.components.plot import show_figure

CONTRASTS = np.geomspace(1e-3, 1e3, 49)
RESPONSE_EPS = (0.0, 1e-2, 1.0)
RESPONSE_ALPHAS = (0.1, 0.5, 2.0, 10.0)
"""Values of ε and α compared with the page's own, whose curve is thick."""


def show_response_chart(element_response: SaturationCurve | SplitSaturationCurve, eps: float, theme: str) -> None:
    """Show a chart of one element's x̂ against the contrast, with a curve for each ε, the page's ε first."""
    curves = {
        f"ε = {typeset(e)}": element_response.compute_response(CONTRASTS, e)
        for e in dict.fromkeys((eps, *RESPONSE_EPS))
    }
    _show_responses(curves, theme)


@ignore_float_warnings
def show_pointwise_chart(scheme: Scheme, x: float, theme: str) -> None:
    """Show a chart of f(αcx + s) of one element against the contrast c, with a curve for each α."""
    each = {alpha: scheme.with_parameters(alpha=alpha) for alpha in (scheme.alpha, *RESPONSE_ALPHAS)}
    function = scheme.function
    assert function is not None
    _show_responses(
        {f"α = {typeset(a)}": function.value(one.compute_argument(x * CONTRASTS)) for a, one in each.items()}, theme
    )


def _show_responses(curves: Mapping[str, np.ndarray], theme: str) -> None:
    ends = "; ".join(
        f"{name} from {format_number(each[0])} to {format_number(each[-1])}" for name, each in curves.items()
    )
    alt = f"x̂ of the chosen element over the contrast of the tensor, {len(curves)} curves: {ends}."
    show_figure(draw_contrast_responses(CONTRASTS, curves, "factor c of all of x", theme), "response", alt, "22rem")
