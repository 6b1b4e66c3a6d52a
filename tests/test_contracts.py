"""The contracts of pyproject.toml on who may import whom: each of them can fail."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]
BREACHES = {
    "From the ground up": ("core/fields.py", "from normviz.ui import link"),
    "Topics never import each other": ("lab/state.py", "from normviz.compare import comparison"),
    "What asks all topics: the claims and the design do not ask each other": (
        "design/state.py",
        "from normviz.claims import claim",
    ),
    "The core, the words and the data do without torch, plotly and streamlit": ("data/digits.py", "import sklearn"),
    "Networks and jobs know no page": ("jobs/__init__.py", "def later():\n    import plotly"),
    "Figures are arrays in, figures out": ("lab/figures.py", "import torch"),
    "Only networks train; what else takes torch, takes it inside of a function": ("ui/link.py", "import torch"),
    "Figures are plain data: of plotly the app only sends the script": (
        "lab/figures.py",
        "import plotly.graph_objects",
    ),
    "Only the executor on a cluster knows Dask": ("jobs/desk.py", "def later():\n    import distributed"),
    "Only the generator of code knows Jinja2": ("lab/controls.py", "import jinja2"),
    "Only what shows a page knows Streamlit": ("table1/table.py", "import streamlit"),
}
"""By contract, a module below normviz/ and a line in it that breaks the contract."""


def broken(folder):
    """The names of the contracts that the linter finds broken in a folder with a package and its pyproject.toml."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    return {line.removesuffix(" BROKEN") for line in done.stdout.splitlines() if line.endswith(" BROKEN")}


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "normviz", tmp_path / "normviz", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_broken_by_its_breach(copy):
    for module, line in BREACHES.values():
        with Path(copy, "normviz", module).open("a") as stream:
            stream.write(f"\n{line}\n")
    assert broken(copy) == set(CONTRACTS) == set(BREACHES)


def test_a_folder_that_no_layer_names_is_told(copy):
    (copy / "normviz" / "newcomer").mkdir()
    (copy / "normviz" / "newcomer" / "__init__.py").touch()
    assert broken(copy) == {"From the ground up"}
