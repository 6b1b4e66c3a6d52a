"""The page "Your model" as a user meets it, run by Streamlit without a browser."""

import json
from copy import deepcopy
from urllib.parse import parse_qsl

import numpy as np
import pytest
from lab_page import ROOT, plots, said, sound, texts
from streamlit.testing.v1 import AppTest
from wandering import STATES

from normviz.data.recordings import encode_recording, read_model_file
from normviz.topics.model.layer_links import format_address, make_lab_link, make_running_link, make_table_link
from normviz.topics.model.panels import TABLE_KEY
from normviz.topics.model.state import EXAMPLES_FOLDER, OWN_MODEL, SOURCE_NAMES, UPLOAD_KEY, read_example
from normviz.ui.link import clean_values
from normviz.ui.tensor import OFFERED_KEY, OfferedTensor

CONTENT = (EXAMPLES_FOLDER / "llama.npz").read_bytes()
FILE = read_model_file("llama.npz", CONTENT)


def opened(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/model.py")
    at.query_params.update(link)
    return sound(at.run())


def upload(at, name, content):
    at.file_uploader(key=UPLOAD_KEY).set_value((name, content, "application/octet-stream"))
    return sound(at.run())


def links(at):
    found = [link.proto for link in at.get("page_link")]
    return {link.label: (link.page, dict(parse_qsl(link.query_string))) for link in found}


def test_the_page_opens_on_an_example_with_its_problems():
    at = opened()
    words = said(at)
    assert "3 problems found in this model and its 7 normalizations" in words
    assert "**Problem.** eval() replaces the batch's mean and variance" in words[words.index("### Whole model") :]
    assert "https://github.com/pytorch/vision/issues/2079" in words
    assert at.code[0].value == "torch.optim.swa_utils.update_bn(loader, model)"
    assert plots(at)["channels"]["figure"]["data"][0]["text"][:2] == ["2.04", "0.80"]
    assert "norm (group norm)" in plots(at)["channels"]["figure"]["layout"]["yaxis"]["ticktext"]
    (table,) = at.dataframe
    assert list(table.value["Layer"]) == [
        "whole model", "bn1", "layer1.bn1", "layer1.bn2", "layer2.bn1", "layer2.bn2", "norm", "bn2",
    ]  # fmt: skip
    assert list(table.value["Problem"]) == [
        "⚠ eval() changes outputs a lot", "⚠ frozen, but averages change", *["part of the first problem"] * 4, "–",
        "⚠ batch too small",
    ]  # fmt: skip
    assert list(table.value["Normalization"]) == ["–", *["Batch norm"] * 5, "Group norm", "Batch norm"]


def test_a_layer_has_its_problem_or_none():
    at = opened(layer="bn1")
    words = said(at)
    assert "**Effect.** Inference uses these averages" in words[words.index("### bn1: batch norm") :]
    assert at.code[0].value == "model.train()\nmodel.bn1.eval()  # after every model.train()"
    assert "This is part of the problem of the whole model." in said(opened(layer="layer1.bn1"))
    assert "No problem found." in said(opened(layer="norm"))


def test_a_row_opens_its_layer():
    at = opened()
    at.session_state[TABLE_KEY] = {"selection": {"rows": [6], "columns": [], "cells": []}}
    at.session_state["model layer"] = "norm"  # as the callback does, which AppTest does not call
    sound(at.run())
    assert "### norm: group norm" in said(at)
    assert at.query_params["layer"] == "norm"
    found = links(at)
    assert "Its batch size and ε in **Training vs. inference**" not in found
    page, link = found["Its activations in **Tensor lab**"]
    assert (page, link["scheme"], link["groups"], link["data"]) == ("tensor_lab", "group", "4", "own")


def test_the_lab_takes_the_activations_with_their_link_only():
    at = opened(source="llama", layer="k_norm")
    offered = at.session_state[OFFERED_KEY]
    assert r"k\_norm: not a standard norm" in said(at)
    assert links(at)["Its activations in **Tensor lab**"][1].items() >= offered.link.items()
    x = read_example("llama").choose_row("k_norm").recorded.x
    np.testing.assert_array_equal(offered.x, x)
    for link, is_taken in ((offered.link, True), ({"data": "own"}, False)):
        lab = AppTest.from_file(ROOT / "pages/tensor_lab.py", default_timeout=60)
        lab.session_state[OFFERED_KEY] = OfferedTensor(*offered)
        lab.query_params.update(link)
        sound(lab.run())
        assert ("own" in lab.session_state) == is_taken
        assert OFFERED_KEY not in lab.session_state
        if is_taken:
            np.testing.assert_array_equal(lab.session_state["own"], x)
            assert (lab.session_state["scheme"], lab.session_state["eps"]) == ("custom", 1e-6)
            assert r"k\_norm, Example: a Llama block" in texts(lab.caption)
            assert not lab.error


def test_ones_own_model_begins_with_the_steps_and_ends_with_the_report():
    at = opened(source="own")
    assert [each.value.splitlines()[-1] for each in at.code] == [
        "    return model, images", "normviz record my_model:make layers.npz",
        ")",
    ]  # fmt: skip
    assert not at.dataframe
    upload(at, "layers.npz", CONTENT)
    assert "2 problems found in this model and its 5 normalizations" in said(at)
    assert at.dataframe[0].value["Problem"][2] == "⚠ averages the wrong axis"
    upload(at, "broken.npz", CONTENT[:900])
    assert at.error[0].value == (
        "This is not a .npz file that NumPy wrote; save one with numpy.savez. layers.npz is still shown."
    )
    assert at.dataframe
    upload(at, "report.json", json.dumps(FILE.report).encode())
    assert not at.error
    assert any("The report has no activations" in text for text in texts(at.caption))
    assert "data" not in links(at)["Its scheme in **Tensor lab**"][1]


HOSTILE = "![](http://foreign/t) <script>alert(1)</script> $x$ :smile: \u202e\n# big"


def hostile_report():
    """The example's report with markup in every text."""
    report = deepcopy(FILE.report) | {"notes": [HOSTILE]}
    for layer in report["layers"]:
        layer["layer"] += HOSTILE
    for finding in report["findings"]:
        finding |= dict.fromkeys(("finding", "advice", "key"), HOSTILE) | {"thread": f"javascript:alert(1)//{HOSTILE}"}
    report["findings"][0]["layer"] = HOSTILE
    return {key: value for key, value in report.items() if key != "recorded"}


def test_nothing_of_a_report_becomes_markup():
    at = upload(opened(source="own"), "report.json", json.dumps(hostile_report()).encode())
    shown = [*texts(at.markdown), *texts(at.caption), *texts(at.error)]
    assert any(r"!\[\](http" in text for text in shown)
    assert not [text for text in shown if "](http://foreign" in text or "](javascript" in text]
    assert not [text for text in shown if "<script" in text.replace("\\<", "")]
    assert "\u202e" not in "".join([*shown, *at.dataframe[0].value["Layer"]])
    assert at.dataframe[0].value["Problem"][0] == "⚠ see at the right"


def test_a_model_without_normalizations_is_no_error():
    empty = {"layers": [], "model": {}, "findings": [], "notes": []}
    at = upload(opened(source="own"), "report.json", json.dumps(empty).encode())
    assert "No normalization found" in at.info[0].value


def test_what_the_batch_shows_on_a_layer_is_said():
    assert "1 of 16 channels are constant on this batch." in said(opened(source="llama", layer="input_norm"))


def test_a_layer_that_is_not_there_is_replaced_and_told():
    at = opened(layer="layer1.bn9")
    assert at.session_state["model layer"] in ("layer1.bn1", "layer1.bn2")
    assert "Layer: layer1.bn9" in said(at)


def test_activations_with_nan_are_shown():
    layers = dict(FILE.layers)
    layers["norm"] = layers["norm"]._replace(x=np.full_like(layers["norm"].x, np.nan))
    at = upload(opened(source="own", layer="norm"), "layers.npz", encode_recording(FILE.report, layers))
    assert np.isnan(at.session_state[OFFERED_KEY].x).all() or at.session_state["model layer"] != "norm"


@pytest.mark.parametrize("key", [key for key in SOURCE_NAMES if key != OWN_MODEL])
def test_every_link_of_a_layer_is_valid(key):
    for layer in read_example(key).layers:
        for address in (
            format_address("tensor_lab", make_lab_link(layer)),
            make_table_link(layer),
            make_running_link(layer),
        ):
            page, _, query = (address or "").strip("/").partition("?")
            link = dict(parse_qsl(query, strict_parsing=bool(query)))
            params = STATES[page].PARAMS if address else ()
            assert link.keys() <= {param.name for param in params}
            assert clean_values(params, link)[1] == {}, (layer.name, address)
