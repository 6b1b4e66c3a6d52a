"""Dropout between the layers of a stack (Srivastava et al. 2014)."""

from collections.abc import Sequence

import numpy as np
import torch


class Dropout:
    """Dropout: sets a share of all outputs to 0, drawn by each network's seed, and divides the rest by 1 − share.

    Args:
        seeds: of the networks.
        share: of the outputs that are dropped, below 1.
    """

    def __init__(self, seeds: Sequence[int], share: float) -> None:
        self.draws, self.share = [np.random.default_rng([seed, 4]) for seed in seeds], share

    def __call__(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (schemes, networks, N, units) after dropout; all schemes lose the same units."""
        if self.share == 0:
            return outputs
        drawn = np.stack([draw.random(outputs.shape[2:], dtype=np.float32) for draw in self.draws])
        kept = torch.from_numpy(drawn >= self.share).to(outputs) / (1 - self.share)
        return outputs * kept
