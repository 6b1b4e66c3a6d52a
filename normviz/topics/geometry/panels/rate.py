"""The panel on the effective learning rate along a training run."""

from dataclasses import replace

import numpy as np
import streamlit as st

from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels
from normviz.core.settings import build_settings
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.geometry import rate
from normviz.topics.geometry.state import get_rate_run, get_twin_gaps
from normviz.ui.link import View
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

ROUNDING = RELATIVE_TOLERANCES["float64"]
SMOOTHING_WINDOW = 20
"""Mini-batches over which the last loss is averaged."""

RUN_TITLES = {"lengths": "Length of W, ‖W‖", "effective": "Effective learning rate, η/‖W‖²"}

RATE_LABELS = {0: "η", 1: "η · δ", 2: "η · δ²"}


def show(view: View, theme: str) -> None:
    """Show ‖W‖ and its effective learning rate during training, and copies of the network that start from δW."""
    training = build_settings(rate.RateSetting, view)
    course = get_rate_run(replace(training, delta=1.0))
    _draw_run(course, theme)
    link = f"experiments?show=weight-decay&weight_decay_rate={training.rate}&weight_decay_steps={training.steps}"
    with st.container(key="below"):
        _explain_run(course)
        st.markdown(f"Weight decay makes W shorter. The [experiment on weight decay]({link}) shows its effect.")
        _show_twins(training)


def _draw_run(curves: rate.TrainingCurves, theme: str) -> None:
    st.markdown(format_growth_headline(curves))
    for column, key in zip(st.columns(2, gap="medium"), RUN_TITLES, strict=True):
        with column:
            drawn = draw_run_curve(curves, key, theme)
            show_figure(drawn.figure, key, drawn.alt, drawn.height)


def _explain_run(curves: rate.TrainingCurves) -> None:
    losses = curves.losses[:, 0]
    st.markdown(explain_norm_growth(curves))
    st.caption(
        f"A network that learns the digits: {rate.UNITS} units with batch norm (ε = 0) and ReLU, then a linear "
        f"classifier. Mini-batches of {rate.BATCH}. The loss falls from {format_number(losses[0], 3)} to "
        f"{format_number(losses[-SMOOTHING_WINDOW:].mean(), 3)}, the mean of the last {SMOOTHING_WINDOW} mini-batches."
    )


def format_growth_headline(curves: rate.TrainingCurves) -> str:
    """Return a headline: by which factors ‖W‖ grows in a run and its effective learning rate falls."""
    grown = curves.length[-1, 0] / curves.length[0, 0]
    shrunk = curves.effective_rates[-1, 0] / curves.effective_rates[0, 0]
    return (
        f"### SGD makes W {format_number(100 * (grown - 1), 2)}% longer. Its effective learning rate η/‖W‖² falls by "
        f"{format_number(100 * (1 - shrunk), 2)}%."
    )


def draw_run_curve(curves: rate.TrainingCurves, key: str, theme: str) -> DrawnFigure:
    """Draw a curve by step: ‖W‖ for the key "lengths", its effective learning rate for "effective"."""
    row = {"lengths": curves.length[:-1, 0], "effective": curves.effective_rates[:, 0]}[key]
    alt = f"{RUN_TITLES[key]} by step: from {row[0]:.3g} to {row[-1]:.3g}."
    panel = CurvePanel(RUN_TITLES[key], [Curve("", np.arange(len(row)), row)], x="training step")
    return DrawnFigure(draw_curve_panels([panel], theme), alt, "23rem")


def explain_norm_growth(curves: rate.TrainingCurves) -> str:
    """Return sentences on why ‖W‖ only grows, and how closely ‖W′‖² = ‖W‖² + η²‖∂L/∂W‖² holds in the run."""
    least = curves.shortest[:, 0].min()
    if least < -ROUNDING:
        return f"**A weight vector got shorter** by {format_number(-least, 2)}, which only rounding can do."
    error = rate.measure_pythagoras_gap(curves)
    checked = (
        "In this run both sides are equal up to rounding."
        if error <= ROUNDING
        else f"In this run the two sides differ by {format_number(error, 2)}, relatively."
    )
    return (
        "**Why W grows.** The loss does not depend on the length of W. The gradient is therefore at right angles to W. "
        f"By Pythagoras every step makes W longer: ‖W′‖² = ‖W‖² + η²‖∂L/∂W‖². {checked} No weight vector of the "
        f"{rate.UNITS} units ever got shorter."
    )


def _show_twins(training: rate.RateSetting) -> None:
    """Show how far copies that start from δW depart from the original, at three rates, with SGD and Adam."""
    delta = typeset(training.delta)
    found = get_twin_gaps(training)
    best = {optimizer: min(gaps, key=gaps.__getitem__) for optimizer, gaps in found.items()}
    factor = {optimizer: RATE_LABELS[power].partition(" · ")[2] or "1" for optimizer, power in best.items()}
    st.markdown(
        "### With δ = 1 the twin equals the original at each of these learning rates."
        if training.delta == 1
        else f"### With {delta} W, SGD needs {factor['sgd']} times the learning rate, Adam {factor['adam']} times."
    )
    st.markdown(
        "A twin is the same network with the same mini-batches. Only its W starts δ times as long. The table shows by "
        "how much its scores differ from the original's."
    )
    st.table(
        {"Learning rate of the twin's W": [RATE_LABELS[power] for power in rate.DELTA_POWERS]}
        | {
            f"{name}: scores differ by": [format_number(found[key][power], 2) for power in rate.DELTA_POWERS]
            for key, name in rate.OPTIMIZERS.items()
        },
        border="horizontal",
    )
    steps = min(training.steps, rate.TWIN_STEPS)
    st.caption(
        f"Largest difference of the scores over {steps} steps, relative to the largest score. Adam has the learning "
        f"rate {typeset(rate.ADAM_RATE)} and ε = {typeset(rate.ADAM_EPS)}. With a larger ε no factor fits Adam exactly."
    )
