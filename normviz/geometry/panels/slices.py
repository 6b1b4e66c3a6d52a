"""The panel on slices through the loss, without normalization and with it."""

import streamlit as st

from normviz.core.schemes import SCHEMES, Reference
from normviz.core.settings import build
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.geometry.figures import Curve, curves, landscape
from normviz.geometry.slices import RATE, SEEN, WIDTHS, Slice, Slices
from normviz.geometry.state import LOOKS, sliced
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

LI = Reference("Li et al. 2018, Visualizing the Loss Landscape of Neural Nets", "1712.09913")
ROUNDING = 1e3 * RELATIVE["float64"]
"""Losses after two layers that differ by no more than this are the same to rounding."""


LEAST = 1e-6
"""Where the scale of losses ends below."""


def show(view: View, theme: str) -> None:
    """Two slices in one scale, the same along one line, and what δ makes of them."""
    setting = build(Slice, view)
    found = sliced(setting)
    scheme, made = setting.beside, found.landscapes
    name = SCHEMES[scheme].name
    st.markdown(
        f"### At the border the mean loss is {measured(made[scheme].border, 3)} with {name}, "
        f"{measured(made['none'].border, 3)} without."
    )
    st.markdown(
        f"In the middle it is {measured(made[scheme].middle, 3)} with {name} and {measured(made['none'].middle, 3)} "
        "without. Each picture shows the loss over two random directions in the space of the weights."
    )
    every = [each.losses for each in made.values()]
    ends = (max(min(float(each.min()) for each in every), LEAST), max(float(each.max()) for each in every))
    titles = {"none": "Without normalization", scheme: f"With {name}"}
    for column, (key, title) in zip(st.columns(2, gap="medium"), titles.items(), strict=True):
        with column:
            one = made[key]
            alt = (
                f"{title}: the loss over two random directions, {one.middle:.3g} in the middle, "
                f"{one.border:.3g} on average at the border."
            )
            figure = landscape(title, one.at, one.losses, ends, theme)
            plot(figure, "slice_without" if key == "none" else "slice_with", alt, "24rem")
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with left:
        named = {SCHEMES[key].label: Curve(one.at, one.along, LOOKS[key]) for key, one in made.items()}
        alt = "; ".join(f"{label}: {min(curve.y):.3g} to {max(curve.y):.3g}" for label, curve in named.items())
        figure = curves("Loss where β = 0", named, "α, first direction", "y", theme=theme)
        plot(figure, "slice_line", f"The loss along the first direction. {alt}.", "20rem")
    with right:
        st.markdown(_same_function(found, scheme))
    steps = "untrained" if not setting.trained else f"trained for {setting.trained} steps at learning rate {RATE:g}"
    st.caption(
        f"Two networks of {WIDTHS[0]} and {WIDTHS[1]} units with ReLU, {steps}, from the same weights on the same "
        f"mini-batches. Mean loss of {SEEN} digits, which are the batch of batch norm, at ε = 0. Both networks use the "
        f"same random directions. Biases and γ stay, as in [{LI.text}]({LI.url}), section 4. "
        "α = 1 moves the weights of a unit by a vector of "
        + (
            "their own length."
            if setting.directions == "filter" or setting.times == 1
            else f"the length that they have at δ = 1; here W₀ is {typeset(setting.times)} times that, W₁ 1/"
            f"{typeset(setting.times)} of it."
        )
    )
    save_table(lambda: numbers(found), "loss-slices")


def numbers(found: Slices) -> dict[str, list]:
    """The losses of both slices, point by point."""
    first = next(iter(found.landscapes.values()))
    count = len(first.at)
    columns = {"α": [*first.at.tolist()] * count, "β": [value for value in first.at.tolist() for _ in range(count)]}
    return columns | {f"loss, {key}": one.losses.ravel().tolist() for key, one in found.landscapes.items()}


def _same_function(found: Slices, scheme: str) -> str:
    """What weights that are longer, of a network that is the same function, make of a slice."""
    delta = typeset(found.other)

    def told(kind: str) -> str:
        ours, without = (_number(found.apart[key, kind]) for key in (scheme, "none"))
        return f"{ours} with {SCHEMES[scheme].name}, {without} without"

    own = f"{_number(found.own[scheme])} and {_number(found.own['none'])}"
    return (
        f"**Flatness depends on the scale of the directions.** With W₀ times {delta} and W₁ over {delta} the network "
        f"computes the same function (its own loss changes by {own}). Along directions as long as each unit's weights "
        f"the slice changes by {told('filter')}. Along directions of the length for δ = 1 by {told('fixed')}."
    )


def _number(gap: float) -> str:
    return measured(gap, 2, ROUNDING)
