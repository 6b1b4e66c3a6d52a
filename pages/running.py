"""Batch norm's two lives: batch statistics in training, running averages in evaluation."""

from functools import partial

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.describe.markdown import escape
from normviz.running import panels, state
from normviz.running.panels.stream import show_stream, switch
from normviz.running.stream import BATCHES
from normviz.ui.frame import show_error
from normviz.ui.link import arriving, current_theme, opened
from normviz.ui.player import Player, stop

if arriving(state.PAGE):
    stop(state.PREFIX)
with opened(state.PAGE, state.PARAMS, state.has) as view:
    state.controls(view)
theme = current_theme()
seen = state.traced(state.setting_of(view), view["eps"])
averages = partial(state.averages_of, view, seen)

switch(view, theme)
with st.container():
    try:
        stream = partial(show_stream, view, seen, averages(), theme)
        Player(state.PREFIX, "step", "Batches seen", BATCHES).show(stream)
    except InvalidInput as error:
        show_error(error)
panels.choose()
with st.container():
    try:
        panels.show(view, seen, averages, theme)
    except InvalidInput as error:
        st.info(f"Nothing to show here: {escape(error)}")
