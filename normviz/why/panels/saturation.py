"""What a sigmoid unit is given while the layers before it learn, and how many units saturate."""

import numpy as np
import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.core.settings import build
from normviz.core.text import typeset
from normviz.data.digits import CLASSES
from normviz.describe.wording import decimals
from normviz.ui.components.plot import plot
from normviz.ui.curves import Curve, Panel, bars, curves
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.why import state
from normviz.why.network import BATCH, TESTED
from normviz.why.saturation import EDGE, QUANTILES, SLOPE, STEPS, WIDTH, Seen, Setting

PLAIN, NORMED = "without batch norm", "with batch norm"
STUCK = 2 / CLASSES
"""A network that reads no more digits than this has learned nothing to speak of: guessing reads half as many."""

NOTHING = 0.005
"""A smaller share is written 0%."""


def show(view: View, theme: str) -> None:
    """Bands of one unit's input, with and without; the saturated share by layer."""
    runs, layer, unit = state.trained(build(Setting, view)), view["layer"], view["unit"]
    seen = {name: run.quantiles[:, :, layer, unit] for name, run in runs.items()}
    st.markdown(f"### {_moved_words(seen)}")
    span = _span(list(seen.values()))
    panels = [
        Panel(
            name.capitalize(),
            [Curve("median, and the middle 70%", runs[name].steps, q[:, 1], k, q[:, 0], q[:, 2])],
            "step", "input of the sigmoid" if not k else "", levels=(-EDGE, EDGE), span=span,
        )
        for k, (name, q) in enumerate(seen.items())
    ]  # fmt: skip
    ends = "; ".join(f"{name}, median {decimals(q[0, 1], 1)} to {decimals(q[-1, 1], 1)}" for name, q in seen.items())
    alt = f"Quantiles of the input of unit {unit} in layer {layer} over {STEPS} steps: {ends}."
    for column, panel in zip(st.columns(2), panels, strict=True):
        with column:
            plot(curves([panel], theme), "bands" if panel is panels[0] else "bands normalized", alt, "24rem")
    low, _, high = (f"{q:.0%}" for q in QUANTILES)
    st.caption(
        f"Layer {layer}, unit {unit}: {low}, 50% and {high} quantiles over {TESTED} digits that are not trained on. "
        f"Lines across: beyond ±{EDGE:.2f} a sigmoid's slope σ′ is below {SLOPE:g}, a tenth of its largest: it is "
        "saturated."
    )
    st.markdown("## Which layers saturate?")
    st.markdown(f"### {_saturated_words(runs)}")
    shares = {name: run.saturated[-1] for name, run in runs.items()}
    told = "; ".join(f"{name}: {', '.join(f'{share:.0%}' for share in row)}" for name, row in shares.items())
    names = [f"layer {k}" for k in range(view["depth"])]
    plot(bars(shares, names, "saturated", "", theme), "saturated", f"Saturated share by layer. {told}.", "22rem")
    _losses(runs, theme)
    st.caption(
        f"Two networks of {view['depth']} × {WIDTH} sigmoid units from the same first weights, {STEPS} mini-batches of "
        f"{BATCH} digits, gradient descent. The distribution that a layer sees is what the layers before it make: a "
        "part of a network is given data that change while it learns "
        f"([{SCHEMES['batch'].reference.text}]({SCHEMES['batch'].reference.url}), sections 1, 2 and 4.1)."
    )
    save_table(lambda: _numbers(runs, layer, unit), "saturation")


def _losses(runs: dict[str, Seen], theme: str) -> None:
    """Whether the networks learn."""
    lines = [
        Curve(name, np.arange(STEPS)[9::10], run.losses.reshape(-1, 10).mean(1), k)
        for k, (name, run) in enumerate(runs.items())
    ]
    read = {name: f"{run.accuracy:.0%}" for name, run in runs.items()}
    told = " and ".join(f"{share} {name}" for name, share in read.items())
    st.markdown(f"### Of unseen digits the networks read {told}.")
    plot(
        curves([Panel("", lines, "step", "loss", "y")], theme),
        "losses",
        f"Losses by step. Read at the end: {told}.",
        "22rem",
    )


def _span(bands: list[np.ndarray]) -> tuple[float, float]:
    """One vertical axis for all."""
    low, high = min(float(band.min()) for band in bands), max(float(band.max()) for band in bands)
    low, high = min(low, -EDGE), max(high, EDGE)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _moved_words(seen: dict[str, np.ndarray]) -> str:
    """How far the medians travel, over their whole way."""
    way = {name: float(np.ptp(q[:, 1])) for name, q in seen.items()}
    more = "more" if way[PLAIN] > way[NORMED] else "less"
    return (
        f"The median of what this unit is given moves over a range of {decimals(way[PLAIN], 1)} without batch norm, "
        f"{more} than with it: {decimals(way[NORMED], 1)}."
    )


def _saturated_words(runs: dict[str, Seen]) -> str:
    """Whether claim B12 holds here."""
    most = {name: float(run.saturated[-1].max()) for name, run in runs.items()}
    deepest = int(runs[PLAIN].saturated[-1].argmax())
    if max(most.values()) < NOTHING:
        text = "Nothing saturates here, in either network"
    else:
        where = f" (layer {deepest})" if most[PLAIN] >= NOTHING else ""
        text = (
            f"At the end up to {most[PLAIN]:.0%} of a layer's inputs are saturated without batch norm{where}, "
            f"up to {most[NORMED]:.0%} with it"
        )
        if most[NORMED] > most[PLAIN]:
            text += ": here it does not stop saturation, as γ and β are learned and can lead there"
    if runs[PLAIN].accuracy > STUCK or runs[NORMED].accuracy <= STUCK:
        return text + "."
    if most[PLAIN] >= NOTHING:
        return text + "; and the one without has not learned to read."
    wide, plain = (decimals(_width(runs[name]), 2) for name in (NORMED, PLAIN))
    return (
        f"{text}; yet the one without has not learned to read: for the middle 70% of digits the inputs of a unit in "
        f"the last layer lie within {plain}, with batch norm within {wide}."
    )


def _width(run: Seen) -> float:
    """From the lowest to the highest quantile at the end, of the unit in the middle of the last layer's."""
    return float(np.median(run.quantiles[-1, -1, -1] - run.quantiles[-1, 0, -1]))


def _numbers(runs: dict[str, Seen], layer: int, unit: int) -> dict[str, list]:
    """What is drawn of the unit, in columns."""
    columns: dict[str, list] = {"step": runs[PLAIN].steps.tolist()}
    for name, run in runs.items():
        for k, share in enumerate(QUANTILES):
            columns[f"{typeset(100 * share)}% {name}"] = run.quantiles[:, k, layer, unit].tolist()
    return columns
