"""The panel "Outside the gradient": the bias grows, and the loss stays constant."""

import numpy as np
import streamlit as st

from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels
from normviz.core.registry import SCHEMES
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.why import state
from normviz.topics.why.outside import EXAMPLES, TARGET
from normviz.ui.link import View
from normviz.web.components.plot import show_figure

NAMES = {"outside": "E[x] treated as a constant", "inside": "gradient through E[x]"}


def show(view: View, theme: str) -> None:
    """Show gradient descent on a bias with the normalization outside of the gradient and inside."""
    rate, steps = view["step_size"], view["steps"]
    found = state.get_bias_descents(rate, steps, view["seed"])
    out, inside = found["outside"], found["inside"]
    reach = float(np.abs(out.b).max())
    stood, moved, stayed = (
        format_number(value, 2, least)
        for value, least in (
            (np.ptp(out.losses), RELATIVE_TOLERANCES["float64"] * (1 + reach)),
            (np.abs(out.b - rate * TARGET * np.arange(steps + 1)).max(), RELATIVE_TOLERANCES["float64"] * (1 + reach)),
            (np.abs(inside.b).max(), RELATIVE_TOLERANCES["float64"] * (1 + reach)),
        )
    )
    st.markdown(
        f"### Outside of the gradient b grows to {typeset(out.b[-1], 4)}, and the loss changes by {stood}; "
        f"inside, b moves by {stayed}."
    )
    x = np.arange(steps + 1)
    runs = [(NAMES[key], run, k) for k, (key, run) in enumerate(found.items())]
    highest = 1.3 * float(out.losses.max())
    panels = {
        "bias": CurvePanel("The bias b", [Curve(name, x, run.b, k) for name, run, k in runs], "step", "b"),
        "loss": CurvePanel(
            "The loss", [Curve(name, x, run.losses, k) for name, run, k in runs], "step", "l", span=(0.0, highest)
        ),
    }
    alts = {
        "bias": f"b by step: up to {typeset(out.b[-1], 4)} with E[x] taken for a constant, {stayed} otherwise.",
        "loss": f"The loss by step: {typeset(out.losses[0], 4)} all along, both ways.",
    }
    for column, (key, panel) in zip(st.columns(2), panels.items(), strict=True):
        with column:
            show_figure(draw_curve_panels([panel], theme), key, alts[key], "25rem")
    with st.container(horizontal=True, gap="medium"):
        for formula in (
            r"x = u + b,\quad \hat{x} = x - \mathrm{E}[x]",
            r"u + (b + \Delta b) - \mathrm{E}[u + (b + \Delta b)] = u + b - \mathrm{E}[u + b]",
        ):
            st.latex(formula, width="content")
    st.markdown(
        rf"**Why**: $\hat{{x}}$ has mean 0 whatever $b$ is. A step that takes $\mathrm{{E}}[x]$ for a constant sees an "
        rf"error of mean −{TARGET:g} and pushes $b$ against it, by η · {TARGET:g} a step (b is off that by {moved}); "
        r"the mean follows, and the next step is the same again. With $\partial \mathrm{E}[x]/\partial b = 1$ in the "
        r"gradient, $\partial L/\partial b = \sum_i (g_i - \bar{g}) = 0$."
    )
    st.caption(
        f"{EXAMPLES} examples, L = ½ E[(x̂ − t)²], where t has mean {TARGET:g}: what x̂ can never have. "
        f"[{SCHEMES['batch'].reference.text}]({SCHEMES['batch'].reference.url}), section 2."
    )
