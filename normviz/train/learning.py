"""Training of stacks of networks of any architecture: mini-batches, losses, errors, steps of an optimizer.

Parameters have two leading axes, (schemes, networks). The losses of all networks are summed, so that each network has
the gradient of its own loss alone; a network that diverges does not change the others.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from normviz.data.digits import order_mini_batches
from normviz.train import devices
from normviz.train.devices import format_device_name as format_device_name
from normviz.train.optimizers import OPTIMIZERS, Sgd


def open_float32_device(name: str) -> torch.device:
    """Return the torch device of a key of `DEVICES` for float32 tensors, as `open_device` does."""
    return devices.open_device(name)


def get_thread_count() -> int:
    """Return the number of threads that torch uses on the CPU."""
    return torch.get_num_threads()


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Convert a torch tensor to a NumPy array."""
    return tensor.detach().cpu().numpy()


LearningRate = float | np.ndarray | torch.Tensor
"""A learning rate: one number, or an array (schemes, networks)."""


class Trainer:
    """Optimizer of the sum of all networks' losses, which trains each network independently.

    Args:
        parameters: leaves (schemes, networks, …).
        optimizer: a key of `OPTIMIZERS`, or a function that takes parameters and their rates and returns an optimizer.
        rate: the learning rate, one number or (schemes, networks); or one of these for each parameter.
    """

    def __init__(
        self, parameters: Sequence[torch.Tensor], optimizer: str | Callable[..., Sgd],
        rate: LearningRate | Sequence[torch.Tensor],
    ) -> None:  # fmt: skip
        self.parameters = [parameter.requires_grad_() for parameter in parameters]
        each = [rate] * len(parameters) if isinstance(rate, LearningRate) else rate
        rates = [self._reshape_rate(one, parameter) for one, parameter in zip(each, parameters, strict=True)]
        self._rates = rates
        make = OPTIMIZERS[optimizer] if isinstance(optimizer, str) else optimizer
        self._optimizer = make(self.parameters, rates)

    @staticmethod
    def _reshape_rate(rate: LearningRate, like: torch.Tensor) -> torch.Tensor:
        rate = torch.as_tensor(rate, dtype=like.dtype, device=like.device)
        return rate if rate.ndim == 0 else rate.view(*rate.shape, *[1] * (like.ndim - rate.ndim))

    def step(self, losses: torch.Tensor, rate_share: torch.Tensor | None = None) -> None:
        """Take one optimizer step for losses (schemes, networks); a `rate_share` multiplies all learning rates.

        `rate_share` broadcasts against (schemes, networks).
        """
        if rate_share is not None:
            shares = [self._reshape_rate(rate_share, parameter) for parameter in self.parameters]
            self._optimizer.rates = [rate * each for rate, each in zip(self._rates, shares, strict=True)]
        gradients = list(torch.autograd.grad(losses.sum(), self.parameters, materialize_grads=True))
        with torch.no_grad():
            self._optimizer(gradients)


def shuffle_mini_batches(seeds: Sequence[int], count: int, steps: int, batch: int) -> torch.Tensor:
    """Return the example indices of each mini-batch, an integer tensor (steps, networks, batch), each below `count`.

    Every network goes through all examples in an order of its seed, and shuffles them again for each epoch.
    """
    orders = [order_mini_batches(np.random.default_rng([seed, 1]), count, steps, batch) for seed in seeds]
    return torch.from_numpy(np.stack(orders, axis=1))


def sample_initial_weights(
    seeds: Sequence[int], schemes: int, *shape: int, scale: float, part: int, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Sample weights N(0, scale²), (schemes, networks, *shape), equal for all schemes; `part` selects the stream."""
    drawn = [np.random.default_rng([seed, 2, part]).standard_normal(shape) for seed in seeds]
    first = torch.from_numpy(scale * np.stack(drawn)).to(dtype)
    return first.expand(schemes, *first.shape).clone()


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy (schemes, networks) of logits (schemes, networks, N, classes) for the labels.

    `labels`: (networks, N).
    """
    chosen = labels.expand(logits.shape[:-1]).unsqueeze(-1)
    return (logits.logsumexp(-1) - logits.gather(-1, chosen).squeeze(-1)).mean(-1)


def compute_error_rate(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the share of wrong answers (schemes, networks); 1 for a network with logits that are not finite."""
    wrong = (logits.argmax(-1) != labels) | ~logits.isfinite().all(-1)
    return wrong.to(logits.dtype).mean(-1)
