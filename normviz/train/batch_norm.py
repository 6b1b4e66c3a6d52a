"""Batch norm with running averages, as torch.nn.BatchNorm1d and 2d, for a stack of networks."""

from collections.abc import Sequence

import torch


class BatchNorm:
    """Batch norm of tensors (schemes, networks, N, …, C), with running averages for each of several momenta.

        running ← (1 - momentum) · running + momentum · batch,    from mean 0 and variance 1

    with the variance times m/(m-1), for m values of a channel. Training does not use these averages, so that one
    training computes those of several momenta.

    Args:
        momenta: the shares of a new batch, as in PyTorch.
        lead: (schemes, networks).
        like: a tensor of their type and device.

    Attributes:
        mean, variance: running averages, (momenta, schemes, networks, C).
    """

    def __init__(
        self, channels: int, momenta: Sequence[float], lead: tuple[int, int], eps: float, like: torch.Tensor
    ) -> None:
        self.eps, self.momenta = eps, like.new_tensor(momenta).view(-1, 1, 1, 1)
        self.mean = like.new_zeros(len(momenta), *lead, channels)
        self.variance = torch.ones_like(self.mean)

    def normalize_in_training(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂, x normalized with the statistics of this mini-batch, and update the running averages with them."""
        variance, mean = torch.var_mean(x, [*range(2, x.ndim - 1)], correction=0, keepdim=True)
        count = x[0, 0, ..., 0].numel()
        with torch.no_grad():
            self.mean.lerp_(mean.flatten(2), self.momenta)
            self.variance.lerp_(variance.flatten(2) * count / (count - 1), self.momenta)
        return (x - mean) * (variance + self.eps).rsqrt()

    def normalize_in_inference(self, x: torch.Tensor, momentum_index: int = 0) -> torch.Tensor:
        """Return x̂, x normalized with the running averages of `momenta[momentum_index]`."""
        _, *lead, channels = self.mean.shape
        shape = (*lead, *[1] * (x.ndim - 3), channels)
        mean, variance = (kept[momentum_index].view(shape) for kept in (self.mean, self.variance))
        return (x - mean) * (variance + self.eps).rsqrt()
