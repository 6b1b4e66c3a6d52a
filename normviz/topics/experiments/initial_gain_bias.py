"""Initial values of gain and bias: networks that start from every pair of them, with any scheme."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from normviz.charts.curves import CurvePanel
from normviz.core.settings import choice, integer
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.data.digits import DIGIT_CLASSES, DIGITS_DESCRIPTION
from normviz.describe.seeds import choose_learning_rate, compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment import (
    ComparisonSetting,
    Experiment,
    choose_styles,
    declare_schemes,
    describe_hidden_layers,
)
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.grid_outcome import MAX_LEARNED_ERROR
from normviz.topics.experiments.reports import (
    FigureSpec,
    HeatMap,
    Report,
    Verdict,
    VerdictKey,
    format_percent,
    make_band_curve,
    tabulate,
)
from normviz.topics.experiments.training_history import make_job_step
from normviz.train.cost import estimate_dense_seconds

FIRST_GAINS = (0.1, 0.3, 1.0, 3.0, 10.0)
FIRST_BIASES = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0)
"""Initial values of γ and β."""

USUAL_START = (1.0, 0.0)
"""The initial γ and β of every library."""

MOSTLY_OFF = "β ≤ −2γ"
"""Name of the part of the grid where γ x̂ + β is negative for x̂ below 2."""

REGIONS: dict[str, Callable[[float, float], bool]] = {
    MOSTLY_OFF: lambda gain, bias: bias <= -2 * gain,
    "γ < 1": lambda gain, _: gain < 1,
    "γ > 1": lambda gain, _: gain > 1,
    "β < 0": lambda _, bias: bias < 0,
    "β > 0": lambda _, bias: bias > 0,
}
"""Parts of the grid of pairs by their names in the headline: functions (γ, β) -> True inside."""

RATES_BY_OPTIMIZER = {"sgd": (0.03, 0.1, 0.3), "adam": (0.003, 0.01, 0.03)}
"""The learning rates of the grid, by the optimizer."""

LAYER_WIDTHS = (32, 32)
"""Units of the normalized layers."""

BATCH_SIZE = 32
"""Digits of a mini-batch."""

TEST_DIGITS = 450
"""Number of test digits, which bounds the resolution of errors."""

GUESSING_ERROR = 100 * (1 - 1 / DIGIT_CLASSES)
"""Test error of guessing the digit, in per cent, at the end of the colour scale."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the trainings from different initial γ and β."""

    layer: ClassVar[tuple[int, int]] = (BATCH_SIZE, LAYER_WIDTHS[0])

    schemes: tuple[str, ...] = declare_schemes(("layer",))
    optimizer: str = choice("adam", {"sgd": "SGD", "adam": "Adam"}, label="Optimizer")
    steps: int = integer(200, 20, 400, label="Steps", stops=(50, 100, 200, 400), control="stops")


@dataclass(frozen=True)
class InitialGainTraining(SchemeJob, kind="experiments/start", version=3):
    """Job that trains networks of one scheme from one initial γ and every initial β, at all learning rates and seeds.

    Its result holds "losses" (steps, biases, rates, seeds), and at the end "validation" and "test" errors (biases,
    rates, seeds).
    """

    gain: float
    biases: tuple[float, ...]
    rates: tuple[float, ...]
    optimizer: str

    @property
    def seconds(self) -> float:
        count = len(self.biases) * len(self.rates) * len(self.networks)
        return estimate_dense_seconds([self.row.scheme], count, LAYER_WIDTHS, BATCH_SIZE, self.length, 1)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import Dense, load_digit_parts
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches, to_numpy

        device, count = open_float32_device(self.device), len(self.rates)
        digits = load_digit_parts(device)
        x, labels = digits.train
        shape = (len(self.biases), count, len(self.networks))
        schemes = [self.row.scheme] * len(self.biases)
        network = Dense(schemes, self.networks * count, LAYER_WIDTHS, BATCH_SIZE, self.eps, device)
        for gains, biases in zip(network.gains, network.biases, strict=False):
            gains.fill_(self.gain)
            biases.copy_(biases.new_tensor(self.biases)[:, None, None, None].expand_as(biases))
        learner = Trainer(network.parameters, self.optimizer, np.repeat(self.rates, len(self.networks))[None])
        losses: list[np.ndarray] = []
        ended: Arrays = {}
        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, BATCH_SIZE), 1):
            same = chosen.repeat(count, 1)
            loss = cross_entropy(network.compute_logits(x[same]), labels[same])
            learner.step(loss)
            losses.append(to_numpy(loss).reshape(shape))
            if step == self.length:
                errors = network.measure_errors(x, BATCH_SIZE, (digits.validation, digits.test))
                ended["validation"], ended["test"] = (to_numpy(each).reshape(shape).astype(float) for each in errors)
            yield make_job_step(step / self.length, device, lambda: {"losses": losses, **ended})


def list_jobs(setting: Setting) -> list[InitialGainTraining]:
    """Return a job for every scheme and initial γ; γ nearest to 1 come first."""
    gains = sorted(FIRST_GAINS, key=lambda gain: abs(np.log(gain)))
    grid = {"biases": FIRST_BIASES, "rates": RATES_BY_OPTIMIZER[setting.optimizer]}
    return [InitialGainTraining.of(setting, row=row, gain=gain, **grid) for row in setting.rows for gain in gains]


ErrorsByStart = Mapping[tuple[float, float], np.ndarray]
"""Test errors by seed, by the initial γ and β, each at the learning rate with the lowest mean validation error."""


def _select_best_rate_errors(gain: float, result: Arrays) -> dict[tuple[float, float], np.ndarray]:
    """Return the test errors (seeds,) by pair (γ, β) for one initial γ, `gain`, each pair at its best learning rate."""
    best = [choose_learning_rate(errors) for errors in result["validation"]]
    return {(gain, bias): result["test"][k, best[k]] for k, bias in enumerate(FIRST_BIASES)}


def report(setting: Setting, results: Results) -> Report:
    """Return a report: the test error by initial γ and β, with a map for every scheme."""
    found = [(part, results[part]) for part in list_jobs(setting) if part in results]
    errors: dict[int, dict[tuple[float, float], np.ndarray]] = {}
    for part, result in found:
        if result["share"] == 1:
            errors.setdefault(setting.rows.index(part.row), {}).update(_select_best_rate_errors(part.gain, result))
    ended = {k: each for k, each in errors.items() if len(each) == len(FIRST_GAINS) * len(FIRST_BIASES)}
    signs = _compare_with_usual_start(ended)
    figures = [_draw_error_map(setting, k, each) for k, each in sorted(errors.items())]
    if found and not figures:
        figures = [_draw_training_losses(*found[0])]
    rows = [
        {"scheme": setting.rows[k].key, "first γ": gain, "first β": bias, "seed": seed, "test error": float(error)}
        for k, each in errors.items()
        for (gain, bias), by_seed in each.items()
        for seed, error in zip(setting.networks, by_seed, strict=True)
    ]
    headline = _format_headline(setting, ended, signs)
    return Report(headline, figures, _judge_claim(setting, ended, signs), tabulate(rows))


StartSigns = Mapping[tuple[int, tuple[float, float]], int]
"""Signs by scheme and pair (γ, β): 1 if the test error is clearly above that of γ = 1, β = 0, −1 if below, else 0."""


def _compare_with_usual_start(ended_errors: Mapping[int, ErrorsByStart]) -> StartSigns:
    """Return the signs of all other pairs, 0 where not clear by Holm's correction for their number."""
    others = {(k, at): each for k, errors in ended_errors.items() for at, each in errors.items() if at != USUAL_START}
    found = [
        compare_seed_by_seed(each, ended_errors[k][USUAL_START], 1 / TEST_DIGITS) for (k, _), each in others.items()
    ]
    return dict(zip(others, find_clear_signs(found), strict=True))


def _draw_error_map(setting: Setting, k: int, errors: ErrorsByStart) -> FigureSpec:
    values = np.full((len(FIRST_GAINS), len(FIRST_BIASES)), np.nan)
    for (gain, bias), each in errors.items():
        values[FIRST_GAINS.index(gain), FIRST_BIASES.index(bias)] = 100 * np.mean(each)
    heat = HeatMap(
        f"{capitalize_first(setting.names[k])}: test error in %",
        values, [*map(typeset, FIRST_GAINS)], [*map(typeset, FIRST_BIASES)], "initial bias β", "initial gain γ",
        (0.0, GUESSING_ERROR), "{:.0f}".format,
        marked={(FIRST_GAINS.index(USUAL_START[0]), FIRST_BIASES.index(USUAL_START[1])): "usual"},
        border=[sum(REGIONS[MOSTLY_OFF](gain, bias) for bias in FIRST_BIASES) for gain in FIRST_GAINS],
    )  # fmt: skip
    ends = " to ".join(f"{each:.1f}%" for each in (np.nanmin(values), np.nanmax(values)))
    return FigureSpec(
        f"map-{setting.rows[k].key}",
        heat,
        f"Test error by initial γ and β, {setting.names[k]}: {ends}.",
        f"Inside the thick line: {MOSTLY_OFF}.",
    )


def _draw_training_losses(part: InitialGainTraining, result: Arrays) -> FigureSpec:
    """Return a figure of a training's loss by step, at β = 0 and the middle rate, until there are test errors."""
    losses = result["losses"][:, FIRST_BIASES.index(USUAL_START[1]), len(part.rates) // 2]
    curve = make_band_curve(part.row.scheme.label, np.arange(len(losses)), losses, choose_styles([part.row.key])[0])
    panel = CurvePanel(f"γ = {typeset(part.gain)}, β = 0", [curve], "step", "loss", "y")
    return FigureSpec("losses", [panel], f"Loss by step, so far {typeset(float(curve.y[-1]), 3)}.")


def _format_headline(setting: Setting, ended_errors: Mapping[int, ErrorsByStart], signs: StartSigns) -> str:
    """Return the headline: where the initial γ and β change the first scheme's test error most, and its ends."""
    if not ended_errors:
        return "Not all initial values are tried yet."
    k, errors = min(ended_errors.items())
    means = {at: 100 * float(np.mean(each)) for at, each in errors.items()}
    usual = means[USUAL_START]
    clear = [at for at in means if signs.get((k, at))]
    if not clear:
        return f"No: no pair clearly changes the test error of {usual:.0f}%."
    where, most, is_only = _find_region(means, clear)
    end = f"{'up' if means[most] > usual else 'down'} to {means[most]:.0f}%"
    return f"{'Only' if is_only else 'Yes,'} with initial {where}: {end} error instead of {usual:.0f}%."


def _find_region(
    means: Mapping[tuple[float, float], float], clear: Sequence[tuple[float, float]]
) -> tuple[str, tuple[float, float], bool]:
    """Return the part of the grid with the largest change of the mean error, its pair, and whether no other changes.

    `clear`: the pairs (γ, β) that clearly change the error.
    """
    changes = {at: abs(mean - means[USUAL_START]) for at, mean in means.items()}
    most = max(clear, key=lambda at: changes[at])
    where = max(
        (name for name, is_inside in REGIONS.items() if is_inside(*most)),
        key=lambda name: np.mean([changes[at] for at in means if REGIONS[name](*at)]),
    )
    return where, most, all(REGIONS[where](*at) for at in clear)


def _judge_claim(setting: Setting, ended_errors: Mapping[int, ErrorsByStart], found: StartSigns) -> Verdict:
    """Return the verdict on whether the initial γ and β change the test error, compared with γ = 1 and β = 0."""
    if len(ended_errors) < len(setting.rows):
        return Verdict("open", "Not all initial values are tried yet.")
    texts, better, worse, count = [], 0, 0, 0
    for k, errors in sorted(ended_errors.items()):
        name, usual = capitalize_first(setting.names[k]), errors[USUAL_START]
        if not np.mean(usual) < MAX_LEARNED_ERROR:
            texts.append(f"{name} does not learn from γ = 1, β = 0.")
            continue
        signs = [sign for (scheme, _), sign in found.items() if scheme == k]
        up, down = signs.count(1), signs.count(-1)
        low, high = (format_percent(end(float(np.mean(each)) for each in errors.values())) for end in (min, max))
        texts.append(
            f"{name}: test error {format_mean_percent(usual)} from γ = 1, β = 0. Of {len(signs)} other initial "
            f"values {up} end clearly worse and {down} clearly better. All means lie between "
            f"{low} and {high}."
        )
        better, worse, count = better + down, worse + up, count + len(signs)
    condition = (
        f"{setting.steps} steps of {'Adam' if setting.optimizer == 'adam' else 'SGD'}, which also trains γ and β. Each "
        f"initial value has the best of {len(RATES_BY_OPTIMIZER[setting.optimizer])} learning rates on validation "
        f"digits. Holm's correction is for {len(found)} comparisons."
    )
    if not count:
        return Verdict("open", " ".join(texts), condition)
    word: VerdictKey = "open" if not better + worse else "holds" if better + worse == count else "holds-if"
    regions, others = {}, []
    for k, errors in sorted(ended_errors.items()):
        means = {at: 100 * float(np.mean(each)) for at, each in errors.items()}
        if clear := [at for scheme, at in found if scheme == k and found[k, at]]:
            where, _, is_only = _find_region(means, clear)
            regions[where if is_only else f"{where} most of all"] = where
        others += [mean for at, mean in means.items() if not REGIONS[MOSTLY_OFF](*at)]
    why = ""
    if [*regions] == [MOSTLY_OFF] and "none" not in setting.schemes:
        span = f"{min(others):.0f} to {max(others):.0f}%"
        why = f"{EXPERIMENT.why} Elsewhere, the errors of {span} do not clearly differ from the usual start."
    extent = f"with initial {join_words([*regions], 'and')}" if regions else ""
    return Verdict(word, " ".join(texts), condition, why, extent)


EXPERIMENT = Experiment.of("start", Setting, list_jobs, report,
    lambda setting: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}; means of "
    f"{setting.seeds} networks, each pair at its best learning rate.",
    lambda setting: "Each layer computes ReLU(γ\u00a0x̂\u00a0+\u00a0β) with normalized values x̂. We train networks "
    f"on digits from {len(FIRST_GAINS) * len(FIRST_BIASES)} initial pairs of γ and β, which training then changes. "
    f"Test error: share of misread test digits; {GUESSING_ERROR:.0f}% or more: nothing is learned.")  # fmt: skip
