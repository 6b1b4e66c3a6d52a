"""SGD, momentum and Adam for a stack, in place and without waiting for the device."""

import torch

from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, MOMENTUM


class Sgd:
    """SGD optimizer: p ← p - η g; the learning rate η of a parameter tensor may vary along its axes."""

    def __init__(self, parameters: list[torch.Tensor], rates: list[torch.Tensor]) -> None:
        self.parameters, self.rates = parameters, rates

    def __call__(self, gradients: list[torch.Tensor]) -> None:
        """Update the parameters."""
        for p, rate, g in zip(self.parameters, self.rates, gradients, strict=True):
            p.addcmul_(rate, g, value=-1)

    def list_state_tensors(self) -> list[torch.Tensor]:
        """Return the tensors, besides the parameters, that an update changes; SGD has none."""
        return []


class Momentum(Sgd):
    """SGD with momentum: m ← 0.9 m + g; p ← p - η m (Sutskever et al. 2013, as in torch.optim.SGD)."""

    def __init__(self, parameters: list[torch.Tensor], rates: list[torch.Tensor]) -> None:
        super().__init__(parameters, rates)
        self.velocity = [torch.zeros_like(p) for p in parameters]

    def __call__(self, gradients: list[torch.Tensor]) -> None:
        """Update m, then the parameters."""
        for m, g in zip(self.velocity, gradients, strict=True):
            m.mul_(MOMENTUM).add_(g)
        super().__call__(self.velocity)

    def list_state_tensors(self) -> list[torch.Tensor]:
        """Return the momentum m of every parameter."""
        return self.velocity


class Adam(Sgd):
    """Adam optimizer (Kingma & Ba 2015), with an ε so small that re-scaling stays exact and 0/0 is avoided."""

    def __init__(
        self, parameters: list[torch.Tensor], rates: list[torch.Tensor], betas: tuple[float, float] = BETAS
    ) -> None:
        super().__init__(parameters, rates)
        self.betas = betas
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]
        self.powers = [parameters[0].new_ones(()) for _ in betas]
        numbers = torch.finfo(parameters[0].dtype)
        self.tiny, self.noise = numbers.tiny, GRADIENT_NOISE_FACTOR * numbers.eps

    def __call__(self, gradients: list[torch.Tensor]) -> None:
        """Update both moments, then the parameters by the bias-corrected moments."""
        for power, beta in zip(self.powers, self.betas, strict=True):
            power.mul_(beta)
        first, second = (1 - power for power in self.powers)
        steps = []
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            # A gradient of rounding alone would move its weight as far as any other.
            size = g.abs() * _find_unit_scale(p)
            g = torch.where(size > self.noise * size.amax([*range(2, g.ndim)], keepdim=True), g, 0.0)
            m.lerp_(g, 1 - self.betas[0])
            v.mul_(self.betas[1]).addcmul_(g, g, value=1 - self.betas[1])
            steps.append((m / first) / ((v / second).sqrt() + self.tiny))
        super().__call__(steps)

    def list_state_tensors(self) -> list[torch.Tensor]:
        """Return both moments of every parameter, and the powers of β."""
        return [*self.first, *self.second, *self.powers]


def _find_unit_scale(p: torch.Tensor) -> torch.Tensor | float:
    """Return the largest absolute weight of every unit; 1 for a tensor with one number per unit.

    A re-scaled unit has an inversely scaled gradient, so the product compares with other units as before.
    """
    inputs = range(2, p.ndim - 1)
    return p.abs().amax([*inputs], keepdim=True) if any(p.shape[axis] > 1 for axis in inputs) else 1.0


OPTIMIZERS: dict[str, type[Sgd]] = {"sgd": Sgd, "momentum": Momentum, "adam": Adam}
