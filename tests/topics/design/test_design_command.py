"""`normviz design`: schemes as data, a reason with exit code 1, and the census."""

import json

import pytest
from browsing import ROOT

from normviz.cli.main import main
from normviz.topics.design.demands import WEIGHT_KEYS
from normviz.topics.design.search import take_census


def run(capsys, *words):
    code = main(["design", *words])
    return code, *capsys.readouterr()


def test_schemes_as_json(capsys):
    code, out, err = run(capsys, "--layer", "conv", "--need", "weight-vector-rescaling,case-rescaling", "--json")
    found = json.loads(out)
    assert (code, err, len(found)) == (0, "", 72)
    assert set(found[0]) == {"summation", "suppression", "weights", "name", "invariances"}
    assert "instance normalization" in {one["name"] for one in found}
    assert all({"weight-vector-rescaling", "case-rescaling"} <= set(one["invariances"]) for one in found)


def test_none_has_a_reason_on_stderr(capsys):
    need = "weight-matrix-recentering,dataset-recentering"
    code, out, err = run(capsys, "--layer", "dense", "--need", need, "--json")
    assert (code, json.loads(out), err.count("\n")) == (1, [], 1)
    assert "nothing is left to average over" in err


def test_the_census_as_json(capsys):
    code, out, _ = run(capsys, "--census", "--layer", "conv", "--weights", "any", "--json")
    found = json.loads(out)
    assert (code, len(found), sum(one["schemes"] for one in found)) == (0, 17, 26244)
    assert set(found[0]) == {"invariances", "schemes", "named", "same", "not_counted"}


def test_the_numbers_of_sets_in_the_documents_are_those_with_nothing_in_front():
    text = " ".join((ROOT / "docs/command-line.md").read_text().split())
    dense, conv = (len(take_census(layer)) for layer in ("dense", "conv"))
    assert f"with nothing in front, {dense} on a dense layer and {conv} on a convolution, of 64" in text
    assert (dense, conv) != tuple(len(take_census(layer, WEIGHT_KEYS)) for layer in ("dense", "conv"))


@pytest.mark.parametrize("words", [["--need", "x"], [], ["--census", "--layer", "x"], ["--census", "--weights", "x"]])
def test_bad_input_is_one_line(capsys, words):
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_for_people(capsys):
    _, out, _ = run(capsys, "--need", "case-rescaling", "--weights", "any")
    first, *_, last = out.splitlines()
    assert first == "root mean square over C  = RMS normalization"
    assert last.startswith("and ")
