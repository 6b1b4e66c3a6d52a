"""`make gpu` on a machine without the app's packages, and on one without a GPU or without what it needs."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
APP = ("streamlit", "plotly", "jinja2", "hypothesis", "playwright", "PIL", "pandas", "keras")


def run(folder, *options, without):
    """The command in an interpreter that has none of these modules."""
    lines = [f"sys.modules[{name!r}] = None" for name in without]
    (folder / "sitecustomize.py").write_text("\n".join(["import sys", *lines]) + "\n")
    env = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "benchmarks/gpu.py", *options]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.heavy
def test_it_runs_with_nothing_of_the_app(tmp_path):
    done = run(tmp_path, "--cpu", "--smallest", without=APP)
    assert done.returncode == 0, done.stderr
    head, columns, names, *rows = [line for line in done.stdout.splitlines() if line]
    assert "no GPU" in head
    assert columns.startswith("Parity with the CPU: ")
    assert " passed" in columns
    assert "failed" not in columns
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len({len(row) for row in cells}) == 1
    assert names.endswith("| losses not compared |")
    measured = [float(cell) for row in cells[1:] for cell in row[4:-1] if cell != "–"]
    assert len(measured) >= 4 * 8
    assert all(math.isfinite(number) and number > 0 for number in measured)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_without_a_gpu_it_says_so_and_runs_nothing(tmp_path):
    done = run(tmp_path, without=())
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "no CUDA device" in done.stderr


def test_what_is_missing_is_named_with_what_to_do(tmp_path):
    done = run(tmp_path, "--cpu", without=("array_api_compat", "sklearn"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "has no scikit-learn, no array-api-compat: " in done.stderr
    assert "PYTHONPATH" in done.stderr
