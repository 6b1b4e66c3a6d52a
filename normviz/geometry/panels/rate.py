"""The panel on the effective learning rate: what the length of the weights makes of it along a run."""

from dataclasses import replace

import numpy as np
import streamlit as st

from normviz.core.settings import build
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.geometry import rate
from normviz.geometry.figures import Curve, curves
from normviz.geometry.state import rate_run, twins
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]
SMOOTHED = 20
"""Mini-batches over which the loss is averaged in its curve."""

POWER = {0: "η", 1: "η · δ", 2: "η · δ²"}


def show(view: View, theme: str) -> None:
    """A run by step, a link to the experiment on weight decay, and twins that start from δW."""
    training = build(rate.Training, view)
    course = rate_run(replace(training, delta=1.0))
    _draw_run(course, theme)
    link = f"experiments?show=weight-decay&weight_decay_rate={training.rate}&weight_decay_steps={training.steps}"
    st.markdown(f"Weight decay shortens W. The [experiment on weight decay]({link}) shows what is left of it.")
    _twins(training)
    save_table(lambda: numbers(course), "effective-rate")


def numbers(course: rate.Course) -> dict[str, list]:
    """Length, effective rate and loss of every step."""
    rows = (("‖W‖", course.length[:-1]), ("η/‖W‖²", course.effective), ("loss", course.losses))
    return {"step": list(range(len(course.losses)))} | {name: row[:, 0].tolist() for name, row in rows}


def _draw_run(course: rate.Course, theme: str) -> None:
    """Show the length, the effective rate and the loss by step."""
    grown, shrunk = course.length[-1, 0] / course.length[0, 0], course.effective[-1, 0] / course.effective[0, 0]
    st.markdown(
        f"### SGD lengthens W, here by {measured(100 * (grown - 1), 2)}%, so its effective learning rate "
        f"η/‖W‖² falls, by {measured(100 * (1 - shrunk), 2)}%."
    )
    panels = {
        "lengths": ("‖W‖", course.length[:-1, 0]),
        "effective": ("Effective rate η/‖W‖²", course.effective[:, 0]),
        "losses": (f"Loss, mean of {SMOOTHED} mini-batches", _smooth(course.losses[:, 0])),
    }
    for column, (key, (title, row)) in zip(st.columns(3, gap="small"), panels.items(), strict=True):
        with column:
            late = len(course.losses) - len(row)
            curve = Curve(np.arange(late, late + len(row)), row, 0)
            alt = f"{title} by step: from {row[0]:.3g} to {row[-1]:.3g}."
            plot(curves(title, {"batch norm": curve}, "step", "y", theme=theme), key, alt, "23rem")
    st.markdown(
        "**The gradient only lengthens w**: the loss does not depend on the length, so the gradient is at right angles "
        "to W, and ‖W′‖² = ‖W‖² + η²‖∂l/∂W‖²; over the run the two sides differ by "
        f"{measured(rate.pythagoras(course), 2, ROUNDING)}. Of the {rate.UNITS} vectors none ever got shorter: the "
        f"least that one grew in a step is {measured(course.shortest[:, 0].min(), 2, ROUNDING)}, relatively."
        if course.shortest[:, 0].min() >= -ROUNDING
        else f"**A vector got shorter** by {measured(-course.shortest[:, 0].min(), 2)}, which only rounding can do."
    )
    st.caption(
        f"Digits, {rate.UNITS} units with batch norm (ε = 0) and ReLU, a linear classifier; mini-batches of "
        f"{rate.BATCH}."
    )


def _twins(training: rate.Training) -> None:
    """Twins that start from δW, at three learning rates, with SGD and with Adam."""
    delta = typeset(training.delta)
    found = twins(training)
    best = {optimizer: min(gaps, key=gaps.__getitem__) for optimizer, gaps in found.items()}
    factor = {optimizer: POWER[power].partition(" · ")[2] or "1" for optimizer, power in best.items()}
    st.markdown(
        "### With δ = 1 the twin is the original, at any of the learning rates."
        if training.delta == 1
        else f"### A twin that starts from {delta} W stays with its original at {factor['sgd']} times the learning "
        f"rate with SGD, and at {factor['adam']} times with Adam, whose steps do not depend on the gradient's size."
    )
    st.table(
        {"Learning rate of the twin's W": [POWER[power] for power in rate.POWERS]}
        | {
            f"{name}: scores apart by": [measured(found[key][power], 2) for power in rate.POWERS]
            for key, name in rate.OPTIMIZERS.items()
        },
        border="horizontal",
    )
    steps = min(training.steps, rate.TWIN_STEPS)
    st.caption(
        f"Largest difference of the scores over {steps} steps, relative to the largest score. "
        f"Adam has the learning rate {typeset(rate.ADAM_RATE)} and ε = {typeset(rate.TINY)}: with an ε that is not "
        "nothing beside the gradients no factor fits exactly. Fisher's natural gradient is in neither: where the "
        "analysis says 1/‖w‖², Adam's own division makes it 1/‖w‖."
    )


def _smooth(values: np.ndarray) -> np.ndarray:
    """Means of so many steps, (steps - SMOOTHED + 1,)."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return (total[SMOOTHED:] - total[:-SMOOTHED]) / SMOOTHED
