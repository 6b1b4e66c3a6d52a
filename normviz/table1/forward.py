"""One forward pass: how far the normalized outputs of a transformed layer are from the original's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.core.normalize import normalize, quiet
from normviz.core.schemes import Scheme
from normviz.networks.problem import BASES, NETWORKS, ORIGINAL, make_problem
from normviz.networks.setting import Setting


def forward_gaps(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """max|x̂' - x̂| / max|x̂| of the first normalized layer on the first mini-batch, (schemes, networks).

    A network is held against its base, a control against what it is a disturbed copy of; max|x̂| is the original's.
    x̂ is what the layer's normalization gives: of a = Wx where the scheme normalizes activations, otherwise a itself,
    with normalized W. A gap is infinite where a number is not finite, as when float16 overflows.
    """
    problem = make_problem(replace(setting, steps=1))
    x = (problem.inputs[problem.order[0]] * problem.factor + problem.shift).astype(setting.storage)
    weights = problem.weights[0].astype(setting.storage)
    gaps = np.empty((len(schemes), len(NETWORKS)))
    for row, scheme in enumerate(schemes):
        on_weights, on_activations = scheme.on_weights, scheme.on_activations
        w = weights if on_weights is None else _normalized(weights, on_weights, 0.0, setting)
        a = x.reshape(len(NETWORKS), -1, x.shape[-1]) @ w.reshape(len(NETWORKS), -1, w.shape[-1])
        a = a.reshape(-1, *setting.shapes[0])
        out = a if on_activations is None else _normalized(a, on_activations, setting.eps, setting)
        gaps[row] = _gaps(out)
    return np.nan_to_num(gaps, nan=np.inf)


@quiet
def _gaps(out: np.ndarray) -> np.ndarray:
    return np.abs(out - out[BASES]).max((1, 2, 3, 4)) / (np.abs(out[ORIGINAL]).max() or 1.0)


def _normalized(x: np.ndarray, scheme: Scheme, eps: float, setting: Setting) -> np.ndarray:
    """x̂, where the input and the output are rounded to the setting's type."""
    return _rounded(normalize(_rounded(x, setting), scheme, eps).xhat, setting)


@quiet
def _rounded(x: np.ndarray, setting: Setting) -> np.ndarray:
    if setting.dtype == "bfloat16":
        import torch  # which has a bfloat16; NumPy has none

        return torch.tensor(x).bfloat16().float().numpy()
    return x.astype(setting.dtype).astype(x.dtype)
