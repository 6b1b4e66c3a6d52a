"""Dropout between the layers of a stack (Srivastava et al. 2014)."""

from collections.abc import Sequence

import numpy as np
import torch


class Dropout:
    """Dropout: sets a share of all outputs to 0, drawn by each network's seed, and divides the rest by 1 − share.

    Args:
        seeds: of the networks.
        share: of the outputs that are dropped, below 1; one for all networks, or one for each.
    """

    def __init__(self, seeds: Sequence[int], share: float | np.ndarray) -> None:
        self.draws = {seed: np.random.default_rng([seed, 4]) for seed in seeds}
        self.seeds, self.shares = seeds, np.broadcast_to(np.float32(share), len(seeds))[:, None, None]

    def __call__(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (schemes, networks, N, units) after dropout; all schemes lose the same units."""
        drawn = {seed: draw.random(outputs.shape[2:], dtype=np.float32) for seed, draw in self.draws.items()}
        kept = (np.stack([drawn[seed] for seed in self.seeds]) >= self.shares) / (1 - self.shares)
        return outputs * torch.from_numpy(kept).to(outputs)
