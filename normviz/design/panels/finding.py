"""The panel that finds schemes: questions, the cubes of the answers, and one answer in full."""

from functools import partial

import streamlit as st

from normviz.core.scheme import Scheme
from normviz.core.text import sentence
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.controls import show_first_page
from normviz.design.lattice_words import count_of, labelled
from normviz.design.panels.answer import answer, draw_cubes
from normviz.design.questions import QUESTIONS, Question, answers_words
from normviz.design.reasons import given_up, reason
from normviz.design.search import Demands, Found, as_asked, found, is_answer, name_of, named, nearest
from normviz.design.state import PREFIX, demands, pick_text, picked
from normviz.design.wording import LAYER_WORDS, steps
from normviz.ui.link import View

AT_ONCE = 6
"""Schemes on a page of the list."""

CUBES = 4
"""Answers that have a cube."""

COMMON = ("batch", "layer", "instance", "group", "rms")
"""Keys of the schemes whose cubes come first."""

LIST, BY_NAME = PREFIX + "pick of the list", PREFIX + "pick by name"


def show(view: View, theme: str) -> None:
    """Show the questions, the cubes of the answers, and one answer in full; or the reason why there is none."""
    asked = demands(view)
    schemes = found(asked)
    chosen = _chosen(view, asked, schemes)
    _questions(asked)
    if chosen is None:
        _none(asked)
        return
    st.markdown(f"### {answers_words(asked, schemes)}")
    with st.container(key="answer"):
        draw_cubes(choose_pictured(asked, schemes, chosen, bool(view["pick"])), view, theme)
        left, right = st.columns([2, 3], gap="medium")
        with left:
            _answers(view, asked, schemes, chosen)
        with right:
            answer(chosen, view)


def _questions(asked: Demands) -> None:
    """Draw a button for each ready-made question; the one that is asked is coloured."""
    with st.container(horizontal=True, gap="small", key="questions"):
        for each in QUESTIONS:
            st.button(
                each.name, key=f"{PREFIX}question {each.key}", on_click=_ask, args=(each,),
                type="primary" if each.is_asked(asked) else "secondary",
            )  # fmt: skip


def _ask(question: Question) -> None:
    st.session_state.update({PREFIX + name: value for name, value in question.values.items()})


def choose_pictured(asked: Demands, schemes: Found, chosen: Scheme, is_picked: bool) -> list[Scheme]:
    """Return the schemes whose cubes are drawn: the best known of the answers, then the simplest.

    A scheme without fields has no picture of its own. It is drawn if the visitor has picked it, or if no answer has
    fields. `is_picked`: whether the chosen scheme was picked, and is not only the first of the list.
    """
    known = sorted(named(asked), key=lambda row: COMMON.index(row.key) if row.key in COMMON else len(COMMON))
    candidates = [*known, *(scheme for scheme, _ in schemes[: 2 * CUBES])]
    drawn: dict[str, Scheme] = {}
    for each in candidates:
        if each.on_activations and each.fields:
            drawn.setdefault(pick_text(each, asked.layer), each)
    first = dict([*drawn.items()][:CUBES])
    own = pick_text(chosen, asked.layer)
    if own not in first and (is_picked or chosen.fields or not first):
        return [*[*first.values()][: CUBES - 1], chosen]
    return [*first.values()]


def _chosen(view: View, asked: Demands, schemes: Found) -> Scheme | None:
    """The scheme that is picked, where it is an answer; else the first; None where there is none."""
    given = picked(view["pick"])
    if given is not None and is_answer(given, asked):
        return as_asked(given, asked)
    return schemes[0][0] if schemes else None


def _answers(view: View, asked: Demands, schemes: Found, chosen: Scheme) -> None:
    """Show the answers with a name, and one page of the list of all answers."""
    st.markdown("#### All answers")
    state = st.session_state
    texts, here = by_name(asked), pick_text(chosen, asked.layer)
    if texts:
        state[BY_NAME] = here if here in texts else None
        st.pills("With a name", list(texts), key=BY_NAME, format_func=texts.__getitem__,
                 on_change=_pick, args=(BY_NAME,), wrap=True)  # fmt: skip
    pages = -(-len(schemes) // AT_ONCE)
    page = min(view["page"], pages)
    shown = {pick_text(scheme, asked.layer): scheme for scheme, _ in schemes[(page - 1) * AT_ONCE : page * AT_ONCE]}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):  # keeps its place above
        st.button("Simpler", icon=":material/arrow_back:", disabled=page == 1, on_click=_turn, args=(page - 1,))
        first = (page - 1) * AT_ONCE + 1
        st.markdown(f"{first:,} to {first + len(shown) - 1:,} of {len(schemes):,}", width="content")
        st.button("More", icon=":material/arrow_forward:", disabled=page == pages, on_click=_turn, args=(page + 1,))
    state[LIST] = here if here in shown else None
    st.radio(
        "Schemes, the simplest first", list(shown), key=LIST, index=None, on_change=_pick, args=(LIST,),
        format_func=lambda text: _said(shown[text], asked.layer), label_visibility="collapsed",
    )  # fmt: skip
    st.caption(count_of(asked.layer))


def by_name(asked: Demands) -> dict[str, str]:
    """The labels of the registered schemes that meet the demands, together where they are the same on this layer."""
    labels: dict[str, list[str]] = {}
    for scheme in named(asked):
        labels.setdefault(pick_text(scheme, asked.layer), []).append(scheme.label)
    return {text: ", ".join(names) for text, names in labels.items()}


def _said(scheme: Scheme, layer: str) -> str:
    """A scheme in the list: its name, if it has one, and its steps."""
    name, what = name_of(scheme, layer), steps(scheme, layer)
    return f"**{sentence(name)}**{f': {what}' if what else ''}" if name else sentence(what)


def _pick(key: str) -> None:
    """Take over what was picked; a click on what is picked changes nothing."""
    state = st.session_state
    state[PREFIX + "pick"] = state[key] or state[PREFIX + "pick"]


def _turn(page: int) -> None:
    st.session_state[PREFIX + "page"] = page


def _none(asked: Demands) -> None:
    """Show why there is no answer, and the schemes that miss the fewest demands."""
    why = reason(asked)
    assert why is not None
    layer = LAYER_WORDS[asked.layer]
    *before, last = map(sentence, why.asks)
    together = "No scheme can meet these together:" if before else "No scheme can meet this:"
    lines = "\n".join(f"- {each}." for each in before) + f"\n- {last}{why.end}."
    st.markdown(f"### No scheme on a {layer} layer does all of this\n{together}\n{lines}\n\n{why.elsewhere}")
    st.markdown("**The nearest schemes:**")
    for near in nearest(asked):
        known = f" With a name: {labelled(near.names).removesuffix('.')}." if near.names.keys else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{given_up(near, asked)}.{known}", width="stretch")
            st.button(
                f"Show {near.schemes:,}",
                key=f"{PREFIX}without {','.join(near.missed)}",
                on_click=partial(_give_up, near.missed),
            )


def _give_up(missed: tuple[str, ...]) -> None:
    """Drop the demands that the nearest schemes miss."""
    state = st.session_state
    for key in missed:
        if key in TRANSFORMATIONS:
            state[PREFIX + key] = "either"
    state[PREFIX + "conditions"] = [key for key in state[PREFIX + "conditions"] if key not in missed]
    show_first_page()
