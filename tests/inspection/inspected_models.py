"""Small models with normalizations that no class name reveals, and what a report has to say of each layer."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class MeanSquares(nn.Module):
    """RMS norm as in Llama: in float32, with a gain."""

    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.to(x.dtype)


class ChannelsFirst(nn.Module):
    """Layer norm over axis 1 of NCHW, written by hand as in ConvNeXt."""

    def __init__(self, channels):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        return self.g[:, None, None] * (x - u) / torch.sqrt(s + 1e-6) + self.b[:, None, None]


class LastAxisMeanSquare(nn.Module):
    """RMS norm over the width of NCHW with a gain for each channel: the wrong axis."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Squash(nn.Module):
    """Dynamic tanh."""

    def __init__(self, width):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.5))
        self.g, self.b = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.g * torch.tanh(self.a * x) + self.b


class Fixed(nn.Module):
    """Batch norm with constant statistics in both modes."""

    def __init__(self, channels):
        super().__init__()
        for name, value in (("w", 1.5), ("b", 0.25), ("m", 0.1), ("v", 2.0)):
            self.register_buffer(name, torch.full((channels,), value) + 0.1 * torch.arange(channels))

    def forward(self, x):
        scale = self.w * (self.v + 1e-5).rsqrt()
        return x * scale[:, None, None] + (self.b - self.m * scale)[:, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions with batch norm around a shortcut; the last γ starts at 0."""

    def __init__(self, channels=8):
        super().__init__()
        self.one, self.two = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.first, self.second = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        nn.init.zeros_(self.second.weight)

    def forward(self, x):
        return F.relu(x + self.second(self.two(F.relu(self.first(self.one(x))))))


class ConvNextBlock(nn.Module):
    """A depthwise convolution, layer norm with channels last, two dense layers and a learned scale."""

    def __init__(self, width=8):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 16), nn.Linear(16, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(h)))).permute(0, 3, 1, 2)


class PatchTransformer(nn.Module):
    """A vision transformer of one layer of PyTorch's encoder."""

    def __init__(self, width=8):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.1, batch_first=True, norm_first=True)
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, 5)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = self.layer(torch.cat([self.token.expand(len(h), -1, -1), h], 1))
        return self.head(self.last(h)[:, 0])


class LanguageBlock(nn.Module):
    """A block as in Llama and Qwen3, with RMS norm of the queries and keys of each head."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(11, width)
        self.before, self.between, self.last = (MeanSquares(width) for _ in range(3))
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.query_norm, self.key_norm = MeanSquares(width // heads), MeanSquares(width // heads)
        self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)

    def forward(self, tokens):
        x = self.words(tokens)
        h = self.before(x)
        q, k, v = (f(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        h = F.scaled_dot_product_attention(self.query_norm(q), self.key_norm(k), v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).flatten(2))
        return self.last(x + self.down(F.silu(self.up(self.between(x)))))


class SmallUnet(nn.Module):
    """A U-Net of two levels with group norm."""

    def __init__(self, width=8):
        super().__init__()
        self.enter, self.down, self.up = (
            nn.Conv2d(3, width, 3, padding=1),
            nn.Conv2d(width, 16, 3, 2, 1),
            nn.Conv2d(24, 8, 3, padding=1),
        )
        self.one, self.two, self.three = nn.GroupNorm(4, width), nn.GroupNorm(4, 16), nn.GroupNorm(2, 8)
        self.exit = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        high = F.silu(self.one(self.enter(x)))
        low = F.silu(self.two(self.down(high)))
        joined = torch.cat([high, F.interpolate(low, scale_factor=2)], 1)
        return self.exit(F.silu(self.three(self.up(joined))))


class Functional(nn.Module):
    """Normalizations that are calls inside of forward."""

    def __init__(self):
        super().__init__()
        self.conv, self.dense = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 8)
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("variance", torch.ones(8))

    def forward(self, x):
        h = F.relu(F.batch_norm(self.conv(x), self.mean, self.variance, training=self.training))
        h = F.local_response_norm(F.group_norm(F.instance_norm(h), 4), 3)
        h = F.layer_norm(self.dense(h.mean((2, 3))), (8,))
        return F.rms_norm(F.normalize(h, dim=-1), (8,), eps=1e-6)


def make_discriminator():
    """A discriminator with spectral norm, in both ways that PyTorch has, and weight norm."""
    spectral = nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 8, 4, 2, 1))
    return nn.Sequential(
        spectral, nn.LeakyReLU(0.2), nn.utils.parametrizations.weight_norm(nn.Conv2d(8, 8, 3, padding=1)), nn.Flatten(),
        nn.utils.parametrizations.spectral_norm(nn.Linear(8 * 16, 1)),
    )  # fmt: skip


def make_images(count=6):
    return torch.randn(count, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def make_features(count=6, channels=8):
    return torch.randn(count, channels, 6, 6, generator=torch.Generator().manual_seed(0))


def make_tokens(count=4):
    return torch.randint(0, 11, (count, 7), generator=torch.Generator().manual_seed(0))


MODELS = {
    "residual block": (ResidualBlock, make_features, {"first": "batch", "second": "batch"}),
    "convnext": (ConvNextBlock, make_features, {"norm": "layer-channels"}),
    "vision transformer": (
        PatchTransformer, make_images,
        {"layer.norm1": "layer-channels", "layer.norm2": "layer-channels", "last": "layer-channels"},
    ),
    "language model": (
        LanguageBlock, make_tokens,
        {"before": "rms", "query_norm": "query-key", "key_norm": "query-key", "between": "rms", "last": "rms"},
    ),
    "u-net": (SmallUnet, make_images, dict.fromkeys(("one", "two", "three"), "group")),
    "functional": (
        Functional, make_images,
        {
            "F.batch_norm": "batch", "F.instance_norm": "instance", "F.group_norm": "group",
            "F.local_response_norm": None, "F.layer_norm": "layer", "F.normalize": "rms", "F.rms_norm": "rms",
        },
    ),
    "channels first": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), ChannelsFirst(8)), make_images, {"1": "layer-channels"},
    ),
    "wrong axis": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), LastAxisMeanSquare(8)), make_images, {"1": None},
    ),
    "dynamic tanh": (
        lambda: nn.Sequential(nn.Linear(8, 8), Squash(8), nn.Tanh()), lambda: torch.randn(5, 8), {"1": "dynamic-tanh"},
    ),
    "local response": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.LocalResponseNorm(5)), make_images, {"2": None},
    ),
    "frozen batch norm": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), Fixed(8)), make_images, {"1": "batch"}),
    "discriminator": (make_discriminator, make_images, {"0": "spectral", "2": "weight", "4": "spectral"}),
}  # fmt: skip
"""By name: how to make the model and a batch, and the scheme of every layer; None for a layer without a known one."""
