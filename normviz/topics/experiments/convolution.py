"""Convolutions: units at the border, and layer norm against batch norm with two paddings (Ba et al. 2016, §6.7)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel, encode_picture
from normviz.core.fields import Shape
from normviz.core.settings import choice, integer, number_choice
from normviz.data.digits import DIGIT_SIDE, DIGITS_DESCRIPTION
from normviz.jobs.results import Results
from normviz.topics.experiments.convolution_jobs import (
    LAYER_COUNT,
    LEARNING_RATES,
    ConvolutionGrid,
    compute_border_distances,
)
from normviz.topics.experiments.convolution_verdict import (
    RARE_SHARE,
    Outcome,
    Outcomes,
    compute_loss_excess,
    judge_border_activity,
    judge_paper_claims,
)
from normviz.topics.experiments.experiment import ComparisonSetting, Experiment
from normviz.topics.experiments.grid_outcome import find_outcomes, make_outcome_curves
from normviz.topics.experiments.reports import FigureSpec, Report, Verdict, format_percent, make_band_curve, tabulate

PADDINGS = {"constant": "Zero padding", "reflect": "Mirror padding"}
"""The two paddings that the experiment compares, by torch's names."""

QUESTION_OF_PADDING = (
    "Is the padding a reason? Filters at the border also read beyond the image’s edge, zeros in the figure above. "
    "Mirror padding puts the mirrored image there. If the zeros are a reason, this should narrow the gap."
)
"""The reason for training with two paddings."""

POINT_OFFSET = 0.1
"""Distance of points beside each other, as a share of the distance between two places on the x axis."""

ANSWERS = {1: "Yes", 0: "Undecided", -1: "Not here"}
"""First words of the headline by the result of `judge_border_activity`."""


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
    """Return a report: active units by distance from the border, and losses by padding and step."""
    begun, ended = {}, {}
    for padding in PADDINGS:
        jobs = {k: make_grid_job(setting, padding, k) for k in range(len(setting.rows))}
        begun[padding], ended[padding] = (
            {setting.rows[k].key: each for k, each in found.items()}
            for found in find_outcomes(jobs, results, partial(Outcome.of, setting, LEARNING_RATES))
        )
    budget = f"{setting.steps} steps of Adam on batches of {setting.batch}"
    verdict, verdicts = judge_paper_claims(ended, setting.schemes, budget)
    conclusion = verdicts["L09"].why if verdicts else ""
    figures = [
        *_draw_active_units(ended["constant"]),
        *_draw_gaps_by_padding(setting, ended, conclusion),
        *_draw_border_contrast(ended),
        *_draw_loss_curves(begun),
    ]
    headline = _format_headline(ended, verdict)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended), verdicts)


def _mask_nonfinite(values: np.ndarray) -> np.ndarray:
    """Return the values with NaN for infinite ones, so that diverged networks leave a gap in a curve."""
    return np.where(np.isfinite(values), values, np.nan)


def _make_scheme_curves(outcomes: Sequence[Outcome], values: Sequence[np.ndarray], is_scatter: bool) -> list[Curve]:
    """Return a curve for each outcome through the means over the seeds of its values (points, seeds).

    Points of different curves stand beside each other. Diverged networks leave gaps.
    """
    return [
        make_band_curve(
            each.label, np.arange(len(heights)) + POINT_OFFSET * (k - (len(outcomes) - 1) / 2),
            _mask_nonfinite(heights), each.style, has_markers=not is_scatter, is_scatter=is_scatter,
        )
        for k, (each, heights) in enumerate(zip(outcomes, values, strict=True))
    ]  # fmt: skip


def _draw_active_units(found: Mapping[str, Outcome]) -> Iterator[FigureSpec]:
    """Yield a figure of the share of units that are on, by distance from the border; none without layer norm."""
    if "layer" not in found:
        return
    shown = [found[key] for key in ("batch", "layer") if key in found]
    distances, away = range(DIGIT_SIDE // 2), compute_border_distances(DIGIT_SIDE)
    _, inside = found["layer"].average_border_and_inside("on")
    panel = CurvePanel(
        "Units that are on in the dark frames",
        _make_scheme_curves(shown, [100 * each.get_statistic("on").T for each in shown], is_scatter=False),
        "", "units that are on, %", span=(0, 100), levels=(100 * RARE_SHARE * float(inside.mean()),),
        level_names=("“rarely”: below half of inside",), marks=distances,
        names=["at the<br>border", *(f"{k} pixel{'s' * (k > 1)}<br>away" for k in distances[1:])],
        pictures=[encode_picture(np.where(away == k, 0.25, 0.95)) for k in distances],
    )  # fmt: skip
    said = "; ".join(
        f"{each.name} {format_percent(border.mean())} at the border and {format_percent(inside.mean())} inside"
        for each in shown
        for border, inside in [each.average_border_and_inside("on")]
    )
    yield FigureSpec(
        "active", [panel], f"Share of units that are on, with zero padding: {said}.",
        "Units of the last convolution, counted on test digits.",
    )  # fmt: skip


def _draw_gaps_by_padding(setting: Setting, ended_outcomes: Outcomes, conclusion: str) -> Iterator[FigureSpec]:
    """Yield a figure of layer norm's loss over batch norm's, by padding; none before both are trained.

    Its caption ends with the `conclusion`.
    """
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
        f"{QUESTION_OF_PADDING} {conclusion}{' ' * bool(conclusion)}Mean training loss over all {setting.steps} steps; "
        f"means of {setting.seeds} networks, bars: 95% intervals. Each norm has its best learning rate.",
    )  # fmt: skip


def _draw_border_contrast(ended_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the border's contrast by padding; none before a scheme is trained with both."""
    zeros, mirrored = ended_outcomes.values()
    both = [(zeros[key], mirrored[key]) for key in zeros if key in mirrored]
    if not both:
        return
    contrasts = [np.stack([each.border_contrast for each in pair]) for pair in both]
    points = _make_scheme_curves([pair[0] for pair in both], contrasts, is_scatter=True)
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


def _format_headline(ended_outcomes: Outcomes, verdict: Verdict) -> str:
    """Return the headline: are units at the border rarely on, and their share beside that of units inside."""
    layer = ended_outcomes["constant"].get("layer")
    if layer is None:
        return "Training has begun." if any(ended_outcomes.values()) else "Nothing is trained yet."
    if not np.isfinite(layer.mean_losses).all():
        return "Some networks of layer norm diverged at every rate."
    answer = ANSWERS[judge_border_activity(layer) if verdict.why else 0]
    border, inside = (f"{100 * share.mean():.0f}%" for share in layer.average_border_and_inside("on"))
    return f"{answer}: with layer norm, {border} of border units are on, {inside} inside."


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
    lambda _: "A unit is a filter’s output at one pixel. It is on where its ReLU gives more than 0. After training, we "
    "count the units that are on, at the border and inside. “Rarely” means here: less than half of the share inside."
)  # fmt: skip
