"""Few digits for every network to train on, so that it can learn them by heart, and many to test it on."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from normviz.networks.dense import Between, Dense, rows, unchanged
from normviz.networks.learning import error, mini_batches
from normviz.networks.norm import Norm


class Few:
    """The digits that each network trains on, drawn by its seed, and those that all of them are tested on.

    Args:
        seeds: of the networks.
        count: digits that each trains on, at least one mini-batch.
        batch: digits of a mini-batch.
    """

    def __init__(self, seeds: Sequence[int], count: int, batch: int, device: torch.device) -> None:
        (x, labels), (unseen, answers) = rows(), rows(test=True)
        drawn = [np.random.default_rng([seed, 3]).choice(len(x), count, replace=False) for seed in seeds]
        chosen = torch.from_numpy(np.stack(drawn))
        self.seeds, self.batch = seeds, batch
        self.x, self.labels = x[chosen].to(device), labels[chosen].to(device)
        self.unseen, self.answers = unseen[None].to(device), answers.to(device)

    def batches(self, steps: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Mini-batches (networks, batch, pixels) with their classes (networks, batch), one a step."""
        network = torch.arange(len(self.seeds))[:, None]
        for chosen in mini_batches(self.seeds, self.x.shape[1], steps, self.batch):
            yield self.x[network, chosen], self.labels[network, chosen]

    @torch.no_grad()
    def errors(self, network: Dense, between: Between = unchanged) -> tuple[torch.Tensor, torch.Tensor]:
        """The shares of the digits to train on, and of those to test on, that are told wrongly, (schemes, networks).

        `between`: of training, under which the statistics for inference are taken too.
        """
        network.logits(self.x[:, : self.x.shape[1] // self.batch * self.batch], Norm.settle, between)
        seen, unseen = network.logits(self.x, Norm.infer), network.logits(self.unseen, Norm.infer)
        return error(seen, self.labels), error(unseen, self.answers)
