"""Measured on one forward pass: how far the normalized outputs of a transformed layer are from the original's."""

from collections.abc import Sequence

import numpy as np

from normviz.invariance.problem import NETWORKS, make_problem
from normviz.invariance.setting import Setting
from normviz.invariance.transformations import TRANSFORMATIONS
from normviz.normalize import normalize
from normviz.schemes import Scheme


def forward_gaps(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """max|ẑ' - ẑ| / max|ẑ| of the first normalized layer on the first mini-batch, (schemes, transformations)."""
    problem = make_problem(setting)
    dtype = np.dtype(setting.dtype)
    batch = problem.inputs[problem.order[0]]
    x = (batch * problem.factor + problem.shift).astype(dtype)
    weights = problem.weights[0].astype(dtype)
    shape = setting.shapes[0]
    gaps = np.empty((len(schemes), len(TRANSFORMATIONS)))
    for row, scheme in enumerate(schemes):
        on_weights, on_activations = scheme.on_weights, scheme.on_activations
        w = weights if on_weights is None else normalize(weights, on_weights, 0.0).xhat
        a = (x.reshape(len(NETWORKS), -1, x.shape[-1]) @ w.reshape(len(NETWORKS), -1, w.shape[-1])).reshape(-1, *shape)
        out = a if on_activations is None else normalize(a, on_activations, setting.eps).xhat
        first = out[0]
        twins = out[1 : 1 + len(TRANSFORMATIONS)]
        gaps[row] = np.abs(twins - first).max((1, 2, 3, 4)) / (np.abs(first).max() or 1.0)
    return gaps
