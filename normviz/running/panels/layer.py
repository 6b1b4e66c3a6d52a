"""Panels on what a layer with batch norm is: folded into its weights, beside others, and dealt to devices."""

import numpy as np
import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.describe.wording import decimals, sentence
from normviz.running import effects
from normviz.running.figures import strips
from normviz.running.state import MOST_DEVICES, PREFIX, setting_of
from normviz.running.stream import BATCHES, Moments, affine, affine_parameters, batch_statistics, merge, stream
from normviz.ui.components.plot import plot
from normviz.ui.link import KEPT, View

among_others = st.cache_data(max_entries=16, show_spinner=False)(
    lambda setting, eps: effects.among_others(setting, eps=eps)
)


def folding(view: View, statistics: Moments) -> None:
    """Batch norm folded into the layer in front of it: a and b of every unit, and how equal the outputs are."""
    setting = setting_of(view)
    folded, residual = effects.folding(setting, statistics, view["eps"])
    gain, shift = affine_parameters(setting)
    factor, _ = affine(*statistics, view["eps"], gain, shift)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.latex(r"a = \frac{\gamma}{\sqrt{\sigma^2_\mathrm{run}+\varepsilon}} \qquad b = \beta - a\,\mu_\mathrm{run}")
        st.latex(
            r"y = \gamma\,\frac{Wx-\mu_\mathrm{run}}{\sqrt{\sigma^2_\mathrm{run}+\varepsilon}}+\beta = (aW)\,x + b"
        )
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
        f"At test time the statistics are constants, here those after {BATCHES} batches. Batch norm is then one "
        "multiplication and one addition per unit. Both can be folded into the weights, so it costs nothing."
    )


def beside_others(view: View, theme: str) -> None:
    """The output of one example in many mini-batches, by scheme."""
    setting, unit = setting_of(view), view["unit"] - 1
    found = {key: outputs[:, unit] for key, outputs in among_others(setting.still, view["eps"]).items()}
    spread = {key: float(np.ptp(outputs)) for key, outputs in found.items()}
    rows = {f"{SCHEMES[key].label}  <b>{decimals(spread[key])}</b>": outputs for key, outputs in found.items()}
    varying = [SCHEMES[key].name for key, width in spread.items() if width > 1e-9]
    alt = f"Output of one test digit in {effects.DRAWS} mini-batches, by scheme; varying: {', '.join(varying)}."
    axis = f"x̂ of one test digit at unit {view['unit']}, in {effects.DRAWS} batches of {setting.batch}"
    plot(strips(rows, axis, theme), "effect", alt, "27rem")
    for left in (scheme for scheme in effects.COMPARED if scheme.key not in found):
        groups = f"{left.parameters['groups']} groups do not divide N = {setting.batch}"
        st.caption(f"{sentence(left.name)} is left out: its {groups}.")
    if setting.batch == 1:
        st.markdown("Beside each name: largest minus smallest x̂. In batches of one there are no other examples.")
        return
    depends = f"With {' and '.join(varying)}, x̂ depends" if varying else "With no scheme x̂ depends"
    st.markdown(
        f"Beside each name: largest minus smallest x̂. {depends} on the other examples in the batch. The other schemes "
        "use this example alone."
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
            f"Largest difference, merged against whole: **{decimals(gap)}**. Merging the parts gives the statistics of "
            "the whole batch. The mean of the variances alone ignores the differences between the devices' means."
        )
