"""One field as a graph of its computation, step by step: forward to the loss, and back."""

import numpy as np
import streamlit as st

from normviz.core.text import measured
from normviz.gradients.chain import LAST, STEPS, TURN, Chain, back, chain
from normviz.gradients.chain_figures import GRADIENTS, NODES, chain_figure
from normviz.gradients.state import PREFIX, numbers_of
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.player import Player
from normviz.ui.saving import save_table

PERIOD = 2.4
"""Seconds for a sentence to be read."""

PATHS = (
    "**An input x changes the loss on three paths: directly, through the mean μ, and through the variance σ².** "
    "The backward pass adds the gradients of all three."
)
"""The point of the panel."""


def graph(view: View, theme: str) -> None:
    """The graph, the sentence of the step, and the numbers of all elements so far."""
    x, dy = (np.array(numbers_of(view[name])) for name in ("x", "dy"))
    one = chain(x, dy, view["eps"], view["gain"], view["bias"])
    i = view["element"]
    edges = back(one, i)

    def own(name: str) -> float:
        found = getattr(one, name)
        return float(found[i]) if np.ndim(found) else float(found)

    def show(step: int) -> None:
        left, right = st.columns([5, 4], gap="medium")
        with left:
            values, gradients = ({name: own(of) for name, of in names} for names in (_VALUES, GRADIENTS.items()))
            said = sentence(one, i, step)
            alt = f"A graph of the steps from x to the loss, at step {step} of {LAST}. {said.replace('**', '')}"
            plot(chain_figure(values, gradients, edges, i, step, theme), "chain", alt, "25rem")
        with right:
            st.markdown(f"{PATHS}\n\n#### {'Forward' if step <= TURN else 'Backward'}, step {step} of {LAST}")
            with st.container(key="said-of-step"):
                st.markdown(said)
            st.table(_table(one, i, step), border="horizontal")

    Player(PREFIX, "step", "Step", LAST, period=PERIOD, speeds=(1, 2)).show(show)
    save_table(lambda: {name: np.broadcast_to(getattr(one, name), x.shape).tolist() for name in STEPS}, "chain")


_VALUES = [(name, name) for name in NODES]

_NAMES = {
    "x": "x", "v": "v", "xhat": "x̂", "y": "y", "dy": "∂l/∂y", "dxhat": "∂l/∂x̂", "dv": "∂l/∂v", "dx": "∂l/∂x",
}  # fmt: skip


def _table(one: Chain, i: int, step: int) -> dict[str, list[str]]:
    """What every element has so far; the one that is followed is marked."""
    columns = {"": [f"**▸ {k}**" if k == i else str(k) for k in range(len(one.x))]}
    for name in STEPS[: step + 1] if step <= TURN else ("x", *STEPS[TURN : step + 1]):
        if name in _NAMES:
            least = 1e-12 * float(np.abs(one.dxhat).max()) / (one.root or 1.0) if name == "dx" else 0.0
            columns[_NAMES[name]] = [measured(value, 3, least) for value in getattr(one, name)]
    return columns


def sentence(one: Chain, i: int, step: int) -> str:
    """Return a sentence on a step: the value that it adds, and where the value comes from."""
    n = measured
    count = len(one.x)
    constant = one.root == 0
    divided = "" if constant else f" = {n(one.v[i])} / {n(one.root)}"
    k = _sub(i)
    texts = {
        "x": f"The field has {count} elements. We follow **x{k} = {n(one.x[i])}**.",
        "mean": f"**μ = {n(one.mean)}** is the mean of all {count} elements.",
        "v": f"**v{k} = x{k} − μ = {n(one.v[i])}** subtracts the mean. x now affects v directly and through μ.",
        "variance": f"**σ² = {n(one.variance)}** is the mean of all v².",
        "root": f"**s = √(σ² + ε) = {n(one.root)}** is the divisor of the whole field.",
        "xhat": f"**x̂{k} = v{k}/s{divided} = {n(one.xhat[i])}**"
        + (". All numbers are equal and ε is 0, so we define 0/0 as 0." if constant else "."),
        "y": f"**y{k} = γ x̂{k} + β = {n(one.y[i])}**.",
        "l": f"**l = Σ ∂l/∂y · y = {n(one.l)}** is a loss with the given slopes. The backward pass starts here.",
        "dy": f"**∂l/∂y{k} = {n(one.dy[i])}** comes from the rest of the network.",
        "dxhat": f"**∂l/∂x̂{k} = γ ∂l/∂y{k} = {n(one.dxhat[i])}**.",
        "droot": f"**∂l/∂s = −Σ ∂l/∂x̂ · v/s² = {n(one.droot)}** is a sum over all {count} elements, because s divides "
        "each of them.",
        "dvariance": f"**∂l/∂σ² = ∂l/∂s / (2s) = {n(one.dvariance)}**.",
        "dv": f"**∂l/∂v{k} = ∂l/∂x̂{k} / s + ∂l/∂σ² · 2v{k}/{count} = {n(one.dv[i])}** adds two "
        "paths: directly to x̂, and through σ².",
        "dmean": f"**∂l/∂μ = −Σ ∂l/∂v = {n(one.dmean)}** is a sum over all {count} elements, because μ is subtracted "
        "from each of them.",
        "dx": f"**∂l/∂x{k} = ∂l/∂v{k} + ∂l/∂μ / {count} = {n(one.dx[i], 4, _least(one))}** adds the path through μ. "
        f"The gradients of all {count} elements sum to {n(one.dx.sum(), 3, _least(one))}.",
    }
    return texts[STEPS[step]]


def _least(one: Chain) -> float:
    return 1e-12 * float(np.abs(one.dxhat).max()) / (one.root or 1.0)


def _sub(i: int) -> str:
    return str(i).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
