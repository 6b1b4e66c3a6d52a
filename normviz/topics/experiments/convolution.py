"""Convolutions: layer norm against batch norm, padded with zeros or mirrored pixels (Ba et al. 2016, §6.7)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.fields import Shape
from normviz.core.settings import choice, integer, number_choice
from normviz.data.digits import DIGIT_SIDE, DIGITS_DESCRIPTION
from normviz.jobs.results import Results
from normviz.topics.experiments.convolution_jobs import LAYER_COUNT, LEARNING_RATES, ConvolutionGrid
from normviz.topics.experiments.convolution_verdict import (
    EXPLANATIONS,
    Outcome,
    Outcomes,
    compare_paddings,
    compute_loss_excess,
    judge_border_explanation,
    judge_paper_claims,
)
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment
from normviz.topics.experiments.grid_outcome import find_outcomes, make_outcome_curves
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, format_percent, make_band_curve, tabulate

PADDINGS = {"constant": "Zero padding", "reflect": "Mirror padding"}
"""The two paddings that the experiment compares, by torch's names."""

POINT_OFFSET = 0.1
"""Distance of points beside each other, as a share of the distance between the paddings."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the comparison of normalizations in convolutional networks."""

    has_scheme_curves: ClassVar[bool] = False

    channels: int = number_choice(8, (4, 8), label="Channels")
    learned: str = choice(
        "channel", {"channel": "Each channel", "unit": "Each unit"}, label="γ and β of",
        help="Each unit is a channel at one position, as the paper's layer norm has them.",
    )  # fmt: skip
    batch: int = integer(32, 4, 64, label="Batch size N", stops=(4, 8, 16, 32, 64), control="stops")
    steps: int = integer(200, 20, 500, label="Steps", stops=(50, 100, 200, 300, 500), control="stops")

    @property
    def shape(self) -> Shape:
        """The shape (N, H, W, C) of the normalized layers."""
        return self.batch, DIGIT_SIDE, DIGIT_SIDE, self.channels


def make_grid_job(setting: Setting, padding: str, k: int) -> ConvolutionGrid:
    """Return the job that trains the scheme at position `k`; `padding` is a key of `PADDINGS`."""
    given = {"row": setting.rows[k], "rates": LEARNING_RATES, "per_unit": setting.learned == "unit"}
    return ConvolutionGrid.of(setting, **given, pad_mode=padding)


def list_jobs(setting: Setting) -> list[ConvolutionGrid]:
    """Return two jobs for every scheme, one for each padding."""
    return [make_grid_job(setting, padding, k) for padding in PADDINGS for k in range(len(setting.rows))]


def report(setting: Setting, results: Results) -> Report:
    """Return a report: losses by padding and step, and the statistics at the pictures' border."""
    begun, ended = {}, {}
    for padding in PADDINGS:
        jobs = {k: make_grid_job(setting, padding, k) for k in range(len(setting.rows))}
        begun[padding], ended[padding] = (
            {setting.rows[k].key: each for k, each in found.items()}
            for found in find_outcomes(jobs, results, partial(Outcome.of, setting, LEARNING_RATES))
        )
    figures = [
        *_draw_gaps_by_padding(setting, ended),
        *_draw_border_contrast(ended),
        *_draw_loss_curves(begun),
        *_draw_border_statistics(ended["constant"]),
    ]
    budget = f"{setting.steps} steps of Adam on batches of {setting.batch}"
    verdict, verdicts = judge_paper_claims(ended, setting.schemes, budget)
    headline = _format_headline(ended, verdict)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended), verdicts)


def _mask_nonfinite(values: np.ndarray) -> np.ndarray:
    """Return the values with NaN for infinite ones, so that diverged networks leave a gap in a curve."""
    return np.where(np.isfinite(values), values, np.nan)


def _make_scheme_curve(outcome: Outcome, x: Sequence[int], values: np.ndarray) -> Curve:
    """Return a curve through the means over the seeds of values (points, seeds), with gaps for diverged networks."""
    return make_band_curve(outcome.label, np.array(x), _mask_nonfinite(values), outcome.style, has_markers=True)


def _draw_gaps_by_padding(setting: Setting, ended_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of layer norm's loss over batch norm's, by padding; none before both are trained."""
    pairs = [*ended_outcomes.values()]
    if not all({"batch", "layer"} <= {*found} for found in pairs):
        return
    layer = pairs[0]["layer"]
    gaps = _mask_nonfinite(np.stack([100 * compute_loss_excess(found) for found in pairs]))
    points = make_band_curve("", np.arange(len(pairs)), gaps, layer.style, is_scatter=True)
    texts = [f"\u00a0{mean:+.0f}%".replace("-", "−") if np.isfinite(mean) else "" for mean in points.y]
    names = [
        "<br>".join([name, *(f"{found[key].label} {found[key].mean_losses.mean():.3f}" for key in ("batch", "layer"))])
        for name, found in zip(PADDINGS.values(), pairs, strict=True)
    ]
    panel = CurvePanel(
        "Layer norm’s gap in training loss", [replace(points, texts=texts)], "", "above batch norm’s loss, %",
        levels=(0,), level_names=("batch norm’s loss",), marks=range(len(names)), names=names,
    )  # fmt: skip
    said = "; ".join(f"{name}, gap{text or ' –'}" for name, text in zip(names, texts, strict=True))
    yield FigureSpec(
        "padding", [panel], "Mean training loss. " + re.sub(" (nan|inf)", " –", said.replace("<br>", ", ")) + ".",
        f"Mean training loss over all {setting.steps} steps; means of {setting.seeds} networks, bars: 95% intervals. "
        "Each norm has its best learning rate.",
    )  # fmt: skip


def _draw_border_contrast(ended_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the border's contrast by padding; none before a scheme is trained with both."""
    zeros, mirrored = ended_outcomes.values()
    keys = [key for key in zeros if key in mirrored]
    if not keys:
        return
    points = [
        make_band_curve(
            zeros[key].label, np.arange(len(PADDINGS)) + POINT_OFFSET * (k - (len(keys) - 1) / 2),
            _mask_nonfinite(np.stack([zeros[key].border_contrast, mirrored[key].border_contrast])),
            zeros[key].style, is_scatter=True,
        )
        for k, key in enumerate(keys)
    ]  # fmt: skip
    panel = CurvePanel(
        "How much units vary: border against inside", points, "", "σ at border / σ inside", marks=range(len(PADDINGS)),
        names=[*PADDINGS.values()], levels=(1,), level_names=("as inside",),
    )  # fmt: skip
    said = "; ".join(f"{each.name} {' and '.join(f'{y:.2f}' for y in each.y)}" for each in points)
    yield FigureSpec(
        "contrast", [panel], f"σ at the border over σ inside, with zero padding and with mirror padding: {said}.",
        "Means with 95% intervals. σ: standard deviation of the last convolutional layer’s units.",
    )  # fmt: skip


def _draw_loss_curves(begun_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the training loss by step, at each scheme's best learning rate; none before training begins."""
    if not any(begun_outcomes.values()):
        return
    panels = [
        CurvePanel(
            PADDINGS[padding],
            make_outcome_curves(found.values(), lambda each: _mask_nonfinite(each.get_at_best_rate("losses"))),
            "step", "training loss", "y",
        )
        for padding, found in begun_outcomes.items()
        if found
    ]  # fmt: skip
    yield FigureSpec(
        "curves", panels, "Training loss by step at the best learning rate of each scheme, with both paddings.",
        "Each point is the mean since the point before.",
    )  # fmt: skip


def _draw_border_statistics(found: Mapping[str, Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the last layer's statistics by distance from the border; none without outcomes."""
    if not found:
        return
    distances = range(DIGIT_SIDE // 2)
    panels = [
        CurvePanel(
            title,
            [_make_scheme_curve(each, distances, factor * each.get_statistic(name).T) for each in found.values()],
            "distance from the border", axis, marks=distances,
        )
        for name, title, axis, factor in (
            ("on", "How often units are turned on", "% of the digits", 100),
            ("deviation", "How much pre-activations vary", "standard deviation σ", 1),
        )
    ]  # fmt: skip
    said = "; ".join(
        f"{each.name} {format_percent(border.mean())} at the border and {format_percent(inside.mean())} inside"
        for each in found.values()
        for border, inside in [each.average_border_and_inside("on")]
    )
    yield FigureSpec(
        "borders", panels, f"Units of the last layer by their distance from the border. Turned on: {said}.",
        "With zero padding. Means over channels and positions, on test digits after training.",
    )  # fmt: skip


def _format_headline(ended_outcomes: Outcomes, verdict: Verdict) -> str:
    """Return the headline: is the border the reason, and layer norm's training loss above batch norm's."""
    pairs = [found for found in ended_outcomes.values() if "layer" in found and "batch" in found]
    if len(pairs) < len(PADDINGS):
        return "Training has begun." if any(ended_outcomes.values()) else "Nothing is trained yet."
    padded, mirrored = (float(compute_loss_excess(found).mean()) for found in pairs)
    if not np.isfinite([padded, mirrored]).all():
        return "Some networks of layer norm or batch norm diverged at every rate."
    reason = judge_border_explanation(compare_paddings(ended_outcomes)) if verdict.why else "undecided"
    first, second = (f"{round(100 * gap)}%".replace("-", "−") for gap in (padded, mirrored))
    return f"{EXPLANATIONS[reason].answer}: layer norm’s gap is {first} with zeros, {second} with mirror padding."


def _tabulate_results(setting: Setting, ended_outcomes: Outcomes) -> dict[str, list[Any]]:
    rows = [
        {
            "padding": padding, "scheme": key, "learning rate": LEARNING_RATES[each.best_rate_index], "seed": seed,
            "mean training loss": float(each.mean_losses[n]), "test error": float(each.test_errors[n]),
            **{
                f"{what}, {where}": float(each.average_border_and_inside(name)[side][n])
                for name, what in (("on", "turned on"), ("deviation", "standard deviation"))
                for side, where in enumerate(("border", "inside"))
            },
            **{
                f"mean training loss at {rate}": float(losses[n])
                for rate, losses in zip(LEARNING_RATES, each.losses_by_rate, strict=True)
            },
        }
        for padding, found in ended_outcomes.items()
        for key, each in found.items()
        for n, seed in enumerate(setting.networks)
    ]  # fmt: skip
    return tabulate(rows)


EXPERIMENT = Experiment.of("convolution", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {LAYER_COUNT} layers of {setting.channels} filters of 3 × 3 pixels.",
    lambda _: "Filters at the border also read zeros beyond the picture’s edge, which may make border units differ. "
    "Mirror padding puts the mirrored picture there instead. If the zeros are the reason, mirror padding should "
    "narrow the gap in training loss.")  # fmt: skip
