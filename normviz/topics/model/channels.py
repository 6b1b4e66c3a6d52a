"""Channels of a layer with running averages: what training and inference compute with, and how far apart they are."""

from typing import NamedTuple

import numpy as np

from normviz.core.text import typeset

CLOSE = 1.1
"""A standard deviation of up to this many times another one counts as equal, and a mean as near by the rest."""


class ChannelAverages(NamedTuple):
    """One statistic of each channel, in the batch and as running average, and how far apart they are, in a heading."""

    name: str
    batch: np.ndarray
    running: np.ndarray
    heading: str


def compare_averages(statistics: np.ndarray, eps: float) -> ChannelAverages | None:
    """Compare the statistics of the batch with the running averages, from the four rows of a recording.

    The heading is on the median channel. The statistic is the standard deviation, or the mean where only this one
    differs. None without a channel of finite numbers.
    """
    mean, variance, running_mean, running_variance = statistics.astype(float)
    with np.errstate(all="ignore"):
        batch, running = np.sqrt(variance + eps), np.sqrt(running_variance + eps)
        shift, ratio = np.abs(mean - running_mean) / running, running / batch
    kept = np.isfinite(shift) & np.isfinite(ratio) & (ratio > 0)
    if not kept.any():
        return None
    middle, factor = (float(np.exp(np.median(each))) for each in (np.log(ratio[kept]), np.abs(np.log(ratio[kept]))))
    if factor <= CLOSE < 1 + np.median(shift[kept]):
        heading = f"At inference, the mean is off by {np.median(shift[kept]):.0%} of a standard deviation"
        return ChannelAverages("mean", mean[kept], running_mean[kept], heading)
    if middle > CLOSE:
        heading = f"At inference, its outputs vary {typeset(middle, 2)} times less than in training"
    elif middle < 1 / CLOSE:
        heading = f"At inference, its outputs vary {typeset(1 / middle, 2)} times more than in training"
    elif factor > CLOSE:
        heading = f"The running averages are off by a factor of {typeset(factor, 2)}, up or down"
    else:
        heading = "The running averages match this batch"
    return ChannelAverages("standard deviation", batch[kept], running[kept], heading)
