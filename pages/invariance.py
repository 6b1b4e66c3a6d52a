"""Table 1 of Ba et al. 2016, case by case: guess, then see both networks learn."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.errors import InvalidInput
from normviz.topics.table1 import controls, panels, state
from normviz.topics.table1 import training_panels as training
from normviz.topics.table1.grid import CASE_KEY, build_grid_data, get_cell_key
from normviz.topics.table1.sweeps import build_delta_settings, build_eps_settings
from normviz.topics.table1.table import build_cells
from normviz.ui.frame import show_error
from normviz.ui.link import View, get_current_theme, sync_page_values
from normviz.ui.runs import are_running_after_wait
from normviz.ui.scheme import build_schemes
from normviz.web.components.grid import show_grid


def open_clicked_case() -> None:
    """Open the case that was clicked."""
    panels.open_case(st.session_state["grid table"]["open"])


def show(view: View, theme: str, case: DeltaGenerator, cases: DeltaGenerator, work: DeltaGenerator) -> None:
    """Show the open case, the map of all cases, the progress of the training, and the panel chosen below."""
    schemes = tuple(build_schemes(view))
    setting = state.build_table_setting(view)
    setting.check(schemes)
    if not schemes:
        cases.info("Add a normalization: the paper's are Batch, Weight and Layer.")
        return
    scheme = next(scheme for scheme in schemes if scheme.key == view["cell"].partition(".")[0])
    swept = {
        "eps": lambda: [(schemes, each) for each in build_eps_settings(setting)],
        "delta": lambda: [((scheme,), each) for each in build_delta_settings(setting)],
    }
    sweep = swept.get(view["panel"], list)()
    forward = training.open_measurements(((schemes, setting), (schemes, setting.in_float64), *sweep))
    sweep_settings = build_eps_settings(setting) if view["panel"] == "training" else ()
    run = training.open_training(schemes, [setting, *sweep_settings])
    working = are_running_after_wait(forward, run)  # asked before the cells are taken
    cells = build_cells(schemes, setting, training.get_table_result_cache(), view["follow"])
    hidden_keys = panels.find_hidden_cells(cells, view)
    with work:
        training.show_table_status(
            run, forward, working, st.container(key="training"), quiet=len(hidden_keys) == len(cells)
        )
    cell = next(cell for cell in cells if get_cell_key(cell) == view["cell"])
    with case:
        panels.show_case(cell, scheme, setting, cells, hidden_keys, view["follow"])
        if view["cell"] in hidden_keys:
            panels.show_case_question(cell, scheme, setting)
        else:
            panels.show_case_answer(cell, scheme, setting, cells, hidden_keys, view, theme)
    with cases:
        panels.show_table_heading(hidden_keys)
        small = len(hidden_keys) == len(cells)
        show_grid(
            build_grid_data(cells, schemes, setting, view["cell"], hidden_keys, theme, small), "grid", open_clicked_case
        )
        with st.container(key="legend-before-a-guess" if small else "legend"):
            st.caption(panels.LEGEND)
    below = {
        "changed": lambda: None,
        "script": lambda: panels.show_case_script(cell, scheme, setting, view["follow"]),
        "eps": lambda: panels.show_eps_sweep(schemes, setting, False, theme),
        "training": lambda: panels.show_eps_sweep(schemes, setting, True, theme),
        "delta": lambda: panels.show_delta_sweep(scheme, setting, theme),
        "numbers": lambda: panels.show_case_results(cells),
    }
    below[panels.choose_case_panel(hidden_keys)]()


with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    board, below = st.container(key="board", horizontal=True), st.container(key="below")
with board:
    case, cases = st.container(key=CASE_KEY), st.container(key="cases")
with cases:
    above, choices, work = st.container(), st.container(key="choices"), st.container()
with below:
    try:
        show(view, get_current_theme(), case, above, work)
    except InvalidInput as error:
        with case:
            show_error(error)
with choices:
    controls.choose_rows(view)
    controls.show_table_settings(view)
    controls.draw_class_button(view)
