"""SGD, momentum and Adam for a stack, in place and without waiting for the device."""

import torch

from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, MOMENTUM


class Sgd:
    """p ← p - η g, with a learning rate η for each parameter tensor, which may vary along its axes."""

    def __init__(self, parameters: list[torch.Tensor], rates: list[torch.Tensor]) -> None:
        self.parameters, self.rates = parameters, rates

    def __call__(self, gradients: list[torch.Tensor]) -> None:
        """Update the parameters."""
        for p, rate, g in zip(self.parameters, self.rates, gradients, strict=True):
            p.addcmul_(rate, g, value=-1)

    def state(self) -> list[torch.Tensor]:
        """The tensors, beside the parameters, that an update changes."""
        return []


class Momentum(Sgd):
    """m ← 0.9 m + g; p ← p - η m (Sutskever et al. 2013, as in torch.optim.SGD)."""

    def __init__(self, parameters: list[torch.Tensor], rates: list[torch.Tensor]) -> None:
        super().__init__(parameters, rates)
        self.velocity = [torch.zeros_like(p) for p in parameters]

    def __call__(self, gradients: list[torch.Tensor]) -> None:
        """Update m, and the parameters by it."""
        for m, g in zip(self.velocity, gradients, strict=True):
            m.mul_(MOMENTUM).add_(g)
        super().__call__(self.velocity)

    def state(self) -> list[torch.Tensor]:
        """m of every parameter."""
        return self.velocity


class Adam(Sgd):
    """Adam (Kingma & Ba 2015), with an ε that only prevents 0/0: at the usual 1e-8 no re-scaling would be exact."""

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
        """Update both moments, and the parameters by what they are without their bias."""
        for power, beta in zip(self.powers, self.betas, strict=True):
            power.mul_(beta)
        first, second = (1 - power for power in self.powers)
        steps = []
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            # A gradient that is zero but for rounding would move its weight as far as any other.
            size = g.abs() * _scale(p)
            g = torch.where(size > self.noise * size.amax([*range(2, g.ndim)], keepdim=True), g, 0.0)
            m.lerp_(g, 1 - self.betas[0])
            v.mul_(self.betas[1]).addcmul_(g, g, value=1 - self.betas[1])
            steps.append((m / first) / ((v / second).sqrt() + self.tiny))
        super().__call__(steps)

    def state(self) -> list[torch.Tensor]:
        """Both moments of every parameter, and the powers of β."""
        return [*self.first, *self.second, *self.powers]


def _scale(p: torch.Tensor) -> torch.Tensor | float:
    """The largest of every unit's weights; 1 for a tensor with one number a unit.

    A unit that is re-scaled has as much less of a gradient: times its weights, it compares with the others as before.
    """
    inputs = range(2, p.ndim - 1)
    return p.abs().amax([*inputs], keepdim=True) if any(p.shape[axis] > 1 for axis in inputs) else 1.0


OPTIMIZERS: dict[str, type[Sgd]] = {"sgd": Sgd, "momentum": Momentum, "adam": Adam}
