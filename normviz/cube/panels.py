"""The same tensor in several cubes side by side, one a scheme."""

from collections.abc import Sequence

import numpy as np

from normviz.core.fields import AXIS
from normviz.core.schemes import SCHEMES, Scheme
from normviz.cube import figure as cube
from normviz.cube.layout import layout_of
from normviz.describe import wording
from normviz.describe.notation import SYMBOL
from normviz.ui.components.plot import plot
from normviz.ui.link import Param, View
from normviz.ui.looking import taking
from normviz.ui.tensor import take_focus

ALONE = "27rem"
"""The height of a single cube; that of several follows in the browser from the width."""


def copies(
    schemes: Sequence[Scheme],
    x: np.ndarray,
    xhats: Sequence[np.ndarray],
    levels: np.ndarray,
    legend: dict,
    view: View,
    camera: Param,
    theme: str,
) -> None:
    """Cubes in a row, in one scene, as the element `cubes`; the field of the view's locked element lights in each.

    `levels`, `legend`: of all copies together, as `cube.figure` makes them; `camera`: the page's own.
    """
    along = layout_of("folded", x.shape).dimensions
    brief, *titles = (
        [wording.title_words(scheme, axes, x.shape) for axes in along[:3]] for scheme in (SCHEMES["none"], *schemes)
    )
    labels = [scheme.label for scheme in schemes]
    alt = f"The same tensor {wording.shape_words(x.shape)} in {len(schemes)} cubes, one a scheme: {', '.join(labels)}. "
    plot(
        cube.cube_figure(x.shape, "folded", levels, legend, theme),
        key="cubes",
        height=None if len(schemes) > 1 else ALONE,
        alt=alt + "Lit in each is the field of the chosen element.",
        hover=cube.hover_data(
            x.shape,
            "folded",
            [(scheme.field, scheme.summation) for scheme in schemes],
            x,
            list(xhats),
            filled=legend["kind"] == "plain",
            labels=cube.labels_data("folded", x.shape, titles, labels, brief=brief),
        ),
        focus=view["focus"],
        names=[AXIS[name].letter for name in SCHEMES["none"].axes],
        symbol=SYMBOL.get("activation", "x"),
        labels=labels,
        on_focus=lambda: take_focus("cubes plot"),
        view={"camera": view["camera"]},
        on_view=taking("cubes plot", [camera]),
    )
