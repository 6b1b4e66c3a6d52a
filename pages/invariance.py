"""Table 1 of Ba et al. 2016, case by case: guess, then see both networks learn."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.errors import InvalidInput
from normviz.topics.table1 import controls, panels, state
from normviz.topics.table1 import training_panels as training
from normviz.topics.table1.grid import CASE, grid_data, key_of
from normviz.topics.table1.sweeps import over_delta, over_eps
from normviz.topics.table1.table import table
from normviz.ui.frame import show_error
from normviz.ui.link import View, get_current_theme, sync_page_values
from normviz.ui.page_jobs import is_still_running
from normviz.web.components.grid import show_grid


def open_clicked_case() -> None:
    """Open the case that was clicked."""
    panels.open_case(st.session_state["grid table"]["open"])


def show(view: View, theme: str, case: DeltaGenerator, cases: DeltaGenerator, work: DeltaGenerator) -> None:
    """Show the open case, the map of all cases, how far the training is, and what is chosen below."""
    schemes = state.schemes_of(view)
    setting = state.setting_of(view)
    setting.check(schemes)
    if not schemes:
        cases.info("Add a normalization: the paper's are Batch, Weight and Layer.")
        return
    scheme = next(scheme for scheme in schemes if scheme.key == view["cell"].partition(".")[0])
    swept = {
        "eps": lambda: [(schemes, each) for each in over_eps(setting)],
        "delta": lambda: [([scheme], each) for each in over_delta(setting)],
    }
    sweep = swept.get(view["panel"], list)()
    measured = training.measure([(schemes, setting), (schemes, setting.exact), *sweep])
    asked = training.start(schemes, [setting, *over_eps(setting)] if view["panel"] == "training" else [setting])
    working = is_still_running(measured, asked.ticket)  # asked before the cells are taken
    cells = table(schemes, setting, training.results(), view["follow"])
    covered = panels.covered_cells(cells, view)
    with work:
        training.status(asked, measured, working, st.container(key="training"), quiet=len(covered) == len(cells))
    cell = next(cell for cell in cells if key_of(cell) == view["cell"])
    with case:
        panels.case_panel(cell, scheme, setting, cells, covered, view["follow"])
        if view["cell"] in covered:
            panels.question_panel(cell, scheme, setting)
        else:
            panels.answer_panel(cell, scheme, setting, cells, covered, view, theme)
    with cases:
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown("### Table 1 of Ba et al. 2016", width="content")
            panels.reveal_button(covered)
        small = len(covered) == len(cells)
        show_grid(grid_data(cells, schemes, setting, view["cell"], covered, theme, small), "grid", open_clicked_case)
        st.caption(panels.LEGEND)
    below = {
        "changed": lambda: None,
        "script": lambda: panels.script_panel(cell, scheme, setting, view["follow"]),
        "eps": lambda: panels.over_eps(schemes, setting, False, theme),
        "training": lambda: panels.over_eps(schemes, setting, True, theme),
        "delta": lambda: panels.over_delta(scheme, setting, theme),
        "numbers": lambda: panels.numbers_panel(cells),
    }
    below[panels.choose_panel(covered)]()


with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    board, below = st.container(key="board", horizontal=True), st.container()
with board:
    case, cases = st.container(key=CASE), st.container(key="cases")
with cases:
    above, choices, work = st.container(), st.container(key="choices"), st.container()
with below:
    try:
        show(view, get_current_theme(), case, above, work)
    except InvalidInput as error:
        with case:
            show_error(error)
with choices:
    controls.rows(view)
    controls.settings(view)
