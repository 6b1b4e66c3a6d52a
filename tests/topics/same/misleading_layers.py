"""Layers that come near to a normalization, for the detector: other statistics, fields, activations, zeros, clips."""

from collections.abc import Callable

import numpy as np
import torch

F = torch.nn.functional
Layer = Callable[[torch.Tensor], torch.Tensor]


def misleading(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Layer]:
    """Return layers that mislead, by name; statistics run over random axes."""
    axes = tuple(k for k in range(len(shape)) if rng.random() < 0.5) or (len(shape) - 1,)
    usual = tuple(range(1, len(shape))) if rng.random() < 0.5 else (0, *range(2, len(shape)))
    eps = float(10 ** rng.uniform(-6, 0))
    per_channel = [shape[1] if k == 1 else 1 for k in range(len(shape))]
    zeros = torch.tensor(rng.integers(0, 2, per_channel) * rng.uniform(0.5, 2, per_channel))
    shifts = torch.tensor(rng.uniform(-1, 1, per_channel))
    share = float(rng.choice([0.01, 0.1, 0.9]))

    def centre(x: torch.Tensor, over: tuple[int, ...] = usual) -> torch.Tensor:
        return x - x.mean(over, keepdim=True)

    def norm(x: torch.Tensor, over: tuple[int, ...] = usual, small: float = 1e-5) -> torch.Tensor:
        v = centre(x, over)
        return v / (v.square().mean(over, keepdim=True) + small).sqrt()

    def sample(x: torch.Tensor) -> torch.Tensor:
        return centre(x) / (x.var(usual, keepdim=True) + 1e-5).sqrt()

    def running(x: torch.Tensor) -> torch.Tensor:
        over = (0, *range(2, len(shape)))
        mean, variance = share * x.mean(over, keepdim=True), 1 - share + share * x.var(over, keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt()

    def interleaved(x: torch.Tensor) -> torch.Tensor:
        n, c = shape[:2]
        parts = x.reshape(n, c // 2, 2, *shape[2:]) if c % 2 == 0 else x[:, :, None]
        over = (1, *range(3, parts.ndim))
        return norm(parts, over).reshape(shape)

    return {
        "sample variance": sample,
        "ε outside the root": lambda x: centre(x) / (centre(x).square().mean(usual, keepdim=True).sqrt() + eps),
        "another ε": lambda x: norm(x, small=eps),
        "other axes": lambda x: norm(x, axes),
        "other axes, rms": lambda x: x / (x.square().mean(axes, keepdim=True) + 1e-5).sqrt(),
        "two fields": lambda x: centre(x) / (centre(x).square().mean(axes, keepdim=True) + 1e-5).sqrt(),
        "mean square": lambda x: centre(x) / (x.square().mean(usual, keepdim=True) + 1e-5).sqrt(),
        "running statistics": running,
        "γ with zeros": lambda x: norm(x) * zeros + shifts,
        "γ of zeros on x": lambda x: x * zeros + shifts,
        "rounded to half precision": lambda x: norm(x).half().to(x.dtype),
        "rounded x": lambda x: norm(x.bfloat16().to(x.dtype)),
        "ReLU after": lambda x: norm(x).relu(),
        "clipped": lambda x: norm(x).clamp(max=float(norm(x).max()) * 0.7),
        "clipped rarely": lambda x: norm(x).clamp(max=float(norm(x).max()) * 0.999),
        "GELU after": lambda x: F.gelu(norm(x)),
        "tanh after": lambda x: norm(x).tanh(),
        "residual": lambda x: x + norm(x),
        "twice": lambda x: norm(norm(x), axes if len(axes) < len(shape) else axes[1:]),
        "absolute deviation": lambda x: centre(x) / (centre(x).abs().mean(usual, keepdim=True) + 1e-5),
        "min-max": lambda x: centre(x) / (x.amax(usual, keepdim=True) - x.amin(usual, keepdim=True) + 1e-5),
        "median": lambda x: norm(x) + x.mean(usual, keepdim=True) - x.median(),
        "half of the batch": lambda x: (x - x[: len(x) // 2 + 1].mean(0)) / (x[: len(x) // 2 + 1].std(0) + 1e-5),
        "maximum": lambda x: x / (x.abs().amax(usual, keepdim=True) + 1e-5),
        "interleaved groups": interleaved,
        "SiLU": F.silu,
        "softsign": F.softsign,
        "hard tanh": F.hardtanh,
        "sigmoid": torch.sigmoid,
        "cube": lambda x: x**3,
        "power": lambda x: norm(x) * norm(x).abs().sqrt(),
        "one γ of x": lambda x: norm(x) * (1 + 0.01 * x.mean()),
        "noise": lambda x: norm(x) * (1 + 1e-3 * torch.sin(1e3 * x)),
    }
