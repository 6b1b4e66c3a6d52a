"""A class that answers from its phones: the lecturer's page."""

from normviz.classroom.rooms import state
from normviz.classroom.rooms.desk import build_desk_data
from normviz.ui.frame import show_language_choice
from normviz.ui.link import get_language, sync_page_values
from normviz.web.components.desk import show_desk

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    pass
show_language_choice()
show_desk(build_desk_data(view["cell"], view["step"], get_language()), "desk")
