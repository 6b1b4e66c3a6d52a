"""The controls of the page "Why normalize"."""

import streamlit as st

from normviz.topics.why.saturation import SEEDS
from normviz.topics.why.state import PREFIX, Page, is_relevant
from normviz.ui.link import View
from normviz.ui.settings import Controls

CONTROL_ROW = "why-controls"
"""Key of the container above the charts; it is as high on every panel, so that nothing moves between them."""

MAIN_CONTROLS: dict[str, tuple[str, ...]] = {
    "learning": ("rate", "start"),
    "saturation": ("rate", "start", "layer"),
    "whitening": ("stage", "first", "second", "correlation", "ratio"),
    "outside": ("step_size", "steps"),
    "identity": ("part",),
}
"""Values whose controls stand above the charts, by panel; the others are under "Advanced"."""


def draw_retrain_button() -> None:
    """Draw the button that trains the networks of the learning panel again, from new seeds."""
    key, state = PREFIX + "seed", st.session_state
    st.button(
        "Train again from other weights", icon=":material/replay:",
        on_click=lambda: state.update({key: (state[key] + SEEDS) % 10_000}),
    )  # fmt: skip


def draw_main_controls(view: View) -> None:
    """Draw the main controls of the open panel in one row; draw nothing if it has none."""
    page = Controls(Page, PREFIX, view, is_relevant)
    names = [name for name in MAIN_CONTROLS.get(view["show"], ()) if is_relevant(view, name)]
    if not names:
        return
    with st.container(key=CONTROL_ROW):
        for column, name in zip(st.columns(max(len(names), 2)), names, strict=False):
            with column:
                page.draw(name)


def draw_other_controls(view: View) -> None:
    """Draw the other controls of the open panel under "Advanced"; draw nothing if it has none."""
    page = Controls(Page, PREFIX, view, is_relevant)
    drawn = MAIN_CONTROLS.get(view["show"], ())
    if view["show"] == "learning":
        drawn += ("seed",)  # a button takes seeds
    if any(is_relevant(view, name) and name not in drawn for name in page.waiting):
        with st.expander("Advanced"):
            page.draw_rest(*drawn)
