"""What networks of any architecture need to learn, against torch's own losses and optimizers."""

import numpy as np
import pytest
import torch
from torch import nn

from normviz.core.errors import InvalidInput
from normviz.train.learning import (
    Trainer,
    compute_error_rate,
    cross_entropy,
    open_float32_device,
    sample_initial_weights,
    shuffle_mini_batches,
)
from normviz.train.setting import BETAS, MOMENTUM


def numbers(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_every_round_goes_through_all_examples_in_another_order():
    (order,) = shuffle_mini_batches([3], 12, 9, 4).unbind(1)
    rounds = order.reshape(3, 12)
    assert (rounds.sort().values == torch.arange(12)).all()
    assert len({tuple(each) for each in rounds.tolist()}) == 3


def test_what_does_not_fill_a_round_goes_on_into_the_next():
    (order,) = shuffle_mini_batches([3], 10, 5, 4).unbind(1)
    assert order.shape == (5, 4)
    assert sorted(order.flatten()[:10].tolist()) == sorted(order.flatten()[10:].tolist()) == list(range(10))


def test_mini_batches_of_a_seed_do_not_depend_on_the_others_or_on_how_many_there_are():
    together = shuffle_mini_batches([0, 5, 9], 50, 30, 8)
    assert torch.equal(shuffle_mini_batches([5], 50, 12, 8)[:, 0], together[:12, 1])
    assert not torch.equal(together[:, 0], together[:, 1])


def test_a_mini_batch_of_more_than_all_examples():
    (order,) = shuffle_mini_batches([0], 5, 2, 12).unbind(1)
    assert order.shape == (2, 12)
    assert order.max() < 5


def test_first_weights_are_the_same_for_all_schemes_and_of_their_seed_and_place():
    first = sample_initial_weights([4, 2], 3, 60, 50, scale=0.3, part=1)
    assert first.shape == (3, 2, 60, 50)
    assert torch.equal(first[0], first[2])
    assert torch.equal(sample_initial_weights([2], 1, 60, 50, scale=0.3, part=1)[0, 0], first[0, 1])
    others = (first[0, 1], sample_initial_weights([4], 1, 60, 50, scale=0.3, part=0)[0, 0])
    assert all(abs(torch.corrcoef(torch.stack([first[0, 0].ravel(), other.ravel()]))[0, 1]) < 0.1 for other in others)
    assert float(first.std()) == pytest.approx(0.3, rel=0.05)
    first[0] = 0  # nothing is shared
    assert first[1].abs().min() > 0


def test_cross_entropy():
    logits, labels = 5 * numbers(2, 3, 20, 10), torch.arange(20) % 10
    flat = logits.movedim(-1, 2)
    wanted = [[nn.functional.cross_entropy(each.T, labels) for each in row] for row in flat]
    torch.testing.assert_close(cross_entropy(logits, labels), torch.tensor(wanted, dtype=torch.float64))
    by_network = torch.stack([labels, labels.flip(0), labels])  # as every network has examples of its own
    wanted = nn.functional.cross_entropy(logits[1, 1], by_network[1])
    torch.testing.assert_close(cross_entropy(logits, by_network)[1, 1], wanted)


def test_cross_entropy_of_large_logits():
    logits = torch.tensor([[[[1e4, 0.0]]]])
    assert cross_entropy(logits, torch.tensor([0])).item() == 0
    assert cross_entropy(logits, torch.tensor([1])).item() == 1e4


def test_error():
    logits = nn.functional.one_hot(torch.tensor([0, 1, 2, 2]), 3).double().expand(2, 1, 4, 3)
    assert compute_error_rate(logits, torch.tensor([0, 1, 2, 0])).tolist() == [[0.25]] * 2
    for bad in (torch.nan, torch.inf, -torch.inf):
        broken = logits.clone()
        broken[1, 0, :, 2] = bad
        assert compute_error_rate(broken, torch.tensor([2, 2, 2, 2]))[:, 0].tolist() == [0.5, 1.0]


OF_TORCH = {
    "sgd": torch.optim.SGD,
    "momentum": lambda each, lr: torch.optim.SGD(each, lr, momentum=MOMENTUM),
    "adam": lambda each, lr: torch.optim.Adam(each, lr, betas=BETAS, eps=1e-30),
}


def losses_of(weights, biases, x):
    return (torch.tanh(x @ weights + biases) - 1).square().mean((-2, -1))


@pytest.mark.parametrize("optimizer", OF_TORCH)
def test_a_network_learns_as_alone_with_torchs_optimizer_at_its_own_rate(optimizer):
    weights, biases, x = numbers(2, 3, 4, 5), numbers(2, 3, 1, 5, seed=1), numbers(8, 4, seed=2)
    rates = np.array([[0.01, 0.03, 0.1], [0.02, 0.05, 0.3]])
    mine = [weights.clone(), biases.clone()]
    learner = Trainer(mine, optimizer, rates)
    for _ in range(4):
        learner.step(losses_of(*learner.parameters, x))
    for (k, j), rate in np.ndenumerate(rates):
        alone = [weights[k, j].clone().requires_grad_(), biases[k, j].clone().requires_grad_()]
        torchs = OF_TORCH[optimizer](alone, lr=rate)
        for _ in range(4):
            torchs.zero_grad()
            losses_of(*alone, x).backward()
            torchs.step()
        for one, stacked in zip(alone, mine, strict=True):
            torch.testing.assert_close(stacked[k, j], one)


def test_one_rate_for_all_and_one_for_each_parameter():
    x, start = numbers(8, 4, seed=2), (numbers(1, 2, 4, 5), numbers(1, 2, 1, 5, seed=1))
    moved = []
    for rate in (0.1, [torch.full((1, 2), 0.1), torch.full((1, 2), 0.0)]):
        mine = [each.clone() for each in start]
        Trainer(mine, "sgd", rate).step(losses_of(*mine, x))
        moved.append(mine)
    torch.testing.assert_close(moved[0][0], moved[1][0])
    torch.testing.assert_close(moved[1][1].detach(), start[1])
    assert not torch.equal(moved[0][1], moved[1][1])


@pytest.mark.parametrize("optimizer", OF_TORCH)
def test_a_network_without_numbers_leaves_the_others_as_they_are(optimizer):
    x, weights, biases = numbers(8, 4, seed=2), numbers(1, 2, 4, 5), numbers(1, 2, 1, 5, seed=1)
    moved = []
    for bad in (0.0, torch.nan):
        mine = [weights.clone(), biases.clone()]
        mine[0][0, 0, 0, 0] += bad
        learner = Trainer(mine, optimizer, 0.1)
        for _ in range(3):
            learner.step(losses_of(*learner.parameters, x))
        moved.append(mine)
    for good, mixed in zip(*moved, strict=True):
        torch.testing.assert_close(mixed[0, 1], good[0, 1])
    assert moved[1][0][0, 0].isnan().any()


def test_a_parameter_that_no_loss_depends_on_stays():
    mine, idle = numbers(1, 1, 4, 5), numbers(1, 1, 3)
    before = idle.clone()
    learner = Trainer([mine, idle], "adam", 0.1)
    learner.step(mine.square().mean((-2, -1)))
    torch.testing.assert_close(idle.detach(), before)


def test_a_device_that_is_not_there():
    assert open_float32_device("cpu").type == "cpu"
    if not torch.backends.mps.is_available():
        with pytest.raises(InvalidInput, match="mps"):
            open_float32_device("mps")
