"""What a CUDA graph of a training step would hold: replayed on other mini-batches, it trains as the step itself does.

A value that the host works out at every step would be fixed in a graph. The fakes at the end show that it is seen.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pairs import pairwise
from recording import Recording
from trained import train_losses

from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.transformations import LAYERS, OPTIMIZERS
from normviz.train import optimizers, stack
from normviz.train.problem import make_problem
from normviz.train.setting import Setting
from normviz.train.step_functions import make_counted_step
from normviz.train.twins import PreparedProblem

CPU, EVERY = torch.device("cpu"), [get_scheme(key, groups=2) for key in SCHEMES]
NETWORKS = (0, 3, 5)
STEPS = 4
SAME, SEEN = 1e-10, 1e-6
"""Relative differences: up to the first, rounding; a fake is to be off by more than the second."""


def started(setting, seed):
    """Data and untrained networks in float64; the seed draws the mini-batches, the weights are the setting's own."""
    problem, drawn = make_problem(setting, NETWORKS), np.random.default_rng([seed, 9])
    places = drawn.permutation(len(problem.inputs))
    problem = replace(problem, inputs=problem.inputs[places], labels=problem.labels[places])
    return PreparedProblem.of(problem, CPU, torch.float64).build_stack(EVERY, setting)


@torch.inference_mode()
def difference(setting):
    """How far a replayed recording is from the step itself after a few mini-batches, of losses and of the state.

    The recording is made on one order of the digits, and replayed on another that is copied into its buffers.
    """
    losses = torch.zeros(STEPS, len(EVERY), len(NETWORKS), dtype=torch.float64)
    data, networks = started(setting, seed=1)
    step, counter = make_counted_step(networks, data, losses)
    state = [*networks.list_state_tensors(), counter]
    before = [tensor.clone() for tensor in state]
    recording = Recording()
    with recording:
        step()
    others, eager = started(setting, seed=2)
    for buffer, first in zip(state, before, strict=True):
        buffer.copy_(first)
    for name in ("inputs", "labels", "order", "factor", "shift"):
        getattr(data, name).copy_(getattr(others, name))
    recorded = len(recording.operations)
    for _ in range(STEPS):
        recording.replay()
    expected = torch.stack([eager.step(*others(number)) for number in range(STEPS)])
    assert recorded == len(recording.operations) > 0
    pairs = [(losses, expected), *zip(networks.list_state_tensors(), eager.list_state_tensors(), strict=True)]
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-30)) for a, b in pairs)


@pytest.mark.parametrize(("layer", "optimizer", "depth"), pairwise(LAYERS, OPTIMIZERS, (1, 2, 3, 4)))
def test_a_recorded_step_trains_as_the_step_does(layer, optimizer, depth):
    setting = Setting(layer, eps=1e-2, optimizer=optimizer, rate=0.01, steps=STEPS, batch=4, width=4, depth=depth)
    assert difference(setting) <= SAME


# --- fakes: what the host works out at every step ------------------------------------------------------------------

ADAM = Setting(eps=1e-2, optimizer="adam", rate=0.01, steps=STEPS, batch=4, width=4)


def with_a_decaying_rate():
    class Decaying(optimizers.Adam):
        number = 0

        def __call__(self, gradients):
            self.number += 1
            for rate in self.rates:
                rate.fill_(0.01 / self.number)
            super().__call__(gradients)

    return Decaying


def with_a_counter_of_the_host():
    class Counting(optimizers.Adam):
        number = 0

        def __call__(self, gradients):
            self.number += 1
            for power, beta in zip(self.powers, optimizers.BETAS, strict=True):
                power.fill_(beta ** (self.number - 1))
            super().__call__(gradients)

    return Counting


def with_random_numbers_of_the_host():
    drawn = np.random.default_rng(0)

    class Noisy(optimizers.Adam):
        def __call__(self, gradients):
            noise = [torch.from_numpy(drawn.standard_normal(each.shape)) for each in gradients]
            super().__call__([each + 0.1 * some for each, some in zip(gradients, noise, strict=True)])

    return Noisy


@pytest.mark.parametrize("fake", [with_a_decaying_rate, with_a_counter_of_the_host, with_random_numbers_of_the_host])
def test_a_number_of_the_host_is_seen(fake, monkeypatch):
    monkeypatch.setitem(stack.OPTIMIZERS, "adam", fake())
    assert difference(ADAM) > SEEN


def with_a_fetched_number(loss):
    return loss * float(loss.max())


def with_a_branch(loss):
    return loss * 2 if (loss > 2).any() else loss


def with_a_shape_of_its_own(loss):
    return loss + loss[loss > 2].sum()


@pytest.mark.parametrize("fake", [with_a_fetched_number, with_a_branch, with_a_shape_of_its_own])
def test_what_waits_for_the_device_is_refused(fake, monkeypatch):
    real = stack.NetworkStack.step
    monkeypatch.setattr(stack.NetworkStack, "step", lambda self, *batch: fake(real(self, *batch)))
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        difference(ADAM)


def test_a_mini_batch_that_the_host_chooses_is_seen(monkeypatch):
    real, number = stack.StackData.__call__, iter(range(100))
    monkeypatch.setattr(stack.StackData, "__call__", lambda self, step: real(self, next(number) % STEPS))
    assert difference(ADAM) > SEEN


def test_a_gpus_training_replays_what_was_recorded(emulated):
    """The whole way: warm up, capture, restore, replay."""
    setting = Setting(steps=STEPS, batch=4, width=4, eps=1e-2, optimizer="adam")
    captured = train_losses(EVERY, setting, NETWORKS)
    emulated.undo()
    np.testing.assert_allclose(captured, train_losses(EVERY, setting, NETWORKS), rtol=1e-10)


@pytest.fixture
def emulated():
    from emulation import emulate_graphs

    with pytest.MonkeyPatch.context() as patch:
        emulate_graphs(patch)
        yield patch
