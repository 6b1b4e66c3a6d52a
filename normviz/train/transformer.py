"""Small transformers on digits, whose rows are the tokens, with different placements of the normalized layers.

With f a branch, attention or a layer of ReLU units, and N a normalized layer with its own γ x̂ + β:

    none  x + f(x)         pre   x + f(N(x))
    post  N(x + f(x))      peri  x + N(f(N(x)))

After all branches, pre and peri normalize once more. The classifier reads the mean over tokens. A scheme normalizes the
tensor (N, tokens, 1, channels): a whole picture is known at once, so nothing has to be causal.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch

from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.train.dense import Digits, NormCall, load_digit_parts
from normviz.train.learning import cross_entropy, open_float32_device, sample_initial_weights
from normviz.train.norm import NormLayer

NORM_POSITIONS = {"none": (), "post": ("sum",), "pre": ("before", "end"), "peri": ("before", "behind", "end")}
"""The normalized positions of each placement: before and behind a branch, its sum with x, and the end of all."""

EXAMPLES_PER_PASS = 64
"""Examples of one pass in inference."""


class NormPlace:
    """Layer at one place of a transformer: γ x̂ + β in networks that normalize at this place, else x unchanged."""

    def __init__(
        self, name: str, placements: Sequence[str], scheme: Scheme, shape: tuple[int, ...], eps: float,
        like: torch.Tensor,
    ) -> None:  # fmt: skip
        chosen = [name in NORM_POSITIONS[placement] for placement in placements]
        self.norm = NormLayer([scheme if here else None for here in chosen], shape, eps, like)
        self.here = like.new_tensor(chosen).view(-1, *[1] * 5)
        lead = (len(placements), like.shape[1], 1, 1, 1)
        self.gain, self.bias = like.new_ones(*lead, shape[-1]), like.new_zeros(*lead, shape[-1])
        self.used = any(chosen)

    def __call__(self, x: torch.Tensor, norm_method: NormCall) -> torch.Tensor:
        """Return γ x̂ + β or x, for x (placements, networks, N, tokens, 1, channels)."""
        if not self.used:
            return x
        return torch.addcmul(self.here * self.bias, 1 + self.here * (self.gain - 1), norm_method(self.norm, x))


class TransformerPlan(NamedTuple):
    """Sizes and ε that all networks of a `Transformer` share.

    Attributes:
        layers: of attention and ReLU units, two branches each.
        width: channels of a token; ReLU units are twice as many.
        heads: of attention.
        batch: examples of a mini-batch.
        eps: ε of the scheme.
        attention: True if every other branch is attention; otherwise all are ReLU units.
    """

    layers: int
    width: int
    heads: int
    batch: int
    eps: float
    attention: bool = True


class Transformer:
    """Stack of transformers, one per placement of normalization and seed.

    Args:
        placements: keys of `NORM_POSITIONS`, one for each position of the first axis.
        scheme: normalizes activations (N, tokens, 1, channels).
        seeds: of the first weights, N(0, 1/fan-in), and N(0, 2/fan-in) before a ReLU; one network each.
        plan: all that the networks have in common.
        device, dtype: of all numbers.
    """

    def __init__(
        self, placements: Sequence[str], scheme: Scheme, seeds: Sequence[int], plan: TransformerPlan,
        device: torch.device, dtype: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        layers, width, heads, batch, eps, attention = plan
        parts = iter(range(4 * layers + 3))

        def first(into: int, out: int, square: float = 1.0) -> torch.Tensor:
            scale = (square / into) ** 0.5
            return sample_initial_weights(
                seeds, len(placements), into, out, scale=scale, part=next(parts), dtype=dtype
            ).to(device)

        self.heads, self.attention = heads, attention
        self.embedding, self.readout = first(DIGIT_SIDE, width), first(width, DIGIT_CLASSES)
        self.positions = first(DIGIT_SIDE, width, DIGIT_SIDE / 4)
        self.offset = torch.zeros(len(placements), len(seeds), 1, DIGIT_CLASSES, device=device, dtype=dtype)
        shape = (batch, DIGIT_SIDE, 1, width)

        def place(name: str) -> NormPlace:
            return NormPlace(name, placements, scheme, shape, eps, self.embedding)

        self.branches: list[list[torch.Tensor]] = []
        self.places: list[dict[str, NormPlace]] = []
        for _ in range(layers):
            attending = (
                [first(width, 3 * width), first(width, width)] if attention else _sample_unit_weights(first, width)
            )
            self.branches += [attending, _sample_unit_weights(first, width)]
            self.places += [{name: place(name) for name in ("before", "behind", "sum")} for _ in range(2)]
        self.end = place("end")

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors."""
        places = [*(place for each in self.places for place in each.values()), self.end]
        normalized = [tensor for place in places if place.used for tensor in (place.gain, place.bias)]
        weights = [weight for branch in self.branches for weight in branch]
        return [self.embedding, self.positions, self.readout, self.offset, *weights, *normalized]

    def iterate_streams(self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__) -> Iterator[torch.Tensor]:
        """Yield the residual stream (placements, networks, N, tokens, 1, channels) before and after each branch.

        x are pictures (networks or 1, N, rows, pixels).
        """
        tokens = (x.flatten(1, 2) @ self.embedding).unflatten(2, x.shape[1:3]) + self.positions.unsqueeze(2)
        stream = tokens.unsqueeze(-2)
        yield stream
        for number, (branch, places) in enumerate(zip(self.branches, self.places, strict=True)):
            f = self._apply_attention if self.attention and number % 2 == 0 else self._apply_units
            out = places["behind"](f(places["before"](stream, norm_method), *branch), norm_method)
            stream = places["sum"](stream + out, norm_method)
            yield stream

    def compute_logits(self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__) -> torch.Tensor:
        """Compute logits (placements, networks, N, classes) of pictures x (networks or 1, N, rows, pixels)."""
        *_, stream = self.iterate_streams(x, norm_method)
        return self.end(stream, norm_method).mean((3, 4)) @ self.readout + self.offset

    @torch.no_grad()
    def collect_statistics(self, x: torch.Tensor) -> None:
        """Compute and store the statistics for inference, from joined mini-batches x (1, N, rows, pixels)."""
        self.compute_logits(x, NormLayer.collect_statistics)

    @torch.no_grad()
    def infer_logits(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits (placements, networks, N, classes) in inference, for some examples at a time to save memory."""
        return torch.cat(
            [self.compute_logits(part, NormLayer.normalize_in_inference) for part in x.split(EXAMPLES_PER_PASS, dim=1)],
            dim=2,
        )

    @torch.no_grad()
    def measure_mean_squares(self, x: torch.Tensor) -> torch.Tensor:
        """Return the residual stream's mean squares before and after branches, (1 + branches, placements, networks)."""
        return torch.stack([stream.square().mean((2, 3, 4, 5)) for stream in self.iterate_streams(x)])

    def measure_gradient_norms(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ‖∂L/∂W‖ of the last matrix W of every branch, (branches, placements, networks)."""
        last = [branch[1].requires_grad_() for branch in self.branches]
        found = torch.autograd.grad(cross_entropy(self.compute_logits(x), labels).sum(), last)
        return torch.stack([torch.linalg.vector_norm(each.double(), dim=(-2, -1)) for each in found])

    def _apply_attention(self, x: torch.Tensor, incoming: torch.Tensor, outgoing: torch.Tensor) -> torch.Tensor:
        lead, (tokens, width) = x.shape[:3], (x.shape[3], x.shape[5])
        each = (x.flatten(2, 4) @ incoming).view(-1, tokens, 3, self.heads, width // self.heads)
        q, k, v = each.permute(2, 0, 3, 1, 4).flatten(1, 2)  # torch's fused attention takes longer for eight tokens
        shares = torch.softmax((width // self.heads) ** -0.5 * q @ k.mT, -1)
        mixed = (shares @ v).unflatten(0, (-1, self.heads)).transpose(1, 2).reshape(*lead[:2], -1, width)
        return (mixed @ outgoing).view_as(x)

    @staticmethod
    def _apply_units(x: torch.Tensor, incoming: torch.Tensor, outgoing: torch.Tensor) -> torch.Tensor:
        return (torch.relu(x.flatten(2, 4) @ incoming) @ outgoing).view_as(x)


def _sample_unit_weights(sample_weights: Callable[..., torch.Tensor], width: int) -> list[torch.Tensor]:
    """Return weights into and out of a layer of ReLU units, sampled so that the mean square is preserved."""
    return [sample_weights(width, 2 * width, 2.0), sample_weights(2 * width, width)]


def load_token_pictures(name: str) -> tuple[torch.device, Digits]:
    """Return the device of this name, and the digits on it as pictures (digits, rows, pixels) in −1..1."""
    device = open_float32_device(name)
    parts = load_digit_parts(device)
    return device, Digits(*((2 * x.unflatten(-1, (DIGIT_SIDE, DIGIT_SIDE)) - 1, labels) for x, labels in parts))
