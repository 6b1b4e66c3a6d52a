"""Normalizations between other operations of a forward pass: found, or named in a note."""

import pytest
import torch
from torch import nn

import normviz


class Chain(nn.Module):
    """More layers than a module that is probed as one may have, and an operation between two of them."""

    def __init__(self, between):
        super().__init__()
        self.layers, self.between = nn.ModuleList(nn.Linear(8, 8) for _ in range(6)), between
        self.gain = nn.Parameter(0.5 + torch.rand(8))

    def forward(self, x):
        x = self.between(self, self.layers[0](x))
        for layer in self.layers[1:]:
            x = layer(x)
        return x


def mean_square(model, h):
    return model.gain * h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)


def cast_and_scaled(model, h):
    z = h.float()
    z = z / (z.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    return (1 + model.gain) * z.to(h.dtype)


def centred(model, h):
    v = h - h.mean(-1, keepdim=True)
    return model.gain * (v / (v.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()) + 2.0


def variance(model, h):
    variance, mean = torch.var_mean(h, 0, correction=0)
    return (h - mean) / (variance + 1e-5).sqrt()


def residual(model, h):
    z = h + model.layers[1](h)
    return z / z.norm(dim=-1, keepdim=True)


FOUND = {
    "rms": (mean_square, {"inline": "rms"}),
    "casts": (cast_and_scaled, {"inline": "rms"}),
    "centred": (centred, {"inline": "layer"}),
    "batch": (variance, {"inline": "batch"}),
    "residual": (residual, {"inline": "rms"}),
    "softmax": (lambda model, h: h.exp() / h.exp().sum(-1, keepdim=True), {}),
    "gate": (lambda model, h: h * torch.sigmoid(model.layers[1](h.mean(0, keepdim=True))), {}),
    "variance alone": (lambda model, h: h * h.std(), {}),
}


@pytest.mark.parametrize("name", FOUND)
def test_inline_normalizations_are_found(name):
    between, expected = FOUND[name]
    torch.manual_seed(0)
    report = normviz.inspect(Chain(between), torch.randn(16, 8))
    assert {layer.name: layer.scheme for layer in report.layers} == expected
    assert not report.notes


def test_gain_and_eps_of_an_inline_normalization_are_measured():
    torch.manual_seed(0)
    (layer,) = normviz.inspect(Chain(mean_square), torch.randn(16, 8)).layers
    assert layer.probe.eps == pytest.approx(1e-6, rel=1e-3)
    assert layer.layout == "NC"
    assert layer.probe.gain_axes == (1,)


def test_layers_come_in_the_order_of_the_pass():
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(8), Chain(mean_square), nn.LayerNorm(8))
    assert [layer.name for layer in normviz.inspect(model, torch.randn(16, 8)).layers] == ["0", "1:inline", "2"]


def divide_in_place(model, h):
    return h.clone().div_(h.norm(dim=-1, keepdim=True))


def divide_by_another(model, h):
    return h / model.layers[1](h).norm(dim=-1, keepdim=True)


@pytest.mark.parametrize("between", [divide_in_place, divide_by_another])
def test_what_is_not_probed_is_in_a_note(between):
    report = normviz.inspect(Chain(between), torch.randn(16, 8))
    assert not report.layers
    assert [note.partition(":")[0] for note in report.notes] == ["inline was not probed"]
    assert report.notes[0] in repr(report)
