"""Verdicts on placement: gradients by depth, the need for a warm-up, and growth along residual blocks."""

from collections.abc import Mapping

import numpy as np

from normviz.core.text import join_words, typeset
from normviz.describe.seeds import (
    MeanDifference,
    compare_seed_by_seed,
    estimate_band,
    find_clear_differences,
    find_clear_signs,
    format_mean_percent,
)
from normviz.jobs.results import Arrays
from normviz.topics.experiments.grid_outcome import GridOutcome, describe_undertraining
from normviz.topics.experiments.placement_jobs import LAYER_COUNTS, LEARNING_RATES, PLACEMENTS, TRAINED_PLACEMENTS
from normviz.topics.experiments.reports import Verdict, VerdictKey, describe_extent

ALIKE = 0.03
"""Difference of mean errors that is too small to call for a warm-up."""

DOUBLED, EVEN = 0.25, 0.5
"""The largest deviations from a factor of 2 a branch, and from equal growth in both halves of the chain."""


PlacementOutcomes = Mapping[str, list[GridOutcome]]
"""Outcomes of each placement, with a warm-up and without."""


def compute_log_gradient_ratios(norms: np.ndarray) -> np.ndarray:
    """Return log(post norm / pre norm), shape (depths, seeds), from gradient norms (seeds, depths, placements)."""
    logs = np.log(norms)
    return (logs[..., TRAINED_PLACEMENTS.index("post")] - logs[..., TRAINED_PLACEMENTS.index("pre")]).T


def judge_gradient_growth(depth: Arrays) -> Verdict:
    """Return the verdict on whether the last layer's gradient falls with depth for pre norm, relative to post norm."""
    if depth.get("share") != 1:
        return Verdict("open", "The gradients by depth are not computed yet.")
    x = np.log(LAYER_COUNTS) - np.mean(np.log(LAYER_COUNTS))
    norms = depth["norms"]
    slopes = {
        name: np.einsum("d,sd->s", x, np.log(norms[..., k])) / (x @ x) for k, name in enumerate(TRAINED_PLACEMENTS)
    }
    growth = compare_seed_by_seed(slopes["post"], slopes["pre"])
    if np.isnan(growth.p_value):
        return Verdict("open", "The gradients by depth are not finite.")
    mean, low, high = (np.exp(each[-1]) for each in estimate_band(compute_log_gradient_ratios(norms)))
    each = {name: compare_seed_by_seed(slope, np.zeros_like(slope)).text() for name, slope in slopes.items()}
    says = (
        f"With {LAYER_COUNTS[-1]} layers, the last layer's gradient before training is "
        f"{typeset(float(mean), 2)} times as large for post norm as for pre norm ({typeset(float(low), 2)} to "
        f"{typeset(float(high), 2)}; √L is {typeset(LAYER_COUNTS[-1] ** 0.5, 2)}). The ratio grows as L to the power "
        f"of {growth.text()} (theory 0.5): post "
        f"{each['post']} (theory 0), pre {each['pre']} (theory −0.5)."
    )
    sign = find_clear_signs([growth])[0]
    return Verdict("holds" if sign > 0 else "wrong" if sign else "open", says)


def judge_warmup(ended_outcomes: PlacementOutcomes) -> Verdict:
    """Return the verdict on whether post norm needs a warm-up more than pre norm, at a large and at the best rate."""
    if len(ended_outcomes) < len(TRAINED_PLACEMENTS):
        return Verdict("open", "The networks are not trained yet.")
    pair = {name: ended_outcomes[name] for name in ("post", "pre")}
    large = choose_largest_rate(pair["post"][0])
    if large is None:
        return Verdict("open", "Post norm does not learn here, even with the warm-up; more steps may help.")
    found = [
        _compare_warmup_benefit(
            *(without.errors_by_rate[large] - warm.errors_by_rate[large] for warm, without in pair.values())
        ),
        _compare_warmup_benefit(*(without.final_errors - warm.final_errors for warm, without in pair.values())),
    ]
    clear = find_clear_differences(found)
    needed = [is_clear and each.mean > 0 for each, is_clear in zip(found, clear, strict=True)]
    words = [f"post norm {'clearly needs' if each else 'does not clearly need'} it more" for each in needed]
    said = [
        f"At rate {typeset(LEARNING_RATES[large])}, the largest at which post norm learns with the warm-up, "
        f"{words[0]}: {_format_warmup_errors(pair, large)}.",
        f"At the best rate of each, {words[1]}: {_format_warmup_errors(pair)}."
        f"{describe_undertraining([each for outcomes in pair.values() for each in outcomes])}",
    ]
    word: VerdictKey = "holds" if needed[1] else "holds-if" if needed[0] else "wrong" if any(clear) else "open"
    rate = typeset(LEARNING_RATES[large])
    why = _describe_best_rate(large, *pair["post"])
    if all(_learns(pair["pre"][1])):
        why += f" Pre norm learns at all rates without warm-up{_describe_costs(*pair['pre'])}."
    return Verdict(word, " ".join(said), why=why, extent=f"at learning rate {rate}")


def judge_mean_square_growth(chain: Arrays) -> Verdict:
    """Return the verdict on whether the mean square doubles a branch without norm, and grows linearly with pre norm."""
    if chain.get("share") != 1:
        return Verdict("open", "The residual chain is not computed yet.")
    if not np.isfinite(chain["squares"]).all():
        return Verdict("open", "The residual chain overflows.")
    relative = chain["squares"] / chain["squares"][:, :1]
    branches = relative.shape[1] - 1
    half = branches // 2
    none, pre = (relative[..., PLACEMENTS.index(name)] for name in ("none", "pre"))
    factor = compare_seed_by_seed(none[:, -1] ** (1 / branches), np.zeros(len(none)))
    step = compare_seed_by_seed((pre[:, -1] - 1) / branches, np.zeros(len(pre)))
    bend = np.mean((pre[:, -1] - pre[:, half]) / (branches - half)) / np.mean((pre[:, half] - 1) / half)
    doubles, even = abs(factor.mean - 2) < DOUBLED, abs(bend - 1) < EVEN
    says = (
        f"Over {branches} residual branches the mean square is multiplied by {factor.text()} a branch without "
        f"normalization. With pre norm each branch adds {step.text()} times the input's"
        f"{'' if even else ', though not evenly'}."
    )
    word: VerdictKey = "holds" if doubles and even else "holds-if" if doubles or even else "wrong"
    signs = {"no normalization": 1 if doubles else -1, "pre norm": 1 if even else -1}
    return Verdict(word, says, extent=describe_extent(signs, "with"))


def list_spared_rates(large: int, warm: GridOutcome, without: GridOutcome) -> list[float]:
    """Return the rates below the one at `large` where warm-up hardly lowers the errors."""
    rises = (without.errors_by_rate - warm.errors_by_rate).mean(-1)
    return [rate for rate, rise in zip(LEARNING_RATES[:large], rises, strict=False) if rise < ALIKE]


def _describe_costs(warm: GridOutcome, without: GridOutcome) -> str:
    """Return the rates where warm-up lowers the errors: " (at 0.03, warm-up lowers its error from 28% to 20%)"."""
    means = zip(LEARNING_RATES, without.errors_by_rate.mean(-1), warm.errors_by_rate.mean(-1), strict=True)
    drops = [
        f"at {typeset(rate)}, warm-up lowers its error from {a:.0%} to {b:.0%}"
        for rate, a, b in means
        if a - b >= ALIKE
    ]
    return f" ({'; '.join(drops)})" if drops else ""


def _describe_best_rate(large: int, warm: GridOutcome, without: GridOutcome) -> str:
    """Return sentences on post norm at its best rate and beyond, if it needs no warm-up there; else ""."""
    if warm.rate not in list_spared_rates(large, warm, without):
        return ""
    ends = [f"{each.errors_by_rate[warm.best_rate_index].mean():.0%}" for each in (without, warm)]
    both = f"{ends[0]} either way" if ends[0] == ends[1] else f"{ends[0]}, and {ends[1]} with warm-up"
    failed = [typeset(rate) for rate in LEARNING_RATES[large + 1 :]]
    end = f" At {join_words(failed, 'and')} it fails either way." if failed else ""
    return f"Here “essential” is too strong: at {typeset(warm.rate)}, post norm’s error is {both}.{end}"


def _learns(outcome: GridOutcome) -> np.ndarray:
    """Return for each learning rate whether a placement learns at it: its mean validation error is below a half."""
    return outcome.result["validation"][-1].mean(-1) < 0.5


def choose_largest_rate(warm: GridOutcome) -> int | None:
    """Return the position of the largest rate at which a placement learns with warm-up; None if it learns at none."""
    learning = np.flatnonzero(_learns(warm))
    return int(learning[-1]) if len(learning) else None


def _compare_warmup_benefit(post: np.ndarray, pre: np.ndarray) -> MeanDifference:
    """Return the mean rise of post norm's errors without warm-up, `post`, tested against 0 and against pre norm's.

    Its p-value is the larger one of the rise and of its excess over pre norm's rise: both have to be clear.
    """
    rise, excess = compare_seed_by_seed(post, np.zeros_like(post)), compare_seed_by_seed(post, pre)
    return rise._replace(p_value=max(rise.p_value, excess.p_value) if rise.mean * excess.mean > 0 else 1.0)


def _format_warmup_errors(pair: PlacementOutcomes, k: int | None = None) -> str:
    """Format test errors with and without warm-up, at the rate at position `k`, or at each best rate if it is None."""
    words = []
    for name, outcomes in pair.items():
        warm, without = (
            format_mean_percent(each.errors_by_rate[each.best_rate_index if k is None else k]) for each in outcomes
        )
        at = ["", ""] if k is not None else [f" (rate {typeset(each.rate)})" for each in outcomes]
        words.append(f"{name} norm {warm}{at[0]} with it, {without}{at[1]} without")
    return "; ".join(words)
