"""Panels on what goes wrong between training and inference."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from normviz.core.text import measured
from normviz.describe.wording import decimals
from normviz.running import effects
from normviz.running.averages import Averages
from normviz.running.figures import Curve, Panel, panels_figure
from normviz.running.panels import accuracy
from normviz.running.state import PREFIX, WRONG, setting_of
from normviz.running.stream import BATCHES, Moments, Trace, affine_parameters, infer
from normviz.ui.components.plot import plot
from normviz.ui.link import View, segments

SCALES = tuple(2.0 ** (k / 2) for k in range(-4, 5))
OFFSETS = tuple(float(offset) for offset in np.linspace(-1, 1, 9))


def show(view: View, seen: Trace, averages: Callable[[], Averages], theme: str) -> None:
    """What all mistakes cost a trained network, or one of four failures of batch norm in a single layer."""
    segments(PREFIX + "wrong", "Failure", WRONG)
    {
        "cost": lambda: accuracy.show(view, theme),
        "one": lambda: batch_of_one(view, seen, theme),
        "early": lambda: stopped_early(view, seen, averages(), theme),
        "train": lambda: eval_forgotten(view, averages().last, theme),
        "shift": lambda: shifted(view, averages().last, theme),
    }[view["wrong"]]()


def batch_of_one(view: View, seen: Trace, theme: str) -> None:
    """Output against summed input in batches of one, of two, and of the page's size."""
    setting, unit, eps = setting_of(view), view["unit"] - 1, view["eps"]
    gain, shift = (values[unit] for values in affine_parameters(setting))
    middle, ranges = setting.side // 2, {}
    panels: list[Panel] = []
    mean, variance = seen.population_mean[-1, unit], seen.population_variance[-1, unit]
    for size in dict.fromkeys((1, 2, setting.batch if setting.batch > 2 else 32)):
        z, y = (each[:, middle, middle, unit] for each in effects.in_batches_of(setting, size, eps))
        ends = np.array([z.min(), z.max()])
        line = Curve("population's statistics", ends, infer(ends, mean, variance, eps, gain, shift), role="ink")
        panels.append(
            Panel(
                f"Batches of {size}",
                [Curve("each test digit", z, y, measured=True, role="training"), line],
                "summed input x",
                "" if panels else "output y",
            )
        )
        ranges[size] = np.abs((y - shift) / gain)
    far = "; ".join(f"{decimals(x.min())} to {decimals(x.max())} in batches of {size}" for size, x in ranges.items())
    alt = f"Output against summed input. |x̂| of the test digits: {far}."
    plot(panels_figure(panels, 3, theme, one_scale=True), "effect", alt, "25rem")
    if setting.side == 1:
        least, most = decimals(ranges[2].min()), decimals(ranges[2].max())
        text = (
            f"Alone, a digit is its own mean, so x̂ = 0 and the output is β = **{decimals(shift)}** for every input. "
            "(PyTorch raises an error, Keras returns β.) In a pair the output is β ± γ √(σ²/(σ²+ε)), with the variance "
            f"σ² of the pair. Here the root is **{least}** to **{most}**. Where ε is small compared with σ², the root "
            f"is 1. Then only **{decimals(shift - gain)}** and **{decimals(shift + gain)}** are possible."
        )
    else:
        text = (
            "With a convolution, a batch of one still has many positions. Batch norm is then instance norm: every "
            "digit loses its own mean. Where ε is small compared with its variance, it also loses its contrast."
        )
    st.markdown(text)


def stopped_early(view: View, seen: Trace, averages: Averages, theme: str) -> None:
    """The evaluated output over all training digits, after each step of the stream."""
    unit = view["unit"] - 1
    found = effects.too_early(seen, averages, view["eps"])
    seen_so_far, last = range(BATCHES + 1), seen.population_variance[-1, unit]
    trained = last / (last + view["eps"])
    panels = [
        Panel(f"{name} of the output in evaluation",
              [Curve("all training digits", seen_so_far, values[:, unit], role="inference")],
              "batches seen before eval()", f"{name.lower()} of x̂", level=level)
        for name, values, level in (("Mean", found.mean, 0.0), ("Variance", found.variance, trained))
    ]  # fmt: skip
    early, late = (decimals(found.variance[at, unit]) for at in (10, -1))
    alt = (
        f"Mean and variance of the evaluated output by the number of batches seen: variance {early} after 10, {late} "
        f"after {BATCHES}; with the digits' own statistics it would be {decimals(trained)} in the end."
    )
    plot(panels_figure(panels, 2, theme), "effect", alt, "25rem")
    st.markdown(
        "The running statistics start at mean 0 and variance 1. In evaluation the output has variance "
        f"**{early}** after 10 batches and **{late}** after {BATCHES}. With the digits' own statistics it would be "
        f"σ²/(σ²+ε) = **{decimals(trained)}**. The smaller the share of a new batch, the longer the start lasts."
    )


def eval_forgotten(view: View, statistics: Moments, theme: str) -> None:
    """A test batch of one class, with running statistics and with its own."""
    unit = view["unit"] - 1
    found = effects.one_class_at_a_time(setting_of(view), statistics, view["eps"])
    classes = range(len(found["eval"]))
    curves = [
        Curve("eval: running statistics", classes, found["eval"][:, unit], measured=True, role="inference"),
        Curve("train: the batch's own", classes, found["train"][:, unit], measured=True, role="training"),
    ]
    title = f"Mean output x̂ of unit {view['unit']} on a batch of one class"
    panel = Panel(title, curves, "class of the batch", "mean of x̂")
    apart, own = decimals(np.ptp(found["eval"][:, unit])), measured(np.abs(found["train"][:, unit]).max(), 3, 1e-12)
    alt = f"Mean output of each class: {apart} apart with running statistics, at most {own} with the batch's own."
    plot(panels_figure([panel], 1, theme), "effect", alt, "25rem")
    st.markdown(
        f"Each test batch holds one class. With running statistics the mean outputs of the classes differ by "
        f"**{apart}**, and a classifier can use that. With the batch's own statistics every class has mean 0 (largest: "
        f"**{own}**)."
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
                Curve("eval: running statistics", x, getattr(found.frozen, name)[:, unit], role="inference"),
                Curve("train: the batch's own", x, getattr(found.batch, name)[:, unit], role="training"),
            ]
            log += "y" if name == "variance" else ""
            panels.append(Panel(f"Output {name}", curves, axis, "" if "+" in axis else f"{name} of x̂", log=log))
    alt = "Mean and variance of the output over a change of contrast and of brightness of the test pictures."
    plot(panels_figure(panels, 2, theme, one_scale=True), "effect", alt, "36rem")
    plain, doubled = (contrast.frozen.variance[SCALES.index(scale), unit] for scale in (1.0, 2.0))
    least, most = (decimals(how(contrast.batch.variance[:, unit])) for how in (np.min, np.max))
    brighter = brightness.frozen.mean[OFFSETS.index(1.0), unit] - brightness.frozen.mean[OFFSETS.index(0.0), unit]
    st.markdown(
        f"With running statistics, test pictures of twice the contrast have output variance **{decimals(doubled)}** "
        f"instead of **{decimals(plain)}**. Brightness +1 moves the mean by **{decimals(brighter)}**: the sum of the "
        "unit's weights over √(running variance + ε). With the batch's own statistics the mean is 0 at every "
        "brightness. Where ε is small compared with σ², the contrast is removed: over all these contrasts the variance "
        f"is **{least}** to **{most}**."
    )
