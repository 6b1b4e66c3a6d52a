"""Dense networks with batch norm that learn one task, and then a second task from few examples."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.batch_norm import BatchNorm
from normviz.train.dense import load_digit_parts
from normviz.train.learning import compute_error_rate, sample_initial_weights, shuffle_mini_batches

BatchNormCall = Callable[[BatchNorm, torch.Tensor], torch.Tensor]
"""`BatchNorm.normalize_in_training` or `BatchNorm.normalize_in_inference`."""


@dataclass
class TuningTask:
    """Digits of one task: for training, for the choice of a learning rate, and for the test.

    Attributes:
        x: training pictures, (networks, digits, pixels).
        labels: their classes, (networks, digits).
        validation: pictures (1, digits, pixels) and classes (digits,) for the choice, the same for all networks.
        test: pictures and classes for the result alone.
    """

    x: torch.Tensor
    labels: torch.Tensor
    validation: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]

    def iterate_batches(
        self, seeds: Sequence[int], steps: int, batch: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield `steps` mini-batches, pictures (networks, batch, pixels) and classes (networks, batch)."""
        network = torch.arange(len(seeds), device=self.x.device)[:, None]
        for chosen in shuffle_mini_batches(seeds, self.x.shape[1], steps, batch).to(self.x.device):
            yield self.x[network, chosen], self.labels[network, chosen]


PICTURE_TRANSFORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "faint": lambda x: 0.6 + 0.4 * x,
    "inverted": lambda x: 1 - x,
    "digits": lambda x: x,
    "same": lambda x: x,
}
"""The functions of pictures in 0..1 that make the second task, by its name."""


def make_tuning_tasks(
    name: str, seeds: Sequence[int], examples: int, device: torch.device
) -> tuple[TuningTask, TuningTask]:
    """Return the first and the second `TuningTask` of this name; the second one has `examples` digits per network.

    `name`: a key of `PICTURE_TRANSFORMS`. The classes of "digits" are 0 to 4 in the first task, 5 to 9 in the second.
    """
    tasks = []
    for second in (False, True):
        change, parts = PICTURE_TRANSFORMS[name if second else "same"], []
        for pictures, classes in load_digit_parts(device):
            used = ((classes >= DIGIT_CLASSES // 2) == second) | (name != "digits")
            parts.append((change(pictures[used]), classes[used]))
        (x, labels), *unseen = parts
        count = examples if second else len(x)
        drawn = [np.random.default_rng([seed, 3]).choice(len(x), count, replace=False) for seed in seeds]
        chosen = torch.from_numpy(np.stack(drawn)).to(device)
        tasks.append(
            TuningTask(x[chosen], labels[chosen], *((pictures[None], classes) for pictures, classes in unseen))
        )
    return tasks[0], tasks[1]


class TunedNetworks:
    """Stack of pretrained dense networks, one per method of fine-tuning and seed, with classifiers for two tasks.

    The first weights are N(0, 2/fan-in), drawn by the seed. `widths`: units of the normalized layers. `momentum`: of
    the running averages.
    """

    def __init__(
        self, seeds: Sequence[int], widths: Sequence[int], momentum: float, eps: float, device: torch.device
    ) -> None:
        sizes = [*pairwise([DIGIT_SIDE**2, *widths]), (widths[-1], DIGIT_CLASSES), (widths[-1], DIGIT_CLASSES)]
        *self.weights, old, new = (
            sample_initial_weights(seeds, 1, *size, scale=(2 / size[0]) ** 0.5, part=part).to(device)
            for part, size in enumerate(sizes)
        )
        lead = (1, len(seeds))
        self.gains = [torch.ones(*lead, 1, width, device=device) for width in widths]
        self.biases = [torch.zeros(*lead, 1, width, device=device) for width in widths]
        self.norms = [BatchNorm(width, [momentum], lead, eps, old) for width in widths]
        self.old, self.new = ([w, torch.zeros(*lead, 1, DIGIT_CLASSES, device=device)] for w in (old, new))

    @property
    def parameter_groups(self) -> dict[str, list[torch.Tensor]]:
        """The tensors that fine-tuning may change, by name: "weights", "γ, β", "classifier"."""
        return {"weights": self.weights, "γ, β": [*self.gains, *self.biases], "classifier": self.new}

    def replicate(self, copies: int, momenta: Sequence[float], fresh_classifier: bool = True) -> "TunedNetworks":
        """Return `copies` clones of these networks whose running averages use these momenta from now on.

        Their new classifier is the one of random weights if `fresh_classifier`, else a copy of the old one.
        """

        def several(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            return [each.detach().expand(copies, *each.shape[1:]).clone() for each in tensors]

        made = copy(self)
        made.weights, made.gains, made.biases = several(self.weights), several(self.gains), several(self.biases)
        made.old, made.new = several(self.old), several(self.new if fresh_classifier else self.old)
        made.norms = []
        for norm, gain in zip(self.norms, self.gains, strict=True):
            kept = BatchNorm(gain.shape[-1], momenta, (copies, gain.shape[1]), norm.eps, gain.detach())
            kept.mean, kept.variance = (each[:1].expand_as(kept.mean).clone() for each in (norm.mean, norm.variance))
            made.norms.append(kept)
        return made

    @torch.no_grad()
    def measure_error_rates(
        self, unseen: tuple[torch.Tensor, torch.Tensor], new: bool, momentum_index: int = 0
    ) -> torch.Tensor:
        """Return the error rates (methods, networks) in inference on unseen pictures of the old or the `new` task.

        `unseen`: pictures (1, digits, pixels) and their classes. `momentum_index`: of the averages that normalize.
        """
        pictures, classes = unseen
        return compute_error_rate(
            self.compute_logits(pictures, lambda norm, x: norm.normalize_in_inference(x, momentum_index), new), classes
        )

    def compute_logits(self, x: torch.Tensor, norm_method: BatchNormCall, new: bool) -> torch.Tensor:
        """Compute logits (methods, networks, N, classes) of pictures x by the old or the `new` task's classifier."""
        for w, norm, gain, bias in zip(self.weights, self.norms, self.gains, self.biases, strict=True):
            x = torch.relu(gain * norm_method(norm, x @ w) + bias)
        w, offset = self.new if new else self.old
        return x @ w + offset


def measure_mean_drift(after: TunedNetworks, before: TunedNetworks, momentum_index: int = 0) -> torch.Tensor:
    """Return the drift of running means since `before`, in running standard deviations, (methods, networks).

    It is the root mean square over all units, for the momentum at this index; the deviations are those of `before`.
    """
    away = [
        (norm.mean[momentum_index] - was.mean[momentum_index]) / (was.variance[momentum_index] + was.eps).sqrt()
        for norm, was in zip(after.norms, before.norms, strict=True)
    ]
    return torch.cat(away, -1).square().mean(-1).sqrt()


@torch.no_grad()
def measure_parameter_changes(after: TunedNetworks, before: TunedNetworks) -> dict[str, torch.Tensor]:
    """Return by name the largest absolute change of a parameter in the `parameter_groups`, each (methods, networks)."""
    return {
        name: torch.stack(
            [(a - b).flatten(2).abs().amax(-1) for a, b in zip(some, before.parameter_groups[name], strict=True)]
        ).amax(0)
        for name, some in after.parameter_groups.items()
    }
