"""Batch norm's two lives: batch statistics in training, running averages in evaluation."""

from functools import partial

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.running import panels
from normviz.running import state as page
from normviz.running.stream import STEPS
from normviz.running.stream_panel import show_stream
from normviz.ui.link import arriving, current_theme, opened
from normviz.ui.player import Player, stop

if arriving(page.PAGE):
    stop(page.PREFIX)
with opened(page.PAGE, page.PARAMS, page.has, page.TITLE) as view:
    page.controls(view)
theme = current_theme()
seen = page.traced(page.setting_of(view), view["eps"])
averages = partial(page.averages_of, view, seen)

with st.container():
    try:
        stream = partial(show_stream, view, seen, averages(), theme)
        Player(page.PREFIX, "step", "Batches seen", STEPS).show(stream)
    except InvalidInput as error:
        st.error(str(error))
panels.choose()
with st.container():
    try:
        panels.show(view, seen, averages, theme)
    except InvalidInput as error:
        st.info(f"Nothing to show here: {error}")
