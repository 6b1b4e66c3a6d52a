"""Panels of the compare page: the schemes' cubes in one scene, and a table of their properties."""

import numpy as np
import streamlit as st

from normviz.charts import cube
from normviz.charts.colourings import COLOURING_NAMES
from normviz.core.fields import OWN, Field, Index, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.registry import Scheme
from normviz.core.text import format_number, join_words
from normviz.describe import wording
from normviz.topics.compare import comparison
from normviz.topics.compare.state import CAMERA
from normviz.ui.cube_row import show_cubes
from normviz.ui.link import View
from normviz.ui.saving import draw_download_button


def show_compared_cubes(
    view: View, schemes: list[Scheme], x: np.ndarray, results: list[NormalizationResult], theme: str
) -> None:
    """Show the cubes of all schemes in a row, and in each the elements that share statistics with the chosen one."""
    colouring = compute_cube_levels(view["colour"], schemes, x, results)
    dashed = any(len(wording.SchemeOnShape(scheme, x.shape).statistics) == 2 for scheme in schemes)
    lines = " Dashed: the elements that share the mean, if they are others." if dashed else ""
    with st.container(key="told"):
        st.markdown(f"**x̂**: the normalized x.{lines}")
    show_cubes(schemes, x, [result.xhat for result in results], view, CAMERA, theme, colouring)
    for column, scheme in zip(st.columns(len(schemes)), schemes, strict=True):
        field = _describe_fields(scheme, view["focus"], x.shape)
        use = comparison.summarize_batch_use(scheme, x.shape, view["eps"])
        column.markdown(f"**{scheme.label}**  \n{field}  \n{use}")


def compute_cube_levels(
    colour: str, schemes: list[Scheme], x: np.ndarray, results: list[NormalizationResult]
) -> tuple[np.ndarray, dict]:
    """Return colour levels (schemes, N, H, W, C), and the legend's data; `colour`: a key of `COLOURING_NAMES`."""
    if colour == "field":
        return cube.make_uniform_levels((len(schemes), *x.shape))
    if colour == "statistic":
        alone = Field((OWN,) * 4)  # without a field every element has its own statistic
        levels = [cube.compute_hue_levels(x.shape, scheme.field or alone) for scheme in schemes]
        return np.stack([level for level, _ in levels]), levels[0][1]
    values = [x] * len(schemes) if colour == "value" else [result.xhat for result in results]
    return cube.compute_value_levels(np.stack(values), COLOURING_NAMES[colour])


def show_comparison_table(view: View, schemes: list[Scheme], x: np.ndarray, results: list[NormalizationResult]) -> None:
    """Show a table of the schemes' properties and of x̂ of the chosen element, with notes on equal schemes."""
    focus = view["focus"]
    here = {f"x̂ at x = {format_number(x[focus])}": [format_number(result.xhat[focus]) for result in results]}
    rows = here | comparison.tabulate_properties(schemes, x.shape, view["eps"])
    columns = {scheme.label: [words[number] for words in rows.values()] for number, scheme in enumerate(schemes)}
    with st.expander("All properties"):
        st.table({"": [f"**{name}**" for name in rows]} | columns, border="horizontal")
        if front := wording.explain_weight_scheme(schemes):
            st.caption(f"{front} What is learned and kept is told of both.")
        draw_download_button(lambda: {"": list(rows)} | columns, "comparison")
    for scheme in schemes:
        alike = [
            other for other in schemes if other.compute_canonical_key(x.shape) == scheme.compute_canonical_key(x.shape)
        ]
        if len(alike) > 1 and alike[0] is scheme:
            names = join_words([other.label for other in alike], "and")
            st.info(f"On this shape, x̂ of {names} is the same.", icon=":material/equal:")


def _describe_fields(scheme: Scheme, focus: Index, shape: Shape) -> str:
    boxes = wording.SchemeOnShape(scheme, shape).describe_boxes(focus)
    if len(boxes) == 1:
        return boxes[0].where
    return "; ".join(f"{box.names[0]}: {box.where}" for box in boxes) or "no element"
