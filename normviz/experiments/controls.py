"""The controls of the page on experiments."""

from typing import cast

import streamlit as st

from normviz.core.settings import Choice, declarations
from normviz.experiments.catalogue import EXPERIMENTS
from normviz.experiments.state import PREFIX, chosen, lengths, matters, shown, under, values
from normviz.ui import custom
from normviz.ui.choice import choose_several
from normviz.ui.link import View, segments
from normviz.ui.settings import Controls


def choose() -> None:
    """Which experiment is shown."""
    segments(PREFIX + "show", "Experiment", {key: each.title for key, each in EXPERIMENTS.items()})


def controls(view: View) -> None:
    """Everything in the sidebar: the setting of the experiment that is shown."""
    experiment, given = shown(view), values(view)
    prefix = PREFIX + under(experiment.key)
    page = Controls(experiment.setting, prefix, given, matters)
    with st.sidebar:
        if "schemes" in given:
            choose_several(prefix + "schemes", cast(Choice, declarations(experiment.setting)["schemes"]).options(given))
        if "scheme" in given:
            page.draw("scheme")
        if "custom" in chosen(given):
            custom.controls(view, lengths, PREFIX, shown(view).setting.weighted)
        if chosen(given):
            page.draw("groups", "radius")
            st.divider()
        page.rest("schemes", "seeds", "seed", "device")
        st.divider()
        page.draw("seeds", "seed", "device")
