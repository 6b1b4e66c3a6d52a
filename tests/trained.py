"""Trained networks of Table 1."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from normviz.core.registry import Scheme
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.train.twins import train_stepwise


def train_losses(
    schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = range(len(NETWORKS))
) -> np.ndarray:
    """Train the networks as `train_stepwise` does, and return the losses of all steps, (steps, schemes, networks)."""
    (losses,) = deque(train_stepwise(schemes, setting, networks), maxlen=1)
    return losses.cpu().double().numpy()
