"""Reports from files: those of today are read, and what a stranger writes is refused in one line."""

import io
import json
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.bounds import MAX_REPORT_BYTES, MAX_UPLOAD_BYTES
from normviz.data.recordings import PARTS, REPORT_NAME, RecordedLayer, encode_recording, read_model_file
from normviz.topics.model.figures import draw_fields
from normviz.topics.model.layer_links import (
    find_layer_scheme,
    make_lab_link,
    make_recorded_tensor,
    make_running_link,
    make_table_link,
)
from normviz.topics.model.reported import parse_model_file
from normviz.topics.model.state import EXAMPLES_FOLDER
from normviz.topics.model.wording import describe_influences, describe_layer, format_fix, summarize_model, tabulate_rows

CONTENT = (EXAMPLES_FOLDER / "resnet.npz").read_bytes()
FILE = read_model_file("resnet.npz", CONTENT)


def parse_json(report):
    return parse_model_file(read_model_file("report.json", json.dumps(report).encode()))


def parse_arrays(**arrays):
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(FILE.report).encode(), np.uint8)
    np.savez(stream, **{REPORT_NAME: text} | {name.replace("_", ".", 1): each for name, each in arrays.items()})
    return parse_model_file(read_model_file("a.npz", stream.getvalue()))


def changed(path, value):
    """The report of the example with another value at a path."""
    report = deepcopy(FILE.report)
    *outer, last = path
    place = report
    for key in outer:
        place = place[key]
    place[last] = value
    return report


X = np.zeros((2, 3, 4, 5), np.float32)
REFUSED_REPORTS = {
    "a list": ([], "an object as report.to_json"),
    "no layers": ({}, "'layers' of the report is missing"),
    "layers in an object": (changed(["layers"], {}), "is an object of 0; a list"),
    "many layers": (changed(["layers"], [1] * 600), "a list of 600; a list of at most 512"),
    "a layer that is text": (changed(["layers", 0], "bn"), "layer 1 is 'bn'"),
    "a name that is a number": (changed(["layers", 0, "layer"], 1), "'layer' of layer 1 is 1; a text"),
    "a long name": (changed(["layers", 0, "layer"], "x" * 500), "at most 400 characters"),
    "an unknown scheme": (changed(["layers", 0, "scheme"], "magic"), "'magic'; a name that is known"),
    "a wrong layout": (changed(["layers", 0, "layout"], "NCH"), "one letter for each axis"),
    "letters twice": (changed(["layers", 0, "layout"], "NCCC"), "names the axis C twice"),
    "a negative length": (changed(["layers", 0, "shape"], [8, 8, -1, 12]), "a list of lengths"),
    "a length that is true": (changed(["layers", 0, "shape"], [8, 8, True, 12]), "a list of lengths"),
    "a rule of no kind": (changed(["layers", 0, "fields", "summation", "N"], "some"), "is not a rule"),
    "a rule that is missing": (changed(["layers", 0, "fields", "summation"], {}), "'N' of 'summation'"),
    "ε as text": (changed(["layers", 0, "eps"], "1e-5"), "'eps' of layer 'bn1' is '1e-5'; a number or null"),
    "a huge ε": (changed(["layers", 0, "eps"], 10**400), "is a huge number; a number or null"),
    "a wrong source": (changed(["layers", 0, "training"], "moon"), "one of batch, example, constant"),
    "two of one name": (changed(["layers", 1, "layer"], "bn1"), "two layers of one name"),
    "findings that are text": (changed(["findings"], "none"), "'findings' of the report"),
    "a finding without words": (changed(["findings", 0], {}), "'key' of finding 1 is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_REPORTS)
def test_a_wrong_value_is_refused_with_its_place(name):
    report, told = REFUSED_REPORTS[name]
    with pytest.raises(InvalidInput) as error:
        parse_json(report)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


REFUSED_FILES = {
    "no JSON": ("a.json", b"layers", "this is not JSON"),
    "no UTF-8": ("a.json", b"\xff\xfe", "this is not JSON"),
    "nesting": ("a.json", b"[" * 10**6, "this is not JSON"),
    "NaN": ("a.json", b'{"layers": [NaN]}', "NaN, which JSON has no number for"),
    "infinity": ("a.json", b"-Infinity", "-Infinity, which JSON"),
    "a long number": ("a.json", b"1" * 10**6, "this is not JSON"),
    "a large report": ("a.json", b" " * (MAX_REPORT_BYTES + 1), "reports up to 2 MB are read"),
    "a large file": ("a.npz", b" " * (MAX_UPLOAD_BYTES + 1), "files up to 5 MB are read"),
    "a pickle": ("a.pkl", b"", "is not a .json or .npz file"),
    "no archive": ("a.npz", b"PK", "not a .npz file"),
    "an archive cut off": ("a.npz", CONTENT[:-100], "not a .npz file"),
    "other arrays": ("a.npz", None, "holds no report of a model"),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_a_file_that_is_none_is_refused_in_one_line(name):
    file, content, told = REFUSED_FILES[name]
    if content is None:
        stream = io.BytesIO()
        np.savez(stream, x=X)
        content = stream.getvalue()
    with pytest.raises(InvalidInput, match=told) as error:
        read_model_file(file, content)
    assert "\n" not in str(error.value)


REFUSED_ARRAYS = {
    "another name": ({"y_bn1": X}, "holds an array 'y.bn1'"),
    "whole numbers": ({"x_bn1": X.astype(int)}, "is not one of float32 numbers"),
    "a number": ({"x_bn1": np.float32(1)}, "is not one of float32 numbers"),
    "an empty array": ({"x_bn1": X[:0]}, "is not one of float32 numbers"),
    "other axes": ({"x_bn1": X[0]}, "have 3 axes, its layout NCHW has 4"),
    "γ of another length": ({"x_bn1": X, "gain_bn1": X[:, :2]}, "γ or β of 'bn1' does not fit"),
    "statistics of three rows": ({"x_bn1": X, "statistics_bn1": np.zeros((3, 8), np.float32)}, "four or six rows"),
    "statistics of many channels": ({"x_bn1": X, "statistics_bn1": np.zeros((6, 5000), np.float32)}, "six rows"),
    "many activations": ({"x_bn1": np.zeros((8, 8, 64, 64), np.float32)}, "has 262,144 activations; up to 65,536"),
    "another layer": ({"x_bn9": X}, "activations of 'bn9', a layer that the report lacks"),
}


@pytest.mark.parametrize("name", REFUSED_ARRAYS)
def test_arrays_that_fit_no_layer_are_refused(name):
    arrays, told = REFUSED_ARRAYS[name]
    with pytest.raises(InvalidInput, match=told):
        parse_arrays(**arrays)


def test_folding_is_no_problem():
    finding = {"key": "folding", "layer": None, "finding": "1 of 1.", "advice": "Fuse them.", "thread": ""}
    thread = FILE.report["findings"][0]["thread"]
    model = parse_json(changed(["findings"], [finding | {"thread": thread}]))
    assert summarize_model(model).startswith("No problem found")
    assert tabulate_rows(model)["Problem"] == ["tip: can be made faster", *["–"] * 7]
    assert model.choose_row("") is None


def show_all(model):
    """All that the page makes of a model."""
    tabulate_rows(model)
    summarize_model(model)
    for layer in model.layers:
        describe_layer(layer)
        describe_influences(layer)
        for make in (make_lab_link, make_table_link, make_running_link, find_layer_scheme, draw_fields):
            make(layer)


def outcome(read):
    """The error of what is read, or "" after all of it has been shown."""
    try:
        model = read()
    except InvalidInput as error:
        return str(error)
    show_all(model)
    return ""


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
    | st.sampled_from(["NCHW", "full", "own", "groups(3)", "window(99999)", "batch", "weight", "tanh", *SCHEMES])
)  # fmt: skip
values = leaves | st.lists(leaves, max_size=4) | st.dictionaries(st.sampled_from(["N", "C", "min", "max"]), leaves)
keys = sorted(FILE.report["layers"][0])


@examples(600)
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([*keys, "alpha"]), values), min_size=1, max_size=4))
def test_other_values_are_shown_or_refused(changes):
    report = deepcopy(FILE.report)
    for number, key, value in changes:
        report["layers"][number][key] = value
    assert "\n" not in outcome(lambda: parse_model_file(FILE._replace(report=json.loads(json.dumps(report)))))


@examples(200)
@given(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner)))
def test_other_json_is_refused(report):
    with pytest.raises(InvalidInput):
        parse_json(report)


@examples(200)
@given(st.integers(0, len(CONTENT) - 1), st.binary(min_size=1, max_size=9))
def test_a_damaged_archive_is_shown_or_refused(place, other):
    content = CONTENT[:place] + other + CONTENT[place + len(other) :]
    assert "\n" not in outcome(lambda: parse_model_file(read_model_file("a.npz", content)))


SHAPES = {
    "batch": ("NCHW", (4, 6, 3, 2), ("full", "own", "full", "full")),
    "layer-channels": ("NTC", (4, 5, 6), ("own", "own", "full")),
    "layer": ("NCHW", (4, 6, 3, 2), ("own", "full", "full", "full")),
    "group": ("NCHW", (4, 6, 3, 2), ("own", "groups(3)", "full", "full")),
    "custom": ("NHTC", (4, 2, 5, 3), ("own", "own", "full", "own")),
}


@pytest.mark.parametrize("key", SHAPES)
def test_the_scheme_of_a_layer_is_that_of_its_recorded_axes(key):
    layout, shape, rules = SHAPES[key]
    both = dict(zip(layout, rules, strict=True))
    fields = {"summation": both, "suppression": both}
    report = changed(["layers"], [
        FILE.report["layers"][0]
        | {"layout": layout, "shape": shape, "fields": fields, "also": [], "scheme": None if key == "custom" else key}
    ])  # fmt: skip
    layers = {"bn1": RecordedLayer(np.random.default_rng(0).normal(size=shape).astype(np.float32))}
    content = encode_recording(report | {"recorded": {"bn1": fields}}, layers)
    (layer,) = parse_model_file(read_model_file("a.npz", content)).layers
    scheme, x = find_layer_scheme(layer), make_recorded_tensor(layer)
    assert scheme.key == key
    link = make_lab_link(layer)
    assert (link["data"], link["scheme"], link["n"]) == ("own", key, "4")
    averaged = tuple(k for k, rule in enumerate(rules) if rule == "full")
    if key == "group":
        return
    x = layers["bn1"].x
    expected = (x - x.mean(averaged, keepdims=True)) / np.sqrt(x.var(averaged, keepdims=True) + 1e-5)
    found = normalize(make_recorded_tensor(layer), scheme, 1e-5).xhat
    np.testing.assert_allclose(found, layer.array_layout.to_tensor(expected), atol=1e-5)


def test_names_of_arrays_are_those_of_the_documentation():
    assert PARTS == ("x", "gain", "bias", "statistics")


@pytest.mark.parametrize(
    ("influence", "gap", "words"),
    [
        (0.74, 2.0, "by 0.74 when replacing the rest of its batch by noise and by 2.00 when calling eval()"),
        (0.0, 1e-12, "Replacing the rest of its batch by noise or calling eval() does not change its output."),
        (None, 0.0, "Calling eval() does not change its output."),
        (None, None, ""),
    ],
)
def test_the_changes_of_a_layer_are_described(influence, gap, words):
    report = changed(["layers", 0], FILE.report["layers"][0] | {"influence": influence, "train_eval_gap": gap})
    found = describe_influences(parse_json(report).layers[0])
    assert found.removeprefix("Its output changes ").removesuffix(", in standard deviations of its outputs.") == words


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("layer1.0.bn1", "model.layer1[0].bn1.eval()"),
        ("block:batch_norm", "model.block.eval()"),
        ("(model)", "layer.eval()"),
        ("a b\n", "layer.eval()"),
    ],
)
def test_the_code_of_a_fix_names_the_layer(name, code):
    assert format_fix("LAYER.eval()", name) == code
