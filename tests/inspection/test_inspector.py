"""The report on models that hold normalizations which no class name reveals."""

import json

import pytest
import torch
from inspected_models import MODELS

import normviz


@pytest.mark.parametrize("name", MODELS)
def test_every_normalization_is_found_and_named(name):
    make, make_batch, expected = MODELS[name]
    torch.manual_seed(0)
    report = normviz.inspect(make(), make_batch())
    assert {layer.name: layer.scheme for layer in report.layers} == expected
    json.dumps(report.to_json(), allow_nan=False)
    assert all(layer.name in repr(report) and layer.name in report._repr_html_() for layer in report.layers)
