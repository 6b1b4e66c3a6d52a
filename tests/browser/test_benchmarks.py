"""The benchmarks at their smallest size: each runs to its end, and its tables are full of numbers."""

import math
import re
import subprocess
import sys

import pytest
from browsing import ROOT
from wandering import STATES

WITHOUT_BROWSER = ("search.py", "gpu.py")
"""Their smallest runs are tests elsewhere: tests/topics/table1/test_search.py and tests/test_gpu.py."""
SCRIPTS = sorted(
    path.name
    for path in (ROOT / "benchmarks").glob("*.py")
    if "--smallest" in path.read_text() and path.name not in WITHOUT_BROWSER
)
TITLES = {
    "beside_jobs.py": [""],
    "bounds.py": ["A link for hours of training", "What was said and what it takes"],
    "classroom.py": ["Without a training"],
    "cluster.py": ["how many a second"],
    "cube.py": [
        "Machine",
        "From key press to drawn frame, ms: median (least–most)",
        "Where the time of a key press goes, ms: medians",
        "First cube, from the start of the navigation, ms: median (least–most)",
        "Bytes, kB: medians",
        "From a move of the pointer to the highlight, ms: median (least–most)",
        "Frames a second while the cube collapses: median (least–most)",
        "Python alone, ms: medians of 1",
    ],
    "inspectors.py": [""],
    "library.py": ["normalize, 8 × 24 × 24 × 16, float32, ms of processor time: medians of 1"],
    "links.py": [f"{len(STATES)} links, seed 0", "1 walks of 1 clicks on every page", "Memory"],
    "map.py": [""],
    "phones.py": ["One server with SQLite"],
    "shift.py": ["Layout shift of a visit", "Where it comes from"],
    "start.py": ["Commands", "First runs"],
    "table1.py": ["the smallest", "the smallest, float32", "where the time of torch alone goes"],
    "table1_page.py": [""],
}
WORDS = (
    "elements",
    "scheme",
    "what",
    "value",
    "layer",
    "page",
    "schemes × networks",
    "setting",
    "workers",
    "the lab answers",
    "losses not compared",
    "`normviz` with",
    "first run",
)
"""Columns that say what a row is about; what stands in the others was measured."""


def tables(text):
    """The Markdown tables by their titles, each as rows of cells, with the head first."""
    found, title = {}, ""
    for line in text.splitlines():
        if line.startswith("**"):
            title = line.strip("*")
        elif line.startswith("|") and not line.startswith("|---"):
            found.setdefault(title, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def measured(table):
    """What was measured in a table, as pairs of the column and the cell."""
    head, *rows = table
    assert rows, head
    for row in rows:
        assert len(row) == len(head), (head, row)
        yield from ((column, cell) for column, cell in zip(head, row, strict=True) if column not in WORDS)


def right(column, cell):
    """Whether a cell holds what its column promises: numbers that are finite and not negative, or yes and no."""
    if "stays" in column:
        return cell == "yes, no"  # the component's graph stays in the page; Streamlit's own mounts another one
    if "warm" in column and cell == "–":
        return True  # the smallest size opens no page twice
    if "its convolution" in column and cell == "–":
        return True  # a dense layer has none
    numbers = [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", cell)]
    return bool(numbers) and all(math.isfinite(n) and n >= 0 for n in numbers) and not re.search("nan|inf", cell)


def test_every_benchmark_is_known():
    mains = {path.name for path in (ROOT / "benchmarks").glob("*.py") if "def main(" in path.read_text()}
    assert mains == {*SCRIPTS, *WITHOUT_BROWSER}
    assert set(SCRIPTS) == set(TITLES)


@pytest.mark.heavy
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_at_its_smallest_size_fills_its_tables(script):
    command = [sys.executable, f"benchmarks/{script}", "--smallest"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = tables(done.stdout)
    assert list(found) == TITLES[script]
    for title, table in found.items():
        wrong = [(column, cell) for column, cell in measured(table) if not right(column, cell)]
        assert not wrong, (title, wrong)


@pytest.mark.parametrize("cell", ["nan", "inf (inf–inf)", "–", "", "-3"])
def test_a_cell_without_a_number_is_seen(cell):
    assert not right("A: component", cell)
