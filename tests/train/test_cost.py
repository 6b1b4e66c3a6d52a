"""What a training takes is known before it starts, stays within the budget, and is what it takes."""

import math
import subprocess
import sys
from itertools import product

import pytest
import torch
from browsing import ROOT

from normviz.core.registry import SCHEMES
from normviz.core.settings import get_declarations
from normviz.topics.table1 import results
from normviz.topics.table1.results import TableResultCache
from normviz.train import cost, step_functions, twins
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting

PEAK = """
import torch
from normviz.core.registry import SCHEMES
from normviz.jobs.executors import limit_to_one_core
from normviz.jobs.spec import run_to_end
from normviz.train.setting import Setting
from normviz.topics.table1.training import TableTrainingJob

def resident(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))

limit_to_one_core()
run_to_end(TableTrainingJob.of([SCHEMES["batch"]], Setting(steps=2), [0]))  # what libraries take once
start = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here
run_to_end(TableTrainingJob.of([SCHEMES["{scheme}"]], Setting(**{setting}), [0, 1]))
print(resident("VmHWM") - start)
"""
FACTOR = 2.0
"""Within which the model says what is used."""


def extremes():
    """Settings at the ends of everything that makes a training large."""
    ends = {
        name: (get_declarations(Setting)[name].least, get_declarations(Setting)[name].most)
        for name in ("batch", "width")
    }
    for layer, depth, batch, width, optimizer, dtype in product(
        ("dense", "conv"), (1, 2, 3, 4), *ends.values(), ("sgd", "momentum", "adam"), ("float64", "float32")
    ):
        yield Setting(layer, optimizer=optimizer, dtype=dtype, steps=2000, batch=batch, width=width, depth=depth)


def test_no_training_is_over_the_budget():
    jobs = [
        job
        for setting in extremes()
        for job in TableResultCache().list_missing_trainings(list(SCHEMES.values()), setting)
    ]
    most = max(cost.estimate_memory(job.setting, len(job.rows), len(job.networks)) for job in jobs)
    assert cost.CPU_BUDGET.memory / 3 < most <= cost.CPU_BUDGET.memory


GPUS = {"small": cost.compute_gpu_budget(2**31, 1e11), "H100": cost.compute_gpu_budget(78 * 2**30, 1.5e12)}
"""Two GPUs: what is free, and bytes that they copy in a second."""


@pytest.mark.parametrize("name", GPUS)
def test_a_training_holds_no_more_than_a_gpus_budget(name, monkeypatch):
    budget, device, found = GPUS[name], torch.device("cuda"), set()
    monkeypatch.setattr(results, "plan_training_budget", lambda setting: budget)
    for setting in extremes():
        for job in TableResultCache().list_missing_trainings(list(SCHEMES.values()), setting):
            schemes, networks = [row.scheme for row in job.rows], len(job.networks)
            as_one = twins._is_one_block(schemes, networks, setting, device, budget)
            sizes = [
                len(schemes[rows]) * len(range(networks)[columns])
                for rows, columns in twins._split_into_blocks(schemes, networks, setting, as_one, budget)
            ]
            together = sum(sizes) if as_one else max(sizes)  # a graph keeps its tensors, a step in blocks does not
            if together > 1:  # a network alone is never cut
                assert max(cost.compute_tensor_sizes(setting).sums) * together <= budget.block
            if as_one:
                assert cost.estimate_memory(setting, len(schemes), networks, together) <= budget.memory
            assert (
                cost.estimate_memory(setting, len(schemes), networks) <= cost.CPU_BUDGET.memory
            )  # where the GPU fails
            captured = {
                twins._choose_step_function([scheme], setting, device, as_one, budget) is step_functions.make_graph_step
                for scheme in schemes
            }
            assert as_one or captured == {False}
            found.add(as_one)
    assert True in found


def test_a_large_gpu_captures_what_a_cpu_cuts_into_small_blocks():
    setting, networks, large = Setting(layer="conv", width=32, batch=64), len(NETWORKS), GPUS["H100"]
    assert cost.find_networks_per_block(setting, cost.CPU_BUDGET) < networks
    assert cost.find_max_schemes(setting, networks) == 1
    assert cost.find_max_schemes(setting, networks, large) >= len(SCHEMES)
    assert cost.fits_one_block(setting, len(SCHEMES), networks, large)


def test_a_gpus_budget_follows_what_is_free_and_how_fast_it_is():
    assert cost.compute_gpu_budget(2**34, 1e12).memory == 4 * cost.compute_gpu_budget(2**32, 1e12).memory
    assert cost.compute_gpu_budget(2**34, 1e11).block == 1e11 * cost.MAX_PASS_SECONDS // 8
    slow, fast, unmeasured = (cost.compute_gpu_budget(2**34, rate).block for rate in (1e10, 1e11, math.inf))
    assert slow < fast <= unmeasured == cost.compute_gpu_budget(2**34).memory // 8
    assert (
        cost.find_max_schemes(Setting(), 10, cost.compute_gpu_budget(0, 1e12)) == 1
    )  # nothing is free: one scheme, which may fail


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("scheme", "setting"),
    [
        ("divisive", {"layer": "conv", "width": 128, "depth": 4, "batch": 256, "steps": 1}),
        ("batch", {"layer": "conv", "width": 64, "depth": 3, "batch": 256, "steps": 2, "dtype": "float32"}),
    ],
    ids=["windows", "float32"],
)
def test_a_training_takes_the_memory_that_was_said(scheme, setting):
    script = PEAK.replace("{scheme}", scheme).replace("{setting}", repr(setting))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    said, taken = cost.estimate_memory(Setting(**setting), 1, 2), int(done.stdout)
    assert taken <= cost.CPU_BUDGET.memory
    assert said / FACTOR < taken < said * FACTOR, (said, taken, done.stderr)


def test_time_grows_with_what_is_done():
    small = Setting(layer="conv", width=16, batch=32, depth=2)
    more = ({"steps": 1000}, {"width": 128}, {"batch": 256}, {"depth": 3})
    assert all(
        cost.estimate_training_seconds(Setting(**(vars_of(small) | change)), 3, 10)
        > cost.estimate_training_seconds(small, 3, 10)
        for change in more
    )
    assert cost.estimate_training_seconds(small, 14, len(NETWORKS)) > 4 * cost.estimate_training_seconds(
        small, 3, len(NETWORKS)
    )


def vars_of(setting):
    return {name: getattr(setting, name) for name in get_declarations(Setting)}
