"""Find a scheme: the schemes that cancel the chosen changes, or why there are none."""

from normviz.topics.design import state
from normviz.topics.design.controls import draw_controls
from normviz.topics.design.panels import search_results as finding
from normviz.topics.design.questions import find_question
from normviz.ui.frame import show_heading, show_view
from normviz.ui.link import sync_page_values
from normviz.ui.redirects import follow_former_link

follow_former_link(state.PAGE, state.translate_former_link)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    question = find_question(state.read_demands(view))
    show_heading(question.key if question else "")
    draw_controls(view)
show_view(finding.show, view)
