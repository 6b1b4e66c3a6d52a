"""The output of a layer with batch norm for one mini-batch, in training and in inference."""

from dataclasses import dataclass

import numpy as np

from normviz.data.digits import load_digit_split
from normviz.topics.running import stream
from normviz.topics.running.averages import Moments, RunningAverages

MODES = {"training": "Training", "inference": "Inference"}
"""The modes of a layer, which are also the roles of their colours, and their names."""


@dataclass(frozen=True)
class StreamBatch:
    """Mini-batch at a position of the stream, with its outputs in training and in inference.

    Attributes:
        step: index of the batch, from 0.
        pictures, classes, x: of its first digits: (digits, 8, 8), (digits,), and the summed inputs, (digits, C).
        statistics: the mean and variance that each mode normalizes by, (C,).
        output: x̂ of these digits by mode, (digits, C); without inference if a running variance and ε are 0.
    """

    step: int
    pictures: np.ndarray
    classes: np.ndarray
    x: np.ndarray
    statistics: dict[str, Moments]
    output: dict[str, np.ndarray]


def compute_batch_at(
    setting: stream.Setting, stream_trace: stream.StreamTrace, averages: RunningAverages, position: int, eps: float
) -> StreamBatch:
    """Compute the mini-batch before a position of the stream, and its outputs with the running averages after it."""
    step = max(position - 1, 0)
    own = Moments(stream_trace.mean[step], stream_trace.variance[step])
    running = Moments(averages.mean[position], averages.variance[position])
    output = {"training": stream_trace.xhat[step]}
    if np.all(running.variance + eps > 0):
        output["inference"] = stream.normalize_in_inference(stream_trace.x[step], *running, eps)
    chosen = stream.sample_batch_indices(setting)[step, : stream.MAX_SHOWN_DIGITS]
    pictures, classes = (values[chosen] for values in load_digit_split())
    return StreamBatch(step, pictures, classes, stream_trace.x[step], {"training": own, "inference": running}, output)


def compute_max_output(stream_trace: stream.StreamTrace, averages: RunningAverages, eps: float) -> np.ndarray:
    """Compute the largest |x̂| of every channel, shape (C,), over all steps and both modes, to scale an axis."""
    deviation = np.sqrt(averages.variance[1:] + eps)[:, None]
    centred = np.abs(stream_trace.x - averages.mean[1:, None])
    inferred = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
    return np.maximum(np.abs(stream_trace.xhat).max((0, 1)), inferred.max((0, 1)))
