"""The controls of the page on experiments: the list, the main settings, and all others one click away."""

from collections.abc import Mapping, Sequence
from typing import cast

import streamlit as st

from normviz.charts.palette import THEMES
from normviz.charts.style import style_curve
from normviz.core.registry import SCHEMES
from normviz.core.settings import Choice, get_declarations
from normviz.topics.experiments.catalogue import TOPICS
from normviz.topics.experiments.state import (
    PREFIX,
    compute_axis_lengths,
    describe_changes,
    get_chosen_schemes,
    get_shown_experiment,
    get_shown_values,
    is_value_relevant,
    make_name_prefix,
)
from normviz.ui import custom
from normviz.ui.link import View
from normviz.ui.scheme_picker import (
    choose_list_entry,
    colour_scheme_buttons,
    draw_scheme_buttons,
    list_frequent_schemes,
)
from normviz.ui.settings import Controls
from normviz.web.components.picked import show_choice_bar

MAIN_SETTINGS = ("scheme", "task")
"""Settings beside the figure, in addition to the schemes; the others are under "Advanced"."""

FREQUENT_SCHEMES = ("none", "batch", "layer", "group")
"""Schemes that are one click away."""


def show_question(view: View) -> None:
    """Show the question of the view's experiment as a title, and the claim that it tests."""
    experiment = get_shown_experiment(view)
    with st.container(key="question"):
        st.markdown(f"# {experiment.question}\n**Claim:** {experiment.claim}")


def draw_controls(view: View) -> None:
    """Draw the list of experiments in the sidebar, and the controls of the shown experiment's settings."""
    topics = {topic: {each.key: each.question for each in experiments} for topic, experiments in TOPICS.items()}
    with st.sidebar:
        choose_list_entry(PREFIX + "show", topics)
    show_choice_bar(get_shown_experiment(view).title)
    experiment, given = get_shown_experiment(view), get_shown_values(view)
    prefix = PREFIX + make_name_prefix(experiment.key)
    page = Controls(experiment.setting, prefix, given, is_value_relevant)
    declared = get_declarations(experiment.setting)
    with st.container(horizontal=True, vertical_alignment="center", key="settings"):
        if "schemes" in given:
            draw_scheme_buttons(prefix + "schemes", _list_scheme_options(view), FREQUENT_SCHEMES)
        page.draw(*(name for name in MAIN_SETTINGS if name in declared))
        with st.popover("Advanced"):
            chosen = get_chosen_schemes(given)
            custom.draw_custom_controls(chosen, view, compute_axis_lengths, PREFIX, experiment.setting.weighted)
            page.draw_rest("schemes", "seeds", "seed", "device")
            page.draw("seeds", "seed", "device")
        if changes := describe_changes(view):
            st.caption(f"Changed: {changes}.", width="content")


def colour_schemes(view: View, styles: Mapping[str, int], theme: str) -> None:
    """Colour the buttons of the schemes like their curves; `styles` holds the index of each style by label."""
    given = get_shown_values(view)
    if "schemes" in given:
        row = list_frequent_schemes(_list_scheme_options(view), FREQUENT_SCHEMES, given["schemes"])
        labels = {each: SCHEMES[each].label for each in given["schemes"]}
        colours = {
            each: str(style_curve(styles[label], THEMES[theme])["color"])
            for each, label in labels.items()
            if label in styles
        }
        colour_scheme_buttons(PREFIX + make_name_prefix(view["show"]) + "schemes", row, colours)


def _list_scheme_options(view: View) -> Sequence[str]:
    return cast(Choice, get_declarations(get_shown_experiment(view).setting)["schemes"]).list_options(
        get_shown_values(view)
    )
