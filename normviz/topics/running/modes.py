"""What a layer with batch norm computes of one mini-batch, in training and in inference."""

from dataclasses import dataclass

import numpy as np

from normviz.data.digits import load_digit_split
from normviz.topics.running.averages import Averages, Moments
from normviz.topics.running.stream import SHOWN, Setting, Trace, infer, order

MODES = {"training": "Training", "inference": "Inference"}
"""The modes of a layer, which are also the roles of their colours, and what they are called."""


@dataclass(frozen=True)
class Batch:
    """The mini-batch at a position of the stream; at the start the first one, before anything is averaged.

    Attributes:
        step: which batch it is, counted from 0.
        pictures, classes, x: of its first digits: (digits, 8, 8), (digits,), and what is summed, (digits, C).
        statistics: the mean and variance that each mode normalizes by, (C,).
        output: x̂ of these digits by mode, (digits, C); without inference where a running variance and ε are 0.
    """

    step: int
    pictures: np.ndarray
    classes: np.ndarray
    x: np.ndarray
    statistics: dict[str, Moments]
    output: dict[str, np.ndarray]


def batch_at(setting: Setting, seen: Trace, averages: Averages, position: int, eps: float) -> Batch:
    """What the layer computes of the mini-batch at a position, with the running averages that hold after it."""
    step = max(position - 1, 0)
    own = Moments(seen.mean[step], seen.variance[step])
    running = Moments(averages.mean[position], averages.variance[position])
    output = {"training": seen.xhat[step]}
    if np.all(running.variance + eps > 0):
        output["inference"] = infer(seen.x[step], *running, eps)
    chosen = order(setting)[step, :SHOWN]
    pictures, classes = (values[chosen] for values in load_digit_split())
    return Batch(step, pictures, classes, seen.x[step], {"training": own, "inference": running}, output)


def span(seen: Trace, averages: Averages, eps: float) -> np.ndarray:
    """The largest |x̂| of the digits that are shown, over the whole stream and in both modes, (C,)."""
    deviation = np.sqrt(averages.variance[1:] + eps)[:, None]
    centred = np.abs(seen.x - averages.mean[1:, None])
    inferred = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
    return np.maximum(np.abs(seen.xhat).max((0, 1)), inferred.max((0, 1)))
