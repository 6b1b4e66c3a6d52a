"""The stack's hand-written derivatives against autograd through the kernel, and against modules trained one by one."""

import numpy as np
import pytest
import torch
from emulation import emulate_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import pairwise
from repeated import assert_repeated
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from trained import train_losses

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.train import cost, step_functions, twins
from normviz.train.gradient import ReferenceForm, WhiteningForm, make_training_form
from normviz.train.problem import NETWORKS, make_problem
from normviz.train.setting import Setting
from normviz.train.stack import INITIAL_BIAS, NetworkStack

SHAPE = (4, 3, 3, 6)


def rules(n):
    groups = [f"groups({g})" for g in range(1, n + 1) if n % g == 0]
    return st.sampled_from(["own", "full", *groups, "window(1)", "window(2)"])


def fields():
    return st.tuples(*map(rules, SHAPE)).map(lambda texts: Field.parse(",".join(texts)))


def agree(scheme, eps, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2, *SHAPE, dtype=torch.float64, generator=generator, requires_grad=True)
    g = torch.randn(2, *SHAPE, dtype=torch.float64, generator=generator)
    reference = normalize(z, scheme, eps).xhat
    (wanted,) = torch.autograd.grad(reference, z, g)
    for make in (make_training_form, ReferenceForm):
        with torch.no_grad():
            form = make(scheme, SHAPE, eps, z)
            assert torch.allclose(form.forward(z.clone()), reference, rtol=1e-9, atol=1e-9)
            assert torch.allclose(form.backward(g.clone()), wanted, rtol=1e-8, atol=1e-8 * wanted.abs().max())


@pytest.mark.parametrize("key", [key for key, scheme in SCHEMES.items() if scheme.has_effect])
def test_every_scheme(key):
    agree(SCHEMES[key], 1e-2)


@pytest.mark.parametrize("key", ["batch", "mean-only-batch", "layer", "divisive", "dynamic-tanh"])
def test_a_kind_without_a_form_is_inferred_by_its_mean_divisor(key):
    x = torch.randn(2, 3, 1, *SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    form = ReferenceForm(SCHEMES[key], SHAPE, 0.1, x)
    xhat, stored = form.collect_statistics(x)
    used = [name for name, value in vars(stored).items() if value is not None]
    assert used == {"batch": ["mean", "divisor"], "mean-only-batch": ["mean"]}.get(key, [])
    assert torch.allclose(xhat[:, :, 0], normalize(x[:, :, 0], SCHEMES[key], 0.1).xhat)
    some = slice(1) if used else slice(None)  # by stored statistics, examples do without the others
    assert torch.allclose(form.apply_statistics(x[:, :, 0, some], stored), xhat[:, :, 0, some])


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("eps", [0.0, 1e-8, 1e-2, 10.0])
def test_whitening(groups, eps):
    agree(get_scheme("whitening", groups=groups), eps)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_whitening_of_fewer_examples_than_channels(size, dtype):
    scheme, generator = get_scheme("whitening", groups=1), torch.Generator().manual_seed(0)
    z, g = torch.randn(2, 3, size, 1, 1, 8, dtype=dtype, generator=generator).requires_grad_(False)
    z = z.clone().requires_grad_()
    reference = normalize(z, scheme, 0.0).xhat
    (wanted,) = torch.autograd.grad(reference, z, g)
    form, bound = WhiteningForm(1, 0.0), 1e-8 if dtype == torch.float64 else 1e-4
    with torch.no_grad():
        assert torch.allclose(form.forward(z), reference, rtol=bound, atol=bound)
        assert torch.allclose(form.backward(g), wanted, rtol=bound, atol=bound * wanted.abs().max())


def test_whitening_passes_on_numbers_that_are_not_finite():
    z = torch.randn(2, *SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    z[0, 0, 0, 0, 1], z[0, 1, 0, 0, 5] = torch.nan, torch.inf
    form = WhiteningForm(2, 0.1)
    xhat = form.forward(z.clone())
    assert not torch.isfinite(xhat[0]).any()
    assert torch.allclose(xhat[1], normalize(z, get_scheme("whitening", groups=2), 0.1).xhat[1])
    assert not torch.isfinite(form.backward(torch.ones_like(z))[0]).any()


@settings(max_examples=60)
@given(st.none() | fields(), st.none() | fields(), st.integers(0, 99))
def test_any_fields(summation, suppression, seed):
    agree(SCHEMES["custom"].with_fields(summation, suppression), 1e-2, seed)


class Net(nn.Module):
    """One network as a user would write it; its normalization is the kernel with autograd."""

    def __init__(self, scheme, setting, problem, network):
        super().__init__()
        self.scheme, self.setting = scheme, setting
        self.weight = nn.Parameter(torch.tensor(problem.weights[0][network]))
        self.gain = nn.Parameter(torch.ones(setting.width, dtype=torch.float64))
        self.bias = nn.Parameter(torch.full((setting.width,), INITIAL_BIAS, dtype=torch.float64))
        self.last = nn.Linear(*problem.classifier.shape, dtype=torch.float64)
        self.last.weight.data = torch.tensor(problem.classifier.T.copy())
        self.last.bias.data.zero_()

    def forward(self, x):
        on_weights, on_activations = self.scheme.weight_part, self.scheme.activation_part
        w = self.weight if on_weights is None else normalize(self.weight, on_weights, 0.0).xhat
        a = (x @ w.reshape(-1, w.shape[-1])).reshape(self.setting.shapes[0])
        xhat = a if on_activations is None else normalize(a, on_activations, self.setting.eps).xhat
        return self.last(torch.relu(xhat * self.gain + self.bias).flatten(1))


@pytest.mark.parametrize(
    ("key", "optimizer", "layer"),
    pairwise(
        ["none", "batch", "whitening", "group", "divisive", "weight", "spectral", "layer-weight"],
        ["sgd", "momentum"],
        ["dense", "conv"],
    ),
)
def test_the_stack_equals_modules_trained_one_by_one(key, optimizer, layer):
    setting = Setting(layer=layer, steps=6, batch=8, width=6, optimizer=optimizer, eps=1e-3)
    scheme, problem = get_scheme(key, radius=2), make_problem(setting)
    stacked = train_losses([scheme], setting)[:, 0]
    for network, (change, *_) in enumerate(NETWORKS):
        net = Net(scheme, setting, problem, network)
        rates = torch.tensor(problem.rates[0][network]) / setting.rate
        others = [p for name, p in net.named_parameters() if name != "weight"]
        momentum = 0.9 if optimizer == "momentum" else 0.0
        # One unit may have a learning rate of its own: its gradient is multiplied instead, which is the same for SGD.
        net.weight.register_hook(lambda g, rates=rates: g * rates)
        steps = torch.optim.SGD([net.weight, *others], lr=setting.rate, momentum=momentum)
        for step, chosen in enumerate(problem.order):
            x = problem.inputs[chosen] * problem.factor[network] + problem.shift[network]
            loss = nn.functional.cross_entropy(net(torch.tensor(x)), torch.tensor(problem.labels[chosen]))
            assert loss.item() == pytest.approx(stacked[step, network], rel=1e-9), (change, step)
            steps.zero_grad()
            loss.backward()
            steps.step()


def test_adam_is_torchs_up_to_epsilon():
    setting = Setting(steps=8, batch=8, width=6, optimizer="adam")
    scheme, problem = SCHEMES["layer"], make_problem(setting)
    net = Net(scheme, setting, problem, 0)
    steps = torch.optim.Adam(net.parameters(), lr=setting.rate, eps=1e-13)
    losses = []
    for chosen in problem.order:
        loss = nn.functional.cross_entropy(
            net(torch.tensor(problem.inputs[chosen])), torch.tensor(problem.labels[chosen])
        )
        losses.append(loss.item())
        steps.zero_grad()
        loss.backward()
        steps.step()
    assert np.allclose(losses, train_losses([scheme], setting)[:, 0, 0], rtol=1e-6)


# --- for a GPU ----------------------------------------------------------------------------------------------------

OPTIMIZERS = ("sgd", "momentum", "adam")
MIXED = [get_scheme(key, groups=2) for key in (*list(SCHEMES)[::2], *list(SCHEMES)[1::2])]
"""Every scheme, those that compute the same on a dense layer apart from each other."""


class OnTheDevice(TorchDispatchMode):
    """Every tensor that a step touches is on its device; to fetch one's number from there raises by itself."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves((args, kwargs, out)):
            assert not isinstance(tensor, torch.Tensor) or tensor.device.type == "meta", function
        return out


class NoLists(TorchFunctionMode):
    """Nothing is indexed by a list, which would be sent to the device first."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            assert not isinstance(args[1], list), args[1]
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_never_waits_for_its_device(optimizer, layer, dtype):
    setting, schemes = (
        Setting(layer=layer, optimizer=optimizer, dtype=dtype),
        [s for s in MIXED if not NetworkStack.waits_for_device(s)],
    )
    meta, storage = torch.device("meta"), getattr(torch, setting.storage)  # computes nothing, and has no numbers
    losses = torch.empty(setting.steps, len(schemes), len(NETWORKS), device=meta, dtype=storage)
    data, stack = twins.PreparedProblem.of(make_problem(setting), meta, storage).build_stack(schemes, setting)
    step, _ = step_functions.make_counted_step(stack, data, losses)
    with torch.inference_mode(), OnTheDevice(), NoLists():
        step()


def test_what_waits_for_a_device_is_no_part_of_what_is_captured():
    blocks = list(twins._split_into_blocks(MIXED, len(NETWORKS), Setting(), as_one=True, budget=cost.CPU_BUDGET))
    assert [scheme for rows, _ in blocks for scheme in MIXED[rows]] == MIXED
    assert all(len({NetworkStack.waits_for_device(scheme) for scheme in MIXED[rows]}) == 1 for rows, _ in blocks)
    assert all(columns == slice(0, len(NETWORKS)) for _, columns in blocks)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_captured_step_starts_where_training_starts(optimizer, monkeypatch):
    """On the CPU, where capturing runs the step, and a replay is the step run again."""
    setting = Setting(steps=8, optimizer=optimizer)
    eager = train_losses(MIXED, setting)
    emulate_graphs(monkeypatch)
    assert_repeated({"losses": train_losses(MIXED, setting)}, {"losses": eager})


# --- in blocks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 700, 3000, 10**9])
def test_a_stack_in_blocks_trains_the_same(block, monkeypatch):
    schemes, setting = [SCHEMES[key] for key in ("batch", "layer", "weight")], Setting(steps=4, batch=8, width=8)
    whole = train_losses(schemes, setting)
    monkeypatch.setattr(cost, "CPU_BUDGET", cost.CPU_BUDGET._replace(block=block))
    assert np.allclose(train_losses(schemes, setting), whole, rtol=1e-12)
