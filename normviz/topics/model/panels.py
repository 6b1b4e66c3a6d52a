"""Panels of the page "Your model": findings, the table of layers, and one layer with its links."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from normviz.describe.markdown import escape_markdown
from normviz.describe.wording import format_shape
from normviz.topics.model.channels import compute_channel_gaps, summarize_gaps
from normviz.topics.model.figures import draw_channel_gaps
from normviz.topics.model.layer_links import (
    find_layer_scheme,
    find_single_value,
    format_address,
    make_lab_link,
    make_recorded_tensor,
    make_running_link,
    make_table_link,
)
from normviz.topics.model.reported import ReportedFinding, ReportedLayer, ReportedModel
from normviz.topics.model.scale_effect import describe_scale_effect, measure_scale_effect
from normviz.topics.model.state import NAME_KEY, OWN_MODEL, PREFIX, SOURCE_NAMES, get_model
from normviz.topics.model.wording import (
    CHANGE_UNIT,
    COLUMN_HELP,
    describe_layer,
    describe_output,
    explain_axes,
    group_findings,
    list_cancelled,
    list_problems,
    name_scheme,
    summarize_model,
    tabulate_layers,
)
from normviz.ui.frame import draw_page_link
from normviz.ui.link import View
from normviz.ui.tensor import offer_tensor
from normviz.web.components.plot import show_figure

MAX_NOTES = 3
"""Notes below the table."""

MAX_NAMED_LAYERS = 4
"""Layers that a finding names."""

CHANNELS_NOTE = "Each dot is a channel. Where the dashed lines cross, batch and running averages agree."
"""Explanation of the figure of channels."""

TABLE_KEY = PREFIX + "table"


def show(view: View, theme: str) -> None:
    """Show a report: its findings, its layers, and beside them the chosen one; nothing until there is a report."""
    model = get_model(view)
    if model is None:
        return
    with st.container(gap="xsmall", key="findings"):
        show_findings(model)
    if not model.layers:
        st.info("The report names no normalization. `normviz inspect` finds those of modules and of functional calls.")
        show_unmeasured(model)
        return
    layer = model.choose_layer(view["layer"])
    left, right = st.columns([8, 5], gap="medium")
    with left:
        show_layers(model, layer)
    with right:
        show_layer(layer, [each for each in model.findings if each.layer == layer.name], view, theme)


def show_findings(model: ReportedModel) -> None:
    """Show a summary, and below it, folded if there are any, the findings, those of the same text together."""
    summary, output, problems = escape_markdown(summarize_model(model)), describe_output(model), list_problems(model)
    if not model.findings:
        st.markdown(f"**{summary}** {output}")
        return
    names = _name_layers([*dict.fromkeys(each.layer for each in problems or model.findings)])
    label = f":material/warning: **{summary[:-1]}:**" if problems else f"**{summary}** Advice:"
    with st.expander(f"{label} {names}"):
        st.markdown(output)
        for finding, layers in group_findings(model.findings):
            st.markdown(f"**{_name_layers(layers)}:** {format_finding(finding)}")


def _name_layers(names: list[str]) -> str:
    """Name the first of some layers, "" being the whole model, as Markdown."""
    more = f" and {len(names) - MAX_NAMED_LAYERS} more" if len(names) > MAX_NAMED_LAYERS else ""
    return ", ".join(escape_markdown(name or "the whole model") for name in names[:MAX_NAMED_LAYERS]) + more


def format_finding(finding: ReportedFinding) -> str:
    """Format what was found, the advice and its link, as Markdown."""
    thread = f" [Discussion on GitHub]({finding.thread})" if finding.thread else ""
    return f"{escape_markdown(finding.finding)} {escape_markdown(finding.advice)}{thread}"


def show_layers(model: ReportedModel, chosen: ReportedLayer) -> None:
    """Show the table of layers, with its explanation; a row that is chosen opens its layer."""
    row = model.list_names().index(chosen.name)
    st.session_state[TABLE_KEY] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    with st.container(gap="xsmall"):
        st.markdown(CHANGE_UNIT)
        st.dataframe(
            tabulate_layers(model), hide_index=True, key=TABLE_KEY, on_select=_take_row, selection_mode="single-row",
            column_config={name: st.column_config.TextColumn(help=text) for name, text in COLUMN_HELP.items()},
        )  # fmt: skip
        st.caption(explain_axes(model))
        show_unmeasured(model)


def show_unmeasured(model: ReportedModel) -> None:
    """Show the first notes on what was not measured."""
    for note in model.notes[:MAX_NOTES]:
        st.caption(escape_markdown(note))


def _take_row() -> None:
    """Open the layer of the chosen row."""
    state = st.session_state
    model, rows = get_model({"source": state[PREFIX + "source"]}), state[TABLE_KEY]["selection"]["rows"]
    if model is not None and rows:
        state[PREFIX + "layer"] = model.layers[rows[0]].name


def show_layer(layer: ReportedLayer, findings: Sequence[ReportedFinding], view: View, theme: str) -> None:
    """Show one layer: its findings, its running averages, what it computes, and the pages that show it."""
    st.markdown(f"### {escape_markdown(layer.name)}: {name_scheme(layer)}")
    for finding in findings:
        st.markdown(f":material/warning: {format_finding(finding)}")
    statistics = layer.recorded.statistics if layer.recorded else None
    gaps = None if statistics is None else compute_channel_gaps(statistics, layer.eps or 0.0)
    if gaps is not None and gaps.number.size:
        summary = summarize_gaps(gaps)
        st.markdown(f"**{summary}.** {CHANNELS_NOTE}")
        show_figure(draw_channel_gaps(gaps, theme), "channels", f"Channels of a layer. {summary}.", "13rem")
    _show_layer_words(layer, view)


def _show_layer_words(layer: ReportedLayer, view: View) -> None:
    """Show what a layer computes and cancels, in words, and links to the pages that show it."""
    st.markdown(describe_layer(layer))
    if layer.table1:
        cancelled, kept = (list_cancelled(layer.table1, value) for value in (True, False))
        st.markdown(f"**Cancels** {cancelled}.  \n**Does not cancel** {kept}.")
    effect = measure_scale_effect(layer)
    if remarks := [*([] if effect is None else [describe_scale_effect(effect)]), *layer.remarks]:
        st.markdown(" ".join(remarks))
    link, x = make_lab_link(layer), make_recorded_tensor(layer)
    if x is not None:
        model = st.session_state[NAME_KEY] if view["source"] == OWN_MODEL else SOURCE_NAMES[view["source"]]
        offer_tensor(link, x, f"{layer.name}, {model}")
    with st.container(horizontal=True, vertical_alignment="center"):
        lab_label = "Its scheme in" if x is None else "Its activations in"
        draw_page_link(format_address("", link), lab_label, ":material/deployed_code:")
        if address := make_table_link(layer):
            draw_page_link(address, "Its row in", ":material/table:")
        if address := make_running_link(layer):
            draw_page_link(address, "Its batch size and ε in", ":material/toggle_on:")
    st.caption(describe_lab_tensor(layer))


def describe_lab_tensor(layer: ReportedLayer) -> str:
    """Describe what the pages behind the links show of a layer."""
    x, scheme = make_recorded_tensor(layer), find_layer_scheme(layer)
    lines = ["Table 1 and Training vs. inference train networks of their own, on handwritten digits."]
    if x is None:
        return " ".join(["The report has no activations, so the lab shows noise; `normviz record` saves them.", *lines])
    part = "all" if x.size == np.prod(layer.shape) else "an evenly spaced part"
    lab = f"The lab shows {part} of the activations that enter this layer, {format_shape(x.shape)} as (N, H, W, C)."
    if scheme is None:
        lab += " It has no scheme for this layer."
    varying = [n for n, ends in (("γ", layer.gain), ("β", layer.bias)) if ends and find_single_value(ends) is None]
    if varying:
        lab += f" It leaves out {' and '.join(varying)}, which {'vary' if len(varying) > 1 else 'varies'}."
    return " ".join([lab, *lines])
