"""Known pairs of schemes: whether they are equal on this tensor, and a closer look."""

import numpy as np
import streamlit as st

from normviz.core.equality import difference, is_rounding
from normviz.core.fields import AXES, Shape
from normviz.core.schemes import Scheme
from normviz.core.text import measured
from normviz.describe import notation
from normviz.describe.wording import gap_text, parameter_words, sentence
from normviz.identities.controls import use_shape
from normviz.identities.furthest import difference_map, place, shares
from normviz.identities.identities import ALWAYS, IDENTITIES, Identity, Side, both, residual
from normviz.identities.state import PREFIX, RESIDUAL
from normviz.ui.link import View
from normviz.ui.saving import save_table


@st.cache_data(max_entries=256, show_spinner=False)
def _residual(key: str, x: np.ndarray, eps: float) -> float:
    return residual(IDENTITIES[key], x, eps)


def result_words(identity: Identity, met: bool, equal: bool) -> str:
    """Return the result of a pair on this tensor, and the condition that its shape does not meet."""
    mark = ":material/check: **equal** up to rounding" if equal else ":material/close: **different**"
    if not met:
        return f"{mark} here; {'equal' if identity.holds else 'different'} for {identity.condition.words}"
    if equal:
        return mark if identity.holds else f"{mark}, on these data only"
    return f"{mark}, against the claim" if identity.holds else mark


def use_words(shape: Shape, other: Shape) -> str:
    """What another shape changes: "N = 1, C = 2", "H = W = 1"."""
    changed: dict[int, list[str]] = {}
    for axis, m, n in zip(AXES["activation"], shape, other, strict=True):
        if m != n:
            changed.setdefault(n, []).append(axis)
    return ", ".join(f"{' = '.join(axes)} = {n}" for n, axes in changed.items())


def known_pairs(view: View, x: np.ndarray, theme: str) -> None:
    """Show the pairs that are equal, then those that are believed to be."""
    for heading, holds in (("Equal on the right shape", True), ("Often called equal, but different", False)):
        identities = [row for row in IDENTITIES.values() if row.holds == holds]
        st.markdown(f"## {heading}")
        with st.container(border=True):
            for identity in identities:
                _row(identity, view, x, theme)
    save_table(lambda: numbers(list(IDENTITIES.values()), x, view["eps"]), "identities")
    st.caption(RESIDUAL)


def numbers(identities: list[Identity], x: np.ndarray, eps: float) -> dict[str, list]:
    """Every claim with its residual on this tensor, in columns."""
    found = [_residual(identity.key, x, eps) for identity in identities]
    return {
        "claim": [identity.claim for identity in identities],
        "residual": found,
        "equal to rounding": [is_rounding(gap, x.dtype) for gap in found],
    }


def _row(identity: Identity, view: View, x: np.ndarray, theme: str) -> None:
    found, met = _residual(identity.key, x, view["eps"]), identity.condition.met(x.shape)
    claim, result, buttons = st.columns([9, 8, 5], vertical_alignment="center", gap="small")
    claim.markdown(f"**{identity.claim}**")
    schemes = [side.scheme(x.shape) for side in identity.sides]
    learned = "  \nγ and β differ in shape" if len({(each.gain, each.bias) for each in schemes}) > 1 else ""
    result.markdown(
        f"{result_words(identity, met, is_rounding(found, x.dtype))}{learned}",
        help=f"Largest difference of the two x̂, relative to the largest x̂: {gap_text(found)}.",
    )
    is_open = view["row"] == identity.key
    with buttons, st.container(horizontal=True, horizontal_alignment="right"):
        if not met:
            shape = identity.condition.mend(x.shape)
            st.button(f"Use {use_words(x.shape, shape)}", key=f"use {identity.key}", on_click=use_shape, args=(shape,))
        label = "Close" if is_open else "Why?"
        st.button(label, key=f"open {identity.key}", on_click=_open, args=("" if is_open else identity.key,))
    with st.container():
        if is_open:
            _detail(identity, x, view["eps"], theme)


def _open(key: str) -> None:
    st.session_state[f"{PREFIX}row"] = key


def _detail(identity: Identity, x: np.ndarray, eps: float, theme: str) -> None:
    """Both sides' formulas, the element where they are furthest apart, and where else they differ."""
    left, right = both(identity, x, eps)
    worst = difference(left, right)
    schemes = [side.scheme(x.shape) for side in identity.sides]
    shapes = f"shapes with {identity.condition.words}" if identity.condition is not ALWAYS else "any shape"
    st.markdown(f"{identity.because} {'Equal' if identity.holds else 'Different'} on {shapes}.")
    for column, side, scheme, value in zip(
        st.columns(2, gap="large"), identity.sides, schemes, (worst.left, worst.right), strict=True
    ):
        with column:
            st.markdown(f"## {_name(side, scheme)}")
            for line in notation.formulas(scheme):
                if line.name in side.lines:
                    st.latex(stacked(line.latex))
            st.markdown(
                f"x̂ = **{measured(value)}** at {place(scheme, worst.index)}. {shares(scheme, worst.index, x.shape)}"
            )
    parameters = _parameters(*schemes)
    if parameters:
        st.caption(parameters)
    if not is_rounding(worst.residual, x.dtype):
        difference_map(left, right, worst.index, schemes[0], "row map", theme)


def stacked(latex: str) -> str:
    """A formula with its parts, which stand side by side, below each other: a column is narrow."""
    first, *more = latex.split(r"\quad")
    lines = r" \\ ".join([first, *more])
    return rf"\begin{{gathered}}{lines}\end{{gathered}}" if more else latex


def _name(side: Side, scheme: Scheme) -> str:
    return sentence(", ".join([scheme.name, *parameter_words(scheme)])) + (f" {side.words}" if side.words else "")


def _parameters(left: Scheme, right: Scheme) -> str:
    """How the two differ beside x̂: the shapes of γ and β, and what is kept for inference."""
    told = []
    if (left.gain, left.bias) != (right.gain, right.bias):
        told.append(f"What is learned differs: {_learned(left)} on the left, {_learned(right)} on the right.")
    for scheme in (left, right):
        if scheme.keeps and left.keeps != right.keeps:
            told.append(f"So it is in training; for inference, {scheme.name} keeps a {' and a '.join(scheme.keeps)}.")
    return " ".join(told)


def _learned(scheme: Scheme) -> str:
    """The parameters and the axes along which they vary: "γ and β along H, W, C"."""
    symbols: dict[tuple[str, ...], list[str]] = {}
    for symbol, axes in ((scheme.gain_symbol, scheme.gain), ("β", scheme.bias)):
        if axes is not None:
            symbols.setdefault(axes, []).append(symbol)
    return "; ".join(f"{' and '.join(names)} along {', '.join(axes)}" for axes, names in symbols.items()) or "nothing"
