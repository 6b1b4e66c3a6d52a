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
    make_words_part,
)
from normviz.core.settings import build_settings
from normviz.core.text import capitalize_first
from normviz.describe.backward import build_backward_formulas
from normviz.describe.wording import format_scheme_name
from normviz.topics.geometry.panels.rate import RUN_TITLES, draw_run_curve, explain_norm_growth, write_growth_headline
from normviz.topics.geometry.panels.vectors import draw_vectors, format_stage_explanation, format_stage_headline
from normviz.topics.geometry.rate import RateSetting, train_single
from normviz.topics.geometry.three_channels import ThreeChannelExample
from normviz.topics.gradients.chain import PATHS, STEPS, compute_chain, list_step_terms
from normviz.topics.gradients.panels.formula import (
    arrange_formulas,
    describe_gradient_invariances,
    draw_gradient_map,
    tabulate_sums,
)
from normviz.topics.gradients.panels.graph import (
    PATH_SENTENCES,
    STEP_HEADINGS,
    describe_chain_step,
    draw_chain_step,
    tabulate_terms,
)
from normviz.topics.gradients.panels.jacobian import compute_block_jacobian, draw_block_jacobian
from normviz.topics.gradients.small import compare_gradients, make_small_tensors
from normviz.topics.gradients.state import get_page_eps, get_page_scheme, get_tensor_shape, parse_numbers
from normviz.ui.link import View


def draw_gradient_parts(view: View) -> list[StepPart]:
    """Return the step parts of a panel of the backward pass; [] for the panel that checks a visitor's numbers."""
    panel = {"graph": _draw_chain_parts, "formula": _draw_formula_parts, "jacobian": _draw_jacobian_parts}
    return panel[view["show"]](view) if view["show"] in panel else []


def _draw_chain_parts(view: View) -> list[StepPart]:
    """Return step parts: the computation graph at a step, and the step in words with the terms that it sums."""
    x, dxhat = (np.array(parse_numbers(view[name])) for name in ("x", "dy"))
    values, step = compute_chain(x, dxhat, view["eps"]), STEPS[view["back"]]
    words = format_words_html(f"### {STEP_HEADINGS[step]}\n{describe_chain_step(values, step)}")
    if step == STEPS[0]:
        paths = zip(PATHS, PATH_SENTENCES, strict=True)
        words += format_words_html("\n".join(f"- **{name}**: {text}" for name, text in paths))
    if added := list_step_terms(values, step):
        words += format_table_html(tabulate_terms(values, step, added))
    return [
        make_plot_part("chain", lambda theme: draw_chain_step(values, view["back"], theme)),
        make_words_part("below", words),
    ]


def _draw_formula_parts(view: View) -> list[StepPart]:
    """Return step parts: the formulas of the backward pass, and its input and output as numbers."""
    scheme, eps, shape = get_page_scheme(view), get_page_eps(view), get_tensor_shape(view)
    scheme.check(shape)
    at = make_small_tensors(scheme, shape, view["seed"])
    compared = compare_gradients(scheme, at, eps)
    heading = format_words_html(f"### {capitalize_first(format_scheme_name(scheme))}, backwards")
    rows = [[line.latex for line in row] for row in arrange_formulas(build_backward_formulas(scheme))[:4]]
    invariances = format_words_html(describe_gradient_invariances(scheme, eps))
    return [
        make_words_part("heading", heading + format_formulas_html(rows)),
        make_plot_part("incoming", lambda theme: draw_gradient_map(compared, "incoming", theme)),
        make_plot_part("outgoing", lambda theme: draw_gradient_map(compared, "outgoing", theme)),
        make_words_part("below", invariances + format_table_html(tabulate_sums(at, compared))),
    ]


def _draw_jacobian_parts(view: View) -> list[StepPart]:
    """Return step parts: a sentence on the Jacobian's blocks, and the Jacobian."""
    laid = compute_block_jacobian(view)
    return [
        make_words_part("heading", format_words_html(laid.words)),
        make_plot_part("jacobian", lambda theme: draw_block_jacobian(laid, theme)),
    ]


def draw_geometry_parts(view: View) -> list[StepPart]:
    """Return step parts: vectors of three channels, or the effective learning rate of a run; [] for other panels."""
    panel = {"vectors": _draw_vector_parts, "rate": _draw_rate_parts}
    return panel[view["show"]](view) if view["show"] in panel else []


def _draw_vector_parts(view: View) -> list[StepPart]:
    """Return step parts: the vectors of a stage in space, and the stage in words."""
    example = build_settings(ThreeChannelExample, view)
    return [
        make_words_part("heading", format_words_html(f"### {format_stage_headline(example)}")),
        make_plot_part("space", partial(draw_vectors, example)),
        make_words_part("below", format_words_html(format_stage_explanation(example))),
    ]


def _draw_rate_parts(view: View) -> list[StepPart]:
    """Return step parts: the length of the weights during training, and the effective learning rate."""
    curves = train_single(replace(build_settings(RateSetting, view), delta=1.0))
    return [
        make_words_part("heading", format_words_html(write_growth_headline(curves))),
        *(make_plot_part(key, partial(draw_run_curve, curves, key)) for key in RUN_TITLES),
        make_words_part("below", format_words_html(explain_norm_growth(curves))),
    ]
