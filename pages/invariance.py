"""Table 1 of Ba et al. 2016: predicted, measured forward, and shown by training."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.errors import InvalidInput
from normviz.table1 import controls as table_controls
from normviz.table1 import panels as table_panels
from normviz.table1 import state
from normviz.table1 import training_panels as training
from normviz.table1.grid import OPENS, grid_data, key_of
from normviz.table1.sweeps import over_delta, over_eps
from normviz.table1.table import table
from normviz.ui.components.grid import grid
from normviz.ui.frame import show_error
from normviz.ui.link import View, current_theme, opened
from normviz.ui.saving import save_table
from normviz.ui.work import under_way


def take_open() -> None:
    """Open the cell that was clicked."""
    st.session_state[state.PREFIX + "cell"] = st.session_state["grid table"]["open"]


def show(view: View, theme: str, entrance: DeltaGenerator, above: DeltaGenerator) -> None:
    """The table, the open cell, and how invariance fades; `above` is the place for how far the training is."""
    schemes = state.schemes_of(view)
    try:
        setting = state.setting_of(view)
        setting.check(schemes)
    except InvalidInput as error:
        show_error(error)
        return
    if not schemes:
        st.info("Choose rows on the left: the paper's are Batch, Weight and Layer.")
        return
    scheme = next(scheme for scheme in schemes if scheme.key == view["cell"].partition(".")[0])
    swept = {
        "eps": [(schemes, each) for each in over_eps(setting)],
        "delta": [([scheme], each) for each in over_delta(setting)],
    }
    measured = training.measure([(schemes, setting), (schemes, setting.exact), *swept.get(view["panel"], [])])
    asked = training.start(schemes, [setting, *over_eps(setting)] if view["panel"] == "training" else [setting])
    working = under_way(measured, asked.ticket)  # asked before the cells are taken
    cells = table(schemes, setting, training.results(), view["follow"])
    with st.container():
        training.status(asked, measured, working, above)
    covered = [key for key in map(key_of, cells) if view["cover"] and key not in table_panels.votes()]
    with entrance:
        table_panels.entrance(cells, view["cover"])
    losses = [training.results().losses(scheme, setting) for scheme in schemes]
    cell = next(cell for cell in cells if key_of(cell) == view["cell"])
    with st.container(key="board", horizontal=True):
        with st.container(key="table"):
            data = grid_data(cells, schemes, setting, view["cell"], covered, theme, losses, view["follow"])
            grid(data, "grid", take_open)
            st.caption(table_panels.NUMBERS)
            if not covered:
                save_table(lambda: table_panels.numbers(cells), "table-1")
        with st.container(key=OPENS):
            if view["cell"] in covered:
                table_panels.vote_panel(cell, scheme, setting)
            else:
                table_panels.verdict_on(table_panels.votes().get(view["cell"]), cell, covered)
                table_panels.cell_panel(cell, scheme, setting, theme)
    if view["cell"] in covered:
        table_panels.changed_picture(cell, setting, theme)
        return
    panels = {
        "changed": lambda: table_panels.changed_picture(cell, setting, theme),
        "script": lambda: table_panels.script_panel(cell, scheme, setting, view["follow"]),
        "eps": lambda: table_panels.over_eps(schemes, setting, False, theme),
        "training": lambda: table_panels.over_eps(schemes, setting, True, theme),
        "delta": lambda: table_panels.over_delta(scheme, setting, theme),
    }
    panels[table_panels.choose_panel(view["cover"])]()


with opened(state.PAGE, state.PARAMS, state.has) as view:
    typed = table_controls.controls(view)
entrance = st.container()
with st.container(key="dragged", horizontal=True):
    dragged, above = st.container(key="sliders", horizontal=True), st.container(key="training")
with st.container():
    show(view, current_theme(), entrance, above)
table_controls.sliders(view, dragged, typed)
