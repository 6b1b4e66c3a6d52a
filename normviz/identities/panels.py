"""The identities page: its state, its controls, the rows of claims, and any two schemes compared."""

import numpy as np
import streamlit as st

from normviz.core.equality import WORK, Comparison, compare, difference, gaps, is_rounding
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, AXIS, MAX_ELEMENTS, OWN, Field, Index, Shape
from normviz.core.schemes import SCHEMES, Scheme, same_as
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.describe.wording import field_words, plural, shape_words, shared_words
from normviz.identities.identities import ALWAYS, IDENTITIES, Identity, Side, both, residual
from normviz.lab import state as lab
from normviz.lab.figures import statistics_map
from normviz.table1.grid import gap_text, sentence
from normviz.ui.components.plot import plot
from normviz.ui.custom import SIZES
from normviz.ui.link import KEPT, Param, View, choice, value_slider

PREFIX = "identities "
"""Of the keys that are this page's own; the tensor's are those of the tensor lab, and follow from page to page."""

TITLE = (
    "# Which normalizations are the same?\n"
    "Every claim is measured on your tensor: the largest difference of the two x̂, relative to the largest x̂. "
    "A residual of 1e−16 is rounding; at 0 both sides have made the very same sums."
)
PANELS = {"same": "The same", "belief": "Refuted", "own": "Two of your own"}
SHARED = (*SIZES, "data", "seed", "eps")
SIDES = ("left", "right")
STEPS = {"mean": "Mean taken off over", "divide": "Divided by the root mean square over"}
"""The two fields of a scheme of one's own, by the last part of their names in the link."""

HOW = (
    "A rule for every axis that is not its own: full, groups(2) or window(1), as in N=full,C=groups(2). "
    "Empty: no such step."
)
KNOWN = {key: row for key, row in SCHEMES.items() if row.acts_on in ("activation", "none") and key != "custom"}


def field_text(field: Field | None) -> str:
    """A field as one types it, without the axes that are their own: "H=full,W=full,C=groups(2)"; empty: no field."""
    if field is None:
        return ""
    named = {axis: rule for axis, rule in field.named().items() if rule != str(OWN)}
    return ",".join(f"{axis}={rule}" for axis, rule in (named or {AXES["activation"][0]: str(OWN)}).items())


def _texts(scheme: Scheme) -> dict[str, str]:
    return dict(zip(STEPS, map(field_text, (scheme.summation, scheme.suppression)), strict=True))


def _typed(side: str, key: str) -> list[Param]:
    defaults = _texts(SCHEMES[key]).items()
    return [Param(f"{PREFIX}{side}_{step}", text, lambda value, view: str(value)[:120]) for step, text in defaults]


PARAMS = (
    *(param for param in lab.PARAMS if param.name in SHARED),
    Param(f"{PREFIX}panel", "same", choice(list(PANELS))),
    Param(f"{PREFIX}row", "", choice(["", *IDENTITIES])),
    *_typed("left", "layer"),
    *_typed("right", "instance"),
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything in this view."""
    return name != "seed" or view["data"] != lab.OWN_DATA


def scheme_of(view: View, side: str) -> Scheme:
    """The scheme that is typed on one side; raises InvalidInput."""
    texts = (view[f"{side}_{step}"].strip() for step in STEPS)
    return SCHEMES["custom"].with_fields(*(Field.parse(text) if text else None for text in texts))


def controls(view: View) -> None:
    """Shape, data and ε, in the sidebar."""
    names = {key: sample.name for key, sample in SAMPLES.items()}
    own = view["data"] == lab.OWN_DATA
    if own or "own" in st.session_state:
        names[lab.OWN_DATA] = "Your own file"
    with st.sidebar:
        columns = st.columns(2)
        for number, (size, axis) in enumerate(zip(SIZES, AXES["activation"], strict=True)):
            label = f"{axis} ({AXIS[axis].many})"
            columns[number % 2].number_input(label, 1, MAX_ELEMENTS, key=size, **KEPT, disabled=own)
        st.selectbox("Data", list(names), key="data", **KEPT, format_func=names.get, on_change=_take_shape)
        if own:
            st.caption(st.session_state.get("own name", "Uneven noise, until a file is in the tensor lab."))
        else:
            st.number_input("Seed", 0, 9999, key="seed", **KEPT)
        value_slider("eps", "ε (smoothing term)", lab.EPS_STEPS, view["eps"], "{:.3g}".format)


def _take_shape() -> None:
    """One's own data bring their shape along."""
    if st.session_state["data"] == lab.OWN_DATA:
        st.session_state.update(lab.fit(st.session_state))


def use_shape(shape: Shape) -> None:
    """Go to another shape; one's own data cannot be cut to it."""
    st.session_state.update(zip(SIZES, shape, strict=True))
    if st.session_state["data"] == lab.OWN_DATA:
        st.session_state["data"] = next(param.default for param in PARAMS if param.key == "data")


# --- the rows -----------------------------------------------------------------------------------------------------


@st.cache_data(max_entries=256, show_spinner=False)
def _residual(key: str, x: np.ndarray, eps: float) -> float:
    return residual(IDENTITIES[key], x, eps)


def result_words(identity: Identity, met: bool, equal: bool) -> str:
    """What came out on this shape, and what that says about the claim."""
    mark = ":material/check: **equal** to rounding" if equal else ":material/close: **differs**"
    if not met:
        return f"{mark}; {'it needs' if identity.holds else 'to refute it:'} {identity.condition.words}"
    if equal:
        return mark if identity.holds else f"{mark} on these data only"
    return f"{mark}, against the claim" if identity.holds else f"{mark}: refuted"


def use_words(shape: Shape, other: Shape) -> str:
    """What another shape changes: "N = 1, C = 2", "H = W = 1"."""
    changed: dict[int, list[str]] = {}
    for axis, m, n in zip(AXES["activation"], shape, other, strict=True):
        if m != n:
            changed.setdefault(n, []).append(axis)
    return ", ".join(f"{' = '.join(axes)} = {n}" for n, axes in changed.items())


def panel(view: View, x: np.ndarray, theme: str) -> None:
    """The claims that hold, those that are refuted, or two schemes of one's own."""
    st.segmented_control(
        "Show",
        list(PANELS),
        key=f"{PREFIX}panel",
        **KEPT,
        required=True,
        format_func=PANELS.get,
        label_visibility="collapsed",
    )
    with st.container():
        if view["panel"] == "own":
            own_two(view, x.shape, theme)
        else:
            rows([row for row in IDENTITIES.values() if row.holds == (view["panel"] == "same")], view, x, theme)


def rows(identities: list[Identity], view: View, x: np.ndarray, theme: str) -> None:
    """A row per claim: what is said, what came out, a shape on which it is so, and a closer look."""
    with st.container(border=True):
        for identity in identities:
            _row(identity, view, x, theme)


def _row(identity: Identity, view: View, x: np.ndarray, theme: str) -> None:
    found, met = _residual(identity.key, x, view["eps"]), identity.condition.met(x.shape)
    claim, result, buttons = st.columns([10, 6, 6], vertical_alignment="center", gap="small")
    claim.markdown(f"**{identity.claim}**")
    result.markdown(f"{result_words(identity, met, is_rounding(found, x.dtype))}  \nresidual {gap_text(found)}")
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
    st.markdown(f"{identity.because} {'Holds' if identity.holds else 'Refuted'} on {shapes}.")
    for column, side, scheme, value in zip(
        st.columns(2, gap="large"), identity.sides, schemes, (worst.left, worst.right), strict=True
    ):
        with column:
            st.markdown(f"## {_name(side, scheme)}")
            for line in notation.formulas(scheme):
                if line.name in side.lines:
                    st.latex(line.latex)
            st.markdown(
                f"x̂ = **{value:.4g}** at {_place(scheme, worst.index)}. {_shares(scheme, worst.index, x.shape)}"
            )
    parameters = _parameters(*schemes)
    if parameters:
        st.caption(parameters)
    if not is_rounding(worst.residual, x.dtype):
        _map(left, right, worst.index, schemes[0], "row map", theme)


def _name(side: Side, scheme: Scheme) -> str:
    parameters = {"groups": "G", "window": "R"}
    numbers = [f"{parameters[kind]} = {value}" for kind, value in scheme.parameters.items()]
    return sentence(", ".join([scheme.name, *numbers])) + (f" {side.words}" if side.words else "")


def _place(scheme: Scheme, index: Index) -> str:
    """Where an element is: "case 2, row 2, column 0, channel 4"."""
    return ", ".join(f"{AXIS[axis].one} {i}" for axis, i in zip(scheme.axes, index, strict=True))


def _shares(scheme: Scheme, index: Index, shape: Shape) -> str:
    """What an element shares its statistics with: one box, or two where what is averaged and what divides differ."""
    boxes = [field_words(field, index, shape, scheme.axes) for field in scheme.fields]
    if not boxes:
        return "It shares nothing, and stays."
    if len(set(boxes)) == 1:
        return f"It shares {shared_words(scheme)} among {boxes[0]}."
    return f"Its mean is that of {boxes[0]}; its mean square, that of {boxes[1]}."


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
    for symbol, axes in (("γ", scheme.gain), ("β", scheme.bias)):
        if axes is not None:
            symbols.setdefault(axes, []).append(symbol)
    return "; ".join(f"{' and '.join(names)} along {', '.join(axes)}" for axes, names in symbols.items()) or "nothing"


def _map(left: np.ndarray, right: np.ndarray, index: Index, scheme: Scheme, key: str, theme: str) -> None:
    """Where two results differ, the furthest element framed."""
    apart = gaps(left, right)
    figure = statistics_map(apart, scheme.axes, index, "difference", theme)
    figure.update_traces(texttemplate=None, colorbar_title_text="|difference|")
    figure.update_yaxes(automargin=True)
    furthest = f"{gap_text(float(apart[index]))} at {_place(scheme, index)}"
    plot(figure, key, f"How far the two x̂ are apart, element by element; the largest, {furthest}, is framed.", "24rem")


# --- two of one's own ---------------------------------------------------------------------------------------------


def own_two(view: View, shape: Shape, theme: str) -> None:
    """Two schemes side by side, and whether they are equal."""
    st.markdown(
        f"Two schemes, and whether they are one on {shape_words(shape)}: by their fields, and on random tensors."
    )
    schemes = [
        _chosen(view, side, shape, column) for side, column in zip(SIDES, st.columns(2, gap="large"), strict=True)
    ]
    with st.container():
        if None not in schemes:
            _verdict(*schemes, shape, view, theme)


def _chosen(view: View, side: str, shape: Shape, column: st.delta_generator.DeltaGenerator) -> Scheme | None:
    """The controls of one side, and what they say; None where that is no scheme on this shape."""
    with column:
        try:
            scheme, error = scheme_of(view, side), None
            scheme.check(shape, WORK)
        except InvalidInput as wrong:
            scheme, error = None, str(wrong)
        key, now = f"{PREFIX}{side} known", {step: view[f"{side}_{step}"] for step in STEPS}
        matching = [name for name, row in KNOWN.items() if _texts(row) == now]
        if st.session_state.get(key) not in matching:
            st.session_state[key] = matching[-1] if matching else None  # instance, rather than its other name
        st.selectbox(
            sentence(side),
            list(KNOWN),
            key=key,
            format_func=lambda name: KNOWN[name].label,
            placeholder="typed below",
            on_change=_fill,
            args=(side,),
        )
        for step, label in STEPS.items():
            st.text_input(label, key=f"{PREFIX}{side}_{step}", **KEPT, placeholder="no such step", help=HOW)
        with st.container():
            if error:
                st.error(sentence(error))
                return None
            same = [row.name for row in same_as(scheme, shape)]
            st.caption(f"On this shape: {', '.join(same)}." if same else "No scheme that has a name.")
    return scheme


def _fill(side: str) -> None:
    """Write a known scheme's fields into the text fields."""
    chosen = st.session_state[f"{PREFIX}{side} known"]
    if chosen is not None:
        st.session_state.update({f"{PREFIX}{side}_{step}": text for step, text in _texts(KNOWN[chosen]).items()})


@st.cache_data(max_entries=16, show_spinner=False)
def _compare(left: Scheme, right: Scheme, shape: Shape, eps: float, seed: int) -> Comparison:
    return compare(left, right, shape, eps, seed)


def _verdict(left: Scheme, right: Scheme, shape: Shape, view: View, theme: str) -> None:
    try:
        found = _compare(left, right, shape, view["eps"], view["seed"])
    except InvalidInput as error:
        st.error(sentence(str(error)))
        return
    measured = f"The largest residual on {plural(found.draws, 'random tensor')} is {gap_text(found.worst.residual)}."
    if found.equal:
        st.success(f"**They are the same on this shape.** {_why_equal(found)} {measured}", icon=":material/check:")
    else:
        worst = found.worst
        st.info(
            f"**They differ.** {measured}  \nA counter-example: x = {found.x[worst.index]:.4g} at "
            f"{_place(left, worst.index)} becomes {worst.left:.4g} on the left and {worst.right:.4g} on the right.",
            icon=":material/close:",
        )
        columns = st.columns(2, gap="large")
        for column, side, scheme in zip(columns, SIDES, (left, right), strict=True):
            column.markdown(f"**{sentence(side)}.** {_shares(scheme, worst.index, shape)}")
        _map(found.left, found.right, worst.index, left, "own map", theme)


def _why_equal(found: Comparison) -> str:
    if found.same_fields:
        return "Every element shares its statistics with the same others."
    if not np.any(found.left):
        return "Every element is its own mean, and 0 is left of it."
    return "Of two elements with one mean, each is as far from it as the other, whatever divides them."
