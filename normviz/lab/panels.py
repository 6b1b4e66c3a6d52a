"""What the tensor lab shows of a result: in words, with live numbers, as tables, charts and code."""

import io

import numpy as np
import pyarrow as pa
import streamlit as st

from normviz.core.fields import AXIS, Field, Index
from normviz.core.normalize import Normalized, quiet
from normviz.core.schemes import Scheme, same_as
from normviz.core.statistics import element, saturation, statistics_table
from normviz.describe import notation, snippets, wording
from normviz.describe.parameters import axis_trap, parameter_shapes
from normviz.lab.figures import histograms
from normviz.ui.components.plot import plot
from normviz.ui.figures import pictures, statistics_map
from normviz.ui.link import View
from normviz.ui.panels import response_chart


def headline(scheme: Scheme, x: np.ndarray, focus: Index) -> None:
    """The scheme, the locked element's field and the statistics, in words."""
    source = f"[{scheme.reference.text}]({scheme.reference.url})" if scheme.reference.url else scheme.reference.text
    st.markdown(f"# {wording.sentence(scheme.name)}\n{scheme.about} :small[{source}]")
    if scheme.field is None:
        st.markdown("**Nothing is shared:** every element stays as it is.")
        return
    lines = [f"**{box.where}** – {box.what}." for box in wording.boxes(scheme, focus, x.shape)]
    st.markdown("  \n".join([*lines, f"In all: {wording.count_words(scheme, x.shape)}."]))
    twins = [wording.named(other) for other in same_as(scheme, x.shape)]
    if twins:
        verb = "This is" if scheme.key == "custom" else "On this shape it is the same as"
        st.info(f"{verb} {', '.join(twins)}.", icon=":material/equal:")


def not_finite(scheme: Scheme, x: np.ndarray, result: Normalized) -> None:
    """What NaN and Inf in one's own data do to the statistics: they spoil their fields, and no others."""
    wrong = x.size - np.isfinite(x).sum()
    if not wrong:
        return
    lost = x.size - np.isfinite(result.xhat).sum()
    text = f"{wording.plural(wrong, 'element')} of your data {'is' if wrong == 1 else 'are'} NaN or infinite. "
    if scheme.field is not None:
        table = statistics_table(x, scheme, result)
        spoilt = sum(~np.isfinite(table["divisor" if "divisor" in table else "mean"]))
        text += (
            f"A statistic is NaN or infinite as soon as one element of its field is: {spoilt:,} of "
            f"{wording.plural(len(table['mean']), 'statistic')} here, and with them {wording.plural(lost, 'element')} "
            "of the result. Fields without such an element are as they would be."
        )
    st.warning(text, icon=":material/warning:")


def live_formula(
    scheme: Scheme, x: np.ndarray, result: Normalized, focus: Index, eps: float, gain: float, bias: float
) -> None:
    """x → v → x̂ → y of the locked element, with its numbers put in."""
    chain = notation.live(scheme, x.shape, focus, element(x, result, scheme, focus), eps, gain, bias)
    for line in chain:
        with st.container(key=f"line-{line.name}"):  # lit while the cube shows what it says
            st.latex(line.latex)


def statistics(scheme: Scheme, x: np.ndarray, result: Normalized, focus: Index, theme: str) -> None:
    """One row per statistic, and a heat map of their shape."""
    if not scheme.fields:
        st.write("No statistics: the tensor passes unchanged.")
        return
    table = statistics_table(x, scheme, result)
    kinds: dict[str, tuple[np.ndarray, Field]] = {}
    if scheme.summation is not None and result.mean is not None:
        kinds["mean"] = result.mean, scheme.summation
    if scheme.suppression is not None and result.deviation is not None:
        kinds["divisor"] = result.deviation / scheme.scale(x.shape), scheme.suppression
    left, right = st.columns(2)
    with left:
        labels = {axis: st.column_config.NumberColumn(AXIS[axis].letter, format="%d") for axis in scheme.axes}
        st.dataframe(pa.table(table), hide_index=True, height=320, column_config=labels, key="statistics")
        st.download_button(
            "Download CSV", lambda: _csv(table), f"{scheme.key}-statistics.csv", "text/csv", on_click="ignore"
        )
    with right:
        kind = st.segmented_control("Statistic", list(kinds), default=list(kinds)[-1], required=True)
        values, field = kinds[kind]
        where = field.statistic(focus, x.shape)
        shape = wording.shape_words(values.shape)
        alt = f"Heat map of the {kind}s, {shape}; framed is that of the chosen element."
        plot(statistics_map(values, scheme.axes, where, kind, theme), "statistics-map", alt, "18rem")
        st.caption(f"The {kind} has the shape {shape}; framed is the one of the locked element.")


@quiet
def distribution(scheme: Scheme, x: np.ndarray, result: Normalized, focus: Index, theme: str) -> None:
    """Histograms before and after, of all elements and of the field."""
    box = scheme.field.box(focus, x.shape) if scheme.field else tuple((i, i + 1) for i in focus)
    inside = tuple(slice(lo, hi) for lo, hi in box)
    panels = [(title, values, values[inside]) for title, values in (("before: x", x), ("after: x̂", result.xhat))]
    alt = "Histograms of x before and x̂ after, of all elements and of the chosen field. " + "; ".join(
        f"{title}: mean {part.mean():.3g}, standard deviation {part.std():.3g} in the field"
        for title, _, part in panels
    )
    plot(histograms(panels, theme), "histograms", alt, "22rem")
    st.caption(alt.partition(". ")[2])


def response_curves(scheme: Scheme, x: np.ndarray, focus: Index, eps: float, theme: str) -> None:
    """x̂ of the locked element over the contrast of the whole tensor, for several ε: linear, then saturated."""
    if scheme.suppression is None or scheme.eps is None:
        st.write(
            "Nothing divides here, or it does without ε: x̂ is proportional to the contrast, or does not depend on it."
        )
        return
    response_chart(saturation(x, scheme, focus), eps, theme)
    st.caption(
        "Where c² · E_B[v²] is small beside ε, x̂ grows with the contrast; beyond, it is saturated, and the "
        "contrast is normalized away. ε = 0 saturates at once. The dotted line is the tensor as it is, c = 1."
    )


def picture(scheme: Scheme, x: np.ndarray, result: Normalized, focus: Index, theme: str) -> None:
    """The locked element's example and channel as a picture, before and after."""
    n, _, _, c = focus
    if scheme.acts_on == "weight" or min(x.shape[1:3]) == 1:
        st.write("No picture: it takes examples with rows and columns, as “One image” or “Photograph” has them.")
        return
    images = {f"before: x of example {n}, channel {c}": x[n, :, :, c], "after: x̂": result.xhat[n, :, :, c]}
    alt = f"The channel {c} of example {n} as a grey picture before and after {scheme.name}."
    plot(pictures(images, theme), "picture", alt, "26rem")
    st.caption("Each picture is drawn from its own least number, black, to its largest, white.")


def formula(scheme: Scheme) -> None:
    """The scheme's formula."""
    lines = notation.formulas(scheme)
    for line in lines:
        if line.name != "where":
            st.latex(line.latex)
    where = [f"${line.latex}$" for line in lines if line.name == "where"]
    if where:
        st.caption("where " + " · ".join(where))


def parameters(scheme: Scheme, x: np.ndarray) -> None:
    """What is learned and what state there is, with the shapes here, in PyTorch and in Keras."""
    rows = parameter_shapes(scheme, x.shape)
    if not rows:
        st.write("Nothing is learned, and there is no state.")
    else:
        titles = ("Name", "What it is", "Shape here", "In PyTorch", "In Keras")
        st.table([dict(zip(titles, row, strict=True)) for row in rows])
    trap = axis_trap(scheme, x.shape)
    if trap:
        st.warning(trap, icon=":material/warning:")


def code(scheme: Scheme, x: np.ndarray, eps: float, gain: float, bias: float, view: View) -> None:
    """Runnable code in three frameworks, and the tensor to run it on."""
    framework = st.segmented_control("Framework", snippets.FRAMEWORKS, default="PyTorch", required=True)
    plain = view["data"] == "normal" and view["seed"] == 0  # what the code makes by itself
    source = None if plain else 'x = np.load("tensor.npy").astype(np.float64)'
    st.code(snippets.snippet(scheme, framework, x.shape, eps, gain, bias, source))
    st.download_button("Download tensor.npy", lambda: _npy(x), "tensor.npy", on_click="ignore")


def _csv(table: dict[str, np.ndarray]) -> str:
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    return "\n".join([",".join(table), *(",".join(map(repr, row)) for row in rows)]) + "\n"


def _npy(x: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, x, allow_pickle=False)
    return buffer.getvalue()
