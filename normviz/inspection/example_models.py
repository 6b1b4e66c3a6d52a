"""Two small models with mistakes that people make, whose recordings the page "Your model" opens on.

normviz record normviz.inspection.example_models:make_resnet normviz/topics/model/examples/resnet.npz
normviz record normviz.inspection.example_models:make_llama normviz/topics/model/examples/llama.npz
"""

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name of it
from torch import Tensor, nn

from normviz.inspection.model_copy import use_seed_zero


class ResidualBlock(nn.Module):
    """Two convolutions with batch norm around a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the input and the output of both convolutions, after ReLU."""
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class SmallResNet(nn.Module):
    """ResNet for fine-tuning: its first batch norm is frozen, the last one sees one number of each example."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.layer1, self.layer2 = ResidualBlock(channels), ResidualBlock(channels)
        self.norm = nn.GroupNorm(4, channels)
        self.project, self.bn2, self.head = nn.Linear(channels, 16), nn.BatchNorm1d(16), nn.Linear(16, 10)
        self.bn1.requires_grad_(False)  # and yet its running averages change in training

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of ten classes, (N, 10), for pictures x (N, 3, H, W)."""
        features = self.norm(self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x))))))
        return self.head(F.relu(self.bn2(self.project(features.mean((2, 3))))))


class RootMeanSquareNorm(nn.Module):
    """RMS norm over an axis, the last by default, with a gain for each channel.

    Computed in float32, or else in the type of the input.
    """

    def __init__(self, width: int, axis: int = -1, in_float32: bool = True) -> None:
        super().__init__()
        self.weight, self.axis, self.in_float32 = nn.Parameter(torch.ones(width)), axis, in_float32

    def forward(self, x: Tensor) -> Tensor:
        """Return x over its root mean square, times the gain, in the type of x."""
        h = x.float() if self.in_float32 else x
        return self.weight * (h * torch.rsqrt(h.pow(2).mean(self.axis, keepdim=True) + 1e-6)).to(x.dtype)


class SmallLlama(nn.Module):
    """Block of a language model as in Llama, with RMS norm of queries and keys.

    The norm of the keys averages over the tokens, and the last one squares large numbers in the type of its input.
    """

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.embed = heads, nn.Embedding(32, width)
        self.input_norm, self.post_attention_norm = RootMeanSquareNorm(width), RootMeanSquareNorm(width)
        self.q_norm, self.k_norm = RootMeanSquareNorm(width // heads), RootMeanSquareNorm(width // heads, axis=-2)
        self.norm = RootMeanSquareNorm(width, in_float32=False)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up_proj, self.down_proj = nn.Linear(width, 32), nn.Linear(32, width)
        self.embed.weight.data[:, 3] = 400.0  # a channel of large numbers, as trained language models have them

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the normalized states (N, tokens, width) of all tokens."""
        x = self.embed(tokens)
        h = self.input_norm(x)
        q, k, v = (
            project(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        h = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, is_causal=True)
        x = x + self.o_proj(h.transpose(1, 2).flatten(2))
        return self.norm(x + self.down_proj(F.silu(self.up_proj(self.post_attention_norm(x)))))


def make_resnet() -> tuple[nn.Module, Tensor]:
    """Return a `SmallResNet` whose running averages come from five batches, and a batch of eight pictures."""
    with use_seed_zero():
        model = SmallResNet()
        for _ in range(5):
            model(0.5 + 0.25 * torch.randn(8, 3, 12, 12))
        return model, 0.5 + 0.25 * torch.randn(8, 3, 12, 12)


def make_llama() -> tuple[nn.Module, Tensor]:
    """Return a `SmallLlama`, and a batch of four texts of twelve tokens."""
    with use_seed_zero():
        return SmallLlama(), torch.randint(0, 32, (4, 12))
