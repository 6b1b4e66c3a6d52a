"""Sidebar controls of the page "Find a scheme"."""

import streamlit as st

from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.questions import QUESTIONS, ReadyQuestion, find_question
from normviz.topics.design.state import DEMAND_LABELS, PREFIX, Page, read_demands
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.settings import Controls

QUESTION_KEY = PREFIX + "question"
"""Session key of the ready-made question that is chosen; its value is None for a question of one's own."""


def draw_controls(view: View) -> None:
    """Draw the menu of ready-made questions, and under "Advanced" a control for each demand."""
    page = Controls(Page, PREFIX, view)
    st.session_state[QUESTION_KEY] = find_question(read_demands(view))
    with st.sidebar:
        st.radio(
            "What changes?",
            QUESTIONS,
            key=QUESTION_KEY,
            index=None,
            format_func=lambda each: each.name,
            on_change=_apply_chosen_question,
        )
        with st.expander("Advanced: your own question", st.session_state[QUESTION_KEY] is None):
            for key, name in ((key, question.name) for question in QUESTIONS for key in question.need):
                st.selectbox(
                    name, list(DEMAND_LABELS), **make_widget_arguments(PREFIX + key),
                    format_func=DEMAND_LABELS.__getitem__,
                    help=f"{TRANSFORMATIONS[key].name}: {TRANSFORMATIONS[key].plain}",
                )  # fmt: skip
            page.draw("conditions", "layer", "weights")


def _apply_chosen_question() -> None:
    """Set the page's demands to those of the question chosen in the menu."""
    question: ReadyQuestion = st.session_state[QUESTION_KEY]
    st.session_state.update({PREFIX + name: value for name, value in question.page_values.items()})
