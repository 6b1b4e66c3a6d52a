"""The pictures of the steps about the backward pass and the geometry of a step."""

from dataclasses import replace
from functools import partial

import numpy as np

from normviz.classroom.site.step_parts import (
    StepPart,
    format_formulas_html,
    format_table_html,
    format_words_html,
    make_plot_part,
    make_text_part,
)
from normviz.core.settings import build_settings
from normviz.core.text import capitalize_first
from normviz.describe.backward import build_backward_formulas
from normviz.describe.wording import format_scheme_name
from normviz.topics.geometry.panels.rate import RUN_TITLES, draw_run_curve, explain_norm_growth, format_growth_headline
from normviz.topics.geometry.panels.vectors import (
    draw_vectors,
    format_stage_explanation,
    format_stage_headline,
    tabulate_vectors,
)
from normviz.topics.geometry.rate import RateSetting, train_single
from normviz.topics.geometry.three_channels import ThreeChannelExample
from normviz.topics.gradients.chain import PATHS, STEPS, compute_chain_values, list_step_terms
from normviz.topics.gradients.panels import formula
from normviz.topics.gradients.panels.graph import (
    PATH_SENTENCES,
    describe_backward_step,
    draw_graph_at_step,
    get_step_heading,
    tabulate_terms,
)
from normviz.topics.gradients.panels.jacobian import compute_block_jacobian, draw_block_jacobian
from normviz.topics.gradients.small import compare_gradients, make_small_tensors
from normviz.topics.gradients.state import get_page_eps, get_page_scheme, get_tensor_shape, parse_numbers
from normviz.ui.link import View


def build_gradient_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of the view's panel of "Backward pass"; [] for the panel that checks numbers."""
    panel = {"graph": _build_graph_parts, "formula": _build_formula_parts, "jacobian": _build_jacobian_parts}
    return panel[view["show"]](view) if view["show"] in panel else []


def _build_graph_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of one gradient in the computation graph: the graph, and the terms that it sums."""
    x, dxhat = (np.array(parse_numbers(view[name])) for name in ("x", "dy"))
    values, step = compute_chain_values(x, dxhat, view["eps"], view["centred"]), STEPS[view["back"]]
    words = format_words_html(f"### {get_step_heading(values, step)}\n{describe_backward_step(values, step)}")
    if step == STEPS[0]:
        words += format_words_html("\n".join(f"- **{PATHS[path]}**: {PATH_SENTENCES[path]}" for path in values.paths))
    if added := list_step_terms(values, step):
        words += format_table_html(tabulate_terms(values, step, added, view["row"]))
    return [
        make_plot_part("chain", lambda theme: draw_graph_at_step(values, view["back"], theme)),
        make_text_part("below", words),
    ]


def _build_formula_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on a scheme's backward pass: its formulas, and its input and output as numbers."""
    scheme, eps, shape = get_page_scheme(view), get_page_eps(view), get_tensor_shape(view)
    scheme.check(shape)
    at = make_small_tensors(scheme, shape, view["seed"])
    compared = compare_gradients(scheme, at, eps)
    heading = format_words_html(f"### {capitalize_first(format_scheme_name(scheme))}, backwards")
    rows = [[line.latex for line in row] for row in formula.arrange_formulas(build_backward_formulas(scheme))[:4]]
    invariances = format_words_html(formula.describe_gradient_invariances(scheme, eps))
    return [
        make_text_part("heading", heading + format_formulas_html(rows)),
        make_plot_part("incoming", lambda theme: formula.draw_gradient_map(compared, "incoming", theme)),
        make_plot_part("outgoing", lambda theme: formula.draw_gradient_map(compared, "outgoing", theme)),
        make_text_part("below", invariances + format_table_html(formula.tabulate_sums(at, compared))),
    ]


def _build_jacobian_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on a scheme's Jacobian: a sentence on its blocks, and its picture."""
    laid = compute_block_jacobian(view)
    return [
        make_text_part("heading", format_words_html(laid.words)),
        make_plot_part("jacobian", lambda theme: draw_block_jacobian(laid, theme)),
    ]


def build_geometry_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of the view's panel of "Step size"; [] for panels without a static picture."""
    panel = {"vectors": _build_vector_parts, "rate": _build_rate_parts}
    return panel[view["show"]](view) if view["show"] in panel else []


def _build_vector_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on three channels: their vectors at a stage of layer norm, and the stage in words."""
    example = build_settings(ThreeChannelExample, view)
    table = format_table_html(tabulate_vectors(example)) if example.stage == "normalize" else ""
    return [
        make_text_part("heading", format_words_html(f"### {format_stage_headline(example)}")),
        make_plot_part("space", partial(draw_vectors, example)),
        make_text_part("below", format_words_html(format_stage_explanation(example)) + table),
    ]


def _build_rate_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on a training: the length of the weights, and the effective learning rate."""
    curves = train_single(replace(build_settings(RateSetting, view), delta=1.0))
    return [
        make_text_part("heading", format_words_html(format_growth_headline(curves))),
        *(make_plot_part(key, partial(draw_run_curve, curves, key)) for key in RUN_TITLES),
        make_text_part("below", format_words_html(explain_norm_growth(curves))),
    ]
