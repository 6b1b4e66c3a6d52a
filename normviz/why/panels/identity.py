"""γ and β: they can undo the normalization, and what their first values do to learning."""

import numpy as np
import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.describe.wording import shape_words
from normviz.ui.components.plot import plot
from normviz.ui.curves import Curve, Panel, curves
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.settings import Controls
from normviz.why import state
from normviz.why.figures import lines_to_identity
from normviz.why.identity import AVERAGED, SEEDS, SHAPE, STEPS, WIDTHS, Sweep
from normviz.why.network import BATCH, TESTED

SYMBOLS = {"gain": "γ₀", "bias": "β₀"}
WHY = {
    "gain": "A small γ₀ makes what the next layer is given small, and with it the gradient of that layer's weights.",
    "bias": "A ReLU whose β₀ is far below 0 gives 0 for most digits, and passes no gradient of these.",
}
MATTERS = 0.02
"""A smaller difference in accuracy is that of six digits."""


def show(view: View, theme: str) -> None:
    """A layer on its way to doing nothing, and a sweep over what it starts with."""
    page = Controls(state.Page, state.PREFIX, view, state.has)
    page.draw("part")
    _undone(view, theme)
    st.markdown("## Does it matter where γ and β start?")
    page.draw("swept")
    _sweep(view, theme)


def _undone(view: View, theme: str) -> None:
    """y over x."""
    found, start, there = (state.undone(part, view["eps"], view["seed"]) for part in (view["part"], 0.0, 1.0))
    span = (float(min(start.y.min(), there.y.min())), float(max(start.y.max(), there.y.max())))
    least = RELATIVE["float64"] * float(np.abs(found.x).max())
    gap, none = (measured(each.gap, 2, least) for each in (found, there))
    told = "" if view["part"] == 1 else f" Here, {view['part']:.0%} of the way there, it differs by up to {gap}."
    st.markdown(f"### With γ = √(σ²+ε) and β = μ the layer does nothing: y differs from x by {none}.{told}")
    ends = [np.array([each.min(), each.max()]) for each in found.x]
    made = [np.array([each.min(), each.max()]) for each in found.y]
    left, right = st.columns([3, 2], gap="large")
    with left:
        alt = f"Output over input, a line for each of {SHAPE[3]} channels, and the line y = x: apart by {gap}."
        plot(lines_to_identity(ends, made, span, theme), "lines", alt, "24rem")
    with right:
        st.table(
            {
                "c": [str(k) for k in range(SHAPE[3])],
                "μ": _column(found.mean),
                "√(σ²+ε)": _column(found.deviation),
                "γ": _column(found.gain),
                "β": _column(found.bias),
            },
            border="horizontal",
        )
        st.caption(
            f"Batch norm on feature maps of digits, (N, H, W, C) = {shape_words(SHAPE)}. What normalizing takes from "
            "the layer, γ and β can give back: so a network with it can represent all that one without can "
            f"([{SCHEMES['batch'].reference.text}]({SCHEMES['batch'].reference.url}), section 3)."
        )


def _column(numbers: np.ndarray) -> list[str]:
    return [typeset(each, 4) for each in numbers]


def _sweep(view: View, theme: str) -> None:
    """What a small network learns in a given time, over the first γ or β."""
    swept, symbol = view["swept"], SYMBOLS[view["swept"]]
    values, found = state.sweep(swept, view["sweep_rate"])
    st.markdown(f"### {_verdict(np.array(values), found, symbol, USUAL[swept])}")
    x = np.array(values)
    panels = {
        "sweep": Panel("Loss", [_band(x, found.losses)], symbol, "loss", "xy" if swept == "gain" else "y"),
        "accuracy": Panel(
            "Accuracy on unseen digits", [_band(x, found.accuracy)], symbol, "", "x" if swept == "gain" else "",
            span=(0.0, 1.03), ticks=".0%",
        ),
    }  # fmt: skip
    for column, (key, panel) in zip(st.columns(2), panels.items(), strict=True):
        with column:
            row = found.losses if key == "sweep" else found.accuracy
            told = ", ".join(f"{typeset(v)}: {m:.2g}" for v, m in zip(values, row.mean(1), strict=True))
            alt = f"{panel.title} over {symbol}, mean of {SEEDS} networks. {told}."
            plot(curves([panel], theme), key, alt, "24rem")
    layers = " → ".join(str(width) for width in (64, *WIDTHS, 10))
    st.caption(
        f"{SEEDS} networks each of {layers} units, batch norm and ReLU, {STEPS} mini-batches of {BATCH} digits; loss "
        f"of the last {AVERAGED}, accuracy on {TESTED} others. Line: mean; band: from the least to the largest. The "
        f"usual start is γ₀ = 1, β₀ = 0. {WHY[swept]}"
    )
    columns = {f"{what}, seed {k}": getattr(found, what)[:, k].tolist() for what in found._fields for k in range(SEEDS)}
    save_table(lambda: {symbol: list(values)} | columns, "first-values")


USUAL = {"gain": 1.0, "bias": 0.0}
"""The usual first value, by what is swept."""


def _band(x: np.ndarray, rows: np.ndarray) -> Curve:
    return Curve("mean of the networks, least to largest", x, rows.mean(1), 0, rows.min(1), rows.max(1), points=True)


def _verdict(values: np.ndarray, found: Sweep, symbol: str, usual: float) -> str:
    """Return a sentence on the worst, the best and the usual first value."""
    means = found.accuracy.mean(1)
    best, worst = int(means.argmax()), int(means.argmin())
    ahead = int((found.accuracy[best] > found.accuracy[worst]).sum())
    matters = ahead == SEEDS and means[best] - means[worst] >= MATTERS
    return (
        f"{'It matters' if matters else 'It hardly matters'}: after {STEPS} steps {means[worst]:.0%} of unseen digits "
        f"are read at {symbol} = {typeset(values[worst])} and {means[best]:.0%} at {symbol} = {typeset(values[best])}, "
        f"higher with {ahead} of {SEEDS} seeds. From the usual {symbol} = {typeset(usual)}, "
        f"{means[values == usual].item():.0%} are."
    )
