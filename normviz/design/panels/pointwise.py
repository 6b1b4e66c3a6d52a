"""The panel on what takes normalization's place without statistics."""

import streamlit as st

from normviz.core.scheme import Scheme
from normviz.core.text import decimal, measured, sentence, typeset
from normviz.core.tolerances import INVARIANT, RELATIVE
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import gap_text, inside_words, linked, passed_words, plural
from normviz.design import pointwise
from normviz.design.pointwise import DELTAS, EDGE, PLAIN, SHARED, Change, at_alpha
from normviz.design.pointwise_figures import field_figure, gaps_figure
from normviz.design.wording import LAYER_WORDS
from normviz.ui.components.plot import plot
from normviz.ui.frame import way
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]

BESIDE = (0.1, 10.0)
"""α whose curves stand beside that of the page."""


def show(view: View, theme: str) -> None:
    """What a factor does to x̂, the six changes, and what saturation gives."""
    scheme, delta = at_alpha(view["function"], view["alpha"]), view["delta"]
    st.markdown(f"### {headline(scheme, delta)}")
    st.markdown(f"{scheme.about} Here {_parameters(scheme)}. RMS norm divides the same numbers by what they share.")
    _fields(scheme, delta, theme)
    _gaps(scheme, delta, theme)
    st.markdown("## The six changes")
    st.table(table(scheme, view["layer"], delta), border="horizontal")
    st.caption(
        "✔ and ✘ are the rule's: whether x̂ stays. The numbers are measured: max|x̂′ − x̂| / max|x̂| on a forward pass of "
        f"the networks of Table 1, a {LAYER_WORDS[view['layer']]} layer, at δ = {typeset(delta)} and ε = 0. α "
        f"is kept at {typeset(scheme.alpha)}."
    )
    st.markdown(f"## What saturation gives instead\n{saturation_words(scheme, delta)}")
    st.table(alphas(scheme, delta), border="horizontal")
    st.caption(
        f"On 64 standard normal numbers (seed {pointwise.SEED}). The slope is ∂x̂/∂x, by which a gradient is multiplied "
        f"on its way back: the mean of all elements, over the slope where {inside_words(scheme)} = 0."
    )
    alpha = decimal(scheme.alpha)
    way(
        f"/?scheme={scheme.key}&alpha={alpha}&tab=response",
        "One element, over the contrast:",
        ":material/view_in_ar:",
    )
    way(f"/gradients?scheme={scheme.key}&alpha={alpha}&show=jacobian", "Nothing but a diagonal:", ":material/function:")
    way(f"/invariance?schemes={scheme.key},rms", "The six changes, trained:", ":material/grid_on:")


def _parameters(scheme: Scheme) -> str:
    """What the function has beside x, with its values, and who learns it."""
    alpha, source = f"α = {typeset(scheme.alpha)}", linked(scheme.reference)
    if scheme.shift is None:
        return f"{alpha}; {source} learns it"
    return f"{alpha} and s = {typeset(scheme.shift)}; {source} learns both"


def headline(scheme: Scheme, delta: float) -> str:
    """How far a factor comes through."""
    if delta == 1:
        return "δ = 1 changes nothing, with or without normalization: move δ."
    ours, shared, plain = (measured(pointwise.gap(each, delta), 2, ROUNDING) for each in (scheme, SHARED, PLAIN))
    return (
        f"As all x are multiplied by δ = {typeset(delta)}, x̂ changes by {ours} of its largest number with "
        f"{scheme.name}, by {shared} with RMS norm, by {plain} without normalization."
    )


def _fields(scheme: Scheme, delta: float, theme: str) -> None:
    """One field's elements under both, beside each other."""
    said = {
        SHARED: "**RMS norm is a line, the flatter the larger δ is**: every element keeps its height.",
        scheme: f"**{passed_words(scheme)} is one fixed curve**, on which elements slide outwards as δ grows.",
    }
    for column, (each, words) in zip(st.columns(2, gap="large"), said.items(), strict=True):
        with column:
            found = pointwise.field(each, delta)
            alt = (
                f"x̂ of eight elements over what comes in, at δ = {typeset(delta)}: {each.name}, from "
                f"{measured(found.xhat.min(), 3)} to {measured(found.xhat.max(), 3)}."
            )
            plot(field_figure(each.label, found, theme), f"field {each.key}", alt, "22rem")
            st.markdown(words)


def _gaps(scheme: Scheme, delta: float, theme: str) -> None:
    """The gap over δ."""
    alphas = dict.fromkeys((scheme.alpha, *BESIDE))
    found = {f"{scheme.pointwise}, α = {typeset(alpha)}": at_alpha(scheme.key, alpha) for alpha in alphas}
    named = {**found, "RMS": SHARED, "none": PLAIN}
    lines = {name: pointwise.gaps(each) for name, each in named.items()}
    ends = "; ".join(f"{name} {gap_text(pointwise.gap(each, delta))}" for name, each in named.items())
    alt = f"Gap of x̂ over δ, at δ = {typeset(delta)}: {ends}."
    st.markdown("How far x̂ changes, of its largest number, as all x are multiplied by δ:")
    plot(gaps_figure(DELTAS, lines, delta, theme), "gaps", alt, "24rem")
    st.markdown(
        "**The smaller α is, the more the function is a line, and a factor comes through as without normalization; the "
        "larger α, the sooner it is bounded. Only RMS norm stays at 0, to rounding, for every δ.**"
    )
    save_table(
        lambda: {"delta": DELTAS.tolist()} | {name: values.tolist() for name, values in lines.items()},
        f"{scheme.key}-contrast",
    )


def table(scheme: Scheme, layer: str, delta: float) -> dict[str, list[str]]:
    """The six changes in columns: the rule's answer and the measured gap, for each of three."""
    columns = {"Change": [f"{sentence(each.name)}: {each.plain}" for each in TRANSFORMATIONS.values()]}
    for each in (scheme, SHARED, PLAIN):
        columns[each.label] = [_cell(found, delta) for found in pointwise.changes(each, layer, delta)]
    return columns


def _cell(found: Change, delta: float) -> str:
    gap = gap_text(found.gap)
    if TRANSFORMATIONS[found.key].factor is not None and delta == 1:
        return "– nothing is changed"
    if found.verdict.invariant:
        return f"✔ stays ({gap})" if found.gap <= INVARIANT["float64"] else f"✔ **but measured {gap}**"
    return f"✘ {'changes' if found.gap > INVARIANT['float64'] else 'hardly changes'} ({gap})"


def saturation_words(scheme: Scheme, delta: float) -> str:
    """Bounds, slopes, and signs, with their numbers."""
    before, after = pointwise.saturated(scheme), pointwise.saturated(scheme, delta)
    most = pointwise.ALPHAS[-1]
    signs = at_alpha(scheme.key, most)
    moved, slope = measured(pointwise.gap(signs, delta), 2, ROUNDING), measured(pointwise.saturated(signs).slope, 2)
    return (
        f"**Bounds**: x̂ lies between −1 and 1, whatever comes in; the largest |x̂| is {measured(before.largest)}, and "
        f"{measured(after.largest)} after x is multiplied by δ = {typeset(delta)}.\n\n"
        f"**A gradient that goes to 0**: beyond |{inside_words(scheme)}| = {typeset(EDGE)} the slope is at most "
        f"{measured(pointwise.edge_slope(scheme), 2)} of that at 0. There {_are(before.beyond)} before, "
        f"{plural(after.beyond, 'element')} after.\n\n"
        f"**For large α only signs remain**, and signs do not change with a factor: at α = {typeset(most)} x̂ changes "
        f"by {moved}. This is of no use: all sizes are lost, and the mean slope is {slope}, so no gradient comes back."
    )


def _are(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} {plural(count, 'element')} of 64"


def alphas(scheme: Scheme, delta: float) -> dict[str, list[str]]:
    """From a line to signs, in columns: a row for each α, the page's among them."""
    each = [at_alpha(scheme.key, alpha) for alpha in sorted({*pointwise.ALPHAS, scheme.alpha})]
    found = [pointwise.saturated(one) for one in each]
    return {
        "α": [f"**{typeset(one.alpha)}**" if one.alpha == scheme.alpha else typeset(one.alpha) for one in each],
        f"elements beyond |{inside_words(scheme)}| = {typeset(EDGE)}": [f"{one.beyond} of 64" for one in found],
        f"x̂ changes, as x is multiplied by δ = {typeset(delta)}": [
            measured(pointwise.gap(one, delta), 2, ROUNDING) for one in each
        ],
        "mean slope, of that at 0": [measured(one.slope, 2) for one in found],
    }
