"""The panel on the Fisher information: how far a step of the weights moves the predictions."""

from collections.abc import Mapping, Sequence
from itertools import product

import streamlit as st

from normviz.core.registry import BA_REFERENCE, SCHEMES
from normviz.core.settings import build_settings
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.geometry import fisher
from normviz.topics.geometry.figures import EXACT, QUADRATIC, DistanceRegion, draw_distance_region
from normviz.topics.geometry.state import SCHEME_LOOKS, get_kl_contour, get_scaling_powers
from normviz.ui.link import View
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure

PLANE_HALF_WIDTH = 5.0
"""Half the side of the drawn plane, longer than the longest w."""

PowersByBlock = Mapping[tuple[str, str], fisher.ScalingPower]

SCALING_LABELS = {"w": "W′ = 2W", "x": "x′ = 2x", "gain": "γ′ = 2γ"}
"""Labels of the scaled quantities of `fisher.SCALINGS`."""

_RAISED = {-2: "¼", -1: "½", 0: "1", 1: "2", 2: "4"}


def show(view: View, theme: str) -> None:
    """Show the plane of one unit's weights with regions of one KL distance, and how F scales."""
    model, scheme, distance = build_settings(fisher.FisherModel, view), view["scheme"], view["distance"]
    _show_planes(model, scheme, distance, theme)
    found = get_scaling_powers(model)
    _show_scaling(model, scheme, found)
    draw_download_button(lambda: tabulate_powers(found), "fisher")


def tabulate_powers(powers_by_scheme: Mapping[str, PowersByBlock]) -> dict[str, list]:
    """Return the exponents by which the blocks of F scale as columns by name, one per scheme."""
    rows = list(product(fisher.PARAMETER_KINDS, SCALING_LABELS))
    return {"block": [f"{block}, {SCALING_LABELS[change]}" for block, change in rows]} | {
        f"exponent, {key}": [powers[row].exponent for row in rows] for key, powers in powers_by_scheme.items()
    }


def _show_planes(model: fisher.FisherModel, scheme: str, distance: float, theme: str) -> None:
    """Draw the weights at equal distance from w, without normalization and with it."""
    name = SCHEMES[scheme].name
    now = {key: fisher.compute_step_lengths(key, model, distance) for key in ("none", scheme)}
    twice = {key: fisher.compute_step_lengths(key, model, distance, 2.0) for key in ("none", scheme)}
    st.markdown(
        f"### With {name}, a step of length {format_number(now[scheme].across, 3)} changes the predictions by KL = "
        f"{typeset(distance)}."
    )
    st.markdown(
        f"Without normalization the step has length {format_number(now['none'].across, 3)}. If **w** were twice "
        f"as long, the lengths would be {format_number(twice[scheme].across, 3)} and "
        f"{format_number(twice['none'].across, 3)}. They follow from the Fisher information, for steps at right angles "
        f"to **w**."
    )
    found = {key: get_kl_contour(model, key, distance) for key in now}
    for column, (key, title) in zip(
        st.columns(2, gap="medium"), (("none", "Without normalization"), (scheme, f"With {name}")), strict=True
    ):
        with column:
            region = DistanceRegion(model.w[0], *found[key])
            alt = (
                f"{title}: the plane of two weights, w of length {model.length:g} and the region in which the "
                f"predictions are nearer than KL = {distance:g}; by the Fisher information it ends "
                f"{now[key].across:.3g} away across w."
            )
            show_figure(
                draw_distance_region(title, region, PLANE_HALF_WIDTH, SCHEME_LOOKS[key], theme),
                "without" if key == "none" else "with",
                alt,
                "26rem",
            )
    flat = format_number(now[scheme].curvature, 2, RELATIVE_TOLERANCES["float64"])
    st.markdown(
        f"Filled: all **w** whose predictions change by less ({EXACT}). Dashed: the same by the Fisher information "
        f"({QUADRATIC}). With {name} the curvature δᵀFδ along **w** is **{flat}** of the largest, and "
        + _describe_dependence(scheme, found[scheme].is_open(model.w[0]))
    )
    st.caption(
        f"A generalised linear model as in [{BA_REFERENCE.text}]({BA_REFERENCE.url}), section 5.2: "
        f"{fisher.UNITS} units on two principal components of {fisher.EXAMPLES} digits, ε = 0; the plane is that of "
        f"unit 0, the other units stay. KL is summed over units, a mean over the digits."
    )


def _describe_dependence(scheme: str, is_open: bool) -> str:
    """Describe how the predictions depend on w; `is_open` is True if no w in the plane reaches the distance."""
    if scheme == "layer":
        return (
            "the length of one unit still matters, since the units share μ and σ. A common factor of all units does "
            "not matter."
        )
    if is_open:
        return (
            "only the direction of **w** matters. No direction changes the predictions by this KL, so all of the plane "
            "is filled."
        )
    return (
        "only the direction of **w** matters. The filled region reaches outwards from the origin. A longer **w** needs "
        "a longer step to turn by the same angle."
    )


def _show_scaling(model: fisher.FisherModel, scheme: str, powers_by_scheme: Mapping[str, PowersByBlock]) -> None:
    """Show the factors of the blocks of F when weights, data or gain are doubled."""
    power = {key: each["w", "w"] for key, each in powers_by_scheme.items()}
    st.markdown(
        f"### Doubling the weights multiplies their Fisher information by {_format_factor(power[scheme])} with "
        f"{SCHEMES[scheme].name}, by {_format_factor(power['none'])} without."
    )
    st.table(
        {"Block": [f"{block}, {change}" for block, change in product(fisher.PARAMETER_KINDS, SCALING_LABELS.values())]}
        | {
            SCHEMES[key].label: [_format_cell(each[row]) for row in product(fisher.PARAMETER_KINDS, SCALING_LABELS)]
            for key, each in powers_by_scheme.items()
        },
        border="horizontal",
    )
    error, square, of_gain = fisher.compute_gain_factors(scheme, model)
    gains = {
        change: [key for key, each in powers_by_scheme.items() if _is_unscaled(each["γ", change])]
        for change in ("w", "x")
    }
    st.markdown(
        f"**Learning the gain γ.** Doubling the weights leaves its block unchanged with "
        f"{_join_names(gains['w'])}. Doubling the data leaves it unchanged with {_join_names(gains['x'])}. "
        f"The block is E[x̂² (y − E[y|x])²], with x̂ before γ. "
        f"With {SCHEMES[scheme].name}, x̂² is {format_number(square, 4)} on average, the squared prediction error is "
        f"{format_number(error, 4)}, and F of a unit's γ is {format_number(of_gain, 4)}."
    )
    st.markdown("With ε > 0 this holds approximately. [Table 1](invariance?panel=eps) shows the gap over ε.")


def _format_factor(power: fisher.ScalingPower) -> str:
    """Format a power of two as a factor: ¼, 1, or about 0.58 if elements of the block scale differently."""
    return _RAISED[round(power.exponent)] if power.exact else f"about {_format_rounded_factor(power)}"


def _format_cell(power: fisher.ScalingPower) -> str:
    """Format a scaling power as a cell of a table: "× ¼", or "≈ 0.58" if elements of the block differ."""
    return f"× {_format_factor(power)}" if power.exact else f"≈ {_format_rounded_factor(power)}"


def _format_rounded_factor(power: fisher.ScalingPower) -> str:
    return format_number(fisher.SCALING_FACTOR**power.exponent, 2)


def _is_unscaled(power: fisher.ScalingPower) -> bool:
    return power.exact and round(power.exponent) == 0


def _join_names(schemes: Sequence[str]) -> str:
    """Join the names of schemes, given by key: "batch, layer and RMS norm"; "none of them" if there are none."""
    names = [SCHEMES[key].label for key in schemes]
    *head, last = (name if name.isupper() else name.lower() for name in names or ["none of them"])
    words = f"{', '.join(head)} and {last}" if head else last
    return f"{words} norm" if names else words
