"""The panel on schemes that have what is asked for, or why there are none."""

from functools import partial

import streamlit as st

from normviz.core.scheme import Scheme
from normviz.core.text import sentence
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import plural
from normviz.design.lattice_words import count_of, labelled
from normviz.design.panels.answer import answer
from normviz.design.reasons import given_up, reason
from normviz.design.search import Demands, Found, as_asked, found, is_answer, name_of, named, nearest
from normviz.design.state import DEMANDS, PREFIX, Page, demands, pick_text, picked
from normviz.design.state import has as belongs
from normviz.design.wording import LAYER_WORDS, steps
from normviz.ui.link import View, segments
from normviz.ui.settings import Controls

AT_ONCE = 6
"""Schemes on a page of the list."""

LIST, BY_NAME = PREFIX + "pick of the list", PREFIX + "pick by name"


def show(view: View, theme: str) -> None:
    """What is asked for, the schemes that have it or why there are none, and the one that is picked."""
    asked = demands(view)
    schemes = found(asked)
    chosen = _chosen(view, asked, schemes)
    left, right = st.columns([3, 2], gap="small")
    with left, st.container(gap="xsmall"):
        _demands(view)
    with right:
        if chosen is None:
            _none(asked)
        else:
            _answers(view, asked, schemes, chosen)
    with st.container(key="answer"):
        if chosen is not None:
            answer(chosen, view, theme)


def _demands(view: View) -> None:
    """A row for each change, then the conditions."""
    for key, change in TRANSFORMATIONS.items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{sentence(change.name)}**  \n:small[{change.plain}]", width="stretch")
            with st.container(width="content"):
                segments(PREFIX + key, f"{sentence(change.name)}: {change.plain}", DEMANDS, on_change=_first_page)
    Controls(Page, PREFIX, view, belongs).draw("conditions")


def _first_page() -> None:
    st.session_state[PREFIX + "page"] = 1


def _chosen(view: View, asked: Demands, schemes: Found) -> Scheme | None:
    """The scheme that is picked, where it is an answer; else the first; None where there is none."""
    given = picked(view["pick"])
    if given is not None and is_answer(given, asked):
        return as_asked(given, asked)
    return schemes[0][0] if schemes else None


def _answers(view: View, asked: Demands, schemes: Found, chosen: Scheme) -> None:
    """How many there are, those with a name, and a page of the list."""
    layer = LAYER_WORDS[asked.layer]
    if asked.each:
        order = ", the simplest first" * (len(schemes) > 1)
        st.markdown(f"### {plural(len(schemes), 'scheme')} of a {layer} layer{order}")
    else:
        st.markdown(f"### Nothing is asked: all {len(schemes):,} schemes of a {layer} layer, the simplest first")
    state = st.session_state
    texts, here = by_name(asked), pick_text(chosen, asked.layer)
    if texts:
        state[BY_NAME] = here if here in texts else None
        st.pills("Known by name", list(texts), key=BY_NAME, format_func=texts.__getitem__,
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
    """Why there are none, and the schemes that give up least."""
    why = reason(asked)
    assert why is not None
    layer = LAYER_WORDS[asked.layer]
    *before, last = map(sentence, why.asks)
    together = "These exclude each other:" if before else "One thing alone excludes all:"
    lines = "\n".join(f"- {each};" for each in before) + f"\n- {last}{why.end}."
    st.markdown(f"### No scheme of a {layer} layer does all of this\n{together}\n{lines}\n\n{why.elsewhere}")
    st.markdown("**Those that give up least:**")
    for near in nearest(asked):
        known = f" Known by name: {labelled(near.names).removesuffix('.')}." if near.names.keys else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{given_up(near, asked)}.{known}", width="stretch")
            st.button(
                f"Show {near.schemes:,}",
                key=f"{PREFIX}without {','.join(near.missed)}",
                on_click=partial(_give_up, near.missed),
            )


def _give_up(missed: tuple[str, ...]) -> None:
    """Ask for all the rest."""
    state = st.session_state
    for key in missed:
        if key in TRANSFORMATIONS:
            state[PREFIX + key] = "either"
    state[PREFIX + "conditions"] = [key for key in state[PREFIX + "conditions"] if key not in missed]
    _first_page()
