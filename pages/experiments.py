"""Experiments: claims of the papers, tested by training small networks over several seeds."""

from functools import partial

from normviz.topics.experiments import panels, state
from normviz.topics.experiments.controls import draw_controls, show_question
from normviz.ui.frame import show_view
from normviz.ui.link import sync_page_values
from normviz.ui.redirects import follow_former_link

follow_former_link(state.PAGE, state.translate_former_link)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_question(view)
    row = draw_controls(view)
show_view(partial(panels.show, row), view)
