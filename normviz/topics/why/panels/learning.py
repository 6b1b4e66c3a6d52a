"""The panel "Learning": deep networks with and without batch norm, from eight seeds, and at every learning rate."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels
from normviz.core.text import typeset
from normviz.describe.seeds import SIGNIFICANCE_LEVEL, compare_seed_by_seed, estimate_band, format_mean_percent
from normviz.topics.why import state
from normviz.topics.why.controls import draw_retrain_button
from normviz.topics.why.figures import draw_test_accuracy
from normviz.topics.why.learning import KIND_NAMES, LEARNED_ACCURACY, STUDY, RateSweep, find_shipped_sweeps
from normviz.topics.why.network import BATCH, TEST_DIGITS, VALIDATION_DIGITS
from normviz.topics.why.saturation import MEASUREMENT_INTERVAL, RATES, STEPS, WIDTH, Setting
from normviz.ui.link import View
from normviz.web.components.plot import show_figure

PLAIN, NORMED = KIND_NAMES.values()


def show(view: View, theme: str) -> None:
    """Show the test accuracy of networks with and without batch norm by step, then at the end by learning rate."""
    setting = Setting(start=view["start"], rate=view["rate"], seed=view["seed"])
    runs, is_shipped = state.get_learning_results(setting)
    sweeps = find_shipped_sweeps(setting)
    ends = {name: run.accuracy[-1] for name, run in runs.items()}
    levels = {name: format_mean_percent(end) for name, end in ends.items()}
    plain, normed = (f"{ends[name].mean():.1%}" for name in (PLAIN, NORMED))
    st.markdown(f"### At this learning rate, test accuracy is {normed} with batch norm, {plain} without it.")
    steps = np.arange(0, STEPS + 1, MEASUREMENT_INTERVAL)
    for k, (column, (name, run)) in enumerate(zip(st.columns(2), runs.items(), strict=True)):
        with column:
            title = f"{name.capitalize()}: mean {levels[name]}"
            alt = f"Test accuracy by step, a line for each of {len(ends[name])} networks. At the end: {levels[name]}."
            figure = draw_test_accuracy(title, steps, 100 * run.accuracy, k, theme)
            key = "learning normalized" if k else "learning"
            show_figure(figure, key, f"{name.capitalize()}. {alt}", "min(22rem, 42vh)")
    if sweeps is not None:
        st.markdown(_describe_robustness(sweeps))
    draw_retrain_button()
    st.caption(_format_caption(setting, len(ends[PLAIN]), is_shipped))
    if sweeps is not None:
        _show_sweep(sweeps, theme)


def _describe_robustness(sweeps: Mapping[str, RateSweep]) -> str:
    """Describe in a sentence at how many learning rates the networks of all seeds learn, by kind of network."""
    plain, normed = sweeps[PLAIN].robust_count, sweeps[NORMED].robust_count
    only = f"at {'only ' * (plain < normed)}{plain}" if plain else "at none"
    counts = (
        f"all {STUDY.seeds} networks reach {LEARNED_ACCURACY:.0%} at {normed} of {len(RATES)} learning rates with "
        f"batch norm, {only} without it"
    )
    if normed > plain:
        return f"Training becomes robust: {counts}."
    return f"From first weights of this scale, batch norm makes training no more robust: {counts}."


def _format_caption(setting: Setting, seeds: int, is_shipped: bool) -> str:
    origin = "computed in advance by this code" if is_shipped else "trained just now"
    return (
        f"{seeds} networks of each kind ({origin}), from seeds {setting.seed} to {setting.seed + seeds - 1}: "
        f"{setting.depth} layers of {WIDTH} sigmoid units, {STEPS} mini-batches of {BATCH} digits, SGD. Both kinds "
        f"start from the same weights. Accuracy on {TEST_DIGITS} test digits; thick line: mean; ±: 95% interval "
        "over the seeds; dotted: guessing."
    )


def _show_sweep(sweeps: Mapping[str, RateSweep], theme: str) -> None:
    st.markdown("## At which learning rates do they learn?")
    best = {name: sweep.accuracy[sweep.best_rate_index] for name, sweep in sweeps.items()}
    levels = {name: format_mean_percent(accuracy) for name, accuracy in best.items()}
    st.markdown(f"### At the best rate of each: {levels[PLAIN]} without batch norm, {levels[NORMED]} with it.")
    lines = []
    for k, (name, sweep) in enumerate(sweeps.items()):
        mean, low, high = (np.clip(100 * each, 0, 100) for each in estimate_band(sweep.accuracy))
        lines.append(Curve(name, np.array(RATES), mean, k, low, high, has_markers=True))
    panel = CurvePanel("", lines, "learning rate", "test accuracy, %", "x", span=(0, 101), marks=RATES)
    told = "; ".join(
        f"{name} {', '.join(f'{100 * each:.0f}%' for each in sweep.accuracy.mean(1))}" for name, sweep in sweeps.items()
    )
    show_figure(
        draw_curve_panels([panel], theme),
        "rates",
        f"Test accuracy by learning rate, mean over the seeds: {told}.",
        "22rem",
    )
    rates = {name: typeset(RATES[sweep.best_rate_index]) for name, sweep in sweeps.items()}
    difference = compare_seed_by_seed(best[NORMED], best[PLAIN])
    best_rates = ", ".join(f"{rate} {name}" for name, rate in rates.items())
    clear = "a clear difference" if difference.p_value <= SIGNIFICANCE_LEVEL else "no clear difference"
    st.caption(
        f"Bars: 95% intervals over {STUDY.seeds} seeds. Best rates, chosen on {VALIDATION_DIGITS} validation digits: "
        f"{best_rates}. Their accuracies differ by {difference.text(100)} points, {clear} at 5%. A "
        f"network learns here if it reads at least {LEARNED_ACCURACY:.0%} of the test digits after {STEPS} steps; at "
        f"low rates, more steps help."
    )
