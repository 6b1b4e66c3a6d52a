"""Running averages of a stack against torch.nn.BatchNorm1d and 2d."""

import pytest
import torch
from torch import nn

from normviz.topics.experiments.fine_tuning import TASK_NAMES
from normviz.train.batch_norm import BatchNorm
from normviz.train.learning import Trainer, cross_entropy
from normviz.train.tuning import TunedNetworks, make_tuning_tasks

MOMENTA = (0.01, 0.1, 1.0)
EPS = 1e-3
CPU = torch.device("cpu")


@pytest.mark.parametrize(("shape", "layer"), [((12, 5), nn.BatchNorm1d), ((6, 3, 2, 5), nn.BatchNorm2d)])
def test_it_keeps_and_uses_averages_as_torch_nn_does(shape, layer):
    torch.manual_seed(0)
    x = 3 + 2 * torch.randn(4, 2, 2, *shape)
    unseen = torch.randn(2, 2, *shape)
    for which, momentum in enumerate(MOMENTA):
        for way, network in ((0, 1), (1, 0)):
            one = layer(5, eps=EPS, momentum=momentum, affine=False)
            stack = BatchNorm(5, MOMENTA, (2, 2), EPS, torch.zeros(()))
            for batch in x:
                torch.testing.assert_close(
                    stack.normalize_in_training(batch)[way, network], first(one, batch[way, network])
                )
            torch.testing.assert_close(stack.mean[which, way, network], one.running_mean)
            torch.testing.assert_close(stack.variance[which, way, network], one.running_var)
            expected = first(one.eval(), unseen[way, network])
            torch.testing.assert_close(stack.normalize_in_inference(unseen, which)[way, network], expected)


def first(layer, x):
    """A layer of torch.nn on a tensor whose channels are last."""
    return layer(x) if x.ndim == 2 else layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class Plain(nn.Module):
    """One network of a stack, with torch's own layers."""

    def __init__(self, tuned, way, network, momentum):
        super().__init__()
        self.body = nn.Sequential()
        for w, gain, bias, norm in zip(tuned.weights, tuned.gains, tuned.biases, tuned.norms, strict=True):
            linear, batch_norm = nn.Linear(*w.shape[2:], bias=False), nn.BatchNorm1d(w.shape[-1], EPS, momentum)
            linear.weight.data = w[way, network].detach().T.clone()
            batch_norm.weight.data, batch_norm.bias.data = (
                each[way, network, 0].detach().clone() for each in (gain, bias)
            )
            batch_norm.running_mean, batch_norm.running_var = (
                each[0, way, network].clone() for each in (norm.mean, norm.variance)
            )
            self.body.extend([linear, batch_norm, nn.ReLU()])
        self.head = nn.Linear(*tuned.new[0].shape[2:])
        self.head.weight.data, self.head.bias.data = tuned.new[0][way, network].detach().T.clone(), torch.zeros(10)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.mark.parametrize("mode", ["normalize_in_training", "normalize_in_inference"])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_network_is_tuned_as_with_torch_nn(mode, frozen):
    torch.manual_seed(0)
    before = TunedNetworks((0, 7), (6, 4), 0.1, EPS, CPU)
    before.compute_logits(torch.rand(2, 16, 64), BatchNorm.normalize_in_training, new=False)
    tuned = before.replicate(2, [0.3])
    one = Plain(tuned, 1, 1, 0.3)
    one.train(mode == "normalize_in_training")
    for layer in one.body:
        if isinstance(layer, nn.BatchNorm1d):
            layer.requires_grad_(not frozen)
    parameters = [*tuned.weights, *tuned.new, *(() if frozen else (*tuned.gains, *tuned.biases))]
    learner = Trainer(parameters, "momentum", 0.1)
    optimizer = torch.optim.SGD([each for each in one.parameters() if each.requires_grad], 0.1, momentum=0.9)
    for _ in range(3):
        x, labels = torch.rand(2, 8, 64), torch.randint(10, (2, 8))
        logits = tuned.compute_logits(x, getattr(BatchNorm, mode), new=True)
        expected = one(x[1])
        torch.testing.assert_close(logits[1, 1], expected, rtol=1e-3, atol=1e-4)
        learner.step(cross_entropy(logits, labels))
        optimizer.zero_grad()
        nn.functional.cross_entropy(expected, labels[1]).backward()
        optimizer.step()
    torch.testing.assert_close(tuned.new[0][1, 1], one.head.weight.T, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(tuned.norms[1].mean[0, 1, 1], one.body[4].running_mean, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(tuned.norms[1].variance[0, 1, 1], one.body[4].running_var, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(tuned.gains[0][1, 1, 0], one.body[1].weight, rtol=1e-3, atol=1e-4)


def test_what_is_copied_leaves_the_first_as_it_was():
    before = TunedNetworks((0,), (6,), 0.1, EPS, CPU)
    before.compute_logits(torch.rand(1, 8, 64), BatchNorm.normalize_in_training, new=False)
    kept = [before.norms[0].mean.clone(), before.weights[0].clone()]
    after = before.replicate(3, MOMENTA)
    assert after.norms[0].mean.shape == (3, 3, 1, 6)
    torch.testing.assert_close(after.norms[0].mean[2, 1], kept[0][0, 0])
    after.compute_logits(torch.rand(1, 8, 64), BatchNorm.normalize_in_training, new=True)
    after.weights[0] += 1
    assert before.norms[0].mean.equal(kept[0])
    assert before.weights[0].equal(kept[1])


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_task_has_few_digits_for_every_network_to_learn_and_others_to_be_tested_on(name):
    first, second = make_tuning_tasks(name, (0, 7), 64, CPU)
    assert second.x.shape == (2, 64, 64)
    assert not second.x[0].equal(second.x[1])
    assert second.x[1].equal(make_tuning_tasks(name, (7,), 64, CPU)[1].x[0])
    for one, other in ((first.test, second.test), (first.validation, second.validation)):
        assert one[0].shape[1] == len(one[1])
        assert other[0].equal(one[0]) == (name == "same")
    assert sorted(set(first.labels.flatten().tolist())) == [*range(5 if name == "digits" else 10)]
    assert sorted(set(second.test[1].tolist())) == [*range(5 if name == "digits" else 0, 10)]
    (x, labels), *_ = second.iterate_batches((0, 7), 3, 8)
    assert x.shape == (2, 8, 64)
    assert labels.shape == (2, 8)


def test_digits_to_learn_from_are_neither_among_those_that_choose_nor_among_those_to_be_tested_on():
    first, second = make_tuning_tasks("same", (0, 7), 64, CPU)
    learned = {tuple(row) for task in (first, second) for row in task.x.flatten(0, 1).tolist()}
    chosen, tested = ({tuple(row) for row in some[0][0].tolist()} for some in (second.validation, second.test))
    assert len(learned) == first.x.shape[1]
    assert not chosen & tested
    assert not learned & (chosen | tested)
