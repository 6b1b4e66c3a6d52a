"""What the training and inference page shows below the stream: one panel at a time, each with numbers of its own."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.describe.wording import decimals, sentence
from normviz.running import effects
from normviz.running.figures import Curve, Panel, panels_figure, strips
from normviz.running.state import MOST_DEVICES, PANELS, PREFIX, WRONG, setting_of
from normviz.running.stream import (
    BATCHES,
    Averages,
    Moments,
    Setting,
    Trace,
    affine,
    affine_parameters,
    batch_statistics,
    infer,
    merge,
    stream,
)
from normviz.ui.components.plot import plot
from normviz.ui.link import KEPT, View

SCALES = tuple(2.0 ** (k / 2) for k in range(-4, 5))
OFFSETS = tuple(float(offset) for offset in np.linspace(-1, 1, 9))

sampled = st.cache_data(max_entries=16, show_spinner=False)(effects.sampled)
among_others = st.cache_data(max_entries=16, show_spinner=False)(lambda setting: effects.among_others(setting))


def choose() -> None:
    """What is shown below the stream."""
    st.segmented_control(
        "Below", PANELS, key=PREFIX + "panel", **KEPT, required=True, format_func=PANELS.__getitem__,
        label_visibility="collapsed",
    )  # fmt: skip


def show(view: View, seen: Trace, averages: Callable[[], Averages], theme: str) -> None:
    """The open panel; only that is computed. Raises InvalidInput where there are no running averages to speak of."""
    {
        "bias": lambda: bias(view, theme),
        "noise": lambda: noise(view, theme),
        "folding": lambda: folding(view, frozen(averages())),
        "companions": lambda: beside_others(view, theme),
        "shards": lambda: shards(view),
        "wrong": lambda: wrong(view, seen, averages, theme),
    }[view["panel"]]()


def frozen(averages: Averages) -> Moments:
    """The statistics of evaluation: the averages after the whole stream."""
    return Moments(averages.mean[-1], averages.variance[-1])


def bias(view: View, theme: str) -> None:
    """E[σ²] of mini-batches against the population's variance, without and with m/(m-1)."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = sampled(_still(setting))
    whole = found.population.variance[unit]
    curves = [
        Curve("E[σ²], measured", effects.SIZES, found.variance[:, unit] / whole, measured=True),
        Curve("E[σ²], exact", effects.SIZES, found.expected[:, unit] / whole),
        Curve("m/(m−1) · E[σ²]", effects.SIZES, found.corrected[:, unit] / whole, measured=True),
    ]
    title = f"Variance of unit {view['unit']} over the population's"
    here = setting.batch if setting.batch >= effects.SIZES[0] else None  # a single example is not in the picture
    panel = Panel(title, curves, "batch size N", level=1.0, log="x", marked=here)
    small = decimals(found.variance[0, unit] / whole)
    plot(panels_figure([panel], 1, theme), "effect", f"{title}: {small} at a batch of 2, towards 1 for large.", "25rem")
    text = (
        f"At N = {effects.SIZES[0]} a batch sees **{small}** of the variance on average, and times m/(m−1) "
        f"**{decimals(found.corrected[0, unit] / whole)}** (measured over {effects.DRAWN:,} draws)."
    )
    if setting.side > 1:
        m = float(found.elements[0, 0])
        text += (
            f" Frameworks count m = N·H·W = {setting.side**2} N, but the positions of one digit are no independent "
            f"draws: at N = {effects.SIZES[0]} it would take **{whole / found.expected[0, unit]:.4f}**, and m/(m−1) is "
            f"**{m / (m - 1):.4f}**."
        )
    st.markdown(text)


def noise(view: View, theme: str) -> None:
    """How far a batch's mean and standard deviation scatter, by batch size."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = sampled(_still(setting))
    panels = [
        Panel(
            f"Scatter of μ, unit {view['unit']}",
            [
                Curve("measured", effects.SIZES, found.mean_error[:, unit], measured=True),
                Curve("exact", effects.SIZES, found.expected_error[:, unit]),
            ],
            "batch size N",
            log="xy",
        ),
        Panel(
            f"Scatter of σ, unit {view['unit']}",
            [Curve("measured", effects.SIZES, found.deviation_error[:, unit], measured=True)],
            "batch size N",
            log="xy",
        ),
    ]
    alt = "Standard deviation of the batch mean and of the batch deviation, falling as one over the root of the size."
    plot(panels_figure(panels, 2, theme), "effect", alt, "25rem")
    first, last = found.mean_error[0, unit], found.mean_error[-1, unit]
    ratio = effects.SIZES[-1] / effects.SIZES[0]
    st.markdown(
        f"The scatter of μ falls from **{decimals(first)}** at N = {effects.SIZES[0]} to **{decimals(last)}** at "
        f"N = {effects.SIZES[-1]}: {first / last:.1f} times, where √{ratio:g} = {ratio**0.5:.1f}."
    )


def folding(view: View, statistics: Moments) -> None:
    """Batch norm folded into the layer in front of it: a and b of every unit, and how equal the outputs are."""
    setting = setting_of(view)
    folded, residual = effects.folding(setting, statistics, view["eps"])
    gain, shift = affine_parameters(setting)
    factor, _ = affine(*statistics, view["eps"], gain, shift)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.latex(r"a = \frac{\gamma}{\sqrt{\sigma^2_\mathrm{run}+\epsilon}} \qquad b = \beta - a\,\mu_\mathrm{run}")
        st.latex(r"y = \gamma\,\frac{Wx-\mu_\mathrm{run}}{\sqrt{\sigma^2_\mathrm{run}+\epsilon}}+\beta = (aW)\,x + b")
        st.markdown(f"Largest relative difference of outputs, folded against unfolded: **{decimals(residual)}**")
    with right:
        columns = {
            "running mean": statistics.mean,
            "running variance": statistics.variance,
            "γ": gain,
            "β": shift,
            "a": factor,
            "b": folded.bias,
        }
        numbers = {name: [decimals(value) for value in values] for name, values in columns.items()}
        st.table({"Unit": [str(unit + 1) for unit in range(len(gain))]} | numbers, border="horizontal")
    st.markdown(
        f"After {BATCHES} batches the statistics are constants, so batch norm is one multiplication and one addition a "
        "unit, which the weights take in: at test time it costs nothing."
    )


def beside_others(view: View, theme: str) -> None:
    """The output of one example in many mini-batches, by scheme."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = {key: outputs[:, unit] for key, outputs in among_others(_still(setting)).items()}
    spread = {key: float(np.ptp(outputs)) for key, outputs in found.items()}
    rows = {f"{SCHEMES[key].label}  <b>{decimals(spread[key])}</b>": outputs for key, outputs in found.items()}
    varying = [SCHEMES[key].name for key, width in spread.items() if width > 1e-9]
    alt = f"Output of one test digit in {effects.DRAWS} mini-batches, by scheme; varying: {', '.join(varying)}."
    axis = f"x̂ of one test digit at unit {view['unit']}, in {effects.DRAWS} batches of {setting.batch}"
    plot(strips(rows, axis, theme), "effect", alt, "27rem")
    if setting.batch == 1:
        st.markdown("Beside each name: largest minus smallest x̂. In batches of one there are no other examples.")
        return
    st.markdown(
        f"Beside each name: largest minus smallest x̂. {sentence(' and '.join(varying)) or 'No scheme'} lets it depend "
        "on the other examples in the batch, a noise that regularizes; the other schemes look at the example alone."
    )


def shards(view: View) -> None:
    """Statistics of a batch dealt to devices, merged."""
    setting, unit = setting_of(view), view["unit"] - 1
    if setting.batch > 1:
        # With another end Streamlit takes a slider for another one, and may give it a value from before it was shown.
        st.session_state[PREFIX + "devices"] = view["devices"]
        st.slider("Devices", 1, min(MOST_DEVICES, setting.batch), key=PREFIX + "devices", **KEPT)
    counts, parts = effects.shards(setting, view["devices"])
    merged, whole = merge(counts, *parts), batch_statistics(stream(setting, [0])[0])
    rows = [
        *((f"device {k + 1}", counts[k], parts.mean[k, unit], parts.variance[k, unit]) for k in range(len(counts))),
        ("merged", counts.sum(), merged.mean[unit], merged.variance[unit]),
        ("whole batch", counts.sum(), whole.mean[unit], whole.variance[unit]),
        ("mean of the variances", None, None, float(np.average(parts.variance[:, unit], weights=counts))),
    ]
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.table(
            {
                "First batch": [name for name, *_ in rows],
                "m": ["" if m is None else f"{m:,}" for _, m, *_ in rows],
                f"mean, unit {view['unit']}": ["" if mean is None else decimals(mean, 6) for *_, mean, _ in rows],
                "variance": [decimals(variance, 6) for *_, variance in rows],
            },
            border="horizontal",
        )
    with right:
        st.latex(r"\mu = \sum_k \tfrac{m_k}{m}\,\mu_k")
        st.latex(r"\sigma^2 = \sum_k \tfrac{m_k}{m}\left(\sigma_k^2 + (\mu_k-\mu)^2\right)")
        gap = max(float(np.abs(a - b).max()) for a, b in zip(merged, whole, strict=True))
        st.markdown(
            f"Largest difference, merged against whole: **{decimals(gap)}**. Merged, the parts give the whole batch's "
            "statistics. Averaging the variances alone loses "
            "what lies between the devices' means; each device by itself would normalize by its own."
        )


def wrong(view: View, seen: Trace, averages: Callable[[], Averages], theme: str) -> None:
    """One of the four failures of batch norm."""
    st.segmented_control(
        "Failure", WRONG, key=PREFIX + "wrong", **KEPT, required=True, format_func=WRONG.__getitem__,
        label_visibility="collapsed",
    )  # fmt: skip
    {
        "one": lambda: batch_of_one(view, seen, theme),
        "early": lambda: stopped_early(view, seen, averages(), theme),
        "train": lambda: eval_forgotten(view, frozen(averages()), theme),
        "shift": lambda: shifted(view, frozen(averages()), theme),
    }[view["wrong"]]()


def batch_of_one(view: View, seen: Trace, theme: str) -> None:
    """Output against summed input in batches of one, of two, and of the page's size."""
    setting, unit, eps = setting_of(view), view["unit"] - 1, view["eps"]
    gain, shift = (values[unit] for values in affine_parameters(setting))
    middle, panels, ranges = setting.side // 2, [], {}
    mean, variance = seen.population_mean[-1, unit], seen.population_variance[-1, unit]
    for size in dict.fromkeys((1, 2, setting.batch if setting.batch > 2 else 32)):
        z, y = (each[:, middle, middle, unit] for each in effects.in_batches_of(setting, size, eps))
        ends = np.array([z.min(), z.max()])
        line = Curve("population's statistics", ends, infer(ends, mean, variance, eps, gain, shift))
        panels.append(
            Panel(f"Batches of {size}", [Curve("each test digit", z, y, measured=True), line], "summed input")
        )
        ranges[size] = np.abs((y - shift) / gain)
    far = "; ".join(f"{decimals(x.min())} to {decimals(x.max())} in batches of {size}" for size, x in ranges.items())
    alt = f"Output against summed input. |x̂| of the test digits: {far}."
    plot(panels_figure(panels, 3, theme, one_scale=True), "effect", alt, "25rem")
    if setting.side == 1:
        least, most = decimals(ranges[2].min()), decimals(ranges[2].max())
        text = (
            f"Alone, a digit is its own mean: the output is β = **{decimals(shift)}** whatever comes in (PyTorch "
            f"raises an error, Keras gives β). In pairs it is β ± γ √(σ²/(σ²+ε)), σ² the pair's own; the root is "
            f"**{least}** to **{most}** here. Where ε is small beside σ² it is 1, and one bit is left: "
            f"**{decimals(shift - gain)}** or **{decimals(shift + gain)}**."
        )
    else:
        text = (
            "With a convolution a batch of one still has the positions of the digit: batch norm is then instance norm, "
            "and every digit loses its own mean, and its contrast as far as ε is small beside its variance."
        )
    st.markdown(text)


def stopped_early(view: View, seen: Trace, averages: Averages, theme: str) -> None:
    """The evaluated output over all training digits, after each step of the stream."""
    unit = view["unit"] - 1
    found = effects.too_early(seen, averages, view["eps"])
    seen_so_far, last = range(BATCHES + 1), seen.population_variance[-1, unit]
    trained = last / (last + view["eps"])
    panels = [
        Panel(f"{name} of the output in evaluation", [Curve("all training digits", seen_so_far, values[:, unit])],
              "batches seen before eval()", level=level)
        for name, values, level in (("Mean", found.mean, 0.0), ("Variance", found.variance, trained))
    ]  # fmt: skip
    early, late = (decimals(found.variance[at, unit]) for at in (10, -1))
    alt = (
        f"Mean and variance of the evaluated output by the number of batches seen: variance {early} after 10, {late} "
        f"after {BATCHES}; with the digits' own statistics it would be {decimals(trained)} in the end."
    )
    plot(panels_figure(panels, 2, theme), "effect", alt, "25rem")
    st.markdown(
        f"The running statistics start from 0 and 1. After 10 batches the output in evaluation has variance "
        f"**{early}**, after {BATCHES} **{late}**, where the digits' own statistics would give σ²/(σ²+ε) = "
        f"**{decimals(trained)}**. The smaller the share of a new batch, the longer the start lasts."
    )


def eval_forgotten(view: View, statistics: Moments, theme: str) -> None:
    """A test batch of one class, with running statistics and with its own."""
    unit = view["unit"] - 1
    found = effects.one_class_at_a_time(setting_of(view), statistics, view["eps"])
    classes = range(len(found["eval"]))
    curves = [
        Curve("eval: running statistics", classes, found["eval"][:, unit], measured=True),
        Curve("train: the batch's own", classes, found["train"][:, unit], measured=True),
    ]
    panel = Panel(f"Mean output x̂ of unit {view['unit']} on a batch of one class", [*curves], "class of the batch")
    apart, own = decimals(np.ptp(found["eval"][:, unit])), decimals(np.abs(found["train"][:, unit]).max())
    alt = f"Mean output of each class: {apart} apart with running statistics, at most {own} with the batch's own."
    plot(panels_figure([panel], 1, theme), "effect", alt, "25rem")
    st.markdown(
        "Test batches that hold one class each. With running statistics their outputs lie "
        f"**{apart}** apart, which is what a classifier goes by; normalized by the batch's own, each has mean 0 (the "
        f"largest is **{own}**)."
    )


def shifted(view: View, statistics: Moments, theme: str) -> None:
    """Test pictures with another contrast or brightness, with running statistics and with the batch's."""
    setting, unit, eps = setting_of(view), view["unit"] - 1, view["eps"]
    still = {"contrast": [1.0] * len(OFFSETS), "brightness": [0.0] * len(SCALES)}
    contrast = effects.shifted(setting, statistics, SCALES, still["brightness"], eps)
    brightness = effects.shifted(setting, statistics, still["contrast"], OFFSETS, eps)
    panels = []
    for name in ("mean", "variance"):
        for found, x, axis, log in (
            (contrast, SCALES, "contrast × s", "x"),
            (brightness, OFFSETS, "brightness + s", ""),
        ):
            curves = [
                Curve("eval: running statistics", x, getattr(found.frozen, name)[:, unit]),
                Curve("train: the batch's own", x, getattr(found.batch, name)[:, unit]),
            ]
            log += "y" if name == "variance" else ""
            panels.append(Panel(f"Output {name}", curves, axis, log=log))
    alt = "Mean and variance of the output over a change of contrast and of brightness of the test pictures."
    plot(panels_figure(panels, 2, theme, one_scale=True), "effect", alt, "36rem")
    plain, doubled = (contrast.frozen.variance[SCALES.index(scale), unit] for scale in (1.0, 2.0))
    least, most = (decimals(how(contrast.batch.variance[:, unit])) for how in (np.min, np.max))
    brighter = brightness.frozen.mean[OFFSETS.index(1.0), unit] - brightness.frozen.mean[OFFSETS.index(0.0), unit]
    st.markdown(
        f"With running statistics, test pictures of twice the contrast come out with variance **{decimals(doubled)}** "
        f"instead of **{decimals(plain)}**; brightness +1 moves the mean by **{decimals(brighter)}**, the sum of the "
        "unit's weights over √(σ²_run+ε). With the batch's own statistics the mean is 0 at every brightness; the "
        f"contrast is taken off where ε is small beside σ²: over all these contrasts the variance is **{least}** to "
        f"**{most}**."
    )


def _still(setting: Setting) -> Setting:
    """Without drift: what is measured under the first weights is the same with any, and computed once."""
    return Setting(setting.layer, setting.batch, 0.0, setting.seed)
