"""The panel "Outputs": a batch in both modes, and the statistics of each over a stream."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from normviz.charts.palette import TEXT_COLOURS, THEMES
from normviz.core.text import join_words, typeset
from normviz.describe.wording import format_decimals
from normviz.topics.running.averages import CONVENTIONS, Convention, RunningAverages, format_update
from normviz.topics.running.modes import MODES, StreamBatch, compute_batch_at, compute_max_output
from normviz.topics.running.state import PREFIX, build_stream_setting, compute_page_averages, get_stream_trace
from normviz.topics.running.stream import BATCHES, MAX_SHOWN_DIGITS, StreamTrace
from normviz.topics.running.stream_figures import (
    MODE_MARKERS,
    BatchOutputs,
    TrackedStatistic,
    draw_batch,
    draw_stream,
    format_output,
)
from normviz.ui.link import View, draw_segments
from normviz.ui.player import Player
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

COMPARES = PREFIX + "compares"
"""Key in the session: True once inference was chosen. Until then its outputs are drawn for the followed digit only."""

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""Names of the places of the shown digits."""


def show(view: View, theme: str) -> None:
    """Show the switch between training and inference, and a stream of mini-batches to play.

    Raises:
        InvalidInput: the framework refuses the batch.
    """
    seen = get_stream_trace(build_stream_setting(view), view["eps"])
    averages = compute_page_averages(view, seen)
    if view["mode"] == "inference":
        st.session_state[COMPARES] = True
    with st.container(horizontal=True, vertical_alignment="center", key="mode"):
        st.markdown("**Mode:**", width="content")
        draw_segments(PREFIX + "mode", "Mode of the layer", MODES)
    picture = partial(show_stream, view, seen, averages, theme)
    Player(PREFIX, "step", "Training batches seen", BATCHES, speed=5).show(picture)


def show_stream(view: View, stream_trace: StreamTrace, averages: RunningAverages, theme: str, position: int) -> None:
    """Show the batch at a position with both modes' statistics, then the statistics over the stream up to it."""
    batch = compute_batch_at(build_stream_setting(view), stream_trace, averages, position, view["eps"])
    drawn = batch if st.session_state.get(COMPARES) else keep_followed_inference(batch, view["digit"])
    with st.container(key="now"):
        st.markdown(f"### {describe_outputs(view, batch)}")
        left, right = st.columns([5, 2], gap="small", vertical_alignment="center")
        with left:
            digits = draw_digits(view, stream_trace, averages, drawn, theme)
            show_figure(digits.figure, "batch", digits.alt, digits.height)
        with right:
            st.html(format_statistics_html(view, batch, theme))
    with st.container(key="below"):
        share = typeset(100 * view["share"])
        st.markdown(f"### Each batch moves the running averages {share}% of the way to its mean and variance.")
        left, right = st.columns([3, 2], gap="medium")
    with left:
        course = draw_statistics_so_far(view, stream_trace, averages, position, theme)
        show_figure(course.figure, "stream", course.alt, course.height)
    with right, st.container(key="update"):
        _show_update(CONVENTIONS[view["framework"]], view, stream_trace, averages, position, theme)


def keep_followed_inference(batch: StreamBatch, followed_digit: int) -> StreamBatch:
    """Return a batch whose outputs in inference are NaN, except for the followed digit."""
    is_followed = np.arange(len(batch.x))[:, None] == followed_digit
    hidden = {
        mode: np.where(is_followed, values, np.nan) for mode, values in batch.output.items() if mode != "training"
    }
    return replace(batch, output=batch.output | hidden)


def describe_outputs(view: View, batch: StreamBatch) -> str:
    """Describe in a sentence the followed digit's outputs in each mode, the page's mode first."""
    mode, name = view["mode"], f"The framed {batch.classes[view['digit']]}"
    if mode not in batch.output:
        return f"{name} has no output in inference, as the running variance and ε are 0. An ε of 10⁻⁵ would do."
    values = _format_outputs(view, batch)
    this, other = values.pop(mode), next(iter(values.items()), None)
    if other is None:
        return f"{name} gives x̂ = {this} in {mode}."
    if other[1] == this:
        return f"{name} gives x̂ = {this} in training and in inference."
    return f"{name} gives x̂ = {this} in {mode}, but {other[1]} in {other[0]}."


def _format_outputs(view: View, batch: StreamBatch) -> dict[str, str]:
    """Format the followed digit's output by mode."""
    return {
        mode: format_output(float(values[view["digit"], view["unit"] - 1])) for mode, values in batch.output.items()
    }


def _name_digit(view: View, batch: StreamBatch) -> str:
    """Return the position and class of the followed digit: "first digit, a 1"."""
    label = batch.classes[view["digit"]]
    return f"{ORDINALS[view['digit']]} digit, {'an' if label == 8 else 'a'} {label}"


def draw_digits(
    view: View, stream_trace: StreamTrace, averages: RunningAverages, batch: StreamBatch, theme: str
) -> DrawnFigure:
    """Return a figure of the digits of a batch, each with its output at the hidden unit that the page shows."""
    widest = float(compute_max_output(stream_trace, averages, view["eps"])[view["unit"] - 1])
    unit, followed, mode = view["unit"] - 1, view["digit"], view["mode"]
    outputs = {name: values[:, unit] for name, values in batch.output.items()}
    shown = BatchOutputs(batch.pictures, batch.classes, outputs, widest, view["batch"])
    of = (
        f"the first {MAX_SHOWN_DIGITS} of {view['batch']}"
        if view["batch"] > MAX_SHOWN_DIGITS
        else f"all {view['batch']}"
    )
    values = "; ".join(
        f"x̂ in {name} {format_output(float(each[followed]))}"
        for name, each in outputs.items()
        if np.isfinite(each).all()  # a lesson asks for the one that is drawn alone
    )
    alt = (
        f"Batch {batch.step + 1}, {of} digits, of the classes {', '.join(map(str, batch.classes))}, and below each its "
        f"output at neuron {view['unit']}, in {mode} filled. In the frame the {_name_digit(view, batch)}: {values}."
    )
    return DrawnFigure(draw_batch(shown, followed, mode, theme), alt, "clamp(15rem, 44vh, 24rem)")


def format_statistics_html(view: View, batch: StreamBatch, theme: str) -> str:
    """Return each mode's mean and variance as HTML, with the followed digit's output; the pair in use is marked."""
    names = {"training": f"This batch of {view['batch']}", "inference": "Running averages"}
    outputs, cards = _format_outputs(view, batch), []
    for mode, name in names.items():
        mean, variance = (format_decimals(part[view["unit"] - 1]) for part in batch.statistics[mode])
        used = mode == view["mode"]
        cards.append(
            f'<div class="{"used" if used else ""}" style="--role: {getattr(THEMES[theme], mode)}"><b><em>in use</em>'
            f"{MODE_MARKERS[mode][used]} {name}</b><span>mean {mean}, variance {variance}</span>"
            f"<span>{f'→ x̂ = {outputs[mode]} in {mode}' if mode in outputs else ''}</span></div>"
        )
    digit, smoothing = view["digit"], f"(variance + {typeset(view['eps'])})" if view["eps"] else "variance"
    x = format_output(float(batch.x[digit, view["unit"] - 1]))
    words = f"x = {x}: what a neuron computes from the framed {batch.classes[digit]}<br>x̂ = (x − mean) / √{smoothing}"
    return f'<div class="nv-pairs"><p>{words}</p>{"".join(cards)}</div>'


def draw_statistics_so_far(
    view: View, stream_trace: StreamTrace, averages: RunningAverages, position: int, theme: str
) -> DrawnFigure:
    """Draw the mean, the variance or both of the page's unit over the batches seen so far."""
    unit, statistic = view["unit"] - 1, view["statistic"]
    followed = [
        TrackedStatistic(
            f"{name.capitalize()} of neuron {view['unit']}<br>{_describe_drift(parts[-1][:, unit])}",
            symbol,
            view["share"],
            *(part[:, unit] for part in parts),
        )
        for name, symbol, *parts in (
            ("mean", "μ", stream_trace.mean, averages.mean, stream_trace.population_mean),
            ("variance", "σ²", stream_trace.variance, averages.variance, stream_trace.population_variance),
        )
        if statistic in ("both", name)
    ]
    alt = (
        f"{'Mean and variance' if statistic == 'both' else statistic.capitalize()} of neuron {view['unit']} over "
        f"{BATCHES} mini-batches of {view['batch']}, up to batch {position}: dots for the batches, a line for the "
        "running average, dashes for the population. There "
        f"{join_words([_describe_averages(each, position) for each in followed], 'and')}."
    )
    height = "clamp(22rem, 52vh, 38rem)" if statistic == "both" else "clamp(16rem, 46vh, 30rem)"
    return DrawnFigure(draw_stream(followed, position, theme, view["window"]), alt, height)


def _describe_averages(tracked: TrackedStatistic, position: int) -> str:
    """Describe the values of the running average and the population after `position` batches."""
    running, whole = (
        format_decimals(part[k])
        for part, k in ((tracked.running, position), (tracked.population, max(position - 1, 0)))
    )
    return f"{tracked.symbol} is {running} by the running average, {whole} by the population"


def _describe_drift(population: np.ndarray) -> str:
    """Return "all digits: 0.1 → 0.5", or "all digits: 0.1" without drift, for a statistic over the stream, (steps,)."""
    first, last = format_decimals(population[0]), format_decimals(population[-1])
    return f"all digits: {first} → {last}" if first != last else f"all digits: {first}"


def _colour_latex(text: str, mode: str, theme: str) -> str:
    """Return LaTeX of a text in the colour of `mode`, "training" or "inference"."""
    colour = getattr(THEMES[theme], mode)
    return rf"\textcolor{{{TEXT_COLOURS.get(colour, colour)}}}{{{text}}}"


def _show_update(
    convention: Convention, view: View, stream_trace: StreamTrace, averages: RunningAverages, position: int, theme: str
) -> None:
    if not position:
        return
    unit, share, count = view["unit"] - 1, view["share"], build_stream_setting(view).element_count
    unbiased = rf"\tfrac{{{count}}}{{{count - 1}}}" if convention.unbiased else ""
    lines = []
    for name, symbol, average, batch, factor in (
        ("mean", r"\mu", averages.mean, stream_trace.mean, ""),
        ("variance", r"\sigma^2", averages.variance, stream_trace.variance, unbiased),
    ):
        if view["statistic"] not in ("both", name):
            continue
        times = count / (count - 1) if factor else 1.0
        rest, part, *terms = format_update(share, times, average[position - 1, unit], batch[position - 1, unit])
        old, value, new = (
            _colour_latex(t, m, theme) for t, m in zip(terms, ("inference", "training", "inference"), strict=True)
        )
        kept = rf"{symbol}_\mathrm{{run}}"
        lines.append(
            rf"{_colour_latex(kept, 'inference', theme)} &= {rest}\cdot({old}) \\ "
            rf"&+ {part}\cdot{factor}({value}) = {new}"
        )
    st.latex(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")
