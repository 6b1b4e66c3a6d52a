"""Benchmarks compare the losses of contenders in the schemes where rounding leaves them comparable, and only there."""

import sys

import numpy as np
import pytest
import torch
from browsing import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import contenders


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def excluded(case, steps):
    return contenders.name_excluded(case, contenders.find_stable_schemes(*contenders.set_up(case, "cpu", steps)))


def test_only_filter_response_norm_on_a_dense_layer_is_chaotic():
    assert excluded(contenders.Case(schemes=contenders.ALL), 100) == "filter-response"
    assert excluded(contenders.Case("conv", ("filter-response", "batch", "divisive"), width=8), 100) == "–"


def test_contenders_are_compared_over_the_steps_of_a_benchmark():
    """Modules and engine part in filter response norm alone, which does not end the benchmark."""
    case = contenders.Case(schemes=("batch", "filter-response", "rms"))
    problem = contenders.set_up(case, "cpu", 100)
    losses = {name: contenders.CONTENDERS[name](*problem) for name in ("engine", "modules")}
    with pytest.raises(SystemExit, match="not the same work"):
        contenders.require_equal_losses(losses, "engine", np.ones(3, bool), 100)
    contenders.require_equal_losses(losses, "engine", contenders.find_stable_schemes(*problem), 100)


@pytest.mark.parametrize("wrong", [1e-3, np.nan])
def test_other_losses_of_a_stable_scheme_end_the_benchmark(wrong):
    right = np.ones((5, 2, 7))
    other = right.copy()
    other[3, 0, 2] += wrong
    with pytest.raises(SystemExit, match="The losses of other"):
        contenders.require_equal_losses({"engine": right, "other": other}, "engine", np.array([True, False]), 5)
    contenders.require_equal_losses({"engine": right, "other": other}, "engine", np.array([False, True]), 5)
    contenders.require_equal_losses({"engine": right, "other": other}, "engine", np.array([True, False]), 3)


def test_make_bench_runs_every_benchmark():
    makefile = (ROOT / "Makefile").read_text()
    mains = {path.name for path in (ROOT / "benchmarks").glob("*.py") if "def main(" in path.read_text()}
    assert {name for name in mains if f"benchmarks/{name}" in makefile} == mains
