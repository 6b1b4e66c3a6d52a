"""The panel "Step by step": the forward pass as a graph, and the gradient that comes back through it."""

import numpy as np
import streamlit as st

from normviz.charts.palette import THEMES
from normviz.core.text import format_number
from normviz.topics.gradients.chain import LAST_STEP, PATHS, STEPS, ChainValues, compute_chain_values, list_step_terms
from normviz.topics.gradients.chain_figures import draw_graph, format_values, get_path_colours
from normviz.topics.gradients.state import PREFIX, parse_numbers
from normviz.ui.legend import show_legend
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

READING_SECONDS = 4.0
"""Seconds for a sentence to be read."""

ORDINALS = ("1st", "2nd", "3rd", "4th")
"""The elements, as headings of a table."""

STEP_HEADINGS = {
    "forward": "Forward: three paths from x to x̂",
    "dxhat": "The loss sends a gradient to x̂",
    "droot": "s collects from all elements",
    "dvariance": "From s to the variance σ²",
    "dv": "v receives two gradients",
    "dmean": "μ collects from all elements",
    "dx": "∂L/∂x is the sum of three parts",
}

RMS_HEADINGS = STEP_HEADINGS | {
    "forward": "Forward: two paths from x to x̂",
    "dmean": "RMS norm has no mean",
    "dx": "∂L/∂x is the sum of two parts",
}
"""The headings of the steps in RMS norm, which subtracts no mean."""

PATH_SENTENCES = (
    "each x has its own x̂.",
    "each x changes μ, so it changes all x̂.",
    "each x changes σ² and s, so it changes all x̂.",
)
"""The paths of `chain.PATHS` in words."""

BACKWARD_NOTE = (
    "Back from the loss, each path brings a part of the gradient, **against its arrows**. The rest of the network "
    "gives ∂L/∂x̂ (orange): how much the loss L changes with each x̂."
)
"""The return of the gradient on the paths, in words."""

NO_FOURTH_PATH = "x → μ → v → σ² is no fourth path: all v sum to 0, so a small change of μ does not change σ²."
"""Why the graph has fewer paths than ways along its arrows."""


def show_graph(view: View, theme: str) -> None:
    """Show the computation graph at a step of the backward pass, a sentence on the step, and its terms."""
    x, dxhat = (np.array(parse_numbers(view[name])) for name in ("x", "dy"))
    one = compute_chain_values(x, dxhat, view["eps"], view["centred"])

    def show(step: int) -> None:
        left, right = st.columns([5, 4], gap="medium")
        said = describe_backward_step(one, STEPS[step])
        with left:
            drawn = draw_graph_at_step(one, step, theme)
            show_figure(drawn.figure, "chain", drawn.alt, drawn.height)
        with right:
            st.markdown(f"#### {get_step_heading(one, STEPS[step])}")
            if step == 0:
                st.markdown(said)
                show_legend((get_path_colours(THEMES[theme])[k], PATHS[k], PATH_SENTENCES[k]) for k in one.paths)
            with st.container(key="said-of-step"):
                st.markdown(said if step else BACKWARD_NOTE)
                if step == LAST_STEP:
                    st.latex(_format_paths_formula(one, theme))
            added = list_step_terms(one, STEPS[step])
            if added:
                rows = tabulate_terms(one, STEPS[step], added, view["row"])
                with st.container(key="terms-marked" if _ends_with_row(one, STEPS[step], view["row"]) else "terms"):
                    st.table(rows, border="horizontal")
            if STEPS[step] == "dmean" and added:
                st.caption(NO_FOURTH_PATH)

    Player(PREFIX, "back", "Step", LAST_STEP, period=READING_SECONDS).show(show)


def get_step_heading(values: ChainValues, step: str) -> str:
    """Return the heading of a step of the backward pass in layer norm, or in RMS norm."""
    return (STEP_HEADINGS if 1 in values.paths else RMS_HEADINGS)[step]


def draw_graph_at_step(values: ChainValues, step: int, theme: str) -> DrawnFigure:
    """Return the computation graph at a step of the backward pass, with its description as alternative text."""
    said = describe_backward_step(values, STEPS[step]).replace("**", "")
    alt = f"A graph from x to the loss, at step {step} of {LAST_STEP} back. {said}"
    return DrawnFigure(draw_graph(values, step, _find_zero_threshold(values), theme), alt, "min(26rem, 68vh)")


def _format_paths_formula(values: ChainValues, theme: str) -> str:
    """Return LaTeX of ∂L/∂x as the sum of its paths, coloured as in the graph."""
    colours, count = THEMES[theme], len(values.x)
    terms = (
        r"\frac1s\frac{\partial L}{\partial\hat x}",
        rf"\frac1{count}\frac{{\partial L}}{{\partial\mu}}",
        rf"\frac{{2v}}{count}\frac{{\partial L}}{{\partial\sigma^2}}",
    )
    added = (
        rf"\textcolor{{{get_path_colours(colours)[path]}}}"
        rf"{{\boxed{{\textcolor{{{colours.ink}}}{{\text{{{PATHS[path][0]}}}{terms[path]}}}}}}}"
        for path in values.paths
    )
    return r"\frac{\partial L}{\partial x} = " + " + ".join(added)


def _ends_with_row(values: ChainValues, step: str, row: int) -> bool:
    """Return True if the table of a step ends with the term of the path with number `row`, and its sum."""
    return step == STEPS[-1] and row - 1 in values.paths


def tabulate_terms(values: ChainValues, step: str, terms: dict[str, np.ndarray], row: int = 0) -> dict[str, list[str]]:
    """Return a table's columns, by name: a row for each term of a gradient and for their sum, and the rows' sums.

    At the last step, the table may end with the term of the path with number `row`: 1 to 3, or 0 for all terms.
    """
    total, least, name = getattr(values, step), _find_zero_threshold(values), f"sum: ∂L/∂{step[1:]}"
    if _ends_with_row(values, step, row) and row < len(PATHS):
        terms = dict(list(terms.items())[: values.paths.index(row - 1) + 1])
        name, total = " + ".join(term[0] for term in terms), np.sum(list(terms.values()), axis=0)
    rows = terms | ({f"**{name}**": total} if np.ndim(total) else {})
    return {
        "d = ∂L/∂x̂" if step == "dx" else "": list(rows),
        **{ORDINALS[k]: [format_values(row[k], least) for row in rows.values()] for k in range(len(values.x))},
        "sum": [f"**{format_values(row.sum(), least)}**" for row in rows.values()],
    }


def describe_backward_step(values: ChainValues, step: str) -> str:
    """Return sentences on a step of the backward pass: the gradient that it computes, and from which others."""
    count, least = len(values.x), _find_zero_threshold(values)
    dx_sum = float(values.dx.sum())
    constant = " All x are equal and ε is 0, so s = 0. We define 0/0 as 0." if values.root == 0 else ""
    texts = {
        "forward": f"The graph is layer norm of one example with {count} numbers **x**.{constant} Each x reaches the "
        "output **x̂** on three paths:",
        "dxhat": "**∂L/∂x̂** is the gradient of the loss: how much L changes when x̂ changes a little. "
        f"The rest of the network gives it: **{format_values(values.dxhat)}**, a number for each element.",
        "droot": f"Path ③: s divides all {count} elements. So its gradient is a sum over all {count}: "
        f"**∂L/∂s = {format_values(values.droot, least)}**.",
        "dvariance": "s is the square root of σ² + ε. The derivative of the root is 1 / (2s), so "
        f"**∂L/∂σ² = ∂L/∂s / (2s) = {format_values(values.dvariance, least)}**.",
        "dv": "v changes the loss on two paths: ① directly through x̂, and ③ through σ². The two gradients add up.",
        "dmean": f"Path ②: μ is subtracted from all {count} elements. So its gradient is a sum over all {count}: "
        f"**∂L/∂μ = {format_values(values.dmean, least)}**.",
        "dx": f"The mean received {format_values(values.dmean, least)}. Each x counts 1/{count} in the mean, so all "
        f"{count} elements get {format_values(values.dmean / count, least)} back on path ②. The three paths "
        f"**add up**. All ∂L/∂x sum to {format_number(dx_sum, 3, least)}, since a shift of all x does not change x̂.",
    }
    in_rms = {
        "forward": f"The graph is RMS norm of one example with {count} numbers **x**. It subtracts no mean: v = x, and "
        f"σ² is the mean of x².{constant} Each x reaches the output **x̂** on two paths:",
        "dmean": "No mean is subtracted, so path ② is missing.",
        "dx": f"The two paths **add up**. All ∂L/∂x sum to {format_number(dx_sum, 3, least)}: without path ②, a "
        "shift of all x changes x̂.",
    }
    return (texts if 1 in values.paths else texts | in_rms)[step]


def _find_zero_threshold(values: ChainValues) -> float:
    """Return the magnitude up to which a gradient in the graph counts as 0."""
    return 1e-12 * float(np.abs(values.dxhat).max()) / (values.root or 1.0)
