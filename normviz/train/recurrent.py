"""Recurrent networks on digits, read a few pixels at a time and normalized at every step or in the input.

    a_t = W h_{t-1} + U x_t,   h_t = tanh(γ â_t + β),   â_t: a_t normalized by itself

as in Ba et al. 2016 (arXiv 1607.06450), section 3.1, with one γ and one β for all steps. A scheme normalizes the
tensor (N, 1, 1, C) of one step, without later steps. "apart" normalizes both parts of a separately, as in Cooijmans et
al. 2016 (arXiv 1603.09025), here with one γ for both:

    h_t = tanh(γ (ĉ_t + b̂_t) + β),   c_t = W h_{t-1},   b_t = U x_t

"sequence" normalizes only the inputs' part, for all steps at once as a tensor (N, T, 1, C), as in Laurent et al. 2016
(arXiv 1510.01378):

    h_t = tanh(W h_{t-1} + γ b̂_t + β)

Sequences of a mini-batch may end at different steps. The longest comes first: the sequences still read at a step are
the first ones, and a statistic over examples is over these.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import fields
from itertools import pairwise
from typing import Literal, NamedTuple

import torch

from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES
from normviz.train.dense import NormCall
from normviz.train.gradient import InferenceStatistics
from normviz.train.learning import cross_entropy, sample_initial_weights
from normviz.train.norm import NormLayer, create_weight_norm, mask_gain


class RecurrentPlan(NamedTuple):
    """Sizes, initial values and place of the normalization that all networks of a `Recurrent` share.

    Attributes:
        inputs: numbers read at a step.
        units: of the state.
        active_counts: the number of sequences of a mini-batch still read at each step of a training, never increasing.
        eps: ε on activations.
        gain: γ before training.
        scale: of the first W and U.
        normalized: "sum" for a at every step, "apart" for both of its parts, "sequence" for the inputs' part of all
            steps at once.
    """

    inputs: int
    units: int
    active_counts: Sequence[int]
    eps: float
    gain: float = 1.0
    scale: float = 1.0
    normalized: Literal["sum", "apart", "sequence"] = "sum"


class Recurrent:
    """Stack of recurrent networks, one per scheme and seed, with a linear classifier of the last state.

    Args:
        schemes: normalize a, or the matrix (W, U) of every unit's incoming weights.
        seeds: of the first weights: W from N(0, scale²/units), U from N(0, scale²/inputs), one network each.
        plan: all that the networks have in common.
        device, dtype: of all numbers.
    """

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], plan: RecurrentPlan, device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        inputs, units, active_counts, eps, gain, scale, normalized = plan

        def first(part: int, into: int, out: int, scale: float) -> torch.Tensor:
            return sample_initial_weights(
                seeds, len(schemes), into, out, scale=scale * into**-0.5, part=part, dtype=dtype
            )

        self.units, self.still, self.sequence = units, list(active_counts), normalized == "sequence"
        self.incoming = torch.cat([first(0, units, units, scale), first(1, inputs, units, scale)], dim=2).to(device)
        self.readout = first(2, units, DIGIT_CLASSES, 1.0).to(device)
        lead = (len(schemes), len(seeds), 1)
        self.gain = torch.full((*lead, units), gain, device=device, dtype=dtype)
        self.bias = torch.zeros(*lead, units, device=device, dtype=dtype)
        self.offset = torch.zeros(*lead, DIGIT_CLASSES, device=device, dtype=dtype)
        self.schemes = schemes
        activations = [scheme.activation_part for scheme in schemes]
        whole = (self.still[0], len(self.still), 1, units)
        shapes = [whole] if self.sequence else [(n, 1, 1, units) for n in self.still]
        self.norms = [NormLayer(activations, shape, eps, self.incoming) for shape in shapes]
        again = shapes if normalized == "apart" else []
        self.norms_back = [NormLayer(activations, shape, eps, self.incoming) for shape in again]
        self.on_weights = create_weight_norm(schemes, (1, 1, units + inputs, units), self.incoming)

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All learned tensors, each (schemes, networks, …)."""
        return [self.incoming, self.readout, self.gain, self.bias, self.offset]

    def iterate_states(
        self, x: torch.Tensor, active_counts: Sequence[int], norm_method: NormCall = NormLayer.__call__
    ) -> Iterator[torch.Tensor]:
        """Yield the state after each step, (schemes, networks, mini-batches, active sequences, units).

        Inference at steps beyond those of training uses the statistics of the last step.

        x is (networks or 1, mini-batches, N, steps, inputs). `active_counts`: the number of sequences of every
        mini-batch that are as long, by step; these come first.
        """
        back, into = self._normalize_weights()
        driven = self.normalize_inputs(x, norm_method) if self.sequence else None
        gain, state = mask_gain(self.gain, self.schemes), None
        for step, n in enumerate(active_counts):
            parts = [x[:, :, :n, step].flatten(1, 2) @ into if driven is None else driven[:, :, :, step]]
            if state is not None:
                parts.append(state[:, :, :, :n].flatten(2, 3) @ back)
            if driven is None:
                parts = [torch.addcmul(self.bias, gain, self._normalize_step(step, parts, norm_method))]
            state = torch.tanh(sum(parts[1:], parts[0])).unflatten(2, (-1, n))
            yield state

    def _normalize_step(self, step: int, parts: Sequence[torch.Tensor], norm_method: NormCall) -> torch.Tensor:
        """Return x̂ of the sum of `parts` at a step, the pre-activations, or the sum of their x̂ if each has a norm."""
        if self.norms_back:
            both = zip((self.norms, self.norms_back), parts, strict=False)
        else:
            both = zip((self.norms,), (sum(parts[1:], parts[0]),), strict=True)
        found = [
            norm_method(norms[min(step, len(norms) - 1)], part[:, :, :, None, None])[:, :, :, 0, 0]
            for norms, part in both
        ]
        return sum(found[1:], found[0])

    def normalize_inputs(self, x: torch.Tensor, norm_method: NormCall = NormLayer.__call__) -> torch.Tensor:
        """Return γ b̂ + β for b = U x, the inputs' part of the pre-activations, at all steps: (…, steps, units)."""
        gain = mask_gain(self.gain, self.schemes)
        b = (x.flatten(1, 3) @ self._normalize_weights()[1]).unflatten(2, (-1, x.shape[3], 1))
        return torch.addcmul(self.bias.unsqueeze(2), gain.unsqueeze(2), norm_method(self.norms[0], b).squeeze(-2))

    def _normalize_weights(self) -> tuple[torch.Tensor, ...]:
        """Return W and U, normalized by those schemes that act on weights."""
        used = self.on_weights(self.incoming[:, :, None, None])[:, :, 0, 0]
        return used.split([self.units, used.shape[2] - self.units], dim=2)

    @torch.no_grad()
    def collect_statistics(self, x: torch.Tensor) -> None:
        """Compute and store the statistics for inference, from x (1, mini-batches, N, steps, inputs)."""
        for _ in self.iterate_states(x, self.still, NormLayer.collect_statistics):
            pass

    @torch.no_grad()
    def infer_logits(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits (schemes, networks, N, classes) in inference, at the end of sequences x (N, steps, inputs)."""
        *_, state = self.iterate_states(x[None, None], [len(x)] * x.shape[1], NormLayer.normalize_in_inference)
        return self.compute_logits(state)

    def compute_logits(self, states: torch.Tensor) -> torch.Tensor:
        """Compute logits (schemes, networks, examples, classes) from states (schemes, networks, batches, N, units)."""
        return states.flatten(2, 3) @ self.readout + self.offset


def measure_state_gradients(network: Recurrent, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the norm of ∂L/∂h_t over examples and units for the state h_t of every step, (steps, schemes, networks).

    Args:
        network: a network that reads all sequences of a mini-batch at every step.
        x: (networks, N, steps, inputs), with labels (networks, N).
    """
    network.incoming.requires_grad_()
    states = list(network.iterate_states(x.unsqueeze(1), network.still))
    loss = cross_entropy(network.compute_logits(states[-1]), labels)
    gradients = torch.stack(torch.autograd.grad(loss.sum(), states))
    return torch.linalg.vector_norm(gradients.double(), dim=(-3, -2, -1))


def pool_statistics(norms: Sequence[NormLayer]) -> NormLayer:
    """Return one layer for all steps, whose statistics for inference are pooled from the layers of the steps.

    The pooled mean is the mean of E[μ] over steps; the pooled variance is the mean of E[σ²] plus the variance of E[μ]
    between steps. For whitening the matrices are averaged.
    """
    out = copy(norms[0])
    out.statistics = {
        number: _pool_statistics([norm.statistics[number] for norm in norms]) for number in out.statistics
    }
    return out


def _pool_statistics(steps: Sequence[InferenceStatistics]) -> InferenceStatistics:
    stored = {each.name: [getattr(step, each.name) for step in steps] for each in fields(InferenceStatistics)}
    out = InferenceStatistics(
        **{name: torch.stack(each).mean(0) for name, each in stored.items() if each[0] is not None}
    )
    if out.variance is not None and out.mean is not None:
        out.variance += torch.stack(stored["mean"]).var(0, correction=0)
    return out


def select_last_states(states: Sequence[torch.Tensor], active_counts: Sequence[int]) -> torch.Tensor:
    """Return the last state of every sequence, from the states that `iterate_states` yields for `active_counts`."""
    ends = [
        state[:, :, :, after:now]
        for state, (now, after) in zip(states, pairwise([*active_counts, 0]), strict=True)
        if now > after
    ]
    return torch.cat(ends[::-1], dim=3)


def convert_to_sequences(pictures: torch.Tensor, inputs: int, waits: Sequence[int], steps: int) -> torch.Tensor:
    """Convert pictures (…, N, pixels) in 0..1 to sequences (…, N, steps, inputs) in −1..1, beginning after `waits`.

    `waits`: the number of leading steps without ink, −1, of each of the N sequences.
    """
    rows = (2 * pictures - 1).unflatten(-1, (-1, inputs))
    out = rows.new_full((*rows.shape[:-2], steps, inputs), -1.0)
    for wait in set(waits):
        chosen = torch.tensor([k for k, each in enumerate(waits) if each == wait], device=rows.device)
        out[..., chosen, wait : wait + rows.shape[-2], :] = rows[..., chosen, :, :]
    return out


def make_unequal_batch(batch: int, max_wait: int, steps: int) -> tuple[list[int], list[int]]:
    """Return every sequence's wait, longest first, and the number of sequences still read at each step.

    The waits are 0 to `max_wait` steps, each equally often. `steps`: of a sequence without its wait.
    """
    waits = [max_wait - k * (max_wait + 1) // batch for k in range(batch)]
    return waits, [sum(wait + steps > step for wait in waits) for step in range(steps + max_wait)]
