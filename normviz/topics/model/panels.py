"""Panels of the page "Your model": findings, the table of layers, and one layer with its links."""

import numpy as np
import streamlit as st

from normviz.describe.markdown import escape_markdown
from normviz.describe.wording import format_shape
from normviz.topics.model.layer_links import (
    find_layer_scheme,
    find_single_value,
    make_lab_link,
    make_recorded_tensor,
    make_running_link,
    make_table_link,
)
from normviz.topics.model.reported import ReportedFinding, ReportedLayer, ReportedModel
from normviz.topics.model.state import NAME_KEY, OWN_MODEL, PREFIX, SOURCE_NAMES, get_model
from normviz.topics.model.wording import (
    COLUMN_HELP,
    describe_layer,
    group_findings,
    list_cancelled,
    name_scheme,
    summarize_model,
    tabulate_layers,
)
from normviz.ui.frame import draw_page_link, switch_to_page
from normviz.ui.link import PERSIST_STATE, View
from normviz.ui.saving import draw_download_button

VISIBLE_FINDINGS = 3
"""Findings above the table; others are folded."""

MAX_NAMED_LAYERS = 4
"""Layers that a finding names."""

TABLE_ROWS = 7
"""Rows of the table that are seen without scrolling in it."""

ROW_HEIGHT = 35
"""Height of a row in pixels."""

TABLE_KEY = PREFIX + "table"


def show(view: View, theme: str) -> None:
    """Show a report: its findings, its layers, and the chosen one; nothing until there is a report."""
    model = get_model(view)
    if model is None:
        return
    show_findings(model)
    if not model.layers:
        st.info("The report names no normalization. `normviz inspect` finds those of modules and of functional calls.")
        return
    show_layers(model, view)
    layer = model.find_layer(view["layer"])
    if layer is not None:
        show_layer(model, layer, view)


def show_findings(model: ReportedModel) -> None:
    """Show a summary and the findings, those of the same text together, the first ones unfolded."""
    st.markdown(f"**{escape_markdown(summarize_model(model))}**")
    groups = group_findings(model.findings)
    for finding, layers in groups[:VISIBLE_FINDINGS]:
        st.markdown(format_finding(finding, layers))
    if rest := groups[VISIBLE_FINDINGS:]:
        with st.expander(f"{len(rest)} more"):
            for finding, layers in rest:
                st.markdown(format_finding(finding, layers))
    for note in model.notes[:VISIBLE_FINDINGS]:
        st.caption(escape_markdown(note))


def format_finding(finding: ReportedFinding, layers: list[str]) -> str:
    """Format a finding in Markdown: the layers, what was found, the advice, and a link to the thread."""
    names = ", ".join(escape_markdown(name or "The whole model") for name in layers[:MAX_NAMED_LAYERS])
    more = f" and {len(layers) - MAX_NAMED_LAYERS} more" if len(layers) > MAX_NAMED_LAYERS else ""
    thread = f" [Others had this, too]({finding.thread})" if finding.thread else ""
    return (
        f":material/warning: **{names}{more}.** {escape_markdown(finding.finding)}  \n"
        f"{escape_markdown(finding.advice)}{thread}"
    )


def show_layers(model: ReportedModel, view: View) -> None:
    """Show the table of layers; a row that is chosen opens its layer."""
    columns = tabulate_layers(model)
    rows = min(len(model.layers), TABLE_ROWS)
    st.dataframe(
        columns, hide_index=True, key=TABLE_KEY, height=(rows + 1) * ROW_HEIGHT + 3, row_height=ROW_HEIGHT,
        on_select=_take_row, selection_mode="single-row",
        selection_default={"selection": {"rows": [model.list_names().index(view["layer"])]}},
        column_config={name: st.column_config.TextColumn(help=text) for name, text in COLUMN_HELP.items()},
    )  # fmt: skip


def _take_row() -> None:
    """Open the layer of the chosen row."""
    state = st.session_state
    model = get_model({"source": state[PREFIX + "source"]})
    rows = state[TABLE_KEY]["selection"]["rows"]
    if model is not None and rows and rows[0] < len(model.layers):
        state[PREFIX + "layer"] = model.layers[rows[0]].name


def show_layer(model: ReportedModel, layer: ReportedLayer, view: View) -> None:
    """Show one layer: what it computes, what it cancels, and the pages that show it."""
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    left.selectbox("Layer", model.list_names(), key=PREFIX + "layer", **PERSIST_STATE)
    right.markdown(f"**{name_scheme(layer)}.** {describe_layer(layer)}")
    if layer.table1:
        cancelled, kept = (list_cancelled(layer.table1, value) for value in (True, False))
        st.markdown(f"Cancels: **{cancelled}**. Does not cancel: {kept}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("See it in **Tensor lab**", icon=":material/deployed_code:", key=PREFIX + "lab"):
            open_in_lab(layer, view)
        if address := make_table_link(layer):
            draw_page_link(address, "Its row in", ":material/table:")
        if address := make_running_link(layer):
            draw_page_link(address, "Batch size and ε in", ":material/toggle_on:")
    st.caption(describe_lab_tensor(layer))
    draw_download_button(lambda: tabulate_layers(model), "layers")


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


def open_in_lab(layer: ReportedLayer, view: View) -> None:
    """Make the recorded activations the session's own tensor, and open the tensor lab on it."""
    x, state = make_recorded_tensor(layer), st.session_state
    if x is not None:
        model = state[NAME_KEY] if view["source"] == OWN_MODEL else SOURCE_NAMES[view["source"]]
        state.update({"own": x, "own name": f"{layer.name}, {model}", "own chosen": True, "upload error": None})
        state.pop("own file", None)
    switch_to_page("tensor_lab", make_lab_link(layer))
