"""The controls of the page on experiments: the list, the main settings, and all others one click away."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.charts.palette import THEMES
from normviz.charts.style import style_curve
from normviz.core.errors import InvalidInput
from normviz.core.settings import Choice, get_declarations
from normviz.topics.experiments.catalogue import TOPICS
from normviz.topics.experiments.state import (
    PREFIX,
    build_shown_setting,
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
    choose_schemes,
    colour_scheme_buttons,
    draw_scheme_buttons,
    list_frequent_schemes,
)
from normviz.ui.settings import Controls
from normviz.web.components.picked import show_choice_bar


def show_question(view: View) -> None:
    """Show the question of the view's experiment as a title, the claim that it tests, and how it tests it."""
    experiment = get_shown_experiment(view)
    with st.container(key="question"):
        label = "Question" if "?" in experiment.claim else "Claim"
        st.markdown(f"# {experiment.question}\n**{label}:** {experiment.claim}")
        with suppress(InvalidInput):  # which the page shows in place of the results
            st.markdown(f"**Test:** {experiment.test(build_shown_setting(view))}")


def draw_controls(view: View) -> DeltaGenerator:
    """Draw the list of experiments in the sidebar; return the row with the controls of the shown one's settings."""
    topics = {topic: {each.key: each.question for each in experiments} for topic, experiments in TOPICS.items()}
    with st.sidebar:
        choose_list_entry(PREFIX + "show", topics)
    show_choice_bar(get_shown_experiment(view).title)
    experiment, given = get_shown_experiment(view), get_shown_values(view)
    prefix = PREFIX + make_name_prefix(experiment.key)
    page = Controls(experiment.setting, prefix, given, is_value_relevant)
    declared = get_declarations(experiment.setting)
    row = st.container(horizontal=True, vertical_alignment="center", key="settings")
    with row:
        schemes = _list_scheme_options(view) if "schemes" in given else ()
        has_curves = experiment.setting.has_scheme_curves
        if schemes and has_curves:
            draw_scheme_buttons(prefix + "schemes", schemes, declared["schemes"].default)
        if "task" in declared:
            page.draw("task")
        with st.popover("Advanced"):
            if schemes and not has_curves:
                choose_schemes(prefix + "schemes", schemes)
            chosen = get_chosen_schemes(given)
            custom.draw_custom_controls(chosen, view, compute_axis_lengths, PREFIX, experiment.setting.weighted)
            page.draw_rest("schemes", "seeds", "seed", "device")
            page.draw("seeds", "seed", "device")
        if changes := describe_changes(view):
            st.caption(f"Changed: {changes}.", width="content")
    return row


def colour_schemes(view: View, styles: Mapping[str, int], theme: str) -> None:
    """Colour the buttons of the schemes like their curves; `styles` holds the index of each style by label."""
    given, setting = get_shown_values(view), get_shown_experiment(view).setting
    if "schemes" in given and setting.has_scheme_curves:
        frequent = get_declarations(setting)["schemes"].default
        row = list_frequent_schemes(_list_scheme_options(view), frequent, given["schemes"])
        shown = build_shown_setting(view)
        colours = {
            each.key: str(style_curve(styles[label], THEMES[theme])["color"])
            for each, label in zip(shown.rows, shown.labels, strict=True)
            if label in styles
        }
        colour_scheme_buttons(PREFIX + make_name_prefix(view["show"]) + "schemes", row, colours)


def _list_scheme_options(view: View) -> Sequence[str]:
    return cast(Choice, get_declarations(get_shown_experiment(view).setting)["schemes"]).list_options(
        get_shown_values(view)
    )
