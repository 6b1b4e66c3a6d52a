"""Panel of pairs of schemes as questions: a guess, then the answer, both cubes, and differing parameters."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from normviz.core.equality import find_largest_difference, is_within_rounding
from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.core.text import format_number
from normviz.describe import notation
from normviz.describe.aims import describe_scope
from normviz.describe.wording import (
    capitalize_first,
    format_gap,
    format_parameters,
    format_scheme_label,
    format_shape,
    pluralize,
)
from normviz.topics.same.identities import ANY_SHAPE, IDENTITIES, Identity, IdentitySide, evaluate_sides
from normviz.topics.same.scheme_pair import describe_element_position, describe_shared_elements, draw_two_cubes
from normviz.topics.same.state import PAIRS, PREFIX
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.tensor import OWN_DATA, SIZE_NAMES, make_tensor

PAIR_GUESSES = {"yes": "= Same", "no": "≠ Different"}


@st.cache_data(max_entries=64, show_spinner=False)
def _evaluate_both_sides(key: str, x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    return evaluate_sides(IDENTITIES[key], x, eps)


def show_pair(view: View, x: np.ndarray, theme: str) -> None:
    """Show a pair with its question, and with its answer once it is guessed or revealed."""
    identity = IDENTITIES[view["row"]]
    shape = identity.condition.mend(x.shape)
    drawn = x if shape == x.shape else make_pair_tensor(shape, view)
    covered = not view["reveal"] and identity.key not in get_pair_guesses()
    words, cubes = st.columns([2, 3], gap="medium")
    with words, st.container(key="pair", gap="small"):
        st.caption(_format_progress(identity.key))
        st.markdown(f"## {identity.question}")
        if covered:
            with st.container(horizontal=True, key="guess"):
                for guess, label in PAIR_GUESSES.items():
                    on = partial(get_pair_guesses().__setitem__, identity.key, guess)
                    st.button(label, f"guess {guess}", on_click=on)
            st.caption("Same: equal normalized values x̂ for every input.")
            left, right = _describe_sides(identity, shape)
            st.markdown(left)
            with st.expander("Hint"):
                st.markdown(right)
        else:
            for sentence in _describe_sides(identity, shape):
                st.markdown(sentence)
            _show_answer(identity, drawn.shape)
    with cubes:
        _draw_cubes(identity, drawn, covered, view, theme)
        if not covered:
            found = find_largest_difference(*_evaluate_both_sides(identity.key, x, view["eps"])).residual
            st.caption(
                describe_measurement(identity, x.shape, is_within_rounding(found, x.dtype)),
                help=f"Largest difference of both x̂ on your tensor, relative to the largest x̂: {format_gap(found)}.",
            )
    with words, st.container(horizontal=True, vertical_alignment="bottom", key="pairs"):
        st.selectbox(
            "All pairs",
            PAIRS,
            **make_widget_arguments(PREFIX + "row"),
            format_func=partial(_format_pair, shape=x.shape),
        )
        if view["reveal"] or len(get_pair_guesses()) == len(PAIRS):
            st.button("Start again", on_click=_restart_quiz)
        else:
            st.button(
                "Reveal all", type="tertiary", on_click=st.session_state.update, args=({PREFIX + "reveal": True},)
            )
    if not covered:
        with st.expander("Formulas and numbers"):
            _show_formulas(identity, drawn, view["eps"])


def get_pair_guesses() -> dict[str, str]:
    """Return the guesses of this session by pair, keys of `PAIR_GUESSES`, in their order."""
    return st.session_state.setdefault(PREFIX + "guesses", {})


def describe_measurement(identity: Identity, shape: Shape, equal: bool) -> str:
    """Describe in a sentence whether both sides' x̂ are equal on the page's tensor, which has this shape."""
    found = f"the two x̂ {'are equal up to rounding' if equal else 'differ'}"
    if not identity.condition.met(shape):
        return f"Your tensor, {format_shape(shape)}, has another shape. There {found}."
    return f"On your tensor {found}{'.' if equal == identity.holds else ', because of its special values.'}"


def compare_learned_state(left: Scheme, right: Scheme) -> str:
    """Describe how the learned parameters and stored states of two schemes differ, in sentences."""
    ours, theirs = _describe_parameters(left), _describe_parameters(right)
    sentences = [
        f"Both learn {ours}." if ours == theirs else f"**γ and β differ:** {ours} on the left, {theirs} on the right."
    ]
    for scheme in (left, right):
        if scheme.keeps and left.keeps != right.keeps:
            sentences.append(f"For inference, {scheme.name} keeps a {' and a '.join(scheme.keeps)}.")
    return " ".join(sentences)


def stack_formula(latex: str) -> str:
    """Return a LaTeX formula with its parts below each other, to fit a narrow column."""
    first, *more = latex.split(r"\quad")
    lines = r" \\ ".join([first, *more])
    return rf"\begin{{gathered}}{lines}\end{{gathered}}" if more else latex


def _describe_sides(identity: Identity, shape: Shape) -> list[str]:
    """Describe in a sentence for each side what it normalizes."""
    return [
        f"**{_name_side(side, shape)}** normalizes {describe_scope(side.scheme(shape))}." for side in identity.sides
    ]


def _name_side(side: IdentitySide, shape: Shape) -> str:
    """Return the name of one side: "Group, G = 1"."""
    return " ".join(filter(None, [format_scheme_label(side.scheme(shape)), side.words]))


def _format_pair(key: str, shape: Shape) -> str:
    """Format a pair for the list: "1: Group, G = 1 and Layer"."""
    identity = IDENTITIES[key]
    names = [_name_side(side, identity.condition.mend(shape)) for side in identity.sides]
    return f"{PAIRS.index(key) + 1}: {' and '.join(names)}"


def _show_answer(identity: Identity, drawn: Shape) -> None:
    guess, right = get_pair_guesses().get(identity.key), "yes" if identity.holds else "no"
    if guess is not None:
        wrong = f"**Not quite:** you guessed “{PAIR_GUESSES[guess]}”."
        st.markdown("**Right.**" if guess == right else wrong)
    st.markdown(format_pair_answer(identity))
    st.markdown(compare_learned_state(*(side.scheme(drawn) for side in identity.sides)))
    values = {PREFIX + "row": _find_next_pair(identity)}
    st.button(
        "Next pair", "next pair", icon=":material/arrow_forward:", type="primary", on_click=st.session_state.update,
        args=(values,),
    )  # fmt: skip


def _draw_cubes(identity: Identity, x: np.ndarray, covered: bool, view: View, theme: str) -> None:
    """Draw both schemes' cubes, and the elements averaged with the chosen one, unless `covered` in the right cube."""
    pair = build_pair_schemes(identity, x.shape, covered)
    drawn = view | {"note": "covered"} if covered else view
    draw_two_cubes(pair, x, _evaluate_both_sides(identity.key, x, view["eps"]), drawn, theme)
    later = "After your guess the right box shows its blue values." if covered else "Click another element."
    st.caption(f"{_describe_box(pair[0], x.shape)} {later}")


def _describe_box(scheme: Scheme, shape: Shape) -> str:
    """Describe what a scheme's box holds: "4 examples, each of 4 × 4 positions (16 rows) with 6 channels."."""
    if scheme.symbol == "w":
        return f"Weights, {' × '.join(scheme.axes)} = {format_shape(shape)}."
    n, h, w, c = shape
    each = ", each" if n > 1 else ""
    positions = f"{h} × {w} positions ({pluralize(h * w, 'row')})"
    return f"{pluralize(n, 'example')}{each} of {positions} with {pluralize(c, 'channel')}."


def format_pair_answer(identity: Identity) -> str:
    """Return the answer of a pair as text, with its reason and the shapes for which it holds."""
    shapes = "every shape" if identity.condition is ANY_SHAPE else f"shapes with {identity.condition.words}"
    guess = PAIR_GUESSES["yes" if identity.holds else "no"]
    return f"### {guess} x̂\n{identity.because} This holds for {shapes}."


def build_pair_schemes(identity: Identity, shape: Shape, covered: bool) -> tuple[Scheme, Scheme]:
    """Build the schemes of both sides' cubes; if the answer is `covered`, the right one averages nothing."""
    left, right = (side.scheme(shape) for side in identity.sides)
    hidden = f"{format_scheme_label(right)}: guess first"
    return left, replace(left.remove_normalization(), label=hidden) if covered else right


def _show_formulas(identity: Identity, x: np.ndarray, eps: float) -> None:
    worst = find_largest_difference(*_evaluate_both_sides(identity.key, x, eps))
    for column, side, value in zip(st.columns(2, gap="large"), identity.sides, (worst.left, worst.right), strict=True):
        scheme = side.scheme(x.shape)
        with column:
            st.markdown(f"## {capitalize_first(', '.join([scheme.name, *format_parameters(scheme)]))} {side.words}")
            for line in notation.build_formulas(scheme):
                if line.name in side.lines:
                    st.latex(stack_formula(line.latex))
            st.markdown(
                f"x̂ = **{format_number(value)}** at {describe_element_position(scheme, worst.index)}. "
                f"{describe_shared_elements(scheme, worst.index, x.shape)}"
            )


def _describe_parameters(scheme: Scheme) -> str:
    """Return the parameters and the axes along which they vary: "γ and β along H, W, C"."""
    symbols: dict[tuple[str, ...], list[str]] = {}
    for symbol, axes in ((scheme.gain_symbol, scheme.gain), ("β", scheme.bias)):
        if axes is not None:
            symbols.setdefault(axes, []).append(symbol)
    return "; ".join(f"{' and '.join(names)} along {', '.join(axes)}" for axes, names in symbols.items()) or "nothing"


def make_pair_tensor(shape: Shape, view: View) -> np.ndarray:
    """Make the page's data in another shape; uneven noise in place of uploaded data."""
    data = "uneven" if view["data"] == OWN_DATA else view["data"]
    return make_tensor({**view, **dict(zip(SIZE_NAMES, shape, strict=True)), "data": data})


def _format_progress(key: str) -> str:
    """Return the number of a pair and the score: "Pair 3 of 19 · 2 of 2 guesses right"."""
    made = get_pair_guesses()
    right = sum((guess == "yes") == IDENTITIES[pair].holds for pair, guess in made.items())
    score = f" · {right} of {len(made)} guesses right" if made else ""
    return f"Pair {PAIRS.index(key) + 1} of {len(PAIRS)}{score}"


def _find_next_pair(identity: Identity) -> str:
    """Return the key of the next pair without a guess, or of the next pair if all have a guess."""
    at = PAIRS.index(identity.key) + 1
    following = [*PAIRS[at:], *PAIRS[: at - 1]]
    return next((key for key in following if key not in get_pair_guesses()), following[0])


def _restart_quiz() -> None:
    st.session_state.update({PREFIX + "guesses": {}, PREFIX + "reveal": False, PREFIX + "row": PAIRS[0]})
