"""Channels of a layer with running averages: how far the batch is from them."""

from typing import NamedTuple

import numpy as np

from normviz.core.text import typeset

CLOSE = 1.1
"""A standard deviation of up to this many times another one counts as equal, and a mean as near by the rest."""


class ChannelGaps(NamedTuple):
    """Differences between a batch and the running averages of a layer, for each channel.

    Attributes:
        number: the channels' places among the recorded ones.
        shift: the batch's mean minus the running one, in running standard deviations.
        ratio: the running standard deviation over the batch's: inference divides by so many times the batch's.
    """

    number: np.ndarray
    shift: np.ndarray
    ratio: np.ndarray


def compute_channel_gaps(statistics: np.ndarray, eps: float) -> ChannelGaps:
    """Compute the gaps of all channels whose numbers are finite, from the four rows of a recording."""
    mean, variance, running_mean, running_variance = statistics.astype(float)
    with np.errstate(all="ignore"):
        deviation = np.sqrt(running_variance + eps)
        shift, ratio = (mean - running_mean) / deviation, deviation / np.sqrt(variance + eps)
    (number,) = np.nonzero(np.isfinite(shift) & np.isfinite(ratio) & (ratio > 0))
    return ChannelGaps(number, shift[number], ratio[number])


def summarize_gaps(gaps: ChannelGaps) -> str:
    """Summarize in a heading how far the running averages of the median channel are from the batch."""
    shift, ratio = float(np.median(np.abs(gaps.shift))), float(np.median(gaps.ratio))
    if not 1 / CLOSE <= ratio <= CLOSE:
        return f"Inference divides by {typeset(ratio, 2)} times the deviation of this batch"
    if shift > CLOSE - 1:
        return f"Inference subtracts a mean {typeset(shift, 2)} deviations from that of this batch"
    return "The running averages fit this batch"
