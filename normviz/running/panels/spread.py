"""Panels on how far a mini-batch's statistics are from the population's: their bias, and their scatter."""

import streamlit as st

from normviz.describe.wording import decimals
from normviz.running import effects
from normviz.running.figures import Curve, Panel, panels_figure
from normviz.running.state import setting_of
from normviz.running.stream import Setting
from normviz.ui.components.plot import plot
from normviz.ui.link import View

sampled = st.cache_data(max_entries=16, show_spinner=False)(effects.sampled)


def bias(view: View, theme: str) -> None:
    """E[σ²] of mini-batches against the population's variance, without and with m/(m-1)."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = sampled(setting.still)
    whole = found.population.variance[unit]
    curves = [
        Curve("E[σ²], measured", effects.SIZES, found.variance[:, unit] / whole, measured=True, role="training"),
        Curve("E[σ²], exact", effects.SIZES, found.expected[:, unit] / whole, role="ink"),
        Curve("m/(m−1) · E[σ²]", effects.SIZES, found.corrected[:, unit] / whole, measured=True),
    ]
    title = f"Variance of unit {view['unit']} over the population's"
    panel = Panel(title, curves, "batch size N", "E[σ²] / population's σ²", level=1.0, log="x", marked=here(setting))
    small = decimals(found.variance[0, unit] / whole)
    plot(panels_figure([panel], 1, theme), "effect", f"{title}: {small} at a batch of 2, towards 1 for large.", "25rem")
    text = (
        f"At N = {effects.SIZES[0]} the variance of a batch is on average **{small}** of the population's. Times "
        f"m/(m−1) it is **{decimals(found.corrected[0, unit] / whole)}** (measured over {effects.DRAWN:,} draws)."
    )
    if setting.side > 1:
        m = float(found.elements[0, 0])
        text += (
            f" Frameworks count m = N·H·W = {setting.side**2} N. But the positions of one digit are not independent. "
            f"At N = {effects.SIZES[0]} the right factor is **{whole / found.expected[0, unit]:.4f}**, and m/(m−1) is "
            f"**{m / (m - 1):.4f}**."
        )
    st.markdown(text)


def noise(view: View, theme: str) -> None:
    """How far a batch's mean, variance and standard deviation scatter, by batch size, measured and exact."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = sampled(setting.still)
    rows = {
        "μ": ("exact", found.mean_error, found.expected_error),
        "σ²": ("exact", found.variance_error, found.expected_variance_error),
        "σ": ("limit for large N", found.deviation_error, found.limit_deviation_error),
    }
    panels = [
        Panel(
            f"Scatter of {symbol}, unit {view['unit']}",
            [
                Curve("measured", effects.SIZES, measured[:, unit], measured=True, role="training"),
                Curve(name, effects.SIZES, curve[:, unit], role="ink"),
            ],
            "batch size N",
            f"standard deviation of {symbol}",
            log="xy",
            marked=here(setting),
        )
        for symbol, (name, measured, curve) in rows.items()
    ]
    alt = "Standard deviation of a batch's μ, σ² and σ over the batch size, measured and by formula, all falling."
    plot(panels_figure(panels, 3, theme), "effect", alt, "25rem")
    first, last = found.mean_error[0, unit], found.mean_error[-1, unit]
    ratio = effects.SIZES[-1] / effects.SIZES[0]
    text = (
        f"The standard deviation of μ falls from **{decimals(first)}** at N = {effects.SIZES[0]} to "
        f"**{decimals(last)}** at N = {effects.SIZES[-1]}. The factor is {first / last:.1f}, and "
        f"√{ratio:g} = {ratio**0.5:.1f}. "
    )
    st.markdown(text + _of_the_variance(found, setting, unit))
    if setting.side == 1:
        st.latex(
            r"\mathrm{Var}[\mu] = \frac{\sigma^2}{N} \qquad "
            r"\mathrm{Var}[\sigma^2_N] = \frac{(N-1)^2}{N^3}\,\sigma^4\left(\kappa - \frac{N-3}{N-1}\right)"
        )


def _of_the_variance(found: effects.Sampled, setting: Setting, unit: int) -> str:
    """What the scatter of σ² hangs on."""
    kurtosis = decimals(found.kurtosis[unit])
    if setting.side == 1:
        return (
            f"The standard deviation of σ² depends on the kurtosis κ = E[(x−μ)⁴]/σ⁴ of the digits. It is "
            f"**{kurtosis}** at this unit (3 for a normal distribution). The heavier the tails, the larger it is. "
            "For large batches, the one of σ is the one of σ² divided by 2σ."
        )
    return (
        "The standard deviation of σ² depends on how much digits differ in mean and variance, as the positions of one "
        f"digit are not independent. (The kurtosis of all positions is **{kurtosis}**.) For large batches, the one of "
        "σ is the one of σ² divided by 2σ."
    )


def here(setting: Setting) -> int | None:
    """The page's batch size, where it is in the picture: a single example is not."""
    return setting.batch if setting.batch >= effects.SIZES[0] else None
