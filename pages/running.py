"""Batch norm's two lives: batch statistics in training, running averages in evaluation."""

from functools import partial

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.running import panels as running_panels
from normviz.running import player as running_stream
from normviz.running import state as page
from normviz.ui.link import arriving, current_theme, opened

if arriving(page.PAGE):
    running_stream.pause()
with opened(page.PAGE, page.PARAMS, page.has, page.TITLE) as view:
    page.controls(view)
theme = current_theme()
seen = page.traced(page.setting_of(view), view["eps"])
averages = partial(page.averages_of, view, seen)

running_stream.player(view)
with st.container():
    try:
        running_stream.show_stream(view, seen, averages(), theme)
    except InvalidInput as error:
        st.error(str(error))
running_panels.choose()
with st.container():
    try:
        running_panels.show(view, seen, averages, theme)
    except InvalidInput as error:
        st.info(f"Nothing to show here: {error}")
