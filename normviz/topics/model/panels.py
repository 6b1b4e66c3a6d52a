"""Panels of the page "Your model": findings, the table of layers, and one layer with its links."""

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
    COLUMN_HELP,
    describe_layer,
    describe_output,
    explain_table,
    group_findings,
    list_cancelled,
    name_scheme,
    summarize_model,
    tabulate_layers,
)
from normviz.ui.frame import draw_page_link
from normviz.ui.link import View
from normviz.ui.tensor import offer_tensor
from normviz.web.components.plot import show_figure

VISIBLE_FINDINGS = 3
"""Findings above the table; others are folded."""

MAX_NAMED_LAYERS = 4
"""Layers that a finding names."""

CHANNELS_CAPTION = (
    "Each dot is a channel: its mean and standard deviation in this batch, beside the running averages of inference. "
    "They agree where the dashed lines cross."
)
"""Caption of the figure of channels."""

TABLE_KEY = PREFIX + "table"


def show(view: View, theme: str) -> None:
    """Show a report: its findings, its layers, and the chosen one; nothing until there is a report."""
    model = get_model(view)
    if model is None:
        return
    with st.container(gap="xsmall", key="findings"):
        show_findings(model)
    if not model.layers:
        st.info("The report names no normalization. `normviz inspect` finds those of modules and of functional calls.")
        return
    layer = model.choose_layer(view["layer"])
    show_layers(model, layer)
    show_layer(layer, view, theme)


def show_findings(model: ReportedModel) -> None:
    """Show a summary and the findings, those of the same text together."""
    st.markdown(f"**{escape_markdown(summarize_model(model))}** {describe_output(model)}")
    groups = group_findings(model.findings)
    for finding, layers in groups[:VISIBLE_FINDINGS]:
        show_finding(finding, layers)
    if rest := groups[VISIBLE_FINDINGS:]:
        with st.popover(f"{len(rest)} more"):
            for finding, layers in rest:
                show_finding(finding, layers)
    for note in model.notes[:VISIBLE_FINDINGS]:
        st.caption(escape_markdown(note))


def show_finding(finding: ReportedFinding, layers: list[str]) -> None:
    """Show the layers and what was found; unfolded, the advice with a link."""
    names = ", ".join(escape_markdown(name or "The whole model") for name in layers[:MAX_NAMED_LAYERS])
    more = f" and {len(layers) - MAX_NAMED_LAYERS} more" if len(layers) > MAX_NAMED_LAYERS else ""
    thread = f" [Discussion on GitHub]({finding.thread})" if finding.thread else ""
    with st.expander(f":material/warning: **{names}{more}.** {escape_markdown(finding.finding)}"):
        st.markdown(f"{escape_markdown(finding.advice)}{thread}")


def show_layers(model: ReportedModel, chosen: ReportedLayer) -> None:
    """Show the table of layers below its explanation; a row that is chosen opens its layer."""
    row = model.list_names().index(chosen.name)
    st.session_state[TABLE_KEY] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    with st.container(gap="xsmall"):
        st.caption(explain_table(model))
        st.dataframe(
            tabulate_layers(model), hide_index=True, key=TABLE_KEY, on_select=_take_row, selection_mode="single-row",
            column_config={name: st.column_config.TextColumn(help=text) for name, text in COLUMN_HELP.items()},
        )  # fmt: skip


def _take_row() -> None:
    """Open the layer of the chosen row."""
    state = st.session_state
    model, rows = get_model({"source": state[PREFIX + "source"]}), state[TABLE_KEY]["selection"]["rows"]
    if model is not None and rows:
        state[PREFIX + "layer"] = model.layers[rows[0]].name


def show_layer(layer: ReportedLayer, view: View, theme: str) -> None:
    """Show one layer: what it computes, what it cancels, the pages that show it, and its running averages."""
    statistics = layer.recorded.statistics if layer.recorded else None
    gaps = None if statistics is None else compute_channel_gaps(statistics, layer.eps or 0.0)
    if gaps is None or not gaps.number.size:
        _show_layer_words(layer, view)
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _show_layer_words(layer, view)
    with right:
        summary = summarize_gaps(gaps)
        st.markdown(f"#### {summary}")
        show_figure(draw_channel_gaps(gaps, theme), "channels", f"Channels of a layer. {summary}.", "16rem")
        st.caption(CHANNELS_CAPTION)


def _show_layer_words(layer: ReportedLayer, view: View) -> None:
    """Show what a layer computes and cancels, in words, and links to the pages that show it."""
    st.markdown(f"### {escape_markdown(layer.name)}: {name_scheme(layer)}\n{describe_layer(layer)}")
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
