"""One forward pass: how far the normalized outputs of a transformed layer are from the original's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from normviz.core.normalize import normalize, quiet
from normviz.core.schemes import Scheme
from normviz.jobs.spec import Step
from normviz.networks.problem import NETWORKS, ORIGINAL, make_problem
from normviz.networks.setting import Setting
from normviz.table1.training import Row


def forward_gaps(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """max|x̂' - x̂| / max|x̂| of the first normalized layer on the first mini-batch, (schemes, networks).

    x̂ is what the layer's normalization gives: of a = Wx where the scheme normalizes activations, otherwise a itself,
    with normalized W. A gap is infinite where a number is not finite, as when float16 overflows.
    """
    gaps = np.empty((len(schemes), len(NETWORKS)))
    for row, scheme in enumerate(schemes):
        for gaps[row] in measuring(scheme, setting):
            pass
    return gaps


def first_layer(setting: Setting) -> Setting:
    """A setting with what a forward pass of the first layer depends on, and the least of everything else."""
    depth = setting.depth if setting.kernel == 2 else 1  # which filters a convolution has
    return replace(setting, steps=1, depth=depth, optimizer="sgd", rate=1.0, device="auto")


@dataclass(frozen=True)
class Forward:
    """Measure one row on a forward pass: the gaps of all networks, NaN where there is none yet."""

    kind: ClassVar[str] = "table1/forward"
    version: ClassVar[int] = 1

    row: Row
    setting: Setting

    @classmethod
    def of(cls, scheme: Scheme, setting: Setting) -> "Forward":
        """The measurement of a scheme."""
        return cls(Row.of(scheme), first_layer(setting))

    def steps(self) -> Iterator[Step[np.ndarray]]:
        """Network by network."""
        for done, gaps in enumerate(measuring(self.row.scheme, self.setting), 1):
            yield Step(done / len(gaps), partial(np.array, gaps))


def measuring(scheme: Scheme, setting: Setting) -> Iterator[np.ndarray]:
    """`forward_gaps` of one scheme, network by network, so that the tensors of two are there at a time, not of all.

    Yields after every network all gaps, (networks,), NaN where there is none yet.
    """
    problem = make_problem(replace(setting, steps=1))
    examples, weights = problem.inputs[problem.order[0]], problem.weights[0].astype(setting.storage)

    def output(network: int) -> np.ndarray:
        x = (examples * problem.factor[network] + problem.shift[network]).astype(setting.storage)
        return _output(x, weights[network], scheme, setting)

    original, gaps = output(ORIGINAL), np.full(len(NETWORKS), np.nan)
    for number, network in enumerate(NETWORKS):
        same = NETWORKS.index(network._replace(follows=True))  # the learning rate matters in training alone
        gaps[number] = _gap(output(number), original) if same == number else gaps[same]
        yield gaps.copy()


def _output(x: np.ndarray, weights: np.ndarray, scheme: Scheme, setting: Setting) -> np.ndarray:
    """What a layer's normalization gives, (N, H, W, C), for patches (N, positions, fan-in)."""
    on_weights, on_activations = scheme.on_weights, scheme.on_activations
    w = weights if on_weights is None else _normalized(weights, on_weights, 0.0, setting)
    a = (x.reshape(-1, x.shape[-1]) @ w.reshape(-1, w.shape[-1])).reshape(setting.shapes[0])
    return a if on_activations is None else _normalized(a, on_activations, setting.eps, setting)


@quiet
def _gap(out: np.ndarray, original: np.ndarray) -> float:
    gap = np.abs(out - original).max() / (np.abs(original).max() or 1.0)
    return float("inf") if np.isnan(gap) else float(gap)


def _normalized(x: np.ndarray, scheme: Scheme, eps: float, setting: Setting) -> np.ndarray:
    """x̂, where the input and the output are rounded to the setting's type."""
    return _rounded(normalize(_rounded(x, setting), scheme, eps).xhat, setting)


@quiet
def _rounded(x: np.ndarray, setting: Setting) -> np.ndarray:
    if setting.dtype == "bfloat16":
        import torch  # which has a bfloat16; NumPy has none

        return torch.tensor(x).bfloat16().float().numpy()
    return x.astype(setting.dtype).astype(x.dtype)
