"""Recorded activations: what enters each layer, few enough to be seen, in a file without pickles."""

import io
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from inspected_models import LanguageBlock
from strategies import examples
from torch import nn

import normviz
from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Rule, find_divisors
from normviz.data.recordings import REPORT_NAME, read_model_file
from normviz.inspection import activations, example_models
from normviz.inspection.activations import MAX_LAYER_ELEMENTS, choose_elements
from normviz.inspection.layers import LayerReport
from normviz.inspection.probing import Probe
from normviz.topics.model.layer_links import find_layer_scheme, make_recorded_tensor
from normviz.topics.model.reported import parse_model_file
from normviz.topics.model.state import EXAMPLES_FOLDER, OWN_MODEL, SOURCE_NAMES, read_example


def recorded(model, batch, path):
    report = normviz.record(model, batch, path)
    return report, read_model_file(path.name, path.read_bytes())


def test_what_enters_a_layer_gives_its_output(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.GroupNorm(2, 6)).train()
    nn.init.normal_(model[1].weight)
    nn.init.normal_(model[1].bias)
    batch = torch.randn(4, 3, 6, 6)
    report, file = recorded(model, batch, tmp_path / "a.npz")
    assert file.report.pop("recorded") == {"1": report.to_json()["layers"][0]["fields"]}
    assert file.report == json.loads(json.dumps(report.to_json()))
    x, gain, bias, _ = file.layers["1"]
    np.testing.assert_allclose(x, model[0](batch).detach(), atol=1e-6)
    result = normviz.normalize(x, "group", groups=2, layout="NCHW", eps=report.layers[0].probe.eps)
    np.testing.assert_allclose(gain * result.xhat + bias, model(batch).detach(), atol=1e-5)


def test_statistics_of_kept_groups_are_those_of_the_layer(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 64, 1), nn.GroupNorm(32, 64), nn.Conv2d(64, 640, 1), nn.LayerNorm([640, 9, 9]))
    _, file = recorded(model, torch.randn(8, 3, 9, 9), tmp_path / "a.npz")
    layer = parse_model_file(file).choose_row("1")
    assert layer.recorded.x.size <= MAX_LAYER_ELEMENTS
    scheme, x = find_layer_scheme(layer), make_recorded_tensor(layer)
    assert (scheme.key, x.shape[3] // scheme.parameters["groups"]) == ("group", 2)
    assert file.layers["3"].gain.shape == (1, *file.layers["3"].x.shape[1:])


axes = st.integers(1, 90).flatmap(
    lambda n: st.tuples(
        st.just(n), st.sampled_from([OWN, FULL, Rule("window", 2), *(Rule("groups", g) for g in find_divisors(n))])
    )
)


@examples(200)
@given(st.lists(axes, min_size=1, max_size=4), st.integers(1, 3000))
def test_chosen_elements_are_few_and_keep_groups_and_neighbours(axes, most):
    shape, rules = zip(*axes, strict=True)
    layout = "NCHW"[: len(shape)]
    indices, fields = choose_elements(LayerReport("a", [], layout, shape, Probe(rules, rules)), most)
    assert np.prod([len(each) for each in indices]) <= most
    for (n, rule), index, letter in zip(axes, indices, layout, strict=True):
        assert sorted(set(index)) == list(index)
        assert 0 <= min(index) <= max(index) < n
        left = Rule.parse(fields["suppression"][letter])
        assert left.kind == rule.kind
        if rule.kind == "window":
            assert list(index) == list(range(len(index)))
        if rule.kind == "groups":
            members = np.unique(index // (n // rule.parameter), return_counts=True)[1]
            assert (len(members), len(set(members))) == (left.parameter, 1)


def test_a_file_of_many_layers_has_fewer_activations_of_each(tmp_path, monkeypatch):
    monkeypatch.setattr(activations, "MAX_UPLOAD_BYTES", 30_000)
    model = nn.Sequential(*[nn.GroupNorm(2, 16) for _ in range(6)])
    _, file = recorded(model, torch.randn(4, 16, 12, 12), tmp_path / "a.npz")
    assert (tmp_path / "a.npz").stat().st_size <= 30_000
    assert {layer.x.size for layer in file.layers.values()} == {576}


def test_running_averages_are_recorded_beside_those_of_the_batch(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Flatten(), nn.LayerNorm(96)).train()
    nn.init.zeros_(model[1].weight)  # as at the end of a residual block
    model(torch.randn(8, 3, 6, 6))
    batch = 2 + torch.randn(8, 3, 6, 6)
    _, file = recorded(model, batch, tmp_path / "a.npz")
    found, norm = model[0](batch).detach(), model[1]
    before = norm.running_mean.clone(), norm.running_var.clone()
    assert file.layers["3"].statistics is None
    model(batch)
    after = norm.running_mean, norm.running_var
    expected = [found.mean((0, 2, 3)), found.var((0, 2, 3), correction=0), *before, *after]
    np.testing.assert_allclose(file.layers["1"].statistics, torch.stack(expected), rtol=1e-5)


def test_layers_of_weights_and_of_strange_names_are_recorded(tmp_path):
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)))
    model.add_module("file", nn.LayerNorm(4))  # the name of a parameter of numpy.savez
    model.add_module("a/b: [x](y)", nn.BatchNorm1d(4))
    report, file = recorded(model, torch.randn(6, 4), tmp_path / "a.npz")
    assert [layer.name for layer in report.layers] == [layer.name for layer in parse_model_file(file).layers]
    assert set(file.layers) == {"file", "a/b: [x](y)"}


def test_nothing_is_pickled(tmp_path):
    recorded(LanguageBlock(), torch.randint(0, 11, (4, 8)), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert {archive[name].dtype for name in archive} == {np.dtype(np.uint8), np.dtype(np.float32)}
        assert archive[REPORT_NAME].ndim == 1


def test_too_many_layers_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(activations, "MAX_LAYERS", 1)
    with pytest.raises(InvalidInput, match="has 2 normalizations; up to 1 are"):
        normviz.record(nn.Sequential(nn.LayerNorm(4), nn.LayerNorm(4)), torch.randn(6, 4), tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


SOURCE = """
import torch

def good():
    return torch.nn.LayerNorm(4), torch.randn(6, 4)

def wrong_batch():
    return torch.nn.LayerNorm(4), torch.randn(6, 5)

def fails():
    raise KeyError("two\\nlines")

def single():
    return torch.nn.LayerNorm(4)
"""

MISTAKES = {
    "no name": (["recorded_source", "a.npz"], "is not MODULE:FUNCTION"),
    "another ending": (["recorded_source:good", "a.pt"], "a.pt does not end in .npz"),
    "no folder": (["recorded_source:good", "nowhere/a.npz"], "nowhere/a.npz cannot be written"),
    "a function that fails": (["recorded_source:fails", "a.npz"], "recorded_source:fails fails: KeyError: 'two"),
    "no such function": (["recorded_source:other", "a.npz"], "has no attribute 'other'"),
    "no module": (["no_such_module:make", "a.npz"], "no_such_module cannot be imported"),
    "no pair": (["recorded_source:single", "a.npz"], "returned a LayerNorm; a pair"),
    "another batch": (["recorded_source:wrong_batch", "a.npz"], "the model fails on this batch"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "recorded_source.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(name, folder, capsys):
    words, told = MISTAKES[name]
    assert main(["record", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not list(folder.glob("a.*"))


def test_the_command_says_what_it_has_written(folder, capsys):
    assert main(["record", "recorded_source:good", "a.npz"]) == 0
    assert "a.npz: 1 layer, 0 findings, " in capsys.readouterr().out
    assert list(read_model_file("a.npz", (folder / "a.npz").read_bytes()).layers) == ["(model)"]


@pytest.mark.parametrize("key", [key for key in SOURCE_NAMES if key != OWN_MODEL])
def test_the_shipped_examples_are_of_today(key):
    report = normviz.inspect(*getattr(example_models, f"make_{key}")())
    shown = read_example(key)
    assert [(layer.name, layer.keys) for layer in shown.layers] == [
        (layer.name, tuple(scheme.key for scheme in layer.schemes)) for layer in report.layers
    ]
    assert [(each.problem, each.layer, each.finding) for each in shown.findings] == [
        (each.problem, each.layer, each.finding) for each in report.findings
    ]
    assert all(each.recorded is not None for each in shown.layers)
    assert (EXAMPLES_FOLDER / f"{key}.npz").stat().st_size < 100_000


def test_an_archive_of_objects_is_refused():
    stream = io.BytesIO()
    np.savez(stream, report=np.array([{}], dtype=object))
    with pytest.raises(InvalidInput, match="Python objects"):
        read_model_file("a.npz", stream.getvalue())
