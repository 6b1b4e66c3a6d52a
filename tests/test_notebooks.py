"""The notebooks in examples/ run from top to bottom, hold no outputs, and open in Colab by their badge."""

import json
from pathlib import Path

import pytest
from browsing import ROOT

NOTEBOOKS = sorted(Path(ROOT, "examples").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read_cells(path, kind):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


@each_notebook
def test_a_notebook_runs_and_asserts_its_numbers(path):
    cells = [cell for cell in read_cells(path, "code") if not cell.startswith("%pip")]
    namespace = {}
    for cell in cells:
        exec(compile(cell, path.name, "exec"), namespace)
    assert sum(cell.count("assert ") for cell in cells) >= 4


@each_notebook
def test_a_notebook_is_small_and_holds_no_output(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    assert path.stat().st_size < 20_000


@each_notebook
def test_the_badge_opens_this_notebook(path):
    assert f"/blob/main/examples/{path.name})" in read_cells(path, "markdown")[0]


def test_the_documentation_names_every_notebook():
    text = Path(ROOT, "docs/README.md").read_text()
    assert NOTEBOOKS
    assert [path.name for path in NOTEBOOKS if f"(../examples/{path.name})" not in text] == []
