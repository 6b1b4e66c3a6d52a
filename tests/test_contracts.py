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
    "Layers, from the top to the ground": ("core/fields.py", "from normviz.ui import link"),
    "Topics never import each other": ("topics/lab/state.py", "from normviz.topics.compare import comparison"),
    "Core, words and data need neither torch nor plotly nor Streamlit": ("data/digits.py", "import sklearn"),
    "Training and jobs import no page": ("jobs/__init__.py", "def later():\n    import plotly"),
    "Charts and figures need neither torch nor Streamlit": ("topics/lab/figures.py", "import torch"),
    "Only training imports torch; other modules import it inside of a function": ("ui/link.py", "import torch"),
    "Only the script of plotly is used: figures are plain data": (
        "topics/lab/figures.py",
        "import plotly.graph_objects",
    ),
    "Only the cluster imports Dask": ("jobs/job_queue.py", "def later():\n    import distributed"),
    "Only the compiled kernels import Numba": ("train/twins.py", "def later():\n    import numba"),
    "Only the code generator imports Jinja2": ("topics/lab/controls.py", "import jinja2"),
    "Only the store of classes imports SQLAlchemy": ("classroom/rooms/routes.py", "import sqlalchemy"),
    "Only pages import Streamlit": ("topics/table1/table.py", "import streamlit"),
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
    assert broken(copy) == {"Layers, from the top to the ground"}
