"""Batch size: digits whose pixels are in no order, trained on few and on many at a time (Ba et al. 2016, figure 6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import choice, integer
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.data.digits import DIGIT_SIDE, DIGITS_DESCRIPTION, load_digit_split
from normviz.describe.seeds import MeanDifference, compare_seed_by_seed, find_clear_signs
from normviz.jobs.results import ArrayJob, Arrays, Results
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.dense_grid import LAYER_WIDTHS, LEARNING_RATES, DenseGrid
from normviz.topics.experiments.experiment import (
    ComparisonSetting,
    Experiment,
    averages_over_examples,
    choose_headline_schemes,
    declare_schemes,
    describe_hidden_layers,
)
from normviz.topics.experiments.grid_outcome import (
    MAX_LEARNED_ERROR,
    GridOutcome,
    describe_undertraining,
    find_outcomes,
    make_outcome_curves,
)
from normviz.topics.experiments.reports import (
    FigureSpec,
    Report,
    Verdict,
    describe_extent,
    judge_signs,
    make_band_curve,
    start_table,
)
from normviz.topics.experiments.training_history import clip_to_percent

BATCH_SIZES = (2, 4, 8, 16, 32, 64, 128)

SHOWN_SIZES = (128, 2)
"""Batch sizes whose curves are shown, the large one first."""

TRAINED_SIZES = tuple(dict.fromkeys((*SHOWN_SIZES, *BATCH_SIZES)))
"""Batch sizes in the order of their jobs."""

SMALL_SIZES = (2, 4)
"""Batch sizes at which the verdict compares schemes."""

REFERENCE_SIZE = 16
"""Batch size that takes the setting's steps if all sizes see the same number of examples."""


@dataclass(frozen=True)
class Setting(ComparisonSetting):
    """Settings of the comparison of batch sizes."""

    layer: ClassVar[tuple[int, int]] = (max(SHOWN_SIZES), LAYER_WIDTHS[0])

    schemes: Sequence[str] = declare_schemes(("batch", "layer"))
    steps: int = integer(400, 20, 800, label="Steps", stops=(50, 100, 200, 400, 800), control="stops")
    equal: str = choice(
        "examples", {"steps": "Steps", "examples": "Examples"}, label="Same for all sizes",
        help=f"With the same number of examples, batches of {REFERENCE_SIZE} take the steps above, and smaller "
             f"ones more.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in BATCH_SIZES:
            self.check((size, *self.shape[1:]))

    def count_steps(self, size: int) -> int:
        """Return the steps of training at a batch size: equal for all sizes, or equal numbers of examples."""
        return self.steps if self.equal == "steps" else max(self.steps * REFERENCE_SIZE // size, 1)


@dataclass(frozen=True)
class BatchStatisticsNoise(ArrayJob, kind="experiments/batch-size/noise", version=3):
    """Job that measures the errors of μ and σ of mini-batches as estimates for all training digits, by batch size.

    Measured on the pre-activations of the first layer before training, as root mean squares in units of σ.
    """

    networks: tuple[int, ...]
    draws: int = 200

    @property
    def seconds(self) -> float:
        return 0.1 * len(self.networks)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure one network after the other, and yield the result so far after each."""
        pictures, _ = load_digit_split()
        x = pictures.reshape(len(pictures), -1)
        found: list[list[list[float]]] = []
        for done, seed in enumerate(self.networks, 1):
            # The first weights of the networks, as `normviz.train.learning.started` draws them.
            weights = np.random.default_rng([seed, 2, 0]).standard_normal((DIGIT_SIDE**2, LAYER_WIDTHS[0]))
            summed = x @ weights
            mean, deviation = summed.mean(0), summed.std(0)
            rng = np.random.default_rng([seed, 3])
            off = []
            for size in BATCH_SIZES:
                batches = summed[rng.integers(len(x), size=(self.draws, size))]
                by = ((batches.mean(1) - mean) / deviation, batches.std(1) / deviation - 1)
                off.append([float(np.sqrt(np.mean(each**2))) for each in by])
            found.append(off)
            yield JobStep(done / len(self.networks), partial(_make_error_arrays, found, done / len(self.networks)))


def _make_error_arrays(errors: list[list[list[float]]], share: float) -> Arrays:
    """Return the job's result once a `share` is done: errors of μ and σ, each (sizes, networks), from nested lists."""
    mean, deviation = np.array(errors).transpose(2, 1, 0)
    return {"mean": mean, "deviation": deviation, "share": np.array(share), "device": np.array("CPU")}


def make_size_job(setting: Setting, row: SchemeSpec, size: int) -> DenseGrid:
    """Return the job that trains the networks of one scheme, `row`, on mini-batches of one size."""
    return DenseGrid.of(setting, row=row, batch=size, length=setting.count_steps(size))


def list_jobs(setting: Setting) -> list[DenseGrid | BatchStatisticsNoise]:
    """Return a job for every batch size and scheme, and one on the noise of statistics, in the order of the run."""
    grids = [make_size_job(setting, row, size) for size in TRAINED_SIZES for row in setting.rows]
    shown = len(SHOWN_SIZES) * len(setting.rows)
    return [*grids[:shown], BatchStatisticsNoise(setting.networks), *grids[shown:]]


Outcomes = Mapping[int, Sequence[GridOutcome]]
"""Outcomes of the schemes by batch size."""


def report(setting: Setting, results: Results) -> Report:
    """Return a report with test errors by batch size and by step, and with the noise of the statistics."""
    begun: dict[int, list[GridOutcome]] = {}
    ended: dict[int, list[GridOutcome]] = {}
    for size in TRAINED_SIZES:
        jobs = dict(enumerate(make_size_job(setting, row, size) for row in setting.rows))
        found, done = find_outcomes(jobs, results, partial(GridOutcome.of, setting, LEARNING_RATES))
        begun |= {size: [*found.values()]} if found else {}
        ended |= {size: [*done.values()]} if len(done) == len(jobs) else {}
    ended = dict(sorted(ended.items()))
    noise = results.get(BatchStatisticsNoise(setting.networks))
    figures = [
        *_draw_errors_by_size(setting, ended),
        *_draw_error_curves(begun),
        *([] if noise is None else [_draw_statistics_noise(noise)]),
    ]
    headline, verdict = _format_headline(setting, begun, ended), _judge_claim(setting, ended)
    return Report(headline, figures, verdict, _tabulate_results(setting, ended))


def _tabulate_results(setting: Setting, ended_outcomes: Outcomes) -> dict[str, list[Any]]:
    table = start_table(setting.networks, "batch size", [*ended_outcomes])
    for k, row in enumerate(setting.rows):
        outcomes = [each[k] for each in ended_outcomes.values()]
        table[f"{row.key}, learning rate"] = [each.rate for each in outcomes for _ in setting.networks]
        table[f"{row.key}, validation error"] = [
            float(error) for each in outcomes for error in each.get_at_best_rate("validation")[-1]
        ]
        table[f"{row.key}, test error"] = [float(error) for each in outcomes for error in each.final_errors]
    return table


def _draw_error_curves(begun_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the test error by step at the two shown batch sizes; none before their training begins."""
    sizes = [size for size in SHOWN_SIZES if begun_outcomes.get(size)]
    if not sizes:
        return
    panels = [
        CurvePanel(
            f"Batches of {size}",
            make_outcome_curves(begun_outcomes[size], lambda run: run.get_at_best_rate("test"), scale=clip_to_percent),
            "step", "test error, %", "y",
        )
        for size in sizes
    ]  # fmt: skip
    said = "; ".join(f"on batches of {size}, {_format_test_errors(begun_outcomes[size])}" for size in sizes)
    yield FigureSpec(
        "curves", panels, f"Test error by step at the best learning rate of each scheme. At the end: {said}.",
        "Test digits are normalized by the mean statistics of all training digits.",
    )  # fmt: skip


def _draw_errors_by_size(setting: Setting, ended_outcomes: Outcomes) -> Iterator[FigureSpec]:
    """Yield a figure of the final test error and the best learning rate by batch size; none without ended outcomes."""
    if not ended_outcomes:
        return
    sizes = np.array(list(ended_outcomes))
    errors, rates = [], []
    for k, (label, style) in enumerate(zip(setting.labels, setting.styles, strict=True)):
        found = [each[k] for each in ended_outcomes.values()]
        last = np.stack([each.final_errors for each in found])
        errors.append(make_band_curve(label, sizes, last, style, clip_to_percent, has_markers=True))
        rates.append(Curve(label, sizes, np.array([each.rate for each in found]), style, has_markers=True))
    panels = [
        CurvePanel("Test error by batch size", errors, "batch size", "test error, %", "x", marks=BATCH_SIZES),
        CurvePanel("Best learning rate", rates, "batch size", "learning rate", "xy", marks=BATCH_SIZES),
    ]
    said = "; ".join(f"at {size} {_format_test_errors(each)}" for size, each in ended_outcomes.items())
    idle = [label for k, label in enumerate(setting.labels) if not _is_learning(ended_outcomes, k)]
    caption = f"{join_words(idle, 'and')}: more than half of the test digits are wrong at every size. " if idle else ""
    pair = _choose_compared_schemes(setting, ended_outcomes)
    caption += _describe_sizes(setting, ended_outcomes, pair) if pair else ""
    alt = f"Test error at the end by batch size: {said}."
    yield FigureSpec("sizes", panels, alt, caption)


def _draw_statistics_noise(noise: Arrays) -> FigureSpec:
    sizes = np.array(BATCH_SIZES)
    curves = [
        make_band_curve(name, sizes, noise[what], k, has_markers=True)
        for k, (name, what) in enumerate((("μ of a mini-batch", "mean"), ("σ of a mini-batch", "deviation")))
    ]
    curves.append(Curve("1/√N", sizes, sizes**-0.5, 2))
    mean, deviation = (
        dict(zip(BATCH_SIZES, np.mean(noise[what], axis=1), strict=True)) for what in ("mean", "deviation")
    )
    large, small = SHOWN_SIZES
    said = (
        f"Of {small} examples μ is off by {mean[small]:.2f} σ and σ by {deviation[small]:.0%}; "
        f"of {large} by {mean[large]:.2f} σ and {deviation[large]:.0%}."
    )
    title = "How far the statistics of a mini-batch are off"
    panel = CurvePanel(title, curves, "batch size N", "in σ", "xy", marks=BATCH_SIZES)
    return FigureSpec(
        "noise", [panel], f"Errors of μ and σ by batch size, falling as one over the root of N. {said}",
        f"{said} This is why: every unit of the first layer before training, against all training digits.",
    )  # fmt: skip


def _format_test_errors(outcomes: Sequence[GridOutcome]) -> str:
    """Format the final test errors: "batch norm 1.8 ± 0.2%, layer norm 2.0 ± 0.3%"."""
    return ", ".join(f"{each.name} {each.final_error_text}" for each in outcomes)


def _is_learning(ended_outcomes: Outcomes, k: int) -> bool:
    """Return True if the mean test error of the scheme at position `k` is below `MAX_LEARNED_ERROR` at some size."""
    return min(float(np.mean(each[k].final_errors)) for each in ended_outcomes.values()) < MAX_LEARNED_ERROR


def _choose_compared_schemes(setting: Setting, ended_outcomes: Outcomes) -> tuple[int, int] | None:
    """Return the positions of the two schemes that the report compares; None if no pair qualifies.

    The first has statistics over several examples, the second has none. Batch norm and layer norm are preferred.
    """
    learning = [k for k in range(len(setting.rows)) if _is_learning(ended_outcomes, k)]
    mixing = [k for k in learning if averages_over_examples(setting.rows[k], setting.shape)]
    others = [k for k in learning if k not in mixing]
    # Without normalization only where nothing else is there.
    order = {"batch": 0, "layer": 0, "none": 2}
    chosen = [sorted(places, key=lambda k: order.get(setting.rows[k].key, 1))[:1] for places in (mixing, others)]
    return (chosen[0][0], chosen[1][0]) if all(chosen) else None


def _compare_schemes_at(ended_outcomes: Outcomes, pair: tuple[int, int], size: int) -> MeanDifference:
    """Return how far the test errors of a pair of schemes, given by position, differ at one batch size.

    The p-value is the larger one of the difference and of its growth from the large size. Both have to be
    clear: a scheme that is worse at all sizes is not worse because of small batches.
    """
    first, second = pair
    here, large = (
        ended_outcomes[n][first].final_errors - ended_outcomes[n][second].final_errors for n in (size, SHOWN_SIZES[0])
    )
    difference, growth = compare_seed_by_seed(here, np.zeros_like(here)), compare_seed_by_seed(here, large)
    same_sign = difference.mean * growth.mean > 0
    return difference._replace(p_value=max(difference.p_value, growth.p_value) if same_sign else 1.0)


def _find_error_signs(ended_outcomes: Outcomes, pair: tuple[int, int]) -> dict[int, int]:
    """Return by batch size 1 if the pair's first scheme has a clearly larger error, −1 if a smaller one, else 0."""
    first, second = pair
    found = [
        compare_seed_by_seed(each[first].final_errors, each[second].final_errors) for each in ended_outcomes.values()
    ]
    return dict(zip(ended_outcomes, find_clear_signs(found), strict=True))


def _format_sizes(sizes: Sequence[int]) -> str:
    """Format batch sizes, as a range if they are neighbours: "2", "2 to 8", "2 and 128"."""
    start = BATCH_SIZES.index(sizes[0])
    is_range = len(sizes) > 2 and BATCH_SIZES[start : start + len(sizes)] == tuple(sizes)
    return f"{sizes[0]} to {sizes[-1]}" if is_range else join_words(sizes, "and")


def _format_complete_headline(setting: Setting, ended_outcomes: Outcomes, pair: tuple[int, int]) -> str:
    """Return the headline once all sizes are trained: the sizes at which one scheme of the pair beats the other."""
    name, other = (setting.names[k] for k in pair)
    signs = _find_error_signs(ended_outcomes, pair)
    worse, better = ([size for size in signs if signs[size] == sign] for sign in (1, -1))
    if not worse and not better:
        return f"{capitalize_first(name)} and {other}: no clear difference at any batch size."
    (winner, loser), sizes = ((other, name), worse) if worse else ((name, other), better)
    if len(sizes) == len(BATCH_SIZES):
        return f"{capitalize_first(winner)} beats {loser} at every batch size."
    if worse and sizes[0] == BATCH_SIZES[0] and sizes[-1] < BATCH_SIZES[-1]:  # "Who needs large batches?"
        own, others = (f"{typeset(100 * np.mean(ended_outcomes[sizes[0]][k].final_errors), 2)}%" for k in pair)
        return f"{capitalize_first(name)} does: {own} errors with batches of two, {other} {others}."
    return f"{capitalize_first(winner)} beats {loser} at batch size{'s' * (len(sizes) > 1)} {_format_sizes(sizes)}."


def _format_headline(setting: Setting, begun_outcomes: Outcomes, ended_outcomes: Outcomes) -> str:
    if not ended_outcomes:
        begun = begun_outcomes and f"Training on batches of {join_words(begun_outcomes)} has begun."
        return begun or "Nothing is trained yet."
    small, pair = min(ended_outcomes), _choose_compared_schemes(setting, ended_outcomes)
    if pair and len(ended_outcomes) == len(BATCH_SIZES):
        return _format_complete_headline(setting, ended_outcomes, pair)
    first, *others = pair or choose_headline_schemes(setting.rows, 2)
    levels = {k: f"{np.mean(ended_outcomes[small][k].final_errors):.0%}" for k in (first, *others)}
    rest = "".join(f", {setting.names[k]} {levels[k]}" for k in others)
    return f"Batches of {small}: {setting.names[first]} has {levels[first]} test error{rest}."


def _judge_claim(setting: Setting, ended_outcomes: Outcomes) -> Verdict:
    """Return the verdict on whether small batches raise the test error of batch norm more than that of layer norm."""
    if len(ended_outcomes) < len(BATCH_SIZES):
        return Verdict("open", "Not all batch sizes are trained yet.")
    pair = _choose_compared_schemes(setting, ended_outcomes)
    if pair is None:
        return Verdict(
            "open", "To judge the claim, choose batch norm, or another scheme that averages over examples, and layer "
            "norm, or another that normalizes each example alone. Both have to learn.",
        )  # fmt: skip
    name, other = (setting.names[k] for k in pair)
    found = [_compare_schemes_at(ended_outcomes, pair, size) for size in SMALL_SIZES]
    signs = find_clear_signs(found)
    words = []
    for size, difference, sign in zip(SMALL_SIZES, found, signs, strict=True):
        one, two = (ended_outcomes[size][k].final_error_text for k in pair)
        points = f"a difference of {difference.text(100)} points" if sign else "no clear difference"
        words.append(f"on batches of {size}, {one} with {name}, {two} with {other} ({points})")
    large = ended_outcomes[SHOWN_SIZES[0]]
    words.append(
        f"on batches of {SHOWN_SIZES[0]}, {large[pair[0]].final_error_text} and {large[pair[1]].final_error_text}"
    )
    judged = [ended_outcomes[size][k] for size in (*SMALL_SIZES, SHOWN_SIZES[0]) for k in pair]
    says = f"Test error: {'; '.join(words)}.{describe_undertraining(judged)}"
    examples = f" on batches of {REFERENCE_SIZE}; larger batches take fewer steps, over equally many digits"
    condition = (
        f"Each scheme has its best learning rate at each size, for {setting.steps} steps of Adam"
        f"{'' if setting.equal == 'steps' else examples}. Test digits are normalized by the mean statistics of all "
        "training digits; running averages would add noise of their own."
    )
    extent = describe_extent(dict(zip(SMALL_SIZES, signs, strict=True)), noun="batches of ")
    return Verdict(judge_signs(signs), says, condition, extent=extent)


def _describe_sizes(setting: Setting, ended_outcomes: Outcomes, pair: tuple[int, int]) -> str:
    """Return a sentence on the batch sizes at which two schemes do not differ, or the first one is better."""
    name, other = (setting.names[k] for k in pair)
    by_size = _find_error_signs(ended_outcomes, pair)
    texts = {0: f"{name} and {other} do not clearly differ", -1: f"{name} has the lower error"}
    sizes = {sign: [size for size in by_size if by_size[size] == sign] for sign in texts}
    parts = [f"at {_format_sizes(sizes[sign])} {text}" for sign, text in texts.items() if sizes[sign]]
    return f"{capitalize_first('; '.join(parts))}." if parts else ""


EXPERIMENT = Experiment.of("batch-size", Setting, list_jobs, report,
    lambda _: f"{DIGITS_DESCRIPTION}; {describe_hidden_layers(LAYER_WIDTHS)}.",
    lambda setting: f"Networks learn handwritten digits in batches of {BATCH_SIZES[0]} to {BATCH_SIZES[-1]}. "
    + ("All take the same number of steps, so that small batches show them fewer digits. " if setting.equal == "steps"
       else "All see the same number of digits, so that small batches take more steps. ")
    + "Error: share of misread test digits.")  # fmt: skip
