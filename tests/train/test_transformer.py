"""Transformers of a stack against torch.nn."""

import pytest
import torch
from torch import nn

from normviz.core.registry import get_scheme
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.transformer import EXAMPLES_PER_PASS, NORM_POSITIONS, Transformer, TransformerPlan

EPS = 1e-3
CPU = torch.device("cpu")
BATCH, WIDTH, HEADS, LAYERS = 6, 8, 2, 2
PLACEMENTS = tuple(NORM_POSITIONS)
LABELS = torch.arange(2 * BATCH).view(2, BATCH) % 10


class Channels(nn.BatchNorm1d):
    """Batch norm of (N, tokens, channels)."""

    def __init__(self):
        super().__init__(WIDTH, eps=EPS, momentum=None)

    def forward(self, x):
        return super().forward(x.mT).mT


class RootMeanSquare(nn.RMSNorm):
    """With the β that every place of the stack learns."""

    def __init__(self):
        super().__init__(WIDTH, eps=EPS)
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return super().forward(x) + self.bias


LAYERS_OF = {
    "layer-channels": lambda: nn.LayerNorm(WIDTH, eps=EPS),
    "rms": RootMeanSquare,
    "batch": Channels,
}


class Plain(nn.Module):
    """One network of torch's own layers, which starts from the weights of one in a stack."""

    def __init__(self, network, placement, position, seed, key):
        super().__init__()

        def linear(weight):
            layer = nn.Linear(*weight.shape[2:], bias=False)
            layer.weight.data = weight[position, seed].detach().T.clone()
            return layer

        self.placement = placement
        self.embedding, self.readout = linear(network.embedding), linear(network.readout)
        self.positions = nn.Parameter(network.positions[position, seed].detach().clone())
        self.branches = nn.ModuleList()
        for number, (first, second) in enumerate(network.branches):
            if number % 2:
                branch = nn.Sequential(linear(first), nn.ReLU(), linear(second))
            else:
                branch = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)
                branch.in_proj_weight.data = first[position, seed].detach().T.clone()
                branch.out_proj.weight.data = second[position, seed].detach().T.clone()
            self.branches.append(branch)
        names = ("before", "behind", "sum")
        make = LAYERS_OF[key]
        self.norms = nn.ModuleList(nn.ModuleDict({name: make() for name in names}) for _ in self.branches)
        self.end = make()

    def at(self, name, norm, x):
        return norm(x) if name in NORM_POSITIONS[self.placement] else x

    def forward(self, x):
        x = self.embedding(x) + self.positions
        for branch, norms in zip(self.branches, self.norms, strict=True):
            inner = self.at("before", norms["before"], x)
            out = branch(inner, inner, inner)[0] if isinstance(branch, nn.MultiheadAttention) else branch(inner)
            x = self.at("sum", norms["sum"], x + self.at("behind", norms["behind"], out))
        return self.readout(self.at("end", self.end, x).mean(1))


def stack(key, placements=PLACEMENTS, seeds=(0, 7), **more):
    plan = TransformerPlan(LAYERS, WIDTH, HEADS, BATCH, EPS, **more)
    return Transformer(placements, get_scheme(key), seeds, plan, CPU, torch.float64)


def pictures(seed=0, count=BATCH):
    return torch.randn(2, count, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("key", LAYERS_OF)
def test_one_network_of_a_stack_trains_as_a_module_does(key, placement):
    network, position = stack(key), PLACEMENTS.index(placement)
    plain = Plain(network, placement, position, 1, key).double()
    learner = Trainer(network.parameters, "sgd", 0.1)
    other = torch.optim.SGD(plain.parameters(), 0.1)
    for seed in range(3):
        x = pictures(seed)
        loss = cross_entropy(network.compute_logits(x), LABELS)
        logits = plain(x[1]) + network.offset[position, 1].detach()
        wanted = nn.functional.cross_entropy(logits, LABELS[1])
        torch.testing.assert_close(loss[position, 1], wanted)
        learner.step(loss)
        other.zero_grad()
        wanted.backward()
        other.step()
    torch.testing.assert_close(network.positions[position, 1], plain.positions)
    torch.testing.assert_close(network.branches[0][0][position, 1].T, plain.branches[0].in_proj_weight)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("key", LAYERS_OF)
def test_one_network_of_a_stack_tells_as_a_module_does_by_what_it_keeps(key, placement):
    network, position = stack(key), PLACEMENTS.index(placement)
    plain = Plain(network, placement, position, 1, key).double()
    x = pictures(count=3 * BATCH)
    network.collect_statistics(x)
    with torch.no_grad():
        for batch in x[1].split(BATCH):
            plain(batch)
        plain.eval()
        unseen = pictures(seed=1, count=EXAMPLES_PER_PASS + 4)  # more than pass at a time
        torch.testing.assert_close(network.infer_logits(unseen)[position, 1], plain(unseen[1]))


def test_gradients_and_mean_squares_are_those_of_the_module():
    network, position = stack("layer-channels"), PLACEMENTS.index("pre")
    plain = Plain(network, "pre", position, 1, "layer-channels").double()
    x = pictures()
    found = network.measure_gradient_norms(x, LABELS)[:, position, 1]
    nn.functional.cross_entropy(plain(x[1]), LABELS[1]).backward()
    torch.testing.assert_close(found[0], plain.branches[0].out_proj.weight.grad.norm())
    torch.testing.assert_close(found[-1], plain.branches[-1][2].weight.grad.norm())
    squares = network.measure_mean_squares(x)
    assert squares.shape == (1 + 2 * LAYERS, len(PLACEMENTS), 2)
    torch.testing.assert_close(squares[0, position, 1], (plain.embedding(x[1]) + plain.positions).square().mean())


def test_a_residual_chain_doubles_without_normalization_and_grows_evenly_with_it():
    plan = TransformerPlan(5, 64, 1, BATCH, EPS, attention=False)
    network = Transformer(PLACEMENTS, get_scheme("layer-channels"), range(4), plan, CPU, torch.float64)
    squares = network.measure_mean_squares(pictures()[:1]).mean(-1)
    none, pre = (squares[:, PLACEMENTS.index(placement)] for placement in ("none", "pre"))
    torch.testing.assert_close((none[-1] / none[0]) ** 0.1, torch.tensor(2.0, dtype=torch.float64), rtol=0.1, atol=0.0)
    torch.testing.assert_close(pre[-1] - pre[0], torch.tensor(10.0, dtype=torch.float64), rtol=0.2, atol=0.0)


def test_networks_are_as_they_would_be_alone():
    together, alone = stack("layer-channels"), stack("layer-channels", ("pre",), (7,))
    x = pictures()
    torch.testing.assert_close(together.compute_logits(x)[2:3, 1:], alone.compute_logits(x[1:]))


def test_a_share_of_the_learning_rate_moves_by_that_share():
    weights = [torch.ones(2, 1, 3, dtype=torch.float64) for _ in range(2)]
    for each, share in zip(weights, (None, torch.tensor([[0.25], [1.0]], dtype=torch.float64)), strict=True):
        learner = Trainer([each], "sgd", 0.1)
        learner.step(each.square().sum(-1), share)
    moved = [1 - each.detach()[:, 0, 0] for each in weights]
    torch.testing.assert_close(moved[1], moved[0] * torch.tensor([0.25, 1.0], dtype=torch.float64))
