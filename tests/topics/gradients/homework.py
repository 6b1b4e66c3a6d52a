"""Homework on normalization as a student writes it in torch, right and with each mistake, and no line of it shared.

A gradient with a path forgotten is what autograd gives where that path is cut by `detach`.
"""

from math import prod

import numpy as np
import torch

LETTERS = {"NC": "NC", "NHWC": "NHWC", "NCHW": "NCHW", "BTC": "NTC"}
OVER = {"batch": "NHWT", "layer": "HWTC", "layer-channels": "C", "instance": "HWT", "group": "HWT", "rms": "C"}

FORWARD = (
    "eps-outside-root", "no-root", "sample-variance", "no-eps", "wrong-axis", "channels", "group-size",
    "interleaved-groups", "no-centring", "mean-square", "absolute-deviation", "min-max",
)  # fmt: skip
OF = {
    "out": (
        *FORWARD, "running-statistics", "forgot-gamma", "forgot-beta", "affine-order", "transposed", "gamma-plus-one",
        "swapped-gamma", "x-itself",
    ),
    "dx": (
        *FORWARD, "mean-path", "variance-path", "constant-statistics", "diagonal-gradient", "sum-instead-of-mean",
        "sign", "forgot-gamma", "running-statistics", "gamma-plus-one", "swapped-gamma", "x-itself",
    ),
    "dgamma": (*FORWARD, "mean-instead-of-sum", "missing-sum", "x-for-xhat", "swapped", "running-statistics"),
    "dbeta": ("mean-instead-of-sum", "missing-sum", "swapped"),
}  # fmt: skip
"""The mistakes that can be made in each array of an answer."""


class Homework:
    """One task: a scheme and a layout, its inputs, and its answers with any mistake; None where it cannot be made."""

    def __init__(self, scheme, layout, inputs, groups=None, rng=None):
        self.key, self.layout, self.groups = scheme.key, layout, groups
        self.letters, self.rng = LETTERS[layout], rng or np.random.default_rng(0)
        self.eps = float(inputs["eps"])
        self.x, self.dout, self.gamma, self.beta = (torch.tensor(inputs[n]) for n in ("x", "dout", "gamma", "beta"))

    def over(self, mistake):
        """The axes of the array that statistics run over."""
        axes = [a for a, letter in enumerate(self.letters) if letter in OVER[self.key]]
        if mistake == "wrong-axis":
            long = [a for a, n in enumerate(self.x.shape) if n > 1]
            chosen = [a for a in long if self.rng.random() < 0.5]
            return None if not chosen or {a for a in axes if a in long} == set(chosen) else chosen
        if mistake == "channels":
            if self.layout == "NC" or self.key in ("layer", "group"):
                return None
            as_read = {"NCHW": "NHWC", "NHWC": "NCHW", "BTC": "NCT"}[self.layout]
            return [a for a, letter in enumerate(as_read) if letter in OVER[self.key]]
        return axes

    def spread(self, parameter):
        """gamma or beta against the array."""
        if parameter.shape == self.x.shape[1:]:
            return parameter
        return parameter.reshape([-1 if letter == "C" else 1 for letter in self.letters])

    def exchanged(self):
        """γ with two channels exchanged, against the array; None where there is one channel."""
        gamma = self.gamma.clone()
        axis = self.letters[1:].index("C") if gamma.shape == self.x.shape[1:] else 0
        i, j = self.rng.choice(gamma.shape[axis], 2, replace=False)
        gamma = gamma.movedim(axis, 0)
        gamma[[i, j]] = gamma[[j, i]]
        return self.spread(gamma.movedim(0, axis))

    def grouped(self, x, mistake):
        """The array as (…, groups, channels of one, …), the axes to reduce over, and the way back."""
        c = self.letters.index("C")
        channels, groups = x.shape[c], self.groups
        if mistake == "group-size":
            groups = channels // groups
        size = channels // groups
        cut = (size, groups) if mistake == "interleaved-groups" else (groups, size)
        inside = c if mistake == "interleaved-groups" else c + 1
        parts = x.reshape(*x.shape[:c], *cut, *x.shape[c + 1 :])
        spatial = [a + (a > c) for a, letter in enumerate(self.letters) if letter in "HWT"]
        return parts, [*spatial, inside], lambda y: y.reshape(x.shape)

    def xhat(self, x, mistake=None):
        """x̂ of the array; None where the mistake cannot be made."""
        if mistake in ("group-size", "interleaved-groups") and self.key != "group":
            return None
        centred, eps = self.key != "rms", self.eps
        if mistake in ("no-centring", "mean-square", "mean-path", "constant-statistics") and not centred:
            return None
        if self.key == "group" and mistake != "wrong-axis":
            x, over, back = self.grouped(x, mistake)
        else:
            over, back = self.over(mistake), lambda y: y
        if over is None:
            return None
        m = prod(x.shape[a] for a in over)
        if m < 3:
            return None
        mean = x.mean(over, keepdim=True) if centred else torch.zeros(())
        if mistake == "no-centring":
            mean = torch.zeros(())
        if mistake in ("mean-path", "constant-statistics"):
            mean = mean.detach()
        v = x - mean
        if mistake == "absolute-deviation":
            return back(v / (v.abs().mean(over, keepdim=True) + eps))
        if mistake == "min-max":
            low, high = x.amin(over, keepdim=True), x.amax(over, keepdim=True)
            return back((x - low) / (high - low))
        square = ((x if mistake == "mean-square" else v) ** 2).sum(over, keepdim=True) / (
            m - 1 if mistake == "sample-variance" else m
        )
        if mistake in ("variance-path", "constant-statistics"):
            square = square.detach()
        if mistake == "eps-outside-root":
            return back(v / (square.sqrt() + eps))
        if mistake == "no-root":
            return back(v / (square + eps))
        if mistake == "no-eps":
            return back(v / square.sqrt())
        if mistake == "running-statistics":
            if self.key != "batch":
                return None
            share = 0.1 if self.rng.random() < 0.5 else float(self.rng.random())
            mean, square = (share * mean).detach(), (1 - share + share * square * m / (m - 1)).detach()
            return back((x - mean) / (square + eps).sqrt())
        return back(v / (square + eps).sqrt())

    def diagonal(self, g):
        """g times ∂x̂_i/∂x_i, one element at a time."""
        out, flat = torch.empty_like(self.x).ravel(), self.x.ravel()
        for i in range(len(flat)):
            leaf = flat[i].clone().requires_grad_()
            x = torch.cat([flat[:i], leaf[None], flat[i + 1 :]]).reshape(self.x.shape)
            out[i] = torch.autograd.grad(self.xhat(x).ravel()[i], leaf)[0]
        return g * out.reshape(self.x.shape)

    def answer(self, name, mistake=None):
        """One array of an answer."""
        gamma, beta = self.spread(self.gamma), self.spread(self.beta)
        if name == "out":
            if mistake == "transposed":
                y = self.answer("out")
                order = self.rng.permutation(y.ndim)
                return None if (order == np.arange(y.ndim)).all() else y.transpose(order)
            if mistake == "x-itself":
                return self.x.numpy()
            xhat = self.xhat(self.x, mistake)
            if xhat is None:
                return None
            if mistake in ("gamma-plus-one", "swapped-gamma"):
                return (xhat * (1 + gamma if mistake == "gamma-plus-one" else self.exchanged()) + beta).numpy()
            if mistake == "affine-order":
                return ((xhat + beta) * gamma).numpy()
            y = xhat if mistake == "forgot-gamma" else xhat * gamma
            return (y if mistake == "forgot-beta" else y + beta).numpy()
        if name == "dx":
            return self.dx(mistake)
        return self.of_parameter(name, mistake)

    def dx(self, mistake):
        """∂L/∂x."""
        if mistake == "x-itself":
            return self.dout.numpy()
        gamma = self.spread(self.gamma)
        if mistake in ("gamma-plus-one", "swapped-gamma"):
            gamma = 1 + gamma if mistake == "gamma-plus-one" else self.exchanged()
        g = self.dout if mistake == "forgot-gamma" else self.dout * gamma
        if mistake == "sample-variance" and self.key != "group" and self.rng.random() < 0.5:
            return self.less_one(g, forward=self.rng.random() < 0.7, backward=self.rng.random() < 0.7)
        if mistake == "diagonal-gradient":
            return self.diagonal(g).numpy() if self.x.numel() <= 60 else None
        if mistake == "sum-instead-of-mean":
            direct, full = (self.dx(kind) for kind in ("variance-path", None))
            constant = self.dx("constant-statistics") if self.key != "rms" else direct
            if constant is None or full is None or self.key == "group":
                return None
            m = prod(self.x.shape[a] for a in self.over(None))
            return constant + m * (direct - constant) + (full - direct) * (m if self.rng.random() < 0.5 else 1)
        leaf = self.x.clone().requires_grad_()
        xhat = self.xhat(leaf, None if mistake == "sign" else mistake)
        if xhat is None:
            return None
        (dx,) = torch.autograd.grad(xhat, leaf, g)
        return (-dx if mistake == "sign" else dx).numpy()

    def less_one(self, g, forward, backward):
        """∂L/∂x by the formula of papers, r/m (m g − Σg − x̂ Σ g x̂), with m − 1 for m forward, backward, or in both."""
        over, centred = self.over(None), self.key != "rms"
        m = prod(self.x.shape[a] for a in over)
        if m < 3 or not (forward or backward):
            return None
        v = self.x - self.x.mean(over, keepdim=True) if centred else self.x
        r = 1 / ((v**2).sum(over, keepdim=True) / (m - forward) + self.eps).sqrt()
        k = m - backward
        means = g.sum(over, keepdim=True) if centred else 0.0
        return (r / k * (k * g - means - v * r * (g * v * r).sum(over, keepdim=True))).numpy()

    def of_parameter(self, name, mistake):
        """∂L/∂γ or ∂L/∂β."""
        if mistake == "swapped":
            return self.answer("dbeta" if name == "dgamma" else "dgamma")
        terms = self.dout
        if name == "dgamma":
            xhat = self.xhat(
                self.x, None if mistake in ("mean-instead-of-sum", "missing-sum", "x-for-xhat") else mistake
            )
            if xhat is None:
                return None
            terms = terms * (self.x if mistake == "x-for-xhat" else xhat)
        over = [0] if self.gamma.shape == self.x.shape[1:] else [a for a, c in enumerate(self.letters) if c != "C"]
        if mistake == "missing-sum":
            kept = [a for a in over if self.rng.random() < 0.6]
            if len(kept) == len(over) or terms.sum(kept or []).squeeze().shape == self.gamma.squeeze().shape:
                return None
            return (terms.sum(kept) if kept else terms).numpy()
        if mistake == "mean-instead-of-sum":
            return terms.mean(over).numpy() if self.rng.random() < 0.5 else (terms.sum(over) / len(terms)).numpy()
        return terms.sum(over).numpy()
