"""What the stream of the training and inference page shows at a position: a batch in a mode, and what is averaged."""

from functools import partial

import numpy as np
import streamlit as st

from normviz.core.text import measured
from normviz.core.tolerances import RELATIVE
from normviz.describe.notation import number
from normviz.describe.wording import decimals
from normviz.running.averages import CONVENTIONS, Averages, Convention, lag, write_update
from normviz.running.modes import MODES, Batch, batch_at, span
from normviz.running.state import PACES, PREFIX, averages_of, setting_of, traced
from normviz.running.stream import BATCHES, SHOWN, Trace
from normviz.running.stream_figures import Followed, Outputs, batch_figure, stream_figure, write_output
from normviz.ui.components.plot import plot
from normviz.ui.link import View, segments
from normviz.ui.palette import THEMES
from normviz.ui.player import Player

SYMBOLS = {"training": "batch", "inference": "run"}
"""The subscript of μ and σ² in a formula, by mode."""

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
)  # fmt: skip
"""Names of the places of the digits that are shown."""


def show(view: View, theme: str) -> None:
    """Show the switch between the modes, and a stream of batches to be played; raises InvalidInput."""
    seen = traced(setting_of(view), view["eps"])
    averages = averages_of(view, seen)
    _switch(view, theme)
    picture = partial(show_stream, view, seen, averages, theme)
    Player(PREFIX, "step", "Batches seen", BATCHES, speeds=PACES).show(picture)


def _switch(view: View, theme: str) -> None:
    """Draw the switch of the layer's mode, and the statistics that the mode uses."""
    convention, mode = CONVENTIONS[view["framework"]], view["mode"]
    with st.container(horizontal=True, vertical_alignment="center", key="mode"):
        segments(PREFIX + "mode", "Mode of the layer", MODES)
        code, text = {
            "training": (convention.training, "each batch is normalized by its own mean and variance."),
            "inference": (convention.inference, "each digit is normalized by the running averages so far."),
        }[mode]
        patch = f'<i style="background:{getattr(THEMES[theme], mode)}"></i>'
        st.html(f'<div class="nv-legend"><span>{patch}<code>{code}</code>: {text}</span></div>', width="content")


def show_stream(view: View, seen: Trace, averages: Averages, theme: str, position: int) -> None:
    """Show the batch at a position in the page's mode, then both statistics over the stream, and their numbers."""
    batch = batch_at(setting_of(view), seen, averages, position, view["eps"])
    st.markdown(f"### {_sentence(view, batch)}")
    _digits(view, batch, float(span(seen, averages, view["eps"])[view["unit"] - 1]), theme)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _picture(view, seen, averages, position, theme)
    with right:
        with st.container(key="formula"):
            _formula(view, batch, theme)
        _numbers(view, seen, batch, position)
        with st.container(key="update"):
            _update(CONVENTIONS[view["framework"]], view, seen, averages, position, theme)
        # The same words at every position: another line of them would move the page while it plays.
        st.caption(f"In training the output's variance is σ²/(σ²+ε), before γ and β. {average_words(view['share'])}")


def slots(batch: int) -> int:
    """For how many digits there is room: the same for batches of nearly a size, so that little moves with it."""
    return 8 if batch <= 8 else SHOWN


def _sentence(view: View, batch: Batch) -> str:
    """Return the outputs of the digit that is followed, first that of the page's mode."""
    mode, digit, name = view["mode"], view["digit"], _name_digit(view, batch)
    if mode not in batch.output:
        return f"The {name}, has no output in inference, as the running variance and ε are 0."
    order = sorted(batch.output, key=lambda each: each != mode)
    values = [f"{write_output(float(batch.output[each][digit, view['unit'] - 1]))} in {each}" for each in order]
    return f"The {name}: x̂ = {', '.join(values)}."


def _name_digit(view: View, batch: Batch) -> str:
    """Return the place and the class of the digit that is followed: "first digit, a 1"."""
    label = batch.classes[view["digit"]]
    return f"{ORDINALS[view['digit']]} digit, {'an' if label == 8 else 'a'} {label}"


def _digits(view: View, batch: Batch, widest: float, theme: str) -> None:
    """Show the digits of the batch, and their outputs at the page's unit."""
    unit, followed, mode = view["unit"] - 1, view["digit"], view["mode"]
    outputs = {name: values[:, unit] for name, values in batch.output.items()}
    shown = Outputs(batch.pictures, batch.classes, outputs, slots(view["batch"]), widest)
    of = f"the first {SHOWN} of {view['batch']}" if view["batch"] > SHOWN else f"all {view['batch']}"
    values = "; ".join(f"x̂ in {name} {write_output(float(each[followed]))}" for name, each in outputs.items())
    alt = (
        f"Batch {batch.step + 1}, {of} digits, of the classes {', '.join(map(str, batch.classes))}, and below each its "
        f"output at unit {view['unit']}, in {mode} filled. In the frame the {_name_digit(view, batch)}: {values}."
    )
    plot(batch_figure(shown, followed, mode, theme), "batch", alt, "clamp(14rem, 36vh, 19rem)")


def _picture(view: View, seen: Trace, averages: Averages, position: int, theme: str) -> None:
    unit = view["unit"] - 1
    followed = [
        Followed(f"{title}<br>{_drift(whole[:, unit])}", symbol, batch[:, unit], running[:, unit], whole[:, unit])
        for title, symbol, batch, running, whole in (
            (f"Mean of unit {view['unit']}", "μ", seen.mean, averages.mean, seen.population_mean),
            (f"Variance of unit {view['unit']}", "σ²", seen.variance, averages.variance, seen.population_variance),
        )
    ]
    alt = (
        f"Mean and variance of unit {view['unit']} over {BATCHES} mini-batches of {view['batch']}, up to batch "
        f"{position}: dots for the batches, a line for the running average, dashes for the population."
    )
    plot(stream_figure(followed, position, theme), "stream", alt, "38rem")


def _drift(population: np.ndarray) -> str:
    """How far the population's statistic goes over the stream, as the weights drift."""
    first, last = decimals(population[0]), decimals(population[-1])
    return f"population drifts {first} → {last}" if first != last else f"population stays at {first}"


def _formula(view: View, batch: Batch, theme: str) -> None:
    """x̂ of the digit that is followed, as the mode has it, with its numbers put in."""
    unit, mode = view["unit"] - 1, view["mode"]
    if mode not in batch.output:
        st.markdown("A running variance is 0 and so is ε: inference would divide by 0. An ε of 10⁻⁵ would do.")
        return
    below = SYMBOLS[mode]
    values = [float(each) for each in (batch.x[view["digit"], unit], *(part[unit] for part in batch.statistics[mode]))]
    result = float(batch.output[mode][view["digit"], unit])
    digits = count_digits(values[0], values[1], values[2], view["eps"], result)
    x, mean, variance, eps = (number(each, digits) for each in (*values, view["eps"]))

    def fraction(x: str, mean: str, variance: str, eps: str) -> str:
        return rf"\frac{{{x}-{_lit(mean, mode, theme)}}}{{\sqrt{{{_lit(variance, mode, theme)}+{eps}}}}}"

    general = fraction("x", rf"\mu_\mathrm{{{below}}}", rf"\sigma^2_\mathrm{{{below}}}", r"\varepsilon")
    put_in = fraction(x, f"({mean})" if mean.startswith("-") else mean, variance, eps)
    st.latex(rf"\begin{{aligned}}\hat x &= {general} \\[0.4em] &= {put_in} = {number(result, 3)}\end{{aligned}}")


def count_digits(x: float, mean: float, variance: float, eps: float, xhat: float) -> int:
    """Return the fewest digits, at least 3, with which (x − μ)/√(σ² + ε) gives the printed x̂.

    Numbers that are rounded to fewer digits may give another x̂, as x − μ loses digits where x is near μ.
    """
    for digits in range(3, 17):
        part, centre, spread, added = (float(f"{each:.{digits}g}") for each in (x, mean, variance, eps))
        divisor = (spread + added) ** 0.5
        if divisor and f"{(part - centre) / divisor + 0.0:.3g}" == f"{xhat + 0.0:.3g}":
            return digits
    return 3


def _lit(text: str, mode: str, theme: str) -> str:
    """What a mode normalizes by, in LaTeX, in the mode's colour."""
    return rf"\textcolor{{{getattr(THEMES[theme], mode)}}}{{{text}}}"


def _numbers(view: View, seen: Trace, batch: Batch, position: int) -> None:
    """The statistics at the position; those that the mode normalizes by are marked."""
    unit, mode = view["unit"] - 1, view["mode"]
    own, running = ([part[unit] for part in batch.statistics[name]] for name in MODES)
    whole = [seen.population_mean[batch.step, unit], seen.population_variance[batch.step, unit]]
    names = {"training": f"batch of {view['batch']}", "inference": "running average"}
    rows = {
        names["training"]: own,
        names["inference"]: running,
        "population": whole,
        "running − population": [a - b for a, b in zip(running, whole, strict=True)],
    }
    if mode in batch.moments:
        rows["output x̂ of the batch"] = [part[unit] for part in batch.moments[mode]]
    cells = {name: [decimals(value) for value in row] for name, row in rows.items()}
    if mode in batch.moments:
        mean, variance = rows["output x̂ of the batch"]
        least = RELATIVE["float64"] if mode == "training" else 0.0
        cells["output x̂ of the batch"] = [measured(mean, 3, least), f"{variance:.6f}"]
    marked = {f"**▸ {name}**" if name == names[mode] else name: row for name, row in cells.items()}
    means, variances = zip(*marked.values(), strict=True)
    heading = f"Batch {batch.step + 1}" if position else "Batch 1, to come"
    st.table({heading: list(marked), "mean": means, "variance": variances}, border="horizontal")


def average_words(share: float) -> str:
    """Return the part of the start in the running average after the stream, and its lag behind a steady drift."""
    if not share:
        return "Each new batch has a share of 0, so the average stays at its start: mean 0, variance 1."
    start = (1 - share) ** BATCHES
    part = f"{start:.0%}" if start >= 0.01 or not start else "less than 1%"
    return (
        f"Each new batch has a share of {share:g} in the average. After {BATCHES} batches {part} of it is still its "
        f"start, mean 0 and variance 1. Without this start and without noise, it is {lag(share):,.3g} batches behind a "
        "mean that drifts steadily."
    )


def _update(convention: Convention, view: View, seen: Trace, averages: Averages, position: int, theme: str) -> None:
    """running ← (1 − share) · running + share · batch, in numbers, for the mean and the variance."""
    if not position:
        return
    unit, share, count = view["unit"] - 1, view["share"], setting_of(view).count
    unbiased = rf"\tfrac{{{count}}}{{{count - 1}}}" if convention.unbiased else ""
    lines = []
    for symbol, average, batch, factor in (
        (r"\mu", averages.mean, seen.mean, ""),
        (r"\sigma^2", averages.variance, seen.variance, unbiased),
    ):
        times = count / (count - 1) if factor else 1.0
        rest, part, *terms = write_update(share, times, average[position - 1, unit], batch[position - 1, unit])
        old, value, new = (
            _lit(t, m, theme) for t, m in zip(terms, ("inference", "training", "inference"), strict=True)
        )
        kept = rf"{symbol}_\mathrm{{run}}"
        lines.append(
            rf"{_lit(kept, 'inference', theme)} &= {rest}\cdot({old}) \\ "
            rf"&+ {part}\cdot{factor}({value}) = {new}"
        )
    st.latex(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")
