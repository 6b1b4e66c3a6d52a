"""A captured step does what the step does, beside others, in threads, broken off, and leaves no memory behind."""

import gc
from concurrent.futures import wait
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from pairs import pairwise
from tolerated import allowed, gap
from trained import train_losses

from normviz.core.registry import SCHEMES
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import cost, twins
from normviz.train.setting import Setting
from normviz.train.stack import NetworkStack
from normviz.train.twins import train_stepwise

WITHOUT = [scheme for scheme in SCHEMES.values() if not NetworkStack.waits_for_device(scheme)]
BETWEEN = [SCHEMES[key] for key in ("batch", "spectral", "layer", "rms", "spectral", "weight")]
"""Captured blocks with steps between that cannot be captured."""


@pytest.mark.parametrize(
    ("optimizer", "layer", "dtype"), pairwise(["sgd", "momentum", "adam"], ["dense", "conv"], ["float64", "float32"])
)
def test_a_captured_step_is_the_step(optimizer, layer, dtype, device, uncaptured):
    setting = Setting(layer=layer, steps=8, batch=8, width=6, eps=1e-2, rate=0.01, optimizer=optimizer, dtype=dtype)
    setting = replace(setting, device=device)
    captured = train_losses(WITHOUT, setting)
    assert gap(train_losses(WITHOUT, setting), captured) <= allowed(setting)  # libraries may add in another order
    uncaptured()
    assert gap(captured, train_losses(WITHOUT, setting)) <= allowed(setting)


def test_the_first_step_starts_from_the_first_numbers(device):
    short, long = (Setting(steps=steps, device=device, optimizer="adam") for steps in (2, 5))
    assert gap(train_losses(WITHOUT, short), train_losses(WITHOUT, long)[:2]) <= allowed(short)


def test_blocks_that_are_captured_go_beside_those_that_are_not(device):
    setting = Setting(steps=6, batch=8, width=8, eps=1e-2, device=device)
    if device == "cuda":
        assert len(list(twins._split_into_blocks(BETWEEN, 2, setting, as_one=True, budget=cost.CPU_BUDGET))) == 5
    together = train_losses(BETWEEN, setting)
    for row, scheme in enumerate(BETWEEN):
        assert gap(together[:, [row]], train_losses([scheme], setting)) <= allowed(setting), scheme.key


def test_what_is_read_on_the_way_is_what_it_stays(device):
    setting = Setting(steps=30, device=device)
    seen = [losses.cpu().numpy() for losses in train_stepwise(BETWEEN, setting)]
    assert [*dict.fromkeys(len(losses) for losses in seen if len(losses))] == list(range(1, 31))
    assert all(np.array_equal(losses, seen[-1][: len(losses)]) for losses in seen)
    assert np.isfinite(seen[-1]).all()


@pytest.mark.parametrize("workers", [2, 4])
def test_a_queue_threads_train_at_once(workers, device):
    """The decompositions of spectral norm, captures, replays, and what a page reads meanwhile, in several threads."""
    settings = [Setting(steps=30, batch=8, width=8, seed=seed, eps=1e-2, device=device) for seed in range(8)]
    jobs, kept = [TableTrainingJob.of(BETWEEN, setting, (0, 1, 2)) for setting in settings], {}
    with create_thread_pool(workers) as pool:
        queue = JobQueue(pool, lease=120.0)
        requests = [queue.submit([job], lambda job, outcome: kept.update({job: outcome})) for job in jobs]
        assert all(request.wait(120.0) for request in requests)
    assert [request.error for request in requests] == [None] * 8
    for job, setting in zip(jobs, settings, strict=True):
        assert gap(kept[job].losses, train_losses(BETWEEN, setting, (0, 1, 2))) <= allowed(setting)


def test_a_training_that_is_broken_off_spoils_no_other(device):
    setting = Setting(steps=30, device=device)
    whole = train_losses(WITHOUT, setting)
    for steps in (1, 7):
        with closing(train_stepwise(WITHOUT, setting)) as run:
            for _ in range(steps):
                next(run)
    assert gap(train_losses(WITHOUT, setting), whole) <= allowed(setting)


def test_memory_comes_back_after_a_job(device):
    if device != "cuda":
        pytest.skip("of the GPU's memory")

    def held():
        gc.collect()
        torch.cuda.synchronize()
        torch._C._cuda_clearCublasWorkspaces()  # cuBLAS keeps 32 MB and more for every stream and thread
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    setting, found = Setting(layer="conv", width=32, steps=3, device=device), []
    for _ in range(6):
        train_losses(list(SCHEMES.values()), setting)
        found.append(held())
    allocated, reserved = zip(*found, strict=True)
    assert len(set(allocated[1:])) == 1  # the first one leaves what libraries keep for good
    assert allocated[-1] < 2**28
    assert reserved[-1] < 2**29


def test_threads_that_captured_leave_no_memory_either(device):
    if device != "cuda":
        pytest.skip("of the GPU's memory")
    found = []
    with create_thread_pool(2) as pool:
        for _ in range(4):
            job = Setting(steps=3, device=device)
            wait([pool.submit(train_losses, WITHOUT, replace(job, seed=seed)) for seed in range(8)])
            gc.collect()
            torch.cuda.synchronize()
            found.append(torch.cuda.memory_allocated())
    assert found[3] == found[1]
