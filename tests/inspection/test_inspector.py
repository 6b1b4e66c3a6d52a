"""The report on models that hold normalizations which no class name reveals."""

import json
import re
from pathlib import Path

import pytest
import torch
from inspected_models import MODELS

import normviz


def test_every_key_of_a_layer_is_documented():
    root = Path(normviz.__file__).parents[1]
    table = Path(root, "docs/library.md").read_text().partition("| key of a layer |")[2].partition("\n\n")[0]
    documented = {
        key for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)", row)
    }
    (record,) = normviz.inspect(torch.nn.LayerNorm(4), torch.randn(3, 4)).to_json()["layers"]
    assert set(record) == documented


@pytest.mark.parametrize("name", MODELS)
def test_every_normalization_is_found_and_named(name):
    make, make_batch, expected = MODELS[name]
    torch.manual_seed(0)
    report = normviz.inspect(make(), make_batch())
    assert {layer.name: layer.scheme for layer in report.layers} == expected
    json.dumps(report.to_json(), allow_nan=False)
    assert all(layer.name in repr(report) and layer.name in report._repr_html_() for layer in report.layers)
