"""Mistakes found from the answer itself, as no list can hold them: exchanged channels of γ, or any wrong statistics."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from normviz.core.backward import compute_gradients
from normviz.core.fields import Field
from normviz.core.reductions import broadcast_statistic
from normviz.topics.gradients.candidates import MistakeCandidates, measure_relative_error
from normviz.topics.gradients.case import HomeworkCase
from normviz.topics.gradients.homework import broadcast_mean, compute_bessel_factor

BLEND_TOLERANCE = 0.01
"""Tolerance of implied statistics to a blend, in units of σ: running averages may be stored with few digits."""

MAX_UNEXPLAINED_SHARE = 0.1
"""Largest part that a blend may leave of the differences between channels and from the batch's statistics."""

MIN_ELEMENTS = {"running-statistics": 3, "other-statistics": 8}
"""Smallest number of elements of a channel: two always lie on a line, and a few may by chance."""


def generate_gamma_exchanges(case: HomeworkCase, name: str, flat: np.ndarray) -> MistakeCandidates:
    """Yield (mistake keys, array) with γ exchanged between two channels, among those where the answer `flat` errs most.

    In dx an exchange also changes other channels that share a statistic, but less.
    """
    task, wanted = case.task, case.right[name]
    if name not in ("out", "dx") or task.gamma.shape[-1] < 2 or flat.shape != case.to_layout_order(wanted).shape:
        return
    off = ((case.from_layout_order(flat) - wanted) ** 2).sum((0, 1, 2))
    for i, j in combinations(np.argsort(off)[-4:], 2):  # the channels with the largest errors
        gamma = task.gamma.copy()
        gamma[..., [i, j]] = gamma[..., [j, i]]
        if np.array_equal(gamma, task.gamma):
            continue
        if name == "out":
            found = case.normalized.xhat * gamma + task.beta
        else:
            assert task.dout is not None
            found = compute_gradients(task.x, task.dout, case.scheme, case.eps, gamma, task.beta).dx
        yield ("swapped-gamma",), case.to_layout_order(found)


class ImpliedStatistics(NamedTuple):
    """The mean and variance that an answer implies for every element; the mean is None if it is unknown."""

    mean: np.ndarray | None
    variance: np.ndarray

    def measure_distance(self, mean: np.ndarray | float, variance: np.ndarray | float) -> float:
        """Return the distance of other statistics from these, in σ: the largest of |Δμ|/σ and |Δσ²|/2σ²."""
        of_variance = np.max(np.abs(self.variance - variance) / (2 * self.variance))
        of_mean = 0.0 if self.mean is None else np.max(np.abs(self.mean - mean) / np.sqrt(self.variance))
        return float(max(of_variance, of_mean))


def find_statistics_mistake(case: HomeworkCase, name: str, flat: np.ndarray, limit: float) -> str | None:
    """Return the mistake's key if an answer normalizes each channel by other statistics than the batch's, else None.

    "running-statistics": mean and variance are plausible as running averages. "other-statistics":
    they are not. None: the answer is no such map within the limit, or its factors are the batch's times a constant, so
    that no other statistics are needed to explain it.
    """
    field, task = case.scheme.suppression, case.task
    if "running variance" not in case.scheme.keeps or name not in ("out", "dx") or field is None:
        return None
    m, y = field.find_smallest_size(task.x.shape), case.from_layout_order(flat)
    if m < min(MIN_ELEMENTS.values()):
        return None
    if name == "out":
        y, along = y - task.beta, task.x - broadcast_mean(task.x, field)
        rest, gamma = y - broadcast_mean(y, field), task.gamma
    else:
        assert task.dout is not None
        along, rest, gamma = task.dout * task.gamma, y, np.ones_like(task.gamma)
    factor = broadcast_mean(along * rest, field) / broadcast_mean(along**2, field)
    if measure_relative_error(factor * along, rest) > limit:
        return None
    mean = task.x - along - broadcast_mean(y, field) / factor if name == "out" else None
    implied = ImpliedStatistics(mean, (gamma / factor) ** 2 - case.eps)
    if np.all(factor * gamma > 0) and _are_running_averages(case, field, implied):
        return "running-statistics"
    own = np.broadcast_to(
        gamma / broadcast_statistic(np.asarray(case.normalized.deviation), task.x.shape), factor.shape
    )
    constant = (factor * own).sum() / (own * own).sum()
    differ = np.abs(factor - constant * own).max() > 0.01 * np.abs(factor).max() > 0
    return "other-statistics" if differ and m >= MIN_ELEMENTS["other-statistics"] else None


def _are_running_averages(case: HomeworkCase, field: Field, implied: ImpliedStatistics) -> bool:
    """Return True if the implied statistics are plausible as running averages.

    Running averages start at mean 0 and variance 1, and each step moves them towards the batch's. After any number of
    steps they are a blend, (1 − a)·start + a·batch, with one share a in 0..1 for all channels. So the variances have to
    be positive, and one a has to give all of them and all means, to within `BLEND_TOLERANCE`. It also has to leave no
    more than `MAX_UNEXPLAINED_SHARE` of two differences: between the channels, as equal statistics in all channels fit
    some a, and from the batch's own statistics, as any answer that is nearly right fits a = 1.
    """
    if not np.isfinite(implied.variance).all() or implied.variance.min() <= 0:
        return False
    mean = broadcast_mean(case.task.x, field)
    variance = broadcast_mean((case.task.x - mean) ** 2, field)
    equal = implied.measure_distance(0.0 if implied.mean is None else implied.mean.mean(), implied.variance.mean())
    bound = min(
        BLEND_TOLERANCE, MAX_UNEXPLAINED_SHARE * equal, MAX_UNEXPLAINED_SHARE * implied.measure_distance(mean, variance)
    )
    # dx holds no mean: variances that start at 0 are there the batch's times a constant, which says nothing.
    for start in (1.0,) if implied.mean is None else (1.0, 0.0):
        for of_batch in (
            variance,
            variance * compute_bessel_factor(field, mean.shape),
        ):  # frameworks keep it with m − 1
            share = _fit_batch_share(implied, mean, of_batch, start)
            if 0 <= share <= 1 and implied.measure_distance(share * mean, start + share * (of_batch - start)) <= bound:
                return True
    return False


def _fit_batch_share(implied: ImpliedStatistics, mean: np.ndarray, variance: np.ndarray, start: float) -> float:
    """Return the share a for which (1 − a) · start + a · batch statistics is nearest to the implied statistics."""
    moved, possible = (implied.variance - start) / implied.variance, (variance - start) / implied.variance
    products, squares = np.vdot(possible, moved), np.vdot(possible, possible)
    if implied.mean is not None:
        products += np.vdot(mean, implied.mean / implied.variance)
        squares += np.vdot(mean, mean / implied.variance)
    return float(products / squares)
