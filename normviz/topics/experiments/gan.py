"""GAN: how many modes of a ring of Gaussians a generator covers, by the normalization of its discriminator."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.settings import integer, real
from normviz.core.text import capitalize_first, typeset
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
    declare_schemes,
    describe_hidden_layers,
)
from normviz.topics.experiments.gan_jobs import (
    BATCH,
    LEARNING_RATES,
    LEAST,
    MODES,
    NEAR_SIGMAS,
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

CLAIMED = ("none", "spectral")
"""The schemes that the claim compares."""

SPECTRAL_EFFECTS = {1: "spectral norm covers more", 0: "no difference is clear", -1: "spectral norm covers fewer"}
"""Effects of spectral norm in words, by the sign of the difference in covered modes."""

PICTURE_REACH, SIGN_DISTANCE = 1.38 * RADIUS, 1.25 * RADIUS
"""Half the side of a picture of generated points, and the distance of a sign at a covered mode from the origin."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the GAN and its training."""

    layer: ClassVar[tuple[int, int]] = (BATCH, WIDTH)

    schemes: tuple[str, ...] = declare_schemes(CLAIMED)
    ahead: int = integer(
        3, 1, 6, label="Steps of the discriminator", help="For each of the generator; compared with 1."
    )
    steps: int = integer(2000, 20, 4000, label="Steps", stops=(200, 500, 1000, 2000, 4000), control="stops")
    deviation: float = real(0.1, 0.02, 0.1, label="σ of each Gaussian", symbol="σ", stops=(0.02, 0.05, 0.1))
    scale: float = real(
        1.0, 1.0, 10.0, label="Scale of the points", stops=(1.0, 2.0, 5.0, 10.0),
        help="Factor of all points that the discriminator reads. Spectral norm bounds its slope by 1.",
    )  # fmt: skip

    @property
    def discriminator_steps(self) -> tuple[int, ...]:
        """The compared numbers of discriminator steps per step of the generator, each once."""
        return tuple(dict.fromkeys((self.ahead, 1)))

    @property
    def pictured(self) -> list[int]:
        """The positions of two schemes whose points are drawn: those of the claim, or else the first ones."""
        return sorted(sorted(range(len(self.rows)), key=lambda k: self.rows[k].key not in CLAIMED)[:2])


def list_jobs(setting: Setting) -> list[GanGrid]:
    """Return a job for every pair of a scheme and a number of discriminator steps, the larger number first."""
    return [GanGrid.of(setting, row=row, ahead=ahead) for ahead in setting.discriminator_steps for row in setting.rows]


class Outcome(GridOutcome):
    """The result of a `GanGrid`: covered modes and shares of samples near modes."""

    @property
    def best_rate_index(self) -> int:
        """The position of the learning rate that covers most modes, counted on validation samples."""
        return choose_learning_rate(1 - count_covered_modes(self.result["validation"][-1]) / MODES)

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
        """The number of covered modes at the end at the best rate, shape (seeds,)."""
        return self.covered_modes[-1, self.best_rate_index]

    @property
    def final_share_near_modes(self) -> np.ndarray:
        """The share of samples near any mode at the end at the best rate, shape (seeds,)."""
        return self.share_near_modes[-1, self.best_rate_index]

    @property
    def median_network(self) -> int:
        """The position of the network that covers the median number of modes, the lower one of two."""
        return int(np.argsort(self.final_covered_modes, kind="stable")[(len(self.final_covered_modes) - 1) // 2])

    @property
    def covered_modes_text(self) -> str:
        """The mean number of covered modes over the seeds with its interval: "6.3 ± 1.1"."""
        return format_mean(self.final_covered_modes, 1)


Outcomes = Mapping[tuple[int, int], Outcome]
"""Outcomes by the steps of the discriminator and the position of the scheme."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report: generated points, and covered modes by network and by step."""
    jobs = dict(zip(product(setting.discriminator_steps, range(len(setting.rows))), list_jobs(setting), strict=True))
    begun, ended = find_outcomes(
        jobs, results, lambda place, result: Outcome.of(setting, LEARNING_RATES, place[1], result)
    )
    compared = _compare_with_spectral(setting, ended)
    figures = [
        _draw_final_modes(setting, ahead, outcomes, compared.get(ahead))
        for ahead, outcomes in _group_by_steps_ahead(ended).items()
    ]
    figures += [_draw_modes_by_step(begun)] if begun else []
    headline, verdict = _format_headline(setting, begun, ended, compared), _judge_claim(setting, compared)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended))


def _tabulate_results(setting: Setting, ended_outcomes: Outcomes) -> dict[str, list[Any]]:
    return tabulate([
        {
            "scheme": setting.rows[k].key, "steps of the discriminator": ahead, "learning rate": rate,
            "best rate": r == each.best_rate_index, "seed": seed,
            "modes covered": float(each.covered_modes[-1, r, s]),
            "share near a mode": float(each.share_near_modes[-1, r, s]),
        }
        for (ahead, k), each in ended_outcomes.items()
        for r, rate in enumerate(LEARNING_RATES)
        for s, seed in enumerate(setting.networks)
    ])  # fmt: skip


def _format_steps_ahead(ahead: int) -> str:
    return f"{ahead} discriminator step{'s' * (ahead > 1)}"


def _group_by_steps_ahead(outcomes: Outcomes) -> dict[int, dict[int, Outcome]]:
    return {ahead: {k: each for (side, k), each in outcomes.items() if side == ahead} for ahead, _ in outcomes}


def _draw_final_modes(
    setting: Setting, ahead: int, outcomes: Mapping[int, Outcome], compared: "Comparison | None"
) -> FigureSpec:
    """Return a figure of the end with `ahead` discriminator steps: points of two networks, and all covered modes.

    With other steps than the setting's, the caption says whether spectral norm helps.
    """
    curves: list[Curve] = []
    for place, each in enumerate(outcomes.values()):
        counts = each.final_covered_modes
        curves += make_network_points(place, len(outcomes), counts, each.style, counts.mean())
    names = [f"{each.label}<br>mean {_format_final_mean(each)}" for each in outcomes.values()]
    said = "; ".join(f"{each.name} {each.covered_modes_text} at {typeset(each.rate)}" for each in outcomes.values())
    return FigureSpec(
        f"modes {ahead}", [
            *(_draw_median_network(setting, outcomes[k]) for k in setting.pictured if k in outcomes),
            CurvePanel(
                f"{setting.seeds} GANs of each kind", curves, "", "modes covered", span=(-0.5, MODES + 0.5),
                marks=range(len(names)), names=names,
            ),
        ],
        f"With {_format_steps_ahead(ahead)} per generator step, modes covered at the end, of {MODES}: {said}.",
        "Left, middle: a GAN with the median number of covered modes. Right: each mark is one GAN, lines are means."
        + (f" With {_format_steps_ahead(ahead)}, {SPECTRAL_EFFECTS[compared[-1]]}." * (ahead != setting.ahead)
        if compared else ""), 3,
    )  # fmt: skip


def _draw_median_network(setting: Setting, outcome: Outcome) -> CurvePanel:
    """Return a panel of the points of an outcome's median network, as far as they are in the picture, over the modes.

    A sign is at every covered mode.
    """
    place = outcome.best_rate_index, outcome.median_network
    is_covered = outcome.result["near"][-1][place] >= LEAST
    points = outcome.result["points"][place]
    x, y = points[(np.abs(points) < PICTURE_REACH).all(-1)].T
    signs_x, signs_y = SIGN_DISTANCE / RADIUS * compute_mode_centres()[is_covered].T
    curves = [
        _make_mode_circles(setting.deviation),
        Curve("", x, y, outcome.style, is_scatter=True, size=4),
        Curve("", signs_x, signs_y, -1, is_scatter=True, size=0, texts=["✓"] * len(signs_x), text_side="middle center"),
    ]
    return CurvePanel(
        f"{capitalize_first(outcome.label)}: {is_covered.sum()} of {MODES} modes", curves, square=PICTURE_REACH
    )


def _draw_modes_by_step(begun_outcomes: Outcomes) -> FigureSpec:
    groups = _group_by_steps_ahead(begun_outcomes)
    panels = [
        CurvePanel(
            f"{_format_steps_ahead(ahead)} per generator step",
            make_outcome_curves(
                outcomes.values(),
                lambda each: each.covered_modes[:, each.best_rate_index],
                scale=lambda counts: np.clip(counts, 0, MODES),
            ),
            "step of the generator", f"modes covered, of {MODES}", span=(-0.4, MODES + 0.4),
        )
        for ahead, outcomes in groups.items()
    ]  # fmt: skip
    said = "; ".join(
        f"with {_format_steps_ahead(ahead)}, {each.name} {each.covered_modes_text}"
        for ahead, outcomes in groups.items()
        for each in outcomes.values()
    )
    return FigureSpec(
        "curves", panels, f"Modes covered, of {MODES}, by step at the best rate of each scheme. At the end: {said}.",
        "Means over the seeds with 95% intervals.",
    )  # fmt: skip


def _make_mode_circles(deviation: float) -> Curve:
    """Return one curve with a circle around each mode, of radius `NEAR_SIGMAS` · `deviation`."""
    angles = np.append(np.linspace(0, 2 * np.pi, 25), np.nan)
    circle = NEAR_SIGMAS * deviation * np.stack([np.cos(angles), np.sin(angles)], 1)
    x, y = (compute_mode_centres()[:, None] + circle).reshape(-1, 2).T
    return Curve("", x, y, -1)


Comparison = tuple[Outcome, Outcome, MeanDifference, int]
"""Spectral norm, no normalization, their difference in covered modes and its sign."""


def _compare_with_spectral(setting: Setting, ended_outcomes: Outcomes) -> dict[int, Comparison]:
    """Return comparisons by discriminator steps; the dict is empty unless both schemes are chosen and trained."""
    places = {row.key: k for k, row in enumerate(setting.rows)}
    wanted = [(ahead, places.get(key, -1)) for ahead in setting.discriminator_steps for key in reversed(CLAIMED)]
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


def _format_headline(
    setting: Setting, begun_outcomes: Outcomes, ended_outcomes: Outcomes, compared: Mapping[int, Comparison]
) -> str:
    """Return the headline: whether spectral norm covers more modes at the setting's steps; else the covered modes."""
    if compared:
        one, other, _, sign = compared[setting.ahead]
        in_all = all(each > 0 for *_, each in compared.values())
        answer = {1: "Yes," if in_all else "Only", 0: "Undecided,", -1: "No,"}[sign]
        count = ("one", "two", "three", "four", "five", "six")[setting.ahead - 1]
        steps = f"{count} discriminator step{'s' * (setting.ahead > 1)}"
        modes = f"spectral norm covers {_format_final_mean(one)} modes, no norm {_format_final_mean(other)}"
        return f"{answer} with {steps}: {modes}."
    places = [(setting.ahead, k) for k in setting.pictured]
    if not all(place in ended_outcomes for place in places):
        return "Training has begun." if begun_outcomes else "Nothing is trained yet."
    first, *others = (ended_outcomes[place] for place in places)
    levels = [f"{first.name} covers {_format_final_mean(first)} modes"]
    levels += [f"{each.name} {_format_final_mean(each)}" for each in others]
    return capitalize_first(f"{', '.join(levels)}.")


def _format_final_mean(outcome: Outcome) -> str:
    return f"{outcome.final_covered_modes.mean():.3g}"


def _judge_claim(setting: Setting, compared: Mapping[int, Comparison]) -> Verdict:
    """Return the verdict on whether spectral norm covers more modes than no normalization at every number of steps."""
    if not {*CLAIMED} <= {row.key for row in setting.rows}:
        return Verdict("open", "The claim compares spectral norm with no normalization: choose both.")
    if not compared:
        return NOT_TRAINED
    says = []
    for ahead, (one, other, change, sign) in compared.items():
        difference = f"a difference of {change.text()}" if sign else "no clear difference"
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
        " ".join(
            [
                *(
                    f"With {ahead} step, {SPECTRAL_EFFECTS[sign]}: {_format_final_mean(one)} modes with "
                    f"spectral norm, {_format_final_mean(other)} without."
                    for ahead, (one, other, _, sign) in compared.items()
                    if ahead < setting.ahead and sign <= 0
                ),
                EXPERIMENT.why,
            ]
        ),
        extent=f"with {_format_steps_ahead(max((each for each in signs if signs[each] > 0), default=1))}",
    )


EXPERIMENT = Experiment.of("gan", Setting, list_jobs, report,
    lambda _: f"Points from {MODES} Gaussians on a ring; a generator and a discriminator, each with "
    f"{describe_hidden_layers((WIDTH, WIDTH))}.",
    lambda setting: f"A generator learns to deceive a discriminator, which takes {setting.ahead} training "
    f"step{'s' * (setting.ahead > 1)} per generator step. Real points form {MODES} clusters, the modes (circles). A "
    f"mode is covered (✓) if at least {LEAST:.0%} of all generated points lie in its circle; in a collapse, few are."
)  # fmt: skip
