"""Find a scheme: the schemes that cancel the chosen changes, or why there are none."""

import streamlit as st

from normviz.topics.design import state
from normviz.topics.design.controls import controls
from normviz.topics.design.panels import search_results as finding
from normviz.topics.design.questions import find_question
from normviz.ui.frame import show_heading, show_view, switch_to_page
from normviz.ui.link import sync_page_values

link = st.query_params.to_dict()
page, replaced = state.replace_former_link(link)
if page != state.PAGE:
    switch_to_page(page, replaced)
if replaced != link:
    st.query_params.from_dict(replaced)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    question = find_question(state.read_demands(view))
    show_heading(question.key if question else "")
    controls(view)
show_view(finding.show, view)
