"""Statistics of networks that differ in their seeds: means with intervals, and which differences are clear.

An experiment that keeps to these rules uses them in its headline, figures, verdict and tables:

- a number is the mean over the seeds, with its 95% interval (Student's t);
- two schemes are compared seed by seed, as both start from the same weights and see the same batches;
- a difference is clear where Holm's correction for the number of comparisons rejects "no difference" at 5%.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from normviz.core.text import typeset

SIGNIFICANCE_LEVEL = 0.05
"""The probability of calling any of several differences clear where there is none."""

COMPARISON_NOTE = (
    "Numbers are means over the seeds with 95% intervals (Student's t). Two schemes are "
    "compared seed by seed: both start from the same weights and see the same batches. A difference is called clear "
    "where Holm's correction for the number of comparisons rejects chance at 5%."
)
"""The comparison of schemes, as text for a page."""

COMPARISON_RULES = (
    f"{COMPARISON_NOTE} Learning rates are chosen for each scheme on validation digits; the test digits choose "
    f"nothing. The network without normalization has no γ."
)
"""The comparison of networks in an experiment on digits, as text for its page."""


class MeanDifference(NamedTuple):
    """Mean difference of two results over the same seeds, with half the width of its 95% interval and its p-value.

    The p-value is the two-sided probability of a mean as far from 0 by chance.
    """

    mean: float
    half_width: float
    p_value: float = np.nan

    def text(self, scale: float = 1.0) -> str:
        """Format the mean and its interval, times `scale`: "−1.2 ± 0.4"."""
        mean = 0.0 if abs(self.mean) < 1e-4 * self.half_width else self.mean
        return f"{typeset(scale * mean, 2)} ± {typeset(scale * self.half_width, 2)}"


def estimate_mean(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Return the means over the seeds (`axis`) and half the widths of their 95% confidence intervals.

    The width of a single seed is NaN; a number that is not finite makes both NaN.

    Example:
        >>> mean, half_width = estimate_mean(np.array([1.0, 2.0, 3.0]))
        >>> float(mean), round(float(half_width), 2)
        (2.0, 2.48)
    """
    from scipy.special import stdtrit  # takes half a second to import, and a page without results has no need of it

    values = np.asarray(values, float)
    count = values.shape[axis]
    with np.errstate(invalid="ignore", over="ignore"):
        mean = values.mean(axis)
        if count < 2:
            return mean, np.full_like(mean, np.nan)
        quantile = stdtrit(count - 1, 1 - SIGNIFICANCE_LEVEL / 2)
        half_width = quantile * values.std(axis, ddof=1) / np.sqrt(count)
    return np.where(np.isfinite(mean), mean, np.nan), np.where(np.isfinite(half_width), half_width, np.nan)


def format_mean(values: np.ndarray, decimals: int) -> str:
    """Format the mean over the seeds and half its 95% interval with a number of decimals: "0.52 ± 0.03".

    Example:
        >>> format_mean(np.array([0.1, 0.2, 0.3]), 3)
        '0.200 ± 0.248'
    """
    mean, half_width = estimate_mean(values)
    return f"{mean:.{decimals}f} ± {half_width:.{decimals}f}".replace("-", "−")


def format_mean_percent(shares: np.ndarray) -> str:
    """Format the mean over the seeds of shares (0 to 1) and half its 95% interval as percentages: "3.2 ± 0.7%".

    Example:
        >>> format_mean_percent(np.array([0.01, 0.02, 0.03]))
        '2.0 ± 2.5%'
    """
    mean, half_width = estimate_mean(shares)
    return f"{100 * mean:.1f} ± {100 * half_width:.1f}%".replace("-", "−")


def estimate_band(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means over the seeds (`axis`), and the lower and upper ends of their 95% intervals."""
    mean, half_width = estimate_mean(values, axis)
    return mean, mean - half_width, mean + half_width


def compare_seed_by_seed(values: np.ndarray, others: np.ndarray, resolution: float = 0.0) -> MeanDifference:
    """Compute the mean difference `values` − `others`, seed by seed; numbers come in steps of `resolution`.

    Differences that are all alike may be off by a uniform rounding of that step, such as that of a grid.

    Example:
        >>> compare_seed_by_seed([3.0, 4.1, 5.0], [1.0, 2.0, 3.0]).text()
        '2 ± 0.14'
    """
    from scipy.special import stdtr, stdtrit

    with np.errstate(invalid="ignore"):  # ∞ − ∞
        differences = np.asarray(values, float) - np.asarray(others, float)
    count = len(differences)
    if count < 2 or not np.isfinite(differences).all():
        return MeanDifference(np.nan, np.nan, np.nan)
    mean = float(differences.mean())
    error = max(float(differences.std(ddof=1)), resolution / 12**0.5) / count**0.5
    if error == 0:
        return MeanDifference(mean, 0.0, float(mean == 0))
    p_value = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return MeanDifference(mean, float(stdtrit(count - 1, 1 - SIGNIFICANCE_LEVEL / 2)) * error, p_value)


def find_clear_differences(differences: Sequence[MeanDifference]) -> list[bool]:
    """Return for each difference whether it is statistically clear, by Holm's correction (Holm 1979).

    The smallest p-value is held against 5% over their number, the next one against 5% over one less, and so on until
    one is too large. A difference without a p-value is never clear, but counts.

    Example:
        >>> find_clear_differences([MeanDifference(1, 0.5, p_value) for p_value in (0.01, 0.04, 0.9)])
        [True, False, False]
    """
    p_values = [1.0 if np.isnan(each.p_value) else each.p_value for each in differences]
    clear = [False] * len(p_values)
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] > SIGNIFICANCE_LEVEL / (len(p_values) - rank):
            break
        clear[place] = True
    return clear


def find_clear_signs(differences: Sequence[MeanDifference]) -> list[int]:
    """Return the sign of each difference, 1 or −1, and 0 if `find_clear_differences` finds it unclear.

    Example:
        >>> find_clear_signs([MeanDifference(-1, 0.5, 0.01), MeanDifference(1, 0.9, 0.4)])
        [-1, 0]
    """
    clear = find_clear_differences(differences)
    return [int(np.sign(each.mean)) if is_clear else 0 for each, is_clear in zip(differences, clear, strict=True)]


def choose_learning_rate(validation: np.ndarray) -> int:
    """Return the index of the learning rate with the lowest mean of the validation errors, (rates, seeds).

    The rates ascend; the smaller of two equal ones wins.

    Example:
        >>> choose_learning_rate(np.array([[0.5, 0.5], [0.1, 0.2], [0.9, 0.9]]))
        1
    """
    return int(np.nan_to_num(np.mean(validation, axis=-1), nan=np.inf).argmin())
