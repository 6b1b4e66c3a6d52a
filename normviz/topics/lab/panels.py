"""Panels of the tensor lab: the cube, and a result in words, with live numbers, as tables, charts and code."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import streamlit as st

from normviz.charts.common_charts import draw_pictures, draw_statistics_map, find_finite_range
from normviz.core.fields import AXIS_NAMES, MAX_DRAWN_ELEMENTS, Field, Index, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.whitening import split_into_groups
from normviz.core.normalize import LayerScalars, ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.core.statistics import (
    build_statistics_table,
    compute_covariances,
    compute_split_saturation,
    estimate_rounding,
)
from normviz.core.text import format_number, typeset
from normviz.data.output import encode_npy
from normviz.describe import notation, snippets, wording
from normviz.describe.aims import describe_guarantee
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.parameters import list_parameter_shapes, warn_about_keras_axis
from normviz.topics.lab.element_data import build_element_data, describe_equal_schemes
from normviz.topics.lab.figures import draw_histograms
from normviz.topics.lab.lab_cube import AXIS_ROLES, CubeLook, draw_lab_cube, has_pictures
from normviz.topics.lab.state import FRAMEWORK_LABELS, LOOK_PARAMS, STATISTIC_NAMES, get_cube_view, get_layer_scalars
from normviz.ui.cube_view import make_view_callback
from normviz.ui.link import View, draw_segments
from normviz.ui.locks import make_widget_arguments
from normviz.ui.response_charts import show_pointwise_chart, show_response_chart
from normviz.ui.saving import draw_download_button
from normviz.ui.tensor import is_picture, store_chosen_element
from normviz.web.components.element import show_chosen_element
from normviz.web.components.picture import convert_to_pixels
from normviz.web.components.plot import show_figure


def show_lab_cube(
    view: View, scheme_on_shape: wording.SchemeOnShape, x: np.ndarray, result: NormalizationResult, theme: str
) -> None:
    """Show the cube with the elements that share statistics with the chosen one, and a legend."""
    scheme = scheme_on_shape.scheme
    is_grey = has_pictures(scheme, x.shape) and is_picture(view, x.shape)
    look = CubeLook(get_cube_view(view, scheme), view["colour"], view["focus"], is_grey)
    drawn = draw_lab_cube(
        scheme_on_shape, x, result, get_layer_scalars(view, scheme), look, theme,
        view={param.name: view[param.name] for param in LOOK_PARAMS},
        on_focus=lambda: store_chosen_element("cube plot"),
        on_view=make_view_callback("cube plot", LOOK_PARAMS),
    )  # fmt: skip
    show_figure(drawn.figure, key="cube", alt=drawn.alt, cube=drawn.cube)


def show_scheme_heading(scheme: Scheme, x: np.ndarray, result: NormalizationResult, threshold: float) -> None:
    """Show the scheme's name, and a property of its output (with τ = `threshold`), such as mean 0, or else its idea."""
    aim, front = describe_guarantee(scheme, x, result, threshold), wording.explain_weight_scheme([scheme])
    behind = f"  \n:small[{front} Its formula, its parameters and Table 1 show what that does.]" if front else ""
    st.markdown(f"## {wording.capitalize_first(scheme.name)}\n{aim or scheme.about}{behind}")


def warn_of_non_finite_data(scheme: Scheme, x: np.ndarray, result: NormalizationResult) -> None:
    """Show a warning if the data hold NaN or Inf, with the number of statistics and results they affect."""
    wrong = x.size - np.isfinite(x).sum()
    if not wrong:
        return
    lost = x.size - np.isfinite(result.xhat).sum()
    text = f"{wording.pluralize(wrong, 'element')} of your data {'is' if wrong == 1 else 'are'} NaN or infinite. "
    if scheme.field is not None:
        table = build_statistics_table(x, scheme, result)
        of_each, matrices = table["divisor" if "divisor" in table else "mean"], scheme.count_covariances(x.shape)
        if matrices:
            of_each = split_into_groups(result.xhat, matrices).sum((-2, -1))
        spoilt = sum(~np.isfinite(of_each))
        text += (
            f"A statistic is NaN or infinite as soon as one element of its field is: {spoilt:,} of "
            f"{wording.pluralize(len(of_each), 'statistic')} here, and with them {wording.pluralize(lost, 'element')} "
            "of the result. Fields without such an element are as they would be."
        )
    st.warning(text, icon=":material/warning:")


def show_element_panel(
    view: View, scheme_on_shape: wording.SchemeOnShape, x: np.ndarray, result: NormalizationResult, layer: LayerScalars,
    theme: str,
) -> None:  # fmt: skip
    """Show the chosen element: its indices, its numbers, and the elements that share its statistics."""
    roles = AXIS_ROLES[scheme_on_shape.scheme.tensor]
    data = build_element_data(view, scheme_on_shape, x, result, layer, roles, theme)
    show_chosen_element(data, "element", lambda: store_chosen_element("element shown"))
    if twins := describe_equal_schemes(scheme_on_shape.scheme, scheme_on_shape.shape):
        st.info(twins, icon=":material/equal:")


def show_lab_statistics(scheme: Scheme, x: np.ndarray, result: NormalizationResult, view: View, theme: str) -> None:
    """Show the statistics as a table, one row per statistic, and as a heat map."""
    if not scheme.fields:
        st.write(f"No statistics: each element {KIND_FORMULAS[scheme.kind.key].describe_element(scheme)}.")
        return
    table = build_statistics_table(x, scheme, result)
    kinds: dict[str, StatisticsMap] = {}
    if scheme.summation is not None and result.mean is not None:
        kinds["mean"] = _make_statistics_map("mean", result.mean, scheme, scheme.summation, view["focus"], x.shape)
    if scheme.suppression is not None and result.deviation is not None:
        divisor = result.deviation / scheme.compute_scale(x.shape)
        kinds["divisor"] = _make_statistics_map("divisor", divisor, scheme, scheme.suppression, view["focus"], x.shape)
    elif scheme.count_covariances(x.shape) and x.shape[-1] ** 2 <= MAX_DRAWN_ELEMENTS:
        kinds["divisor"] = _make_covariance_map(scheme, result.v, view["focus"][-1])
    left, right = st.columns(2)
    with left:
        labels = {axis: st.column_config.NumberColumn(AXIS_NAMES[axis].letter, format="%d") for axis in scheme.axes}
        st.dataframe(pa.table(table), hide_index=True, height=320, column_config=labels, key="statistics")
        draw_download_button(
            lambda: {name: column.tolist() for name, column in table.items()}, f"{scheme.key}-statistics"
        )
    with right:
        kind = view["statistic"] if view["statistic"] in kinds else next(iter(kinds))
        if len(kinds) > 1:
            st.segmented_control("Statistic", STATISTIC_NAMES, **make_widget_arguments("statistic"), required=True)
        shown = kinds[kind]
        figure = draw_statistics_map(shown.values, shown.axes, shown.where, shown.name, theme, estimate_rounding(x))
        if shown.moves:  # with the element under the pointer
            figure.update_layout(meta={"frame": {"shape": shown.values.shape, "of": x.shape}})
        show_figure(figure, "statistics-map", shown.alt, "18rem")
        st.caption(shown.caption)


class StatisticsMap(NamedTuple):
    """Heat map of a statistic: values with four axes, the axes' names, the index of the framed value, and two texts.

    If it `moves`, the frame follows the element under the pointer.
    """

    name: str
    values: np.ndarray
    axes: Sequence[str]
    where: Index
    moves: bool
    alt: str
    caption: str


def _make_statistics_map(
    name: str, values: np.ndarray, scheme: Scheme, field: Field, focus: Index, tensor_shape: Shape
) -> StatisticsMap:
    shape = wording.format_shape(values.shape)
    framed = "framed is that of the element that stands out in the cube."
    alt, caption = f"Heat map of the {name}s, {shape}; {framed}", f"The {name} has the shape {shape}; {framed}"
    return StatisticsMap(name, values, scheme.axes, field.find_statistic_index(focus, tensor_shape), True, alt, caption)


def _make_covariance_map(scheme: Scheme, v: np.ndarray, channel: int) -> StatisticsMap:
    values, groups = compute_covariances(v), scheme.count_covariances(v.shape)
    shape, block = (wording.format_shape((n, n)) for n in (len(values), len(values) // groups))
    taken = "it is Σ" if groups == 1 else f"its {groups} blocks of {block} along the diagonal are the Σ of the groups"
    text = f"the covariance matrix of the channels, {shape}: {taken}. Framed is the variance of the locked channel."
    axes, where = ("", "C", "", "C"), (0, channel, 0, channel)
    drawn = values[None, :, None, :]
    return StatisticsMap("covariance", drawn, axes, where, False, f"Heat map of {text}", wording.capitalize_first(text))


@ignore_float_warnings
def show_lab_distribution(scheme: Scheme, x: np.ndarray, result: NormalizationResult, focus: Index, theme: str) -> None:
    """Show histograms before and after normalization, of all elements and of those averaged with the one at `focus`."""
    box = scheme.field.find_box(focus, x.shape) if scheme.field else tuple((i, i + 1) for i in focus)
    inside = tuple(slice(lo, hi) for lo, hi in box)
    symbol = scheme.symbol
    of, panels, values_words = "field" if scheme.field else "element", [], []
    for title, values in ((f"before: {symbol}", x), (f"after: {symbol}̂", result.xhat)):
        part, rounding = values[inside], estimate_rounding(values)
        mean, deviation = (format_number(value, 3, rounding) for value in (part.mean(), part.std()))
        panels.append((title, values, part))
        in_field = f"{title}: mean {mean}, standard deviation {deviation} in the field"
        values_words.append(in_field if scheme.field else f"{title} = {mean}")
    what = f"Histograms of {symbol} before and {symbol}̂ after, of all elements and of the chosen {of}."
    alt = f"{what} {'; '.join(values_words)}"
    show_figure(draw_histograms(panels, theme, f"the {of}"), "histograms", alt, "22rem")
    st.caption(alt.partition(". ")[2])


def show_response_curves(scheme: Scheme, x: np.ndarray, focus: Index, eps: float, theme: str) -> None:
    """Show how x̂ of the element `focus` depends on the contrast of the tensor, a curve for each of several ε or α."""
    if scheme.function is not None:
        show_pointwise_chart(scheme, float(x[focus]), theme)
        st.caption(
            "While α c |x| is small beside 1, x̂ grows with the contrast; beyond 3 it is saturated, near 1 or −1. "
            "No other element matters. The dotted line is the tensor as it is, c = 1."
        )
        return
    if scheme.suppression is None:
        st.write("Nothing divides here: x̂ is proportional to the contrast.")
        return
    if scheme.eps is None:
        st.write("What divides here has no ε: x̂ does not depend on the contrast.")
        return
    show_response_chart(compute_split_saturation(x, scheme, focus), eps, theme)
    formulas = KIND_FORMULAS[scheme.kind.key]
    st.caption(
        f"Where c² · {formulas.square} is small beside ε, {formulas.response} grows with the contrast; beyond, it is "
        "saturated, and the contrast is normalized away. ε = 0 saturates at once. The dotted line is the tensor as it "
        "is, c = 1."
    )


def show_example_pictures(
    scheme: Scheme, x: np.ndarray, result: NormalizationResult, focus: Index, theme: str, coloured: bool
) -> None:
    """Show the chosen element's example as pictures, before and after normalization."""
    n, _, _, c = focus
    if not has_pictures(scheme, x.shape):
        st.write("No picture: it takes examples with rows and columns, as “One image” or “Photograph” has them.")
        return
    what, where = ("in colour", n) if coloured else (f"channel {c}", (n, ..., c))
    before, after = x[where], result.xhat[where]
    labels = {"one": "One for both", "own": "Each its own"}
    scale = st.segmented_control(
        "Black to white", list(labels), default="one", required=True, key="brightness", format_func=labels.__getitem__
    )
    both = find_finite_range(before, after)
    ends = [both, both] if scale == "one" else [find_finite_range(before), find_finite_range(after)]
    images = {f"before: x of example {n}, {what}": before, "after: x̂": after}
    if coloured:
        images = {
            title: convert_to_pixels(image, *end) for (title, image), end in zip(images.items(), ends, strict=True)
        }
    said = [f"{typeset(low, 3)} is black and {typeset(high, 3)} white" for low, high in ends]
    alt = f"Example {n}, {what}, as a picture before and after {scheme.name}. "
    show_figure(draw_pictures(images, ends, theme), "picture", f"{alt}Before, {said[0]}; after, {said[1]}.", "26rem")
    if scale == "one":
        st.caption(f"One scale for both: {said[0]}. What is brighter or has more contrast after, is so in its numbers.")
    else:
        st.caption(
            f"Scales of their own: before, {said[0]}; after, {said[1]}. What only moves and scales the whole picture, "
            "as batch norm does with a channel, seems to change nothing here."
        )


def show_scheme_formula(scheme: Scheme) -> None:
    """Show the scheme's description, its papers, and its formula."""
    st.markdown(f"{scheme.about} {wording.format_references(scheme)}")
    lines = notation.build_formulas(scheme)
    for line in lines:
        if line.name != "where":
            st.latex(line.latex)
    if where := [f"${line.latex}$" for line in lines if line.name == "where"]:
        st.caption("where " + " · ".join(where))


def show_scheme_parameters(scheme: Scheme, x: np.ndarray) -> None:
    """Show the learned parameters and stored states, with their shapes here, in PyTorch and in Keras."""
    rows = list_parameter_shapes(scheme, x.shape)
    if not rows:
        st.write("Nothing is learned, and there is no state.")
    else:
        titles = ("Name", "What it is", "Shape here", "In PyTorch", "In Keras")
        st.table([dict(zip(titles, row, strict=True)) for row in rows])
    if trap := warn_about_keras_axis(scheme, x.shape):
        st.warning(trap, icon=":material/warning:")


def show_scheme_code(scheme: Scheme, x: np.ndarray, layer: LayerScalars, view: View) -> None:
    """Show code that normalizes the tensor, in the chosen framework, and a download of the tensor."""
    draw_segments("framework", "Framework", FRAMEWORK_LABELS, is_labelled=True)
    plain = view["data"] == "normal" and view["seed"] == 0  # the code draws this tensor by itself
    source = None if plain else 'x = np.load("tensor.npy").astype(np.float64)'
    st.code(snippets.format_snippet(scheme, FRAMEWORK_LABELS[view["framework"]], x.shape, layer, source))
    st.download_button("Download tensor.npy", lambda: encode_npy(x), "tensor.npy", on_click="ignore")
