"""The stream of the training and inference page: it plays, and what there is to read off at its position."""

import time

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.describe.notation import number
from normviz.describe.wording import decimals
from normviz.running.figures import Followed, stream_figure
from normviz.running.state import PACES, PAGE, PARAMS, PREFIX, has, setting_of
from normviz.running.stream import CONVENTIONS, STEPS, Averages, Convention, Trace, infer, lag
from normviz.ui.components.plot import plot
from normviz.ui.link import KEPT, View, store

SLIDER, SHOWN = PREFIX + "slider", PREFIX + "shown"

PLAYING = PREFIX + "playing"
"""In the session: whether the stream plays. Not in the link: a page that opens stands still."""

TICK = 0.3
"""Seconds between two pictures of a stream that plays."""


def player(view: View) -> None:
    """Play or pause, step, back, reset, and the pace."""
    playing = st.session_state[PLAYING]
    with st.container(horizontal=True, vertical_alignment="center"):
        label, icon = ("Pause", "pause") if playing else ("Play", "play_arrow")
        st.button(label, icon=f":material/{icon}:", key=PREFIX + "play", on_click=toggle, type="primary", width=120)
        for label, icon, by in (("Back", "skip_previous", -1), ("Step", "skip_next", 1), ("Reset", "replay", -STEPS)):
            st.button(label, icon=f":material/{icon}:", key=f"{PREFIX}move {label}", on_click=move, args=(by,))
        st.segmented_control(
            "Batches at once", PACES, key=PREFIX + "pace", **KEPT, required=True, format_func=lambda pace: f"{pace} ×",
            label_visibility="collapsed",
        )  # fmt: skip


def pause() -> None:
    """The stream stands still; also when the page is opened, or come back to."""
    st.session_state[PLAYING] = False


def toggle() -> None:
    """Play or pause; at the end, from the start."""
    state = st.session_state
    state[PLAYING] = not state[PLAYING]
    if state[PLAYING] and state[PREFIX + "step"] >= STEPS:
        state[PREFIX + "step"] = 0


def move(by: int) -> None:
    """Some batches on or back; the stream then stands still."""
    state = st.session_state
    pause()
    state[PREFIX + "step"] = min(max(state[PREFIX + "step"] + by, 0), STEPS)


def drag() -> None:
    """Go where the slider is."""
    st.session_state[PREFIX + "step"] = st.session_state[SLIDER]


def advance(now: float) -> bool:
    """A tick of the stream, if it plays and one is due; whether it has just come to its end."""
    state = st.session_state
    if not state[PLAYING] or now - state[PREFIX + "looked"] < TICK / 2:
        return False
    state[PREFIX + "looked"] = now
    state[PREFIX + "step"] = min(state[PREFIX + "step"] + state[PREFIX + "pace"], STEPS)
    state[PLAYING] = state[PREFIX + "step"] < STEPS
    return not state[PLAYING]


def show_stream(view: View, seen: Trace, averages: Averages, theme: str) -> None:
    """The stream at its position; while it plays only this is run again."""
    st.session_state[PREFIX + "looked"] = time.monotonic()  # a run of the whole page is no tick

    @st.fragment(run_every=TICK if st.session_state[PLAYING] else None)
    def follow() -> None:
        if advance(time.monotonic()):
            st.rerun()
        left, right = st.columns([3, 2], gap="medium")
        with left:
            position = _slider()
            _picture(view, seen, averages, position, theme)
        with right:
            _numbers(view, seen, averages, position)
        if not st.session_state[PLAYING]:
            store(PAGE, PARAMS, view | {"step": position}, lambda name: has(view, name))

    follow()


def _slider() -> int:
    """The position, to be dragged while the stream stands still.

    While it plays another slider shows it: the browser sends every slider with what it does, and a place from before
    the last tick would count as dragged there.
    """
    state = st.session_state
    playing = state[PLAYING]
    key = SHOWN if playing else SLIDER
    state[key] = state[PREFIX + "step"]
    st.slider("Batches seen", 0, STEPS, key=key, disabled=playing, on_change=None if playing else drag)
    return state[PREFIX + "step"]


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
        f"Mean and variance of unit {view['unit']} over {STEPS} mini-batches of {view['batch']}, up to batch "
        f"{position}: the batches scatter around the population's value, and the running average follows with a lag."
    )
    plot(stream_figure(followed, position, theme), "stream", alt, "31rem")


def _numbers(view: View, seen: Trace, averages: Averages, position: int) -> None:
    """The statistics at the position, and the update that led to them with its numbers put in."""
    unit, at = view["unit"] - 1, max(position - 1, 0)
    convention = CONVENTIONS[view["framework"]]
    batch = [seen.mean[at, unit], seen.variance[at, unit]]
    running = [kept[position, unit] for kept in averages]
    whole = [seen.population_mean[at, unit], seen.population_variance[at, unit]]
    output = [seen.output_mean[at, unit], seen.output_variance[at, unit]]
    rows = {f"batch of {view['batch']}": batch, "its output x̂": output} if position else {}
    rows |= {
        "running average": running,
        "population": whole,
        "running − population": [a - b for a, b in zip(running, whole, strict=True)],
    }
    columns = {name: [decimals(row[k]) for row in rows.values()] for k, name in enumerate(("mean", "variance"))}
    st.table({f"Batch {position}": list(rows)} | columns, border="horizontal")
    with st.container():
        if position:
            _update(convention, view, seen, averages, position)
            _first_digit(view, seen, averages, position)
    share = batch[1] / (batch[1] + view["eps"] or 1.0)
    st.caption(
        f"In training the output's variance is σ²/(σ²+ε) = {share:.6g}, before γ and β. With a share of "
        f"{view['share']:g} for each new batch, the average trails a steady drift by {lag(view['share']):,.3g} batches."
    )


def _first_digit(view: View, seen: Trace, averages: Averages, position: int) -> None:
    """One digit in both lives: normalized by its batch, and by the running averages as they are."""
    unit = view["unit"] - 1
    z = seen.first[position - 1, unit]
    try:
        evaluated = infer(z, averages.mean[position, unit], averages.variance[position, unit], view["eps"])
    except InvalidInput as error:
        st.caption(str(error))
        return
    cells = {"z of digit 1": z, "x̂ in training": seen.first_output[position - 1, unit], "x̂ in evaluation": evaluated}
    st.table({name: [decimals(value)] for name, value in cells.items()}, border="horizontal")


def _update(convention: Convention, view: View, seen: Trace, averages: Averages, position: int) -> None:
    """running ← kept · running + share · batch, in numbers, for the mean and the variance."""
    unit, share, count = view["unit"] - 1, view["share"], setting_of(view).count
    lines = []
    for symbol, kept, batch, factor in (
        (r"\mu", averages.mean, seen.mean, ""),
        (
            r"\sigma^2",
            averages.variance,
            seen.variance,
            rf"\tfrac{{{count}}}{{{count - 1}}}" if convention.unbiased else "",
        ),
    ):
        old, new = (number(float(f"{kept[at, unit]:.3g}")) for at in (position - 1, position))
        value = number(float(f"{batch[position - 1, unit]:.3g}"))
        lines.append(
            rf"{symbol}_\mathrm{{run}} &= {number(1 - share)}\cdot({old}) \\ "
            rf"&+ {number(share)}\cdot{factor}({value}) = {new}"
        )
    st.latex(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")
