"""The panel with the switch: a batch in both modes, the statistics that each uses, and their averages over a stream."""

from functools import partial

import numpy as np
import streamlit as st

from normviz.charts.palette import THEMES
from normviz.describe.wording import format_decimals
from normviz.topics.running.averages import CONVENTIONS, Averages, Convention, write_update
from normviz.topics.running.modes import MODES, Batch, batch_at, span
from normviz.topics.running.state import PACES, PREFIX, averages_of, setting_of, traced
from normviz.topics.running.stream import BATCHES, SHOWN, Trace
from normviz.topics.running.stream_figures import Followed, Outputs, batch_figure, stream_figure, write_output
from normviz.ui.link import View, segments
from normviz.ui.player import Player
from normviz.web.components.plot import plot

MARKS = {"training": "○●", "inference": "◇◆"}
"""The markers of a mode's outputs: while another mode is on, and while it is."""

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""Names of the places of the digits that are shown."""


def show(view: View, theme: str) -> None:
    """Show the switch between the modes, and a stream of batches to be played; raises InvalidInput."""
    seen = traced(setting_of(view), view["eps"])
    averages = averages_of(view, seen)
    with st.container(horizontal=True, vertical_alignment="center", key="mode"):
        st.markdown("**Mode:**", width="content")
        segments(PREFIX + "mode", "Mode of the layer", MODES)
    picture = partial(show_stream, view, seen, averages, theme)
    Player(PREFIX, "step", "Batches seen", BATCHES, speeds=PACES).show(picture)


def show_stream(view: View, seen: Trace, averages: Averages, theme: str, position: int) -> None:
    """Show the batch at a position with the statistics of both modes, then these over the stream."""
    batch = batch_at(setting_of(view), seen, averages, position, view["eps"])
    with st.container(key="now"):
        st.markdown(f"### {_sentence(view, batch)}")
        left, right = st.columns([3, 1], gap="small", vertical_alignment="center")
        with left:
            _digits(view, batch, float(span(seen, averages, view["eps"])[view["unit"] - 1]), theme)
        with right:
            st.html(_pairs(view, batch, theme))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _picture(view, seen, averages, position, theme)
    with right, st.container(key="update"):
        _update(CONVENTIONS[view["framework"]], view, seen, averages, position, theme)


def _sentence(view: View, batch: Batch) -> str:
    """Return the outputs of the digit that is followed, first that of the page's mode."""
    mode, digit, name = view["mode"], view["digit"], _name_digit(view, batch)
    if mode not in batch.output:
        return f"The {name}, has no output in inference, as the running variance and ε are 0. An ε of 10⁻⁵ would do."
    order = sorted(batch.output, key=lambda each: each != mode)
    values = [f"{write_output(float(batch.output[each][digit, view['unit'] - 1]))} in {each}" for each in order]
    return f"The {name}: output x̂ = {', '.join(values)}."


def _name_digit(view: View, batch: Batch) -> str:
    """Return the place and the class of the digit that is followed: "first digit, a 1"."""
    label = batch.classes[view["digit"]]
    return f"{ORDINALS[view['digit']]} digit, {'an' if label == 8 else 'a'} {label}"


def _digits(view: View, batch: Batch, widest: float, theme: str) -> None:
    """Show the digits of the batch, and their outputs at the page's unit."""
    unit, followed, mode = view["unit"] - 1, view["digit"], view["mode"]
    outputs = {name: values[:, unit] for name, values in batch.output.items()}
    shown = Outputs(batch.pictures, batch.classes, outputs, widest, view["batch"])
    of = f"the first {SHOWN} of {view['batch']}" if view["batch"] > SHOWN else f"all {view['batch']}"
    values = "; ".join(f"x̂ in {name} {write_output(float(each[followed]))}" for name, each in outputs.items())
    alt = (
        f"Batch {batch.step + 1}, {of} digits, of the classes {', '.join(map(str, batch.classes))}, and below each its "
        f"output at unit {view['unit']}, in {mode} filled. In the frame the {_name_digit(view, batch)}: {values}."
    )
    plot(batch_figure(shown, followed, mode, theme), "batch", alt, "clamp(14rem, 36vh, 19rem)")


def _pairs(view: View, batch: Batch, theme: str) -> str:
    """Return the mean and the variance that each mode normalizes by, as HTML; the pair in use is marked."""
    names = {"training": f"This batch of {view['batch']}", "inference": "Running averages"}
    cards = []
    for mode, name in names.items():
        mean, variance = (format_decimals(part[view["unit"] - 1]) for part in batch.statistics[mode])
        used = mode == view["mode"]
        cards.append(
            f'<div class="{"used" if used else ""}" style="--role: {getattr(THEMES[theme], mode)}"><em>in use</em>'
            f"<b>{MARKS[mode][used]} {name}</b><span>mean {mean}</span><span>variance {variance}</span></div>"
        )
    words = f"x: what unit {view['unit']} computes from a digit<br>x̂ = (x − mean) / √(variance + ε)"
    return f'<div class="nv-pairs"><p>{words}</p>{"".join(cards)}</div>'


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
    first, last = format_decimals(population[0]), format_decimals(population[-1])
    return f"population drifts {first} → {last}" if first != last else f"population stays at {first}"


def _lit(text: str, mode: str, theme: str) -> str:
    """Return a number that a mode normalizes by, in LaTeX, in the mode's colour."""
    return rf"\textcolor{{{getattr(THEMES[theme], mode)}}}{{{text}}}"


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
