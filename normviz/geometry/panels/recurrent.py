"""The panel on a recurrent network: the gradient's norm from step to step, as the recurrent weights are scaled."""

import numpy as np
import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.core.settings import build
from normviz.core.text import measured, typeset
from normviz.geometry.figures import Curve, curves
from normviz.geometry.recurrent import EXAMPLES, INPUTS, SCALES, UNITS, Flow, Unrolled
from normviz.geometry.state import LOOKS, flows
from normviz.geometry.wording import listed
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

SAME = 1e-9
"""Factors that differ by no more than this, relatively, are one number."""


def show(view: View, theme: str) -> None:
    """The gradient over the time steps at one scale, and what a step multiplies it by over all of them."""
    setting, strength = build(Unrolled, view), view["strength"]
    found = flows(setting, strength)
    labels = {key: SCHEMES[key].label for key in found}
    now = {key: float(flow.factor[-1]) for key, flow in found.items()}
    others = ", ".join(f"{measured(now[key], 3)} with {SCHEMES[key].name}" for key in found if key != "none")
    st.markdown(
        f"### At s = {typeset(strength)} a step back in time multiplies the gradient by {measured(now['none'], 3)} "
        f"without normalization; {others}."
    )
    left, right = st.columns(2, gap="medium")
    last = setting.unrolled
    with left:
        named = {labels[key]: Curve(np.arange(last + 1), flow.norms[-1], LOOKS[key]) for key, flow in found.items()}
        ends = "; ".join(f"{label} {curve.y[0]:.2g}" for label, curve in named.items())
        alt = f"The gradient by the state of every time step, 1 at step {last}; at step 0: {ends}."
        title = f"‖∂l/∂h<sub>t</sub>‖ over that at t = {last}"
        plot(curves(title, named, "time step t", "y", level=1.0, theme=theme), "steps_back", alt, "25rem")
    with right:
        named = {labels[key]: Curve(SCALES, flow.factor[:-1], LOOKS[key]) for key, flow in found.items()}
        ends = "; ".join(f"{label} {curve.y[0]:.2g} to {curve.y[-1]:.2g}" for label, curve in named.items())
        alt = f"What a step back multiplies the gradient by, over s from {SCALES[0]:g} to {SCALES[-1]:g}: {ends}."
        figure = curves(
            "Factor of a step back", named, "s", "xy", level=1.0, marked=strength, ticks=(0.5, 1, 2, 4), theme=theme
        )
        plot(figure, "factors", alt, "25rem")
    st.markdown(_verdict(setting, found))
    st.table(
        {"": list(labels.values())}
        | {
            f"{name} over s": [measured(how(flow.factor[:-1]), 3) for flow in found.values()]
            for name, how in (("Least factor", np.min), ("Largest", np.max))
        }
        | {
            f"over {last} steps, least": [measured(flow.norms[:-1, 0].min(), 2) for flow in found.values()],
            "largest": [measured(flow.norms[:-1, 0].max(), 2) for flow in found.values()],
        },
        border="horizontal",
    )
    st.caption(
        f"{EXAMPLES} sequences of {INPUTS} random numbers a step, {UNITS} units; W random with variance 1/{UNITS}, U "
        f"with 1/{INPUTS}; statistics of every time step for itself, ε = 0; ∂l/∂h of the last step is random. The "
        "factor is the geometric mean over all steps. Without normalization there is no γ."
    )
    with st.container(horizontal=True, gap="medium"):
        st.latex(rf"a_t = s\,W h_{{t-1}} + {'s' if setting.inputs else ''}\,U x_t", width="content")
        st.latex(
            r"h_t = \tanh(\gamma\,\hat x_t)" if setting.activation == "tanh" else r"h_t = \gamma\,\hat x_t",
            width="content",
        )
    save_table(lambda: numbers(found), "recurrent")


def numbers(found: dict[str, Flow]) -> dict[str, list]:
    """The gradient at every time step, at the page's scale."""
    steps = len(next(iter(found.values())).norms[-1])
    return {"t": list(range(steps))} | {key: flow.norms[-1].tolist() for key, flow in found.items()}


def _verdict(setting: Unrolled, found: dict[str, Flow]) -> str:
    """What the claim that invariance prevents exploding and vanishing gradients comes to."""
    spread = {key: _spread(flow) for key, flow in found.items()}
    if setting.inputs:
        kept = [key for key, each in spread.items() if each <= SAME]
        return (
            f"**Where s multiplies U, too, it re-scales the summed inputs as a whole**: the factor is then the same at "
            f"every s with {listed(kept)}; without normalization it differs {measured(1 + spread['none'], 3)}-fold. "
            "That is the invariance, and it does not make the factor 1: over "
            f"{setting.unrolled} steps the gradient is multiplied by {measured(found['layer'].norms[0, 0], 2)} with "
            "layer normalization, which hangs on γ and on the activation."
        )
    top = {key: float(flow.factor[:-1].max()) for key, flow in found.items()}
    low = {key: float(flow.factor[:-1].min()) for key, flow in found.items()}
    calmer = [key for key in found if key != "none" and top[key] < top["none"]]
    steadier = [key for key in found if key != "none" and low[key] > low["none"]]
    return (
        "**s re-scales the recurrent part alone, not the summed inputs as a whole, so the factor still hangs on it**. "
        f"The largest over all s is smaller than without normalization with {listed(calmer)}; the least is larger "
        f"with {listed(steadier)}."
        + ("" if len(steadier) == len(found) - 1 else " Where s is small, the input decides the normalized state.")
    )


def _spread(flow: Flow) -> float:
    """The largest factor over the least, less 1."""
    factor = flow.factor[:-1]
    return float(factor.max() / factor.min() - 1)
