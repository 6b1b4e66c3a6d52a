"""Training sets that a network can memorize, few digits or random labels, with validation and test digits."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from normviz.data.digits import DIGIT_CLASSES
from normviz.train.dense import Dense, OutputTransform, load_digit_rows, return_unchanged
from normviz.train.learning import compute_error_rate, shuffle_mini_batches
from normviz.train.norm import NormLayer


def sample_digit_indices(seeds: Sequence[int], total: int, count: int) -> torch.Tensor:
    """Sample indices (seeds, count) of `count` different digits below `total`, for the network of each seed."""
    drawn = [np.random.default_rng([seed, 3]).choice(total, count, replace=False) for seed in seeds]
    return torch.from_numpy(np.stack(drawn))


class SmallTrainingSet:
    """Few training digits for each network, drawn by its seed, with validation and test digits.

    Args:
        seeds: of the networks.
        count: training digits of each network, at least one mini-batch; the others validate it.
        batch: digits of a mini-batch.
        relabelled: the share of training labels that are replaced by random ones.
        dtype: of the pictures.
    """

    def __init__(
        self, seeds: Sequence[int], count: int, batch: int, device: torch.device, relabelled: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        (x, labels), (unseen, answers) = load_digit_rows(dtype=dtype), load_digit_rows(test=True, dtype=dtype)
        chosen = sample_digit_indices(seeds, len(x), count)
        held_out = torch.from_numpy(np.stack([np.setdiff1d(np.arange(len(x)), each) for each in chosen.numpy()]))
        self.seeds, self.batch = seeds, batch
        self.x, self.labels = x[chosen].to(device), _relabel(labels[chosen], seeds, relabelled).to(device)
        self.held_out, self.held_out_labels = x[held_out].to(device), labels[held_out].to(device)
        self.unseen, self.answers = unseen[None].to(device), answers.to(device)

    def iterate_batches(self, steps: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield `steps` mini-batches: pictures (networks, batch, pixels), classes (networks, batch)."""
        network = torch.arange(len(self.seeds))[:, None]
        for chosen in shuffle_mini_batches(self.seeds, self.x.shape[1], steps, self.batch):
            yield self.x[network, chosen], self.labels[network, chosen]

    @torch.no_grad()
    def measure_errors(self, network: Dense, transform: OutputTransform = return_unchanged) -> dict[str, torch.Tensor]:
        """Return error rates (schemes, networks) in inference by set: "training", "validation" and "test".

        Training digits keep the labels of training, random ones too. `network`: networks of these seeds. `transform`:
        of hidden outputs in training, also for the statistics of inference.
        """
        network.compute_logits(
            self.x[:, : self.x.shape[1] // self.batch * self.batch], NormLayer.collect_statistics, transform
        )
        sets = {
            "training": (self.x, self.labels),
            "validation": (self.held_out, self.held_out_labels),
            "test": (self.unseen, self.answers),
        }
        return {
            name: compute_error_rate(network.compute_logits(x, NormLayer.normalize_in_inference), labels)
            for name, (x, labels) in sets.items()
        }


def _relabel(labels: torch.Tensor, seeds: Sequence[int], share: float) -> torch.Tensor:
    """Return a copy of labels (networks, digits) with a share replaced by random ones, drawn by each network's seed."""
    made = labels.clone()
    for row, seed in zip(made, seeds, strict=True):
        rng = np.random.default_rng([seed, 5])
        chosen = torch.from_numpy(rng.random(len(row)) < share)
        row[chosen] = torch.from_numpy(rng.integers(DIGIT_CLASSES, size=len(row)))[chosen]
    return made
