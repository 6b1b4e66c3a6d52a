"""The panel on the effective learning rate: what the length of the weights makes of it along a run."""

from dataclasses import replace

import numpy as np
import streamlit as st

from normviz.core.settings import build
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.geometry import rate
from normviz.geometry.figures import Curve, curves
from normviz.geometry.state import decay_runs, twins
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]
SAME = 1e-10
"""Scores that differ by no more than this over a run are those of one function."""

SMOOTHED = 20
"""Mini-batches over which the loss is averaged in its curve."""

FORMULAS = (
    r"\frac{w_{t+1}}{c_{t+1}} = \frac{w_t}{c_t} - \eta'_t\,\frac{\partial l}{\partial (w_t/c_t)}",
    r"c_t = (1-\eta\lambda)^t,\quad \eta'_t = \frac{\eta}{c_t\,c_{t+1}}",
)
"""Why weights with decay, divided by c, are weights without it at another learning rate."""

POWER = {0: "η", 1: "η · δ", 2: "η · δ²"}


def show(view: View, theme: str) -> None:
    """Three runs by step; weight decay and the schedule that undoes it; twins that start from δW."""
    training = build(rate.Training, view)
    course = decay_runs(replace(training, delta=1.0))
    _runs(training, course, theme)
    _decay(training, course)
    _twins(training)
    save_table(lambda: numbers(course), "effective-rate")


def numbers(course: rate.Course) -> dict[str, list]:
    """Length, effective rate and loss of every step."""
    columns: dict[str, list] = {"step": list(range(len(course.losses)))}
    for run, name in enumerate(rate.RUNS):
        rows = (("‖W‖", course.length[:-1]), ("η/‖W‖²", course.effective), ("loss", course.losses))
        columns |= {f"{symbol}, {name}": row[:, run].tolist() for symbol, row in rows}
    return columns


def _runs(training: rate.Training, course: rate.Course, theme: str) -> None:
    """Lengths, effective rates and losses."""
    length, effective = course.length, course.effective
    grown, shrunk = length[-1, :2] / length[0, :2], effective[-1, :2] / effective[0, :2]
    st.markdown(
        f"### SGD alone only lengthens W, here by {measured(100 * (grown[0] - 1), 2)}%, so its effective learning rate "
        f"η/‖W‖² falls, by {measured(100 * (1 - shrunk[0]), 2)}%"
        + (
            f"; with weight decay ‖W‖ ends at {measured(grown[1], 3)} times its start, and the rate at "
            f"{measured(shrunk[1], 3)} times."
            if training.decay
            else "."
        )
    )
    panels = {
        "lengths": ("‖W‖", length[:-1]),
        "effective": ("Effective rate η/‖W‖²", effective),
        "losses": (f"Loss, mean of {SMOOTHED} mini-batches", _smooth(course.losses)),
    }
    for column, (key, (title, rows)) in zip(st.columns(3, gap="small"), panels.items(), strict=True):
        with column:
            late = len(course.losses) - len(rows)
            named = {
                name: Curve(np.arange(late, late + len(rows)), rows[:, run], run) for run, name in enumerate(rate.RUNS)
            }
            ends = "; ".join(f"{name} from {curve.y[0]:.3g} to {curve.y[-1]:.3g}" for name, curve in named.items())
            plot(curves(title, named, "step", "y", theme=theme), key, f"{title} by step: {ends}.", "23rem")
    st.markdown(
        "**The gradient only lengthens w**: the loss does not depend on the length, so the gradient is at right angles "
        "to W, and ‖W′‖² = ‖W‖² + η²‖∂l/∂W‖²; over the run without decay the two sides differ by "
        f"{measured(rate.pythagoras(course), 2, ROUNDING)}. Of the {rate.UNITS} vectors none ever got shorter: the "
        f"least that one grew in a step is {measured(course.shortest[:, 0].min(), 2, ROUNDING)}, relatively."
        if course.shortest[:, 0].min() >= -ROUNDING
        else f"**A vector got shorter** by {measured(-course.shortest[:, 0].min(), 2)}, which only rounding can do."
    )
    st.caption(
        f"Digits, {rate.UNITS} units with batch norm (ε = 0) and ReLU, a linear classifier; mini-batches of "
        f"{rate.BATCH}. Weight decay is that of W: W ← (1 − ηλ) W − η ∂l/∂W."
    )


def _decay(training: rate.Training, course: rate.Course) -> None:
    """What weight decay does, and what undoes it."""
    if not training.decay:
        st.markdown("### With λ = 0 there is no weight decay to undo: the three runs are one.")
        return
    gap, control, plain = (course.apart(run) for run in (2, 3, 0))
    same = gap <= SAME
    st.markdown(
        "### Weight decay only changes the learning rate: without it, at η/(1 − ηλ)²ᵗ⁺¹ in step t, "
        + (
            f"the network is the same function in all {training.steps} steps: its scores differ by {measured(gap, 1)}."
            if same
            else f"it is the same function until rounding tells, which this run magnifies to {measured(gap, 1)}."
        )
    )
    found = rate.balance(course, training)
    turned, expected = (np.degrees(each) for each in (found.turned, found.expected))
    st.markdown(
        f"Relative to the largest score; at the plain η they differ by {measured(plain, 2)}, and between two runs with "
        f"decay, one from weights longer by one rounding, by {measured(control, 1)}. **Equilibrium**: over the last "
        f"quarter of the steps decay takes {measured(found.ratio, 3)} times what the gradients add to ‖W‖², which "
        f"would be 1 in equilibrium; a step turns W by {measured(turned, 3)}°, and would by √(2ηλ) = "
        f"{measured(expected, 3)}°."
    )
    with st.container(horizontal=True, gap="medium"):
        for formula in FORMULAS:
            st.latex(formula, width="content")


def _twins(training: rate.Training) -> None:
    """Twins that start from δW, at three learning rates, with SGD and with Adam."""
    delta = typeset(training.delta)
    found = twins(replace(training, decay=0.0))
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
        f"Largest difference of the scores over {steps} steps, relative to the largest score; without weight decay. "
        f"Adam has the learning rate {typeset(rate.ADAM_RATE)} and ε = {typeset(rate.TINY)}: with an ε that is not "
        "nothing beside the gradients no factor fits exactly. Fisher's natural gradient is in neither: where the "
        "analysis says 1/‖w‖², Adam's own division makes it 1/‖w‖."
    )


def _smooth(values: np.ndarray) -> np.ndarray:
    """Means of so many steps, (steps - SMOOTHED + 1, runs)."""
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return (total[SMOOTHED:] - total[:-SMOOTHED]) / SMOOTHED
