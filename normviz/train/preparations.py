"""Preparations of a worker before its first job, so that no visitor waits for them; this module imports no torch."""

from collections import deque

from normviz.core.registry import SCHEMES
from normviz.train.setting import Setting


def warm_up_training() -> None:
    """Train small networks for one step, so that torch is imported and the digits are read before the first job."""
    from normviz.train import twins  # imports torch

    deque(twins.train_stepwise([SCHEMES["batch"]], Setting(steps=1, device="cpu")), maxlen=0)


def prepare_kernels() -> None:
    """Load the compiled kernels of training in a thread; the first time on a machine they are compiled."""
    from normviz.train import compiled  # imports torch

    compiled.start_loading()


PREPARATIONS = (warm_up_training, prepare_kernels)
"""Functions that a worker calls one after the other while it has no job; a job waits for the current one only."""
