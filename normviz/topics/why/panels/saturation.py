"""The panel "Saturated units": the inputs of a sigmoid unit during training, and the saturated share by layer."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels
from normviz.core.registry import SCHEMES
from normviz.core.settings import build_settings
from normviz.data.digits import DIGIT_CLASSES
from normviz.describe.seeds import estimate_band, estimate_mean, format_mean_percent
from normviz.describe.wording import format_decimals
from normviz.topics.why import state
from normviz.topics.why.learning import KIND_NAMES
from normviz.topics.why.network import BATCH, TEST_DIGITS
from normviz.topics.why.saturation import (
    QUANTILES,
    SATURATION_INPUT,
    SATURATION_SLOPE,
    STEPS,
    WIDTH,
    LearningResults,
    LearningRun,
    Setting,
)
from normviz.ui.link import View
from normviz.web.components.plot import show_figure

PLAIN, NORMED = KIND_NAMES.values()
STUCK = 2 / DIGIT_CLASSES
"""Accuracy of networks that have learned nothing: twice that of guessing."""

NOTHING = 0.005
"""Shares below this are written 0%."""


def show(view: View, theme: str) -> None:
    """Show one unit's inputs over the training, with and without batch norm, and the saturated share by layer."""
    setting = build_settings(Setting, view)
    runs, layer, unit = state.get_learning_runs(setting), view["layer"], view["unit"]
    learned, _ = state.get_learning_results(setting)  # before anything is drawn, so that all of it comes at once
    _draw_quantile_bands(runs, layer, unit, theme)
    st.markdown("## Which layers saturate?")
    st.markdown(f"### {_describe_saturation(learned, runs)}")
    _draw_saturation(learned, theme)
    paper = SCHEMES["batch"].reference
    st.caption(
        f"{len(learned[PLAIN].validation)} networks of each kind, from seeds that follow each other: {view['depth']} "
        f"layers of {WIDTH} sigmoid units, {STEPS} mini-batches of {BATCH} digits, SGD. Bars and ±: 95% intervals "
        "over the seeds. A layer receives what the layers before it compute, and that changes while they learn: "
        f"internal covariate shift ([{paper.text}]({paper.url}), sections 1, 2 and 4.1)."
    )


def _draw_quantile_bands(runs: Mapping[str, LearningRun], layer: int, unit: int, theme: str) -> None:
    """Draw the quantiles of one unit's input by step."""
    bands = {name: run.quantiles[:, :, layer, unit] for name, run in runs.items()}
    st.markdown(f"### {_describe_median_changes(bands)}")
    span = _find_axis_limits(list(bands.values()))
    panels = [
        CurvePanel(
            name.capitalize(),
            [Curve("median, and the middle 70%", runs[name].steps, q[:, 1], k, q[:, 0], q[:, 2])],
            "step", "input of the sigmoid" if not k else "", levels=(-SATURATION_INPUT, SATURATION_INPUT), span=span,
        )
        for k, (name, q) in enumerate(bands.items())
    ]  # fmt: skip
    ends = "; ".join(
        f"{name}, median {format_decimals(q[0, 1], 1)} to {format_decimals(q[-1, 1], 1)}" for name, q in bands.items()
    )
    alt = f"Quantiles of the input of unit {unit} in layer {layer} over {STEPS} steps: {ends}."
    for column, panel in zip(st.columns(2), panels, strict=True):
        with column:
            show_figure(
                draw_curve_panels([panel], theme),
                "bands" if panel is panels[0] else "bands normalized",
                alt,
                "var(--nv-bands)",
            )
    low, _, high = (f"{q:.0%}" for q in QUANTILES)
    st.caption(
        f"Layer {layer}, unit {unit} of one network of each kind: {low}, 50% and {high} bands over "
        f"{TEST_DIGITS} test digits. Lines across: beyond ±{SATURATION_INPUT:.2f} the slope σ′ of a sigmoid is below "
        f"{SATURATION_SLOPE:g}, a tenth of its largest. We call such a unit saturated."
    )


def _draw_saturation(learned: Mapping[str, LearningResults], theme: str) -> None:
    """Draw the share of saturated inputs by layer after training, for each kind: mean and interval over its seeds."""
    layers = np.arange(learned[PLAIN].saturated.shape[1])
    lines = []
    for k, (name, run) in enumerate(learned.items()):
        mean, low, high = (np.clip(100 * each, 0, 100) for each in estimate_band(run.saturated, 0))
        lines.append(Curve(name, layers, mean, k, low, high, has_markers=True))
    told = "; ".join(f"{line.name}: {', '.join(f'{share:.0f}%' for share in line.y)}" for line in lines)
    panel = CurvePanel("", lines, "hidden layer", "saturated inputs, %", span=(0, 101), marks=layers.tolist())
    show_figure(
        draw_curve_panels([panel], theme),
        "saturated",
        f"Share of saturated inputs by layer. {told}.",
        "var(--nv-bands)",
    )


def _find_axis_limits(bands: list[np.ndarray]) -> tuple[float, float]:
    low, high = min(float(band.min()) for band in bands), max(float(band.max()) for band in bands)
    low, high = min(low, -SATURATION_INPUT), max(high, SATURATION_INPUT)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _describe_median_changes(bands: Mapping[str, np.ndarray]) -> str:
    plain, normed = (format_decimals(float(np.ptp(bands[name][:, 1])), 1) for name in (PLAIN, NORMED))
    return f"The median of this unit's input moves by {plain} without batch norm, by {normed} with it."


def _describe_saturation(learned: Mapping[str, LearningResults], runs: Mapping[str, LearningRun]) -> str:
    """Describe the layer that saturates most without batch norm, and whether the networks learn."""
    means = {name: estimate_mean(run.saturated, 0)[0] for name, run in learned.items()}
    layer = int(means[PLAIN].argmax())
    reads = {name: float(run.accuracy[-1].mean()) for name, run in learned.items()}
    if max(means[PLAIN].max(), means[NORMED].max()) < NOTHING:
        text = "Nothing saturates here, with or without batch norm"
    else:
        plain, normed = (format_mean_percent(learned[name].saturated[:, layer]) for name in (PLAIN, NORMED))
        text = f"Saturated inputs of layer {layer}: {plain} without batch norm, {normed} with it"
    if reads[PLAIN] > STUCK or reads[NORMED] <= STUCK:
        return f"{text}."
    if means[PLAIN].max() >= NOTHING:
        return f"{text}. Those without have not learned to read."
    ends = (runs[name].quantiles[-1, :, -1] for name in (NORMED, PLAIN))
    wide, narrow = (format_decimals(float(np.median(each[-1] - each[0])), 2) for each in ends)
    return (
        f"{text}. Yet those without have not learned to read: the middle 70% of a last unit's inputs lie within "
        f"{narrow}, with batch norm within {wide}."
    )
