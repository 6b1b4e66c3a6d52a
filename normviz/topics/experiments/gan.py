"""GAN: how many modes of a ring of Gaussians a generator covers, by the normalization of its discriminator."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.describe.seeds import (
    MeanDifference,
    choose_learning_rate,
    compare_seed_by_seed,
    find_clear_signs,
    format_mean,
    format_mean_percent,
)
from normviz.jobs.results import Results
from normviz.topics.experiments.experiment import (
    ComparisonSetting,
    Experiment,
    choose_headline_schemes,
    declare_schemes,
    describe_hidden_layers,
)
from normviz.topics.experiments.gan_jobs import (
    BATCH,
    FINAL_MEASUREMENTS,
    LEARNING_RATES,
    LEAST,
    MODES,
    MOST,
    NEAR_SIGMAS,
    POINTS,
    RADIUS,
    WIDTH,
    GanGrid,
    compute_mode_centres,
    count_covered_modes,
)
from normviz.topics.experiments.grid_outcome import GridOutcome, find_outcomes, make_outcome_curves
from normviz.topics.experiments.reports import (
    NOT_TRAINED,
    FigureSpec,
    Report,
    Verdict,
    judge_signs,
    make_network_points,
    tabulate,
)

NUMBER_WORDS = ("one", "two", "three", "four", "five", "six")
"""The numbers of discriminator steps in words."""

SHOWN_SHARES = (0.25, 0.5, 1.0)
"""Shares of the training at which the points are shown."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the GAN and its training."""

    layer: ClassVar[tuple[int, int]] = (BATCH, WIDTH)

    schemes: tuple[str, ...] = declare_schemes(("none", "spectral"))
    ahead: int = integer(
        3, 1, 6, label="Steps of the discriminator", help="For each of the generator; compared with 1."
    )
    steps: int = integer(1000, 20, 2000, label="Steps", stops=(200, 500, 1000, 1500, 2000), control="stops")
    deviation: float = real(0.1, 0.02, 0.1, label="σ of each Gaussian", symbol="σ", stops=(0.02, 0.05, 0.1))
    scale: float = real(
        1.0, 1.0, 10.0, label="Scale of the points", stops=(1.0, 2.0, 5.0, 10.0),
        help="Factor of all points that the discriminator reads. Spectral norm bounds its slope by 1.",
    )  # fmt: skip

    @property
    def discriminator_steps(self) -> tuple[int, ...]:
        """The compared numbers of discriminator steps per step of the generator, each once."""
        return tuple(dict.fromkeys((self.ahead, 1)))


def list_jobs(setting: Setting) -> list[GanGrid]:
    """Return a job for every pair of a scheme and a number of discriminator steps, the larger number first."""
    return [GanGrid.of(setting, row=row, ahead=ahead) for ahead in setting.discriminator_steps for row in setting.rows]


class Outcome(GridOutcome):
    """The result of a `GanGrid`: covered modes and shares of samples near modes."""

    @property
    def best_rate_index(self) -> int:
        """The position of the learning rate that covers most modes, counted on validation samples."""
        return choose_learning_rate(
            1 - count_covered_modes(self.result["validation"][-FINAL_MEASUREMENTS:]).mean(0) / MODES
        )

    @property
    def covered_modes(self) -> np.ndarray:
        """The numbers of covered modes, shape (measured steps, rates, seeds)."""
        return count_covered_modes(self.result["near"])

    @property
    def share_near_modes(self) -> np.ndarray:
        """The share of samples that are near any mode, shape (measured steps, rates, seeds)."""
        return self.result["near"].sum(-1)

    @property
    def final_covered_modes(self) -> np.ndarray:
        """The mean number of covered modes in the last measurements at the best rate, shape (seeds,)."""
        return self.covered_modes[-FINAL_MEASUREMENTS:, self.best_rate_index].mean(0)

    @property
    def final_share_near_modes(self) -> np.ndarray:
        """The mean share of samples near any mode in the last measurements at the best rate, shape (seeds,)."""
        return self.share_near_modes[-FINAL_MEASUREMENTS:, self.best_rate_index].mean(0)

    @property
    def covered_modes_text(self) -> str:
        """The mean number of covered modes over the seeds with its interval: "6.3 ± 1.1"."""
        return format_mean(self.final_covered_modes, 1)


Outcomes = Mapping[tuple[int, int], Outcome]
"""Outcomes by the steps of the discriminator and the position of the scheme."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: covered modes by step, and pictures of generated points."""
    jobs = dict(zip(product(setting.discriminator_steps, range(len(setting.rows))), list_jobs(setting), strict=True))
    begun, ended = find_outcomes(
        jobs, results, lambda place, result: Outcome.of(setting, LEARNING_RATES, place[1], result)
    )
    figures = [_draw_final_modes(ended)] if ended else []
    figures += [_draw_modes_by_step(begun), _draw_generated_points(setting, begun)] if begun else []
    headline, verdict = _format_headline(setting, begun, ended), _judge_claim(setting, ended)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended))


def _tabulate_results(setting: Setting, ended_outcomes: Outcomes) -> dict[str, list[Any]]:
    return tabulate([
        {
            "scheme": setting.rows[k].key, "steps of the discriminator": ahead, "learning rate": rate,
            "best rate": r == each.best_rate_index, "seed": seed,
            "modes covered": float(each.covered_modes[-FINAL_MEASUREMENTS:, r, s].mean()),
            "share near a mode": float(each.share_near_modes[-FINAL_MEASUREMENTS:, r, s].mean()),
        }
        for (ahead, k), each in ended_outcomes.items()
        for r, rate in enumerate(LEARNING_RATES)
        for s, seed in enumerate(setting.networks)
    ])  # fmt: skip


def _format_steps_ahead(ahead: int) -> str:
    return f"{ahead} discriminator step{'s' * (ahead > 1)}"


def _format_covered_modes(outcomes: Outcomes) -> str:
    """Format each outcome's covered modes: "with 1 step of the discriminator, spectral norm 6.3 ± 1.1 at 0.01; …"."""
    return "; ".join(
        f"with {_format_steps_ahead(ahead)}, {each.name} {each.covered_modes_text} at {typeset(each.rate)}"
        for (ahead, _), each in outcomes.items()
    )


def _group_by_steps_ahead(outcomes: Outcomes) -> dict[int, list[Outcome]]:
    return {ahead: [each for (side, _), each in outcomes.items() if side == ahead] for ahead, _ in outcomes}


def _draw_final_modes(ended_outcomes: Outcomes) -> FigureSpec:
    """Return a figure of the covered modes at the end: a point for each network, and their mean."""
    panels = []
    for ahead, outcomes in _group_by_steps_ahead(ended_outcomes).items():
        curves = [
            curve
            for k, each in enumerate(outcomes)
            for curve in make_network_points(
                k, len(outcomes), each.final_covered_modes, each.style, each.final_covered_modes.mean()
            )
        ]
        title = f"{_format_steps_ahead(ahead)} per generator step"
        names = [f"{each.label}: {each.final_covered_modes.mean():.1f}" for each in outcomes]
        panels.append(
            CurvePanel(
                title, curves, "", f"modes covered, of {MODES}", span=(-0.4, MODES + 0.4),
                marks=range(len(names)), names=names,
            )
        )  # fmt: skip
    return FigureSpec(
        "final", panels, f"Modes covered at the end, of {MODES}: {_format_covered_modes(ended_outcomes)}.",
        f"Points: each network’s mean of the last {FINAL_MEASUREMENTS} counts; lines: means. If {1 - MOST:.0%} of its "
        "samples are near no mode, it covers none.",
    )  # fmt: skip


def _draw_modes_by_step(begun_outcomes: Outcomes) -> FigureSpec:
    panels = [
        CurvePanel(
            f"{_format_steps_ahead(ahead)} per generator step",
            make_outcome_curves(
                outcomes,
                lambda each: each.covered_modes[:, each.best_rate_index],
                scale=lambda counts: np.clip(counts, 0, MODES),
            ),
            "step of the generator", f"modes covered, of {MODES}", span=(-0.4, MODES + 0.4),
        )
        for ahead, outcomes in _group_by_steps_ahead(begun_outcomes).items()
    ]  # fmt: skip
    return FigureSpec(
        "curves", panels, f"Modes covered, of {MODES}, by step at the best rate of each scheme. At the end: "
        f"{_format_covered_modes(begun_outcomes)}.",
        f"Means over the seeds with 95% intervals. A mode is covered if {LEAST / MODES:.1%} of the samples are within "
        f"{NEAR_SIGMAS:g} σ of it and more than {MOST:.0%} are near some mode: a smeared ring covers none.",
    )  # fmt: skip


def _draw_generated_points(setting: Setting, begun_outcomes: Outcomes) -> FigureSpec:
    """Return a figure of the first seed's generated points at several steps, at each scheme's best learning rate."""
    ring = _make_mode_circles(setting.deviation)
    panels, words = [], []
    for k, label in enumerate(setting.labels):
        each = begun_outcomes.get((setting.ahead, k))
        if each is None:
            continue
        measured = each.result["measured"]
        for share in SHOWN_SHARES:
            at = int(np.abs(measured - share * setting.steps).argmin())
            if measured[at] < share * setting.steps - setting.steps / POINTS:
                continue  # not trained so far yet
            x, y = each.result["points"][at, each.best_rate_index].T
            cloud = Curve(label, x, y, setting.styles[k], is_scatter=True, size=4)
            panels.append(CurvePanel(f"{label}, step {measured[at]}", [ring, cloud], square=1.6 * RADIUS))
            words.append(f"{label}, step {measured[at]}: {each.covered_modes[at, each.best_rate_index, 0]} modes")
    return FigureSpec(
        "points", panels or [CurvePanel("", [ring], square=1.6 * RADIUS)],
        f"Points of the generator of seed {setting.seed}, {_format_steps_ahead(setting.ahead)} for each of its own. "
        f"{'; '.join(words) or 'None yet'}.",
        f"Circles are {NEAR_SIGMAS:g} σ around the centres of the data. Seed {setting.seed}, "
        f"{_format_steps_ahead(setting.ahead)}, at the best learning rate of each scheme.",
        len(SHOWN_SHARES),
    )  # fmt: skip


def _make_mode_circles(deviation: float) -> Curve:
    """Return one curve with a circle around each mode, of radius `NEAR_SIGMAS` · `deviation`."""
    angles = np.append(np.linspace(0, 2 * np.pi, 25), np.nan)
    circle = NEAR_SIGMAS * deviation * np.stack([np.cos(angles), np.sin(angles)], 1)
    x, y = (compute_mode_centres()[:, None] + circle).reshape(-1, 2).T
    return Curve("a mode of the data", x, y, -1)


def _compare_with_spectral(
    setting: Setting, ended_outcomes: Outcomes
) -> dict[int, tuple[Outcome, Outcome, MeanDifference, int]]:
    """Return spectral norm, no normalization, their difference in covered modes and its sign, by discriminator steps.

    The dict is empty unless both are chosen and trained.
    """
    places = {row.key: k for k, row in enumerate(setting.rows)}
    wanted = [(ahead, places.get(key, -1)) for ahead in setting.discriminator_steps for key in ("spectral", "none")]
    if not all(each in ended_outcomes for each in wanted):
        return {}
    found = [ended_outcomes[each] for each in wanted]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    changes = [compare_seed_by_seed(one.final_covered_modes, other.final_covered_modes) for one, other in pairs]
    signs = find_clear_signs(changes)
    return {
        ahead: (*pair, change, sign)
        for ahead, pair, change, sign in zip(setting.discriminator_steps, pairs, changes, signs, strict=True)
    }


def _format_headline(setting: Setting, begun_outcomes: Outcomes, ended_outcomes: Outcomes) -> str:
    """Return the headline: the covered modes of two schemes; with 1 discriminator step, which of them covers more."""
    compared = _compare_with_spectral(setting, ended_outcomes)
    if compared:
        (one, other, *_), *rest = compared.values()
        start = f"With {NUMBER_WORDS[setting.ahead - 1]} step{'s' * (setting.ahead > 1)} spectral norm covers"
        changes = ["more" if sign > 0 else "fewer" if change.mean < 0 else "unclear" for *_, change, sign in rest]
        end = "".join(f"; with one, {each}" for each in changes)
        return f"{start} {_format_final_mean(one)} modes instead of {_format_final_mean(other)}{end}."
    places = [(setting.ahead, k) for k in choose_headline_schemes(setting.rows, 2)]
    if not all(place in ended_outcomes for place in places):
        return "Training has begun." if begun_outcomes else "Nothing is trained yet."
    first, *others = (ended_outcomes[place] for place in places)
    levels = [f"{first.name} covers {_format_final_mean(first)} modes"]
    levels += [f"{each.name} {_format_final_mean(each)}" for each in others]
    return capitalize_first(f"{', '.join(levels)}.")


def _format_final_mean(outcome: Outcome) -> str:
    return f"{outcome.final_covered_modes.mean():.1f}"


def _judge_claim(setting: Setting, ended_outcomes: Outcomes) -> Verdict:
    """Return the verdict on whether spectral norm covers more modes than no normalization at every number of steps."""
    if not {"none", "spectral"} <= {row.key for row in setting.rows}:
        return Verdict("open", "The claim compares spectral norm with no normalization: choose both.")
    compared = _compare_with_spectral(setting, ended_outcomes)
    if not compared:
        return NOT_TRAINED
    says, reasons = [], []
    for ahead, (one, other, change, sign) in compared.items():
        difference = f"a difference of {change.text()}" if sign else "no clear difference"
        if sign <= 0:
            levels = f"{_format_final_mean(one)} modes on average instead of {_format_final_mean(other)}"
            counts = one.final_covered_modes
            spread = "" if sign else f", with a large spread from {counts.min():.0f} to {counts.max():.0f}"
            failed = np.sum(counts < 0.5)
            none = f": {failed} of {setting.seeds} networks cover none" if failed else ""
            reasons.append(f"With {ahead}, spectral norm covers {levels}{spread}{none}.")
        says.append(
            f"With {_format_steps_ahead(ahead)} for each of the generator, samples cover {one.covered_modes_text} of "
            f"{MODES} modes with spectral norm and {other.covered_modes_text} without normalization ({difference}); "
            f"{format_mean_percent(one.final_share_near_modes)} and "
            f"{format_mean_percent(other.final_share_near_modes)} of them are near a mode."
        )
    signs = {ahead: sign for ahead, (*_, sign) in compared.items()}
    return Verdict(
        judge_signs([*signs.values()]),
        " ".join(says),
        f"Points in a plane, {setting.steps} steps of the generator, each scheme at the rate that covers most modes "
        f"with other samples. Spectral norm bounds the slope of the discriminator by 1, so its logit differs by at "
        f"most {typeset(setting.scale * 2 * RADIUS * np.sin(np.pi / MODES), 2)} between neighbouring modes: points "
        "further apart, or more steps of the discriminator, help it.",
        " ".join([*reasons, EXPERIMENT.why]),
        extent=f"with {_format_steps_ahead(max((each for each in signs if signs[each] > 0), default=1))}",
    )


EXPERIMENT = Experiment.of("gan", Setting, list_jobs, report,
    lambda _: f"Points from {MODES} Gaussians on a ring; a generator and a discriminator, each with "
    f"{describe_hidden_layers((WIDTH, WIDTH))}.",
    lambda setting: f"A GAN’s generator imitates points of {MODES} clusters (modes); in a collapse it misses modes. "
    f"A discriminator, trained {join_words(setting.discriminator_steps)} step{'s' * (setting.ahead > 1)} per generator "
    "step, tells its points from real ones. A mode is covered if at least "
    f"{LEAST / MODES:.1%} of the generated points lie near it.")  # fmt: skip
