"""Channels of a layer with running averages: two values of a statistic of each channel, and how far apart they are."""

from typing import NamedTuple

import numpy as np

from normviz.core.text import typeset

CLOSE = 1.1
"""A standard deviation of up to this many times another one counts as equal, and a mean as near by the rest."""


class ChannelComparison(NamedTuple):
    """Two values of one statistic for each channel, and a heading on how far apart they are."""

    name: str
    values: dict[str, np.ndarray]
    heading: str


def compare_running_variances(statistics: np.ndarray) -> ChannelComparison | None:
    """Compare the running variances of channels before and after a training step; None if not recorded or unchanged."""
    if len(statistics) < 6:
        return None
    pairs = statistics[[3, 5]].astype(float)
    before, after = pairs[:, (np.isfinite(pairs) & (pairs > 0)).all(0)]
    if np.array_equal(before, after):
        return None
    change = typeset(100 * float(np.median(np.abs(after - before) / before)), 2)
    heading = f"One training step changes its running variances by {change}%"
    return ChannelComparison("running variance", {"before": before, "after one training step": after}, heading)


def compare_batch_statistics(statistics: np.ndarray, eps: float) -> ChannelComparison | None:
    """Return the channels' batch statistics beside their running averages, from one layer's recorded `statistics`.

    Its first rows are mean, variance, running mean and running variance. The heading is on the median channel. The
    statistic is the standard deviation, or the mean where only this one differs. None without a channel of finite
    numbers.
    """
    mean, variance, running_mean, running_variance = statistics[:4].astype(float)
    with np.errstate(all="ignore"):
        batch, running = np.sqrt(variance + eps), np.sqrt(running_variance + eps)
        shift, ratio = np.abs(mean - running_mean) / running, running / batch
    kept = np.isfinite(shift) & np.isfinite(ratio) & (ratio > 0)
    if not kept.any():
        return None
    middle, factor = (float(np.exp(np.median(each))) for each in (np.log(ratio[kept]), np.abs(np.log(ratio[kept]))))
    name, first, second = "standard deviation", batch, running
    if factor <= CLOSE < 1 + np.median(shift[kept]):
        name, first, second = "mean", mean, running_mean
        heading = f"At inference, the mean is off by {np.median(shift[kept]):.0%} of a standard deviation"
    elif middle > CLOSE:
        heading = f"At inference, its outputs vary {typeset(middle, 2)} times less than in training"
    elif middle < 1 / CLOSE:
        heading = f"At inference, its outputs vary {typeset(1 / middle, 2)} times more than in training"
    elif factor > CLOSE:
        heading = f"The running averages are off by a factor of {typeset(factor, 2)}, up or down"
    else:
        heading = "The running averages match this batch"
    values = {f"training: {name} of the batch": first[kept], "inference: running average": second[kept]}
    return ChannelComparison(name, values, heading)
