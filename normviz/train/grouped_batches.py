"""Mini-batches of separately normalized groups, each with digits of one class and a blank picture."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from normviz.data.digits import DIGIT_CLASSES
from normviz.train.dense import Dense
from normviz.train.learning import compute_error_rate
from normviz.train.norm import NormLayer

ONE_CLASS, SHUFFLED = range(2)
"""The kinds of groups: of one class each, and of the same pictures in shuffled order."""


class GroupedBatches(NamedTuple):
    """Mini-batches of ten groups of digits, one group per class, and the same pictures shuffled among the groups.

    Attributes:
        pictures: indices into the digits, (2, seeds, mini-batches, N), first in groups of one class, then shuffled; the
            index after the last digit is the blank picture.
        labels: their classes, of the same shape. A blank picture has the class of its group.
    """

    pictures: np.ndarray
    labels: np.ndarray

    @classmethod
    def sample(
        cls, labels: np.ndarray, group: int, count: int, seeds: tuple[int, ...], stream: int
    ) -> "GroupedBatches":
        """Sample `count` mini-batches per seed, with groups of `group` pictures; `stream` selects a random stream."""
        found = []
        for seed in seeds:
            rng = np.random.default_rng([seed, 7, stream])
            drawn = [
                _sample_groups(np.flatnonzero(labels == k), len(labels), group, count, rng)
                for k in range(DIGIT_CLASSES)
            ]
            ordered = np.concatenate(drawn, axis=1)
            answers = np.broadcast_to(np.repeat(np.arange(DIGIT_CLASSES), group), ordered.shape)
            order = rng.permuted(np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape), axis=1)
            found.append([np.stack([each, np.take_along_axis(each, order, axis=1)]) for each in (ordered, answers)])
        pictures, classes = (np.stack(each, axis=1) for each in zip(*found, strict=True))
        return cls(pictures, classes)

    def gather(
        self, digits: torch.Tensor, groups: Sequence[int], network_count: int, steps: slice
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return pictures (schemes, networks, N, pixels) and classes (schemes, networks, N) of the batches in `steps`.

        The mini-batches are joined along N. `digits`: rows of pixels. `groups`: `ONE_CLASS` or `SHUFFLED` for each
        scheme. `network_count`: the number of networks of each seed.
        """
        chosen, labels = (
            torch.from_numpy(each[list(groups)][:, :, steps]).flatten(2).to(digits.device).repeat(1, network_count, 1)
            for each in self
        )
        return torch.cat([digits, torch.zeros_like(digits[:1])])[chosen], labels


def _sample_groups(own: np.ndarray, blank: int, group: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Sample index groups (count, group): distinct digits among the indices `own`, then the index `blank`."""
    chosen = rng.random((count, len(own))).argsort(axis=1)[:, : group - 1]
    return np.concatenate([own[chosen], np.full((count, 1), blank)], axis=1)


def measure_group_errors(
    network: Dense, pictures: torch.Tensor, labels: torch.Tensor, only_blank: bool = False
) -> torch.Tensor:
    """Return error rates (schemes, networks) on pictures in groups: on blank ones if `only_blank`, else on all others.

    The pictures are joined mini-batches, (schemes, networks, N, pixels); each group is normalized by itself.
    """
    counts = (pictures.amax(-1) == 0) == only_blank
    with torch.no_grad():
        answers = network.compute_logits(pictures, NormLayer.collect_statistics)[counts].unflatten(
            0, (*counts.shape[:2], -1)
        )
        return compute_error_rate(answers, labels[counts].view(answers.shape[:-1]))
