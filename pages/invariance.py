"""Table 1 of Ba et al. 2016: predicted, measured forward, and shown by training."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.table1 import controls as table_controls
from normviz.table1 import panels as table_panels
from normviz.table1 import state
from normviz.table1 import training_panels as training
from normviz.table1.grid import grid_data, key_of
from normviz.table1.sweeps import over_delta, over_eps
from normviz.table1.table import table
from normviz.ui.components.grid import grid
from normviz.ui.link import View, current_theme, opened


def take_open() -> None:
    """Open the cell that was clicked."""
    st.session_state[state.PREFIX + "cell"] = st.session_state["grid table"]["open"]


def show(view: View, theme: str) -> None:
    """The table, the open cell, and how invariance fades."""
    schemes = state.schemes_of(view)
    try:
        setting = state.setting_of(view)
        setting.check(schemes)
    except InvalidInput as error:
        st.error(str(error))
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
    working = training.under_way(measured, asked.ticket)  # asked before the cells are taken
    cells = table(schemes, setting, training.results(), view["follow"])
    with st.container():
        training.status(asked, measured, working)
    st.toggle("Predict first: cover the answers", key=state.PREFIX + "cover", persist_state="session")
    covered = {key_of(cell) for cell in cells} - table_panels.votes().keys() if view["cover"] else set()
    with st.container():
        if view["cover"]:
            table_panels.score(cells)
    grid(grid_data(cells, schemes, setting, view["cell"], covered, theme), "grid", take_open)
    st.caption(table_panels.legend())
    cell = next(cell for cell in cells if key_of(cell) == view["cell"])
    with st.container():
        if view["cell"] in covered:
            table_panels.vote_panel(cell, scheme, setting, theme)
            return
        table_panels.verdict_on(table_panels.votes().get(view["cell"]), cell)
        table_panels.cell_panel(cell, scheme, setting, theme)
    panels = {
        "changed": lambda: table_panels.changed_picture(cell, setting, theme),
        "script": lambda: table_panels.script_panel(cell, scheme, setting, view["follow"]),
        "eps": lambda: table_panels.over_eps(schemes, setting, False, theme),
        "training": lambda: table_panels.over_eps(schemes, setting, True, theme),
        "delta": lambda: table_panels.over_delta(scheme, setting, theme),
    }
    panels[table_panels.choose_panel(view["cover"])]()


with opened("table", state.PARAMS, state.has, table_panels.TITLE) as view:
    place = table_controls.controls(view)
with st.container():
    show(view, current_theme())
table_controls.sliders(view, place)
