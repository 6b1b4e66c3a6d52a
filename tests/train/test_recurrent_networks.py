"""Recurrent networks of a stack against torch.nn."""

import pytest
import torch
from torch import nn

from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.norm import NormLayer
from normviz.train.recurrent import (
    Recurrent,
    RecurrentPlan,
    convert_to_sequences,
    make_unequal_batch,
    pool_statistics,
    select_last_states,
)

EPS = 1e-3
CPU = torch.device("cpu")
BATCH, INPUTS, UNITS, STEPS, WAIT = 6, 3, 4, 5, 2
WAITS, STILL = make_unequal_batch(BATCH, WAIT, STEPS)

LAYERS = {
    "none": lambda: nn.Identity(),
    "batch": lambda: nn.BatchNorm1d(UNITS, eps=EPS, affine=False, momentum=None),
    "layer": lambda: nn.LayerNorm(UNITS, eps=EPS, elementwise_affine=False),
    "rms": lambda: nn.RMSNorm(UNITS, eps=EPS, elementwise_affine=False),
    "group": lambda: nn.GroupNorm(2, UNITS, eps=EPS, affine=False),
    "weight": lambda: nn.Identity(),
}
"""Of torch.nn, without γ and β; γ is 1 and not learned where the scheme has none."""


def stack(keys, still=STILL, seeds=(0, 7), rows=None, **more):
    schemes = [row.scheme for row in rows] if rows else [get_scheme(key, 2) for key in keys]
    plan = RecurrentPlan(INPUTS, UNITS, still, **{"gain": 0.7, "eps": EPS} | more)
    return Recurrent(schemes, seeds, plan, CPU, torch.float64)


def sequences(count, steps, seed=0):
    return torch.randn(2, count, BATCH, steps, INPUTS, generator=torch.Generator().manual_seed(seed)).double()


LABELS = torch.arange(2 * BATCH).view(2, BATCH) % 10


class Plain(nn.Module):
    """One network with torch's own layers, one at every step, from the weights of one in a stack."""

    def __init__(self, network, key, scheme, seed, apart=False):
        super().__init__()
        joint = network.incoming[scheme, seed].detach()
        self.incoming = nn.Linear(*joint.shape, bias=False, dtype=torch.float64)
        self.incoming.weight.data = joint.T.clone()
        if key == "weight":
            self.incoming = nn.utils.parametrizations.weight_norm(self.incoming, dim=0)
            self.incoming.parametrizations.weight.original0.data.fill_(1)
            self.incoming.parametrizations.weight.original0.requires_grad_(False)  # γ is behind it
        self.norms = nn.ModuleList(LAYERS[key]() for _ in STILL)
        self.norms_back = nn.ModuleList(LAYERS[key]() for _ in STILL) if apart else None
        learned = SCHEMES[key].gain is not None
        gain = network.gain[scheme, seed].detach().clone()
        self.gain = nn.Parameter(gain if learned else torch.ones_like(gain), requires_grad=learned)
        self.bias = nn.Parameter(torch.zeros_like(self.gain))
        self.readout = nn.Linear(UNITS, 10, dtype=torch.float64)
        self.readout.weight.data = network.readout[scheme, seed].detach().T.clone()
        self.readout.bias.data.zero_()
        self.double()

    def forward(self, x, still):
        """Logits of x (N, steps, inputs), each at its own last step."""
        states, h = [], x.new_zeros(len(x), UNITS)
        for step, n in enumerate(still):
            at = min(step, len(STILL) - 1)
            if self.norms_back is None:
                xhat = self.norms[at](self.incoming(torch.cat([h[:n], x[:n, step]], 1)))
            else:
                back, into = self.incoming.weight.split([UNITS, INPUTS], dim=1)
                xhat = self.norms[at](x[:n, step] @ into.T)
                xhat = xhat + self.norms_back[at](h[:n] @ back.T) if step else xhat
            h = torch.tanh(self.gain * xhat + self.bias)
            states.append(h)
        ends = [max(t for t, n in enumerate(still) if k < n) for k in range(len(x))]
        return self.readout(torch.stack([states[end][k] for k, end in enumerate(ends)]))


@pytest.mark.parametrize("normalized", ["sum", "apart"])
@pytest.mark.parametrize("key", LAYERS)
def test_one_network_of_a_stack_trains_as_a_module_does(key, normalized):
    network = stack(["rms", key, "layer"], normalized=normalized)
    plain = Plain(network, key, 1, 1, normalized == "apart")
    learner, other = Trainer(network.parameters, "sgd", 0.5), torch.optim.SGD(plain.parameters(), 0.5)
    for seed in range(3):
        x = sequences(1, len(STILL), seed)
        loss = cross_entropy(
            network.compute_logits(select_last_states(list(network.iterate_states(x, STILL)), STILL)), LABELS
        )
        wanted = nn.functional.cross_entropy(plain(x[1, 0], STILL), LABELS[1])
        torch.testing.assert_close(loss[1, 1], wanted)
        learner.step(loss)
        other.zero_grad()
        wanted.backward()
        other.step()
    if plain.gain.requires_grad:
        torch.testing.assert_close(network.gain[1, 1], plain.gain)
    torch.testing.assert_close(network.readout[1, 1].T, plain.readout.weight)


@pytest.mark.parametrize("normalized", ["sum", "apart"])
@pytest.mark.parametrize("key", ["batch", "layer"])
def test_inference_is_by_the_statistics_of_every_step_and_beyond_by_those_of_the_last(key, normalized):
    network = stack(["none", key], normalized=normalized)
    plain = Plain(network, key, 1, 1, normalized == "apart")
    x = sequences(3, len(STILL))
    with torch.no_grad():
        for _ in network.iterate_states(x, STILL, NormLayer.collect_statistics):
            pass
        for batch in x[1]:
            plain(batch, STILL)
        plain.eval()
        longer = sequences(1, len(STILL) + 3, seed=1)
        every = [BATCH] * longer.shape[3]
        *_, state = network.iterate_states(longer, every, NormLayer.normalize_in_inference)
        torch.testing.assert_close(network.compute_logits(state)[1, 1], plain(longer[1, 0], every))


def test_a_layer_that_is_the_same_at_every_step_keeps_what_all_of_them_see():
    network = stack(["batch"], still=[BATCH] * 3)
    x = sequences(4, 3)
    with torch.no_grad():
        *_, _ = network.iterate_states(x, network.still, NormLayer.collect_statistics)
        kept = pool_statistics(network.norms).statistics[0]
    means = torch.stack([norm.statistics[0].mean for norm in network.norms])
    variances = torch.stack([norm.statistics[0].variance for norm in network.norms])
    torch.testing.assert_close(kept.mean, means.mean(0))
    torch.testing.assert_close(kept.variance, (variances + means**2).mean(0) - means.mean(0) ** 2)


def test_the_two_layouts_are_those_of_batch_norm_on_whole_sequences():
    rows = [SchemeSpec("batch", *["full,full,full,own"] * 2), SchemeSpec("custom", *["full,own,full,full"] * 2)]
    network = stack([], still=[BATCH] * STEPS, rows=rows, normalized="sequence")
    x = sequences(1, STEPS)
    found = network.normalize_inputs(x) / 0.7
    for seed in (0, 1):
        b = x[seed, 0] @ network.incoming[0, seed, UNITS:]  # (B, T, C)
        right = nn.BatchNorm1d(UNITS, eps=EPS, affine=False).double()(b.mT).mT
        trap = nn.BatchNorm1d(STEPS, eps=EPS, affine=False).double()(b)
        torch.testing.assert_close(found[0, seed], right)
        torch.testing.assert_close(found[1, seed], trap)


@pytest.mark.parametrize("key", ["none", "layer", "batch", "divisive", "custom"])
def test_nothing_of_later_steps_is_seen(key):
    network = stack([key])
    x = sequences(1, len(STILL))
    changed = x.clone()
    changed[:, :, :, 3:] = 5.0
    before, after = (list(network.iterate_states(each, STILL)) for each in (x, changed))
    assert all(torch.equal(one, other) for one, other in zip(before[:3], after[:3], strict=True))
    assert not torch.equal(before[3], after[3])


def test_networks_are_as_they_would_be_alone():
    together, alone = stack(["batch", "layer"]), stack(["layer"], seeds=(7,))
    x = sequences(1, len(STILL))
    both = select_last_states(list(together.iterate_states(x, STILL)), STILL)[1:, 1:]
    torch.testing.assert_close(both, select_last_states(list(alone.iterate_states(x[1:], STILL)), STILL))


def test_sequences_of_a_mini_batch_wait_and_end_at_their_own_steps():
    assert make_unequal_batch(4, 1, 2) == ([1, 1, 0, 0], [4, 4, 2])
    assert make_unequal_batch(6, 2, 5)[1] == [6, 6, 6, 6, 6, 4, 2]
    pictures = torch.tensor([[0.0, 1.0, 0.5, 1.0], [1.0, 1.0, 0.0, 0.0]])
    found = convert_to_sequences(pictures, 2, [1, 0], 3)
    assert found.tolist() == [[[-1, -1], [-1, 1], [0, 1]], [[1, 1], [-1, -1], [-1, -1]]]
    states = [torch.tensor([10.0, 11, 12, 13]).view(1, 1, 1, 4, 1), torch.tensor([20.0, 21]).view(1, 1, 1, 2, 1)]
    assert select_last_states(states, [4, 2]).flatten().tolist() == [20, 21, 12, 13]
