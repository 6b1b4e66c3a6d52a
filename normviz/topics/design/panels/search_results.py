"""Panel with the answers to a question: photographs, the cubes of the answers, and one answer in full."""

from functools import partial

import streamlit as st

from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design import search, wording
from normviz.topics.design.demands import Demands, adapt_scheme_to_demands
from normviz.topics.design.panels.answer import draw_cubes, show_scheme_answer
from normviz.topics.design.pictures import PICTURE_CHANGES, render_picture_table
from normviz.topics.design.questions import BEST_KNOWN, describe_answer_count, describe_known_answers, find_question
from normviz.topics.design.reasons import describe_relaxation, explain_no_answer
from normviz.topics.design.state import PREFIX, format_pick, parse_pick, read_demands
from normviz.ui.link import View

MAX_LISTED = 8
"""Most answers in the list, unless more of them have a name."""

MAX_CUBES = 4
"""Most answers that have a cube."""

LIST_KEY = PREFIX + "pick of the list"


def show(view: View, theme: str) -> None:
    """Show the photographs, the cubes of the found schemes, and one of them in full; or why none is found."""
    demands = read_demands(view)
    schemes = search.find_schemes(demands)
    chosen = _choose_shown_scheme(view, demands, schemes)
    if chosen is None:
        _show_no_answer(demands)
        return
    st.markdown(f"### {describe_known_answers(demands)}")
    changes = tuple(key for key in PICTURE_CHANGES if key in dict(demands.all_demands))
    is_pictured = bool(changes) and demands.layer == "conv"
    with st.container(key="answers"):
        if is_pictured:
            st.html(render_picture_table(changes))
        if (question := find_question(demands)) is not None:
            st.markdown(f"**Why?** {question.because}")
        if is_pictured:
            st.caption(
                "Before and after have the same scale of colours. The channels are red, green, blue and their mean, "
                "which is not shown. Group norm averages over two of them at a time."
            )
        st.markdown("## Which elements do they average?")
        draw_cubes(choose_drawn_schemes(demands, schemes, chosen, bool(view["pick"])), view, theme)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _show_answer_list(demands, schemes, chosen)
    with right:
        show_scheme_answer(chosen, view)


def choose_drawn_schemes(
    demands: Demands, schemes: search.FoundSchemes, chosen: Scheme, is_picked: bool
) -> list[Scheme]:
    """Choose the schemes whose cubes are drawn: well-known answers, then the simplest; if `is_picked`, also `chosen`.

    A scheme without fields has no picture of its own. It is drawn if the visitor has picked it, or if no answer has
    fields.
    """
    drawn: dict[str, Scheme] = {}
    for each in [*_find_registered_answers(demands), *(scheme for scheme, _ in schemes[: 2 * MAX_CUBES])]:
        if each.activation_part and each.fields:
            drawn.setdefault(format_pick(each, demands.layer), each)
    first = dict([*drawn.items()][:MAX_CUBES])
    own = format_pick(chosen, demands.layer)
    if own not in first and (is_picked or chosen.fields or not first):
        return [*[*first.values()][: MAX_CUBES - 1], chosen]
    return [*first.values()]


def _find_registered_answers(demands: Demands) -> list[Scheme]:
    """Return the registered schemes that meet the demands, the best known first."""
    return sorted(
        search.find_registered_answers(demands),
        key=lambda row: BEST_KNOWN.index(row.key) if row.key in BEST_KNOWN else len(BEST_KNOWN),
    )


def _choose_shown_scheme(view: View, demands: Demands, schemes: search.FoundSchemes) -> Scheme | None:
    """Return the picked scheme if it meets the demands, else the best known one; None if there is none."""
    given = parse_pick(view["pick"])
    if given is not None and search.is_answer(given, demands):
        return adapt_scheme_to_demands(given, demands)
    known = [row for row in _find_registered_answers(demands) if row.activation_part and row.fields]
    if known:
        return adapt_scheme_to_demands(known[0], demands)
    return schemes[0][0] if schemes else None


def label_offered_schemes(demands: Demands, schemes: search.FoundSchemes, chosen: Scheme) -> dict[str, str]:
    """Map URL texts to labels of the schemes offered for choice: named ones, the simplest, and the chosen one."""
    labels: dict[str, list[str]] = {}
    for row in _find_registered_answers(demands):
        labels.setdefault(format_pick(row, demands.layer), []).append(row.label)
    listed = {text: f"**{', '.join(some)}**" for text, some in labels.items()}
    for scheme in (*(each for each, _ in schemes[:MAX_LISTED]), chosen):
        text = format_pick(scheme, demands.layer)
        if len(listed) < MAX_LISTED or scheme is chosen:
            listed.setdefault(text, _format_answer_label(scheme, demands.layer))
    return listed


def _show_answer_list(demands: Demands, schemes: search.FoundSchemes, chosen: Scheme) -> None:
    """Show the list of found schemes, from which the visitor picks one."""
    listed = label_offered_schemes(demands, schemes, chosen)
    st.session_state[LIST_KEY] = format_pick(chosen, demands.layer)
    st.radio(
        "Known schemes, then the simplest of the others", list(listed), key=LIST_KEY, format_func=listed.__getitem__,
        on_change=lambda: st.session_state.update({PREFIX + "pick": st.session_state[LIST_KEY]}),
    )  # fmt: skip
    st.caption(f"{describe_answer_count(demands, schemes)} {wording.describe_counted_schemes(demands.layer)}")


def _format_answer_label(scheme: Scheme, layer: str) -> str:
    """Return the label of a scheme in the list: its name, if it has one, and its steps."""
    name, what = search.find_scheme_name(scheme, layer), wording.describe_scheme_steps(scheme, layer)
    return f"**{capitalize_first(name)}**{f': {what}' if what else ''}" if name else capitalize_first(what)


def _show_no_answer(demands: Demands) -> None:
    """Show why no scheme meets the demands, and the schemes that miss the fewest."""
    why = explain_no_answer(demands)
    assert why is not None
    layer = wording.LAYER_WORDS[demands.layer]
    *before, last = map(capitalize_first, why.asks)
    together = "No scheme can meet these together:" if before else "No scheme can meet this:"
    lines = "\n".join(f"- {each}." for each in before) + f"\n- {last}{why.end}."
    st.markdown(f"### No scheme on a {layer} layer does all of this\n{together}\n{lines}\n\n{why.elsewhere}")
    st.markdown("**The nearest schemes:**")
    for near in search.find_nearest_schemes(demands):
        known = f" With a name: {wording.format_named_labels(near.names).removesuffix('.')}." if near.names.keys else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{describe_relaxation(near, demands)}.{known}", width="stretch")
            st.button(
                f"Show {near.schemes:,}",
                key=f"{PREFIX}without {','.join(near.missed)}",
                on_click=partial(_drop_missed_demands, near.missed),
            )


def _drop_missed_demands(missed: tuple[str, ...]) -> None:
    """Remove the demands that the nearest schemes miss from the page's values."""
    state = st.session_state
    for key in missed:
        if key in TRANSFORMATIONS:
            state[PREFIX + key] = "either"
    state[PREFIX + "conditions"] = [key for key in state[PREFIX + "conditions"] if key not in missed]
