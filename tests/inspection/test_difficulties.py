"""What makes a model hard to inspect, and what inspection leaves as it was."""

import doctest
import json
import threading

import pytest
import torch
from inspected_models import ChannelsFirst, Functional, MeanSquares, ResidualBlock, make_features, make_images
from torch import nn

import normviz
from normviz import testing
from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.describe import remarks
from normviz.inspection import inspector, model_copy, probing
from normviz.testing import assert_batch_independent


def name_layers(model, batch):
    torch.manual_seed(0)
    return {layer.name: layer.scheme for layer in normviz.inspect(model, batch).layers}


class Wrapper(nn.Module):
    """A module around another."""

    def __init__(self, inner, **attributes):
        super().__init__()
        self.inner = inner
        vars(self).update(attributes)

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


class AsDict(Wrapper):
    """A model with named arguments and named outputs."""

    def forward(self, pixels, scale):
        return {"logits": self.inner(pixels * scale[:, None, None, None]), "count": 3}


class ReplacesBuffers(nn.Module):
    """Batch norm that assigns new tensors to its buffers."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("square", torch.ones(width))

    def forward(self, x):
        if self.training:
            mean, square = x.mean(0), x.var(0, correction=0)
            self.mean, self.square = 0.9 * self.mean + 0.1 * mean, 0.9 * self.square + 0.1 * square
        else:
            mean, square = self.mean, self.square
        return (x - mean) / torch.sqrt(square + 1e-3)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [ResidualBlock, Functional, lambda: nn.Sequential(nn.Dropout(0.5), ResidualBlock(3))])
def test_the_model_and_the_random_state_stay_as_they_are(make, training):
    model = make().train(training)
    batch = make_features() if make is ResidualBlock else make_images()
    model(batch).sum().backward()
    calls = []
    handle = next(model.children()).register_forward_hook(lambda *_: calls.append(1))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    gradients = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
    modes, hooks, kept = (
        [each.training for each in model.modules()],
        dict(next(model.children())._forward_hooks),
        batch.clone(),
    )
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    normviz.inspect(model, batch)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {name: value.dtype for name, value in model.state_dict().items()} == {k: v.dtype for k, v in before.items()}
    assert all(
        torch.equal(each.grad, gradients[name]) for name, each in model.named_parameters() if each.grad is not None
    )
    assert [each.training for each in model.modules()] == modes
    assert dict(next(model.children())._forward_hooks) == hooks
    assert torch.equal(batch, kept)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    handle.remove()


def test_models_that_cannot_be_copied_plainly():
    with pytest.warns(FutureWarning, match="deprecated"):
        old = nn.utils.weight_norm(nn.Linear(8, 8))
    old(torch.randn(2, 8))  # its weight is now computed
    assert name_layers(nn.Sequential(old, nn.LayerNorm(8)), torch.randn(4, 8)) == {"1": "layer", "0": "weight"}
    assert name_layers(Wrapper(nn.LayerNorm(8), lock=threading.Lock()), torch.randn(4, 8)) == {"inner": "layer"}


@pytest.mark.parametrize(
    ("model", "shape", "expected"),
    [
        pytest.param(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)), (1, 8), {"1": "batch"}, id="batch of one"),
        pytest.param(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (4, 8), {}, id="no normalization"),
        pytest.param(
            nn.Sequential(nn.Softmax(-1), nn.Tanh(), nn.Conv1d(4, 4, 3, padding=1)), (2, 4, 8), {}, id="like one"
        ),
        pytest.param(nn.LayerNorm(8), (4, 8), {"(model)": "layer"}, id="the model itself"),
        pytest.param(nn.Sequential(ReplacesBuffers(8)), (32, 8), {"0": "batch"}, id="assigned buffers"),
        pytest.param(nn.Sequential(nn.Sequential(nn.BatchNorm1d(8))), (32, 8), {"0.0": "batch"}, id="wrapped"),
        pytest.param(nn.Sequential(nn.GroupNorm(2, 8)), (2, 8, 40, 40), {"0": "group"}, id="long axes"),
        pytest.param(nn.Sequential(nn.BatchNorm3d(4)), (2, 4, 3, 4, 5), {"0": "batch"}, id="volumes"),
        pytest.param(
            nn.Sequential(nn.Conv1d(3, 8, 3), nn.InstanceNorm1d(8)), (2, 3, 9), {"1": "instance"}, id="sequences"
        ),
    ],
)
def test_unusual_models(model, shape, expected):
    assert name_layers(model, torch.randn(shape)) == expected


def test_a_dead_layer_before_hides_nothing():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.BatchNorm2d(8))
    nn.init.constant_(model[0].bias, -100.0)
    report = normviz.inspect(model, make_images())
    (layer,) = report.layers
    for text in (repr(report), report._repr_html_()):
        assert "2: 8 of 8 channels are constant on this batch." in text
    assert (layer.scheme, layer.layout, layer.training) == ("batch", "NCHW", "batch")
    assert layer.statistics["dead_channels"] == layer.statistics["collapsed_fields"] == 8
    assert layer.statistics["eps_dominates"] == 1


def test_a_constant_model_has_a_report():
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    nn.init.zeros_(model[1].weight)
    report = normviz.inspect(model, torch.randn(4, 8))
    assert report.layers[0].scheme == "layer"
    json.dumps(report.to_json(), allow_nan=False)


def test_learned_numbers_and_eps_are_measured():
    norm = nn.BatchNorm1d(4, eps=3e-4)
    norm.weight.data, norm.bias.data = torch.tensor([1.0, -2.0, 3.0, 0.0]), torch.tensor([0.0, 5.0, 1.0, 2.0])
    (record,) = normviz.inspect(nn.Sequential(norm), torch.randn(16, 4)).to_json()["layers"]
    assert record["eps"] == pytest.approx(3e-4, rel=1e-3)
    assert record["gain"] == {"axes": ["C"], "min": pytest.approx(-2), "max": pytest.approx(3)}
    assert record["bias"] == {"axes": ["C"], "min": pytest.approx(0, abs=1e-9), "max": pytest.approx(5)}
    assert record["table1"]["dataset-rescaling"]


def test_layers_that_compute_in_float32_are_recognized():
    (layer,) = normviz.inspect(nn.Sequential(MeanSquares(8, eps=1e-5)), torch.randn(4, 8)).layers
    assert layer.probe.is_single
    assert layer.probe.eps == pytest.approx(1e-5, rel=1e-2)


def test_channels_are_those_of_the_layer_before():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), ChannelsFirst(8), nn.GroupNorm(2, 8, affine=False))
    assert [layer.layout for layer in normviz.inspect(model, make_images()).layers] == ["NCHW", "NCHW"]


def test_batches_may_be_named_and_outputs_a_dict():
    model = AsDict(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    report = normviz.inspect(model, {"pixels": make_images(), "scale": torch.ones(6)})
    assert [layer.scheme for layer in report.layers] == ["batch"]
    assert report.model["influence_training"] > 0.01
    assert report.model["influence_inference"] == 0


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        (3, torch.ones(2, 2), "the model is a int"),
        (nn.Linear(3, 3), torch.ones(2, 2), "the model fails on this batch"),
        (nn.Linear(3, 3), "text", "holds no tensor"),
    ],
)
def test_bad_input_is_one_line(model, batch, message):
    with pytest.raises(InvalidInput, match=message) as error:
        normviz.inspect(model, batch)
    assert "\n" not in str(error.value)


def test_independence_of_examples_is_asserted():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    with pytest.raises(AssertionError, match=r"in training; statistics of several examples: 1\."):
        assert_batch_independent(model, torch.randn(16, 4))
    assert_batch_independent(model.eval(), torch.randn(16, 4))
    with pytest.raises(InvalidInput, match="one example"):
        assert_batch_independent(model, torch.randn(1, 4))


def test_the_command_prints_the_report(tmp_path, monkeypatch, capsys):
    code = (
        "import torch\ndef make():\n    torch.manual_seed(0)\n    return torch.nn.BatchNorm1d(4), torch.randn({}, 4)\n"
    )
    for name, size in (("inspected_large", 400), ("inspected_small", 4)):
        (tmp_path / f"{name}.py").write_text(code.format(size))
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", "inspected_large:make", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"][0]["scheme"] == "batch"
    assert main(["inspect", "inspected_small:make"]) == 1
    assert "small" not in (printed := capsys.readouterr()).out.splitlines()[0]
    assert "each mean and variance comes from only 4 numbers" in printed.err


@pytest.mark.parametrize("source", ["nothing", "no_such_module:make", "json:no_such_function", "os:getcwd"])
def test_a_source_that_gives_no_model_is_refused(source, capsys):
    assert main(["inspect", source]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_examples_in_docstrings_run():
    for module in (inspector, remarks, testing):
        assert doctest.testmod(module).attempted > 1
        assert not doctest.testmod(module).failed


def test_windows_are_cut_at_the_border():
    x = torch.arange(5.0, dtype=torch.float64)[None]
    rules = (normviz.Rule("own"), normviz.Rule("window", 1))
    assert probing.average_by_rules(x, rules).tolist() == [[0.5, 1.0, 2.0, 3.0, 3.5]]


def test_compiled_modules_are_inspected_as_they_were_before():
    compiled = torch.compile(nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 6)), backend="eager")
    model = nn.Sequential(nn.Linear(4, 6), compiled, nn.LayerNorm(6))
    model[2].compile(backend="eager")
    assert name_layers(model, torch.randn(8, 4)) == {"1.0": "batch", "2": "layer"}
    assert model[1] is compiled


class OfOneAxis(Wrapper):
    """A functional layer norm of a bias, added to the output."""

    def forward(self, x):
        return self.inner(x) + nn.functional.layer_norm(self.inner.bias, (6,))


def test_a_functional_call_on_one_axis_is_a_note():
    (note,) = normviz.inspect(OfOneAxis(nn.Linear(4, 6)), torch.randn(8, 4)).notes
    assert note.startswith("F.layer_norm was not probed")


def test_one_thread_is_used_where_several_are_slower(monkeypatch):
    times = iter([0.0, 1.0, 1.0, 3.0, 0.0, 3.0, 3.0, 4.0])
    monkeypatch.setattr(model_copy, "perf_counter", lambda: next(times))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    assert [model_copy.choose_thread_count(lambda: None) for _ in range(2)] == [1, 8]
