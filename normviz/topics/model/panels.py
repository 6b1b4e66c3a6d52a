"""Panels of the page "Your model": the table of problems and layers, and one row of it with its picture and links."""

from collections.abc import Sequence

import streamlit as st

from normviz.charts.chart import Figure
from normviz.core.registry import SCHEMES
from normviz.describe.markdown import escape_markdown
from normviz.describe.problems import PROBLEMS
from normviz.describe.wording import format_shape
from normviz.topics.model import layer_links, wording
from normviz.topics.model.channels import compare_batch_statistics, compare_running_variances
from normviz.topics.model.figures import draw_channels, draw_fields, draw_layer_gaps
from normviz.topics.model.reported import ReportedFinding, ReportedLayer, ReportedModel
from normviz.topics.model.state import NAME_KEY, OWN_MODEL, PREFIX, SOURCE_NAMES, get_model
from normviz.ui.frame import draw_page_link
from normviz.ui.link import View
from normviz.ui.tensor import offer_tensor
from normviz.web.components.plot import show_figure

FIGURE_HEIGHT = "13rem"

TABLE_KEY = PREFIX + "table"


def show(view: View, theme: str) -> None:
    """Show a report: its layers with their problems, and beside them the chosen row; nothing without a report."""
    model = get_model(view)
    if model is None:
        return
    if not model.layers:
        st.info(
            "No normalization found in this model. `normviz inspect` finds those of modules and of functional calls."
        )
        show_unmeasured(model)
        return
    row = model.choose_row(view["layer"])
    left, right = st.columns(2, gap="medium")
    with left:
        show_rows(model, row)
    with right:
        if row is None:
            show_model(model, theme)
        else:
            show_layer(row, model, view, theme)


def show_rows(model: ReportedModel, chosen: ReportedLayer | None) -> None:
    """Show a summary of a model and the table of its rows; a click opens a row, `chosen` is open now."""
    rows = [model.list_rows().index(chosen)]
    st.session_state[TABLE_KEY] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    with st.container(gap="xsmall", key="findings"):
        st.markdown(f"### {wording.summarize_model(model)}")
        st.dataframe(
            wording.tabulate_rows(model),
            hide_index=True,
            column_config={"Problem": st.column_config.Column(width=220)},  # else a phone cuts the titles
            key=TABLE_KEY,
            on_select=_store_clicked_row,
            selection_mode="single-row",
        )
        show_unmeasured(model)


def show_unmeasured(model: ReportedModel) -> None:
    """Show the first notes on what the report does not measure."""
    for note in model.notes[:3]:
        st.caption(escape_markdown(note))


def _store_clicked_row() -> None:
    state = st.session_state
    model, rows = get_model({"source": state[PREFIX + "source"]}), state[TABLE_KEY]["selection"]["rows"]
    if model is not None and rows:
        row = model.list_rows()[rows[0]]
        state[PREFIX + "layer"] = row.name if row else ""


def show_problems(findings: Sequence[ReportedFinding], name: str) -> None:
    """Show findings on the layer called `name`: what is wrong, the effect, and the fix."""
    for k, finding in enumerate(findings):
        problem = finding.problem
        thread = f" See [{wording.name_thread(problem.thread)}]({problem.thread})." if problem.thread else ""
        lines = [f"**{'Problem' if problem.is_mistake else 'Tip'}.** {escape_markdown(finding.finding)}"]
        if problem.effect:
            lines.append(f"**Effect.** {problem.effect}")
        with st.container(gap="small", key=f"problem-{k}"):
            st.markdown("  \n".join([*lines, f"**Fix.** {escape_markdown(problem.advice)}{thread}"]))
            if problem.code:
                st.code(wording.format_fix(problem.code, name), language="python", wrap_lines=True)


def _show_picture(figure: Figure, heading: str) -> None:
    """Show a figure below its heading; the zoom is reset when the heading changes."""
    st.markdown(f"**{heading}**")
    figure.update_layout(uirevision=heading)
    show_figure(figure, "channels", f"{heading}.", FIGURE_HEIGHT)


def show_model(model: ReportedModel, theme: str) -> None:
    """Show the problems of the whole model, the layers whose output eval() changes, and tips."""
    findings = model.find_problems("")
    with st.container(gap="small"):
        st.markdown(f"### {wording.WHOLE_MODEL.capitalize()}")
        show_problems([each for each in findings if each.problem.is_mistake], "")
        gaps = {wording.name_bar(layer): layer.gap for layer in model.layers if layer.gap is not None}
        changed = sum(gap > wording.NEGLIGIBLE for gap in gaps.values())
        if changed and model.gap is not None:
            heading = f"eval() changes {changed} of {len(gaps)} normalizations, and through them the model’s outputs"
            _show_picture(draw_layer_gaps({wording.WHOLE_MODEL: model.gap} | gaps, theme), heading)
        show_problems([each for each in findings if not each.problem.is_mistake], "")


def show_layer(layer: ReportedLayer, model: ReportedModel, view: View, theme: str) -> None:
    """Show a layer's findings, a figure of its running averages or fields, and in an expander what it computes."""
    findings = model.find_problems(layer.name)
    with st.container(gap="small"):
        st.markdown(f"### {escape_markdown(layer.name)}: {wording.name_scheme(layer)}")
        show_problems(findings, layer.name)
        if not findings:
            shared = "eval() changes its output. This is part of the problem of the whole model."
            st.markdown(shared if wording.shares_problem(layer, model) else ":material/check: No problem found.")
        problems = [each.problem for each in findings]
        statistics, averages = layer.recorded.statistics if layer.recorded else None, None
        if statistics is not None and PROBLEMS["moving-statistics"] in problems:
            averages = compare_running_variances(statistics)
        elif statistics is not None:
            averages = compare_batch_statistics(statistics, layer.eps or 0.0)
        fields = draw_fields(layer, SCHEMES["rms"] if PROBLEMS["wrong-axis"] in problems else None, theme)
        if averages is not None:
            _show_picture(draw_channels(averages, theme), averages.heading)
        elif fields is not None:
            _show_picture(fields, f"Numbers of one colour share {wording.name_statistics(layer)}")
        with st.expander("Details, and this layer on other pages"):
            _show_details(layer, view)


def _show_details(layer: ReportedLayer, view: View) -> None:
    st.markdown(
        " ".join(filter(None, (wording.describe_layer(layer), wording.describe_influences(layer), *layer.remarks)))
    )
    link, x = layer_links.make_lab_link(layer), layer_links.make_recorded_tensor(layer)
    if x is not None:
        model = st.session_state[NAME_KEY] if view["source"] == OWN_MODEL else SOURCE_NAMES[view["source"]]
        offer_tensor(link, x, f"{layer.name}, {model}")
    with st.container(horizontal=True, vertical_alignment="center"):
        lab_label = "Its scheme in" if x is None else "Its activations in"
        draw_page_link(layer_links.format_address("", link), lab_label, ":material/deployed_code:")
        if address := layer_links.make_table_link(layer):
            draw_page_link(address, "Its row in", ":material/table:")
        if address := layer_links.make_running_link(layer):
            draw_page_link(address, "Its batch size and ε in", ":material/toggle_on:")
    st.caption(describe_lab_tensor(layer))


def describe_lab_tensor(layer: ReportedLayer) -> str:
    """Return a sentence on the tensor that the linked pages show for a layer."""
    x, scheme = layer_links.make_recorded_tensor(layer), layer_links.find_layer_scheme(layer)
    others = "Table 1 and Training vs. inference train networks of their own, on handwritten digits."
    if x is None:
        return f"The report has no activations, so the lab shows noise; `normviz record` saves them. {others}"
    lab = (
        f"The lab shows recorded inputs of the layer, {format_shape(x.shape)} as (N, H, W, C), without varying γ and β."
    )
    return f"{lab}{'' if scheme else ' It has no scheme for this layer.'} {others}"
