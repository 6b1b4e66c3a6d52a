"""Data of the plot of a case: losses of network and twin, or outputs of the first layer that show more."""

from math import prod
from typing import Any

import numpy as np

from normviz.core.normalize import ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.core.transformations import Transformation
from normviz.topics.table1.cases import UNIT_WORDS
from normviz.topics.table1.forward import compute_first_outputs
from normviz.train.problem import ORIGINAL, find_network_index
from normviz.train.setting import Setting

MAX_LOSS_RATIO = 5.0
"""End of the loss axis, as a multiple of the network's first loss: a diverging loss leaves the plot."""


def is_visible(plot_data: dict[str, Any]) -> bool:
    """Return True if the two curves of a plot differ by enough of its height to be seen from the last row."""
    low, high = plot_data["low"], plot_data["high"]
    first, second = (np.nan_to_num(np.clip(plot_data[name], low, high), nan=high) for name in ("first", "second"))
    return bool(np.abs(second - first).max(initial=0.0) >= 0.05 * (high - low))


@ignore_float_warnings
def build_loss_plot(losses: np.ndarray, setting: Setting) -> dict[str, Any]:
    """Return the plot data of the losses (steps so far, 2) of network and twin over the training steps."""
    return {
        "x": "training step", "y": "loss", "count": setting.steps, "low": 0.0, "high": _compute_axis_end(losses),
        "first": losses[:, 0].astype(np.float32), "second": losses[:, 1].astype(np.float32), "plays": True,
    }  # fmt: skip


@ignore_float_warnings
def build_output_plot(scheme: Scheme, change: Transformation, setting: Setting) -> dict[str, Any] | None:
    """Return the plot data of x̂ where network and twin differ most; None for a layer too large for a page."""
    if prod(setting.shapes[0]) > 2**18:
        return None
    first, second = compute_first_outputs(scheme, setting, [ORIGINAL, find_network_index(change)])
    gaps = np.nan_to_num(np.abs(second - first), nan=0.0)
    at = np.unravel_index(int(gaps.argmax()), gaps.shape)[:3]
    both = np.stack([first[at], second[at]]).astype(np.float32)
    finite = both[np.isfinite(both)]
    return {
        "x": UNIT_WORDS[setting.layer], "y": "output x̂", "count": setting.width, "plays": False,
        "low": float(min(finite.min(initial=0.0), 0.0)), "high": float(finite.max(initial=0.0)) or 1.0,
        "first": both[0], "second": both[1],
    }  # fmt: skip


def _compute_axis_end(losses: np.ndarray) -> float:
    """Return the largest finite loss of `losses` (steps so far, 2), at most `MAX_LOSS_RATIO` times the first."""
    finite = losses[np.isfinite(losses)]
    start = losses[0, 0] if len(losses) and np.isfinite(losses[0, 0]) else 1.0
    return float(min(finite.max(initial=0.0), MAX_LOSS_RATIO * start)) or 1.0
