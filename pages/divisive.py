"""Contrast: divisive normalization of a picture in bad light, and what ε does to it."""

from normviz.topics.divisive import state
from normviz.topics.divisive.controls import controls
from normviz.topics.divisive.panels import show_panels
from normviz.ui.frame import shown
from normviz.ui.link import page_values

with page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    controls(view)
shown(show_panels, view)
