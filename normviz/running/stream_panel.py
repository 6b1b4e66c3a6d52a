"""What the stream of the training and inference page shows at a position: its statistics, and the update of them."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.describe.notation import number
from normviz.describe.wording import decimals
from normviz.running.figures import Followed, stream_figure
from normviz.running.state import setting_of
from normviz.running.stream import BATCHES, CONVENTIONS, Averages, Convention, Trace, infer, lag
from normviz.ui.components.plot import plot
from normviz.ui.link import View


def show_stream(view: View, seen: Trace, averages: Averages, theme: str, position: int) -> None:
    """The stream up to a position: the picture of both statistics, and the numbers there."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _picture(view, seen, averages, position, theme)
    with right:
        _numbers(view, seen, averages, position)


def _picture(view: View, seen: Trace, averages: Averages, position: int, theme: str) -> None:
    unit = view["unit"] - 1
    followed = [
        Followed(title, batch[:, unit], running[:, unit], whole[:, unit])
        for title, batch, running, whole in (
            (f"Mean of unit {view['unit']}", seen.mean, averages.mean, seen.population_mean),
            (f"Variance of unit {view['unit']}", seen.variance, averages.variance, seen.population_variance),
        )
    ]
    alt = (
        f"Mean and variance of unit {view['unit']} over {BATCHES} mini-batches of {view['batch']}, up to batch "
        f"{position}: dots for the batches, a line for the running average, dashes for the population."
    )
    plot(stream_figure(followed, position, theme), "stream", alt, "31rem")


def _numbers(view: View, seen: Trace, averages: Averages, position: int) -> None:
    """The statistics at the position, and the update that led to them with its numbers put in."""
    unit, at = view["unit"] - 1, max(position - 1, 0)
    convention = CONVENTIONS[view["framework"]]
    batch = [seen.mean[at, unit], seen.variance[at, unit]]
    running = [average[position, unit] for average in averages]
    whole = [seen.population_mean[at, unit], seen.population_variance[at, unit]]
    output = [seen.output_mean[at, unit], seen.output_variance[at, unit]]
    rows = {f"batch of {view['batch']}": batch, "its output x̂": output} if position else {}
    rows |= {
        "running average": running,
        "population": whole,
        "running − population": [a - b for a, b in zip(running, whole, strict=True)],
    }
    cells = {name: [decimals(value) for value in row] for name, row in rows.items()}
    if position:
        cells["σ²/(σ²+ε)"] = ["", f"{batch[1] / (batch[1] + view['eps'] or 1.0):.6g}"]
    means, variances = zip(*cells.values(), strict=True)
    st.table({f"Batch {position}": list(cells), "mean": means, "variance": variances}, border="horizontal")
    with st.container():
        if position:
            _update(convention, view, seen, averages, position)
            _first_digit(view, seen, averages, position)
    # The same words at every position: another line of them would move the page while it plays.
    st.caption(f"In training the output's variance is σ²/(σ²+ε), before γ and β. {average_words(view['share'])}")


def average_words(share: float) -> str:
    """How much of the running average is its start at the end of the stream, and how far behind it is once that is
    gone."""
    if not share:
        return "With a share of 0 for each new batch, the average never leaves its start, 0 and 1."
    start = (1 - share) ** BATCHES
    part = f"{start:.0%}" if start >= 0.01 or not start else "less than 1%"
    return (
        f"With a share of {share:g} for each new batch, {part} of the average is still its start, 0 and 1, after all "
        f"{BATCHES} batches. Once that is gone, it trails a mean that drifts steadily by {lag(share):,.3g} batches, "
        "but for scatter."
    )


def _first_digit(view: View, seen: Trace, averages: Averages, position: int) -> None:
    """One digit, normalized as in training by its batch, and as in evaluation by the running averages so far."""
    unit = view["unit"] - 1
    x = seen.first[position - 1, unit]
    try:
        evaluated = infer(x, averages.mean[position, unit], averages.variance[position, unit], view["eps"])
    except InvalidInput as error:
        st.caption(str(error))
        return
    cells = {"x of digit 1": x, "x̂ in training": seen.first_output[position - 1, unit], "x̂ in evaluation": evaluated}
    st.table({name: [decimals(value)] for name, value in cells.items()}, border="horizontal")


def _update(convention: Convention, view: View, seen: Trace, averages: Averages, position: int) -> None:
    """running ← (1 − share) · running + share · batch, in numbers, for the mean and the variance."""
    unit, share, count = view["unit"] - 1, view["share"], setting_of(view).count
    unbiased = rf"\tfrac{{{count}}}{{{count - 1}}}" if convention.unbiased else ""
    lines = []
    for symbol, average, batch, factor in (
        (r"\mu", averages.mean, seen.mean, ""),
        (r"\sigma^2", averages.variance, seen.variance, unbiased),
    ):
        old, new = (number(float(f"{average[at, unit]:.3g}")) for at in (position - 1, position))
        value = number(float(f"{batch[position - 1, unit]:.3g}"))
        lines.append(
            rf"{symbol}_\mathrm{{run}} &= {number(1 - share)}\cdot({old}) \\ "
            rf"&+ {number(share)}\cdot{factor}({value}) = {new}"
        )
    st.latex(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")
