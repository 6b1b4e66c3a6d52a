"""Layers that are written by hand in many ways: each is named right, or the report says that no name is known."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from inspected_models import make_images
from torch import nn

import normviz


class Styled(nn.Module):
    """Instance norm whose γ and β come from a second input."""

    def __init__(self):
        super().__init__()
        self.conv, self.style = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(4, 16)
        self.norm = StyleNorm()

    def forward(self, x, z):
        return self.norm(self.conv(x), self.style(z)[:, :, None, None])


class StyleNorm(nn.Module):
    def forward(self, x, style):
        gain, bias = style.chunk(2, 1)
        variance, mean = torch.var_mean(x, (2, 3), correction=0, keepdim=True)
        return (1 + gain) * (x - mean) / (variance + 1e-5).sqrt() + bias


class Ghost(nn.Module):
    def __init__(self, channels, parts):
        super().__init__()
        self.norm, self.parts = nn.BatchNorm2d(channels), parts

    def forward(self, x):
        return torch.cat([self.norm(part) for part in x.chunk(self.parts)]) if self.training else self.norm(x)


class FilterResponse(nn.Module):
    def __init__(self, channels, has_threshold):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(1, channels, 1, 1)), nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.threshold = nn.Parameter(torch.zeros(1, channels, 1, 1)) if has_threshold else None

    def forward(self, x):
        y = self.gain * x * torch.rsqrt((x * x).mean((2, 3), keepdim=True) + 1e-6) + self.bias
        return y if self.threshold is None else torch.maximum(y, self.threshold)


class Standardized(nn.Conv2d):
    def forward(self, x):
        variance, mean = torch.var_mean(self.weight, (1, 2, 3), correction=0, keepdim=True)
        return self._conv_forward(x, (self.weight - mean) / (variance + 1e-5).sqrt(), self.bias)


class ResponseNorm(nn.Module):
    """Global response norm of ConvNeXt V2, which keeps the scale of its input: no normalization of this kind."""

    def forward(self, x):
        size = x.norm(dim=(1, 2), keepdim=True)
        return x * size / (size.mean(-1, keepdim=True) + 1e-6) + x


class Decorrelated(nn.Module):
    def forward(self, x):
        v = x - x.mean(0)
        values, vectors = torch.linalg.eigh(v.T @ v / len(x) + 1e-5 * torch.eye(x.shape[1], dtype=x.dtype))
        return v @ (vectors * values.rsqrt()) @ vectors.T


class Length(nn.Module):
    def __init__(self):
        super().__init__()
        self.length = nn.Parameter(torch.tensor(3.0))

    def forward(self, x):
        return self.length * x / x.norm(dim=-1, keepdim=True).clamp(min=1e-5)


class Pixel(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-8)


class Everything(nn.Module):
    def forward(self, x):
        return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()


class Mixer(nn.Module):
    """A layer that mixes tokens stands before the second norm."""

    def __init__(self):
        super().__init__()
        self.patches, self.tokens, self.channels = nn.Conv2d(3, 8, 4, 4), nn.Linear(4, 4), nn.Linear(8, 8)
        self.first, self.second = nn.LayerNorm(8), nn.LayerNorm(8)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = h + self.tokens(self.first(h).transpose(1, 2)).transpose(1, 2)
        return h + self.channels(self.second(h))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.norm = nn.Linear(16, 16), nn.RMSNorm(8)

    def forward(self, x):
        return self.norm(self.query(x).unflatten(-1, (2, 8))).flatten(2)


class Repeated(nn.Module):
    """A recurrent network with one layer norm for all steps."""

    def __init__(self):
        super().__init__()
        self.inputs, self.states, self.norm = nn.Linear(5, 8), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        h = x.new_zeros(len(x), 8)
        for t in range(x.shape[1]):
            h = torch.tanh(self.norm(self.inputs(x[:, t]) + self.states(h)))
        return h


class SinglePrecisionTimes(nn.Module):
    """A block of a diffusion model: the code casts times to float32."""

    def __init__(self):
        super().__init__()
        self.times, self.conv, self.norm = nn.Linear(4, 8), nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8)

    def forward(self, x, t):
        waves = (t[:, None].float() * torch.exp(-torch.arange(4).float())).sin()
        return self.norm(self.conv(x) + self.times(waves)[:, :, None, None])


class TimeFirst(nn.Module):
    """A transformer with the axes (time, examples, channels)."""

    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, 2, 16)

    def forward(self, tokens):
        return self.layer(self.words(tokens).transpose(0, 1)).transpose(0, 1)


def behind_convolution(norm):
    return nn.Sequential(nn.Conv2d(3, 8, 3), norm)


def behind_dense(norm):
    return nn.Sequential(nn.Linear(8, 8), norm)


def make_rows():
    return torch.randn(32, 8, generator=torch.Generator().manual_seed(0))


CASES = {
    "style": (Styled, lambda: (make_images(), torch.randn(6, 4)), {"norm": ("instance", "NCHW")}),
    "ghost": (lambda: behind_convolution(Ghost(8, 2)), make_images, {"1": ("ghost-batch", "NCHW")}),
    "filter response": (
        lambda: behind_convolution(FilterResponse(8, False)), make_images, {"1": ("filter-response", "NCHW")},
    ),
    "threshold": (
        lambda: behind_convolution(FilterResponse(8, True)), make_images, {"1:inline": ("filter-response", "NCHW")},
    ),
    "standardized weights": (
        lambda: nn.Sequential(Standardized(3, 8, 3), nn.GroupNorm(4, 8)), make_images,
        {"0": ("weight-standardization", "OIHW"), "1": ("group", "NCHW")},
    ),
    "response norm": (lambda: nn.Sequential(ResponseNorm()), lambda: torch.randn(4, 5, 5, 8), {}),
    "whitening": (lambda: behind_dense(Decorrelated()), make_rows, {"1": (None, "NC")}),
    "length": (lambda: behind_dense(Length()), make_rows, {"1": ("scale", "NC")}),
    "pixel": (lambda: behind_convolution(Pixel()), make_images, {"1": ("pixel", "NCHW")}),
    "everything": (lambda: behind_dense(Everything()), make_rows, {"1": (None, "NC")}),
    "mixer": (Mixer, make_images, {"first": ("layer-channels", "NTC"), "second": ("layer-channels", "NTC")}),
    "heads": (Heads, lambda: torch.randn(3, 5, 16), {"norm": ("query-key", "NTHC")}),
    "repeated": (Repeated, lambda: torch.randn(4, 6, 5), {"norm": ("layer", "NC")}),
    "casts": (SinglePrecisionTimes, lambda: (make_images(), torch.arange(6)), {"norm": ("group", "NCHW")}),
    "time first": (
        TimeFirst, lambda: torch.randint(0, 11, (4, 6)),
        {"layer.norm1": ("layer-channels", "TNC"), "layer.norm2": ("layer-channels", "TNC")},
    ),
    "half precision": (
        lambda: behind_convolution(nn.BatchNorm2d(8)).to(torch.bfloat16), lambda: make_images().bfloat16(),
        {"1": ("batch", "NCHW")},
    ),
    "former spectral norm": (
        lambda: nn.Sequential(nn.utils.spectral_norm(nn.Linear(8, 6))), make_rows, {"0": ("spectral", "OI")},
    ),
    "transposed": (
        lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.ConvTranspose2d(3, 8, 4))), make_images,
        {"0": ("spectral", "IOHW")},
    ),
    "even window": (
        lambda: behind_convolution(nn.LocalResponseNorm(2)), make_images, {"1:F.local_response_norm": (None, "NCHW")},
    ),
    "all of an example": (lambda: behind_convolution(nn.LayerNorm([8, 6, 6])), make_images, {"1": ("layer", "NCHW")}),
    "one group": (lambda: behind_convolution(nn.GroupNorm(1, 8)), make_images, {"1": ("layer", "NCHW")}),
    "as many groups": (lambda: behind_convolution(nn.GroupNorm(8, 8)), make_images, {"1": ("instance", "NCHW")}),
    "batch norm of tokens": (
        lambda: nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(5)), lambda: torch.randn(6, 5, 3), {"1": (None, "NTC")},
    ),
    "attention": (
        lambda: nn.Sequential(nn.Linear(8, 8), nn.Softmax(-1)), make_rows, {},
    ),
}  # fmt: skip
"""By name: how to make a model and a batch, and the scheme and layout of each layer."""


@pytest.mark.parametrize("name", CASES)
def test_a_layer_is_named_right_or_not_at_all(name):
    make, make_batch, expected = CASES[name]
    torch.manual_seed(0)
    report = normviz.inspect(make(), make_batch())
    assert {layer.name: (layer.scheme, layer.layout) for layer in report.layers} == expected


def test_a_frozen_functional_layer_is_known_by_its_parameters():
    class Calls(nn.Module):
        def __init__(self, trains):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(8), requires_grad=trains)
            self.register_buffer("mean", torch.zeros(8))
            self.register_buffer("variance", torch.ones(8))

        def forward(self, x):
            return F.batch_norm(x, self.mean, self.variance, self.gain, training=True)

    for trains in (True, False):
        keys = [finding.key for finding in normviz.inspect(Calls(trains), make_rows()).findings]
        assert ("moving-statistics" in keys) == (not trains)
