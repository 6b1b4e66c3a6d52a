"""Jobs of a GPU: which ones they are, what they are on the CPU, and that one process has them all."""

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest
from pretend import Later
from work import Count, Trains

from normviz.jobs import executors, gpu, single_gpu
from normviz.jobs.gpu import move_to_cpu
from normviz.jobs.single_gpu import SingleGpuExecutor
from normviz.train.setting import Setting


@dataclass(frozen=True)
class Nested:
    """Its device is in its setting, as that of Table 1."""

    setting: Setting
    device: int | None = None


def test_a_job_moves_to_the_cpu_with_its_settings_and_one_that_is_there_stays_as_it_is():
    assert move_to_cpu(Trains()) == Trains("cpu")
    assert move_to_cpu(Nested(Setting(device="cuda", seed=3))) == Nested(Setting(device="cpu", seed=3), "cpu")
    for job in (Trains("cpu"), Count(3), Nested(Setting(device="cpu"), "cpu"), Count, "no job"):
        assert move_to_cpu(job) is job


def torch_with(cuda, mps=False):
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_available=lambda: cuda)
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
    return torch


@pytest.mark.parametrize(
    ("torch", "driver", "found"),
    [
        (None, 2**33, True), (None, 0, False), (torch_with(True), 2**33, True), (torch_with(False), 2**33, False),
        (torch_with(False, mps=True), 0, True),
    ],
)  # fmt: skip
def test_a_gpu_is_there_where_the_driver_has_one_and_torch_can_use_it(torch, driver, found, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(gpu, "_measure_driver_memory", lambda: driver)
    assert gpu.has_gpu() is found
    assert gpu.uses_gpu(Trains()) is found
    assert not gpu.uses_gpu(Trains("cpu"))
    assert not gpu.uses_gpu(Count(1))


def test_torch_that_another_thread_imports_is_not_asked(monkeypatch):
    half = ModuleType("torch")
    half.__spec__ = SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "torch", half)
    monkeypatch.setattr(gpu, "_measure_driver_memory", lambda: 0)
    assert not gpu.has_gpu()
    assert gpu.get_peak_gpu_share() == 0.0
    executors.release_memory()


def test_a_machine_without_a_driver_has_no_gpu(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(gpu.ctypes, "CDLL", missing)
    monkeypatch.setattr(gpu, "version", lambda name: "2.13.0")
    assert gpu._measure_driver_memory.__wrapped__() == 0


def test_a_driver_tells_the_memory_of_its_first_device(monkeypatch):
    class Driver:
        def cuInit(self, flags):  # noqa: N802 - the driver's name
            return 0

        def cuDeviceGet(self, device, number):  # noqa: N802
            return 0

        def cuDeviceTotalMem_v2(self, size, device):  # noqa: N802
            size._obj.value = 79 * 2**30
            return 0

    monkeypatch.setattr(gpu.ctypes, "CDLL", lambda name: Driver())
    monkeypatch.setattr(gpu, "version", lambda name: "2.13.0")
    assert gpu._measure_driver_memory.__wrapped__() == 79 * 2**30
    monkeypatch.setattr(gpu, "version", lambda name: "2.13.0+cpu")
    assert gpu._measure_driver_memory.__wrapped__() == 0


class Pool(Later):
    """Notes how many workers it was made for, where it gets them, and what it was handed."""

    def __init__(self, workers, spare, niceness):
        super().__init__()
        self.workers, self.spare, self.niceness = workers, spare, niceness


@pytest.mark.parametrize("there", [True, False])
def test_one_process_has_all_jobs_of_the_gpu(there, monkeypatch):
    pools = []
    monkeypatch.setattr(
        single_gpu, "ProcessExecutor", lambda *given, **named: pools.append(Pool(*given, **named)) or pools[-1]
    )
    monkeypatch.setattr(gpu, "get_gpu_memory", lambda: 2**33 if there else 0)
    monkeypatch.setattr(gpu, "has_gpu", lambda: there)
    pool = SingleGpuExecutor(16, spare := object(), niceness=3)
    jobs = [Trains(), Count(1), Trains("cuda"), Trains("cpu"), Trains()]
    for job in jobs:
        pool.submit(executors.perform_job, job, None)
    others, single = pools
    assert (others.workers, single.workers) == (16, 1)
    assert single.jobs == ([jobs[0], jobs[2], jobs[4]] if there else [])
    assert others.jobs == [job for job in jobs if job not in single.jobs]
    assert {(each.spare, each.niceness) for each in pools} == {(spare, 3)}


def test_a_context_that_has_failed_does_not_end_the_worker(monkeypatch):
    def fails():
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_initialized=lambda: True, empty_cache=fails)
    monkeypatch.setitem(sys.modules, "torch", torch)
    executors.release_memory()
