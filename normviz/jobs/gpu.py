"""The GPU of this machine: its presence, its memory, and the jobs that use it."""

import ctypes
import sys
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

Value = TypeVar("Value")


def get_loaded_torch() -> Any:
    """Return the module torch if it is already imported, else None."""
    torch = sys.modules.get("torch")
    return None if getattr(getattr(torch, "__spec__", None), "_initializing", False) else torch


def get_gpu_memory() -> int:
    """Return the bytes of memory of torch's CUDA device; 0 if there is none.

    The driver answers, so that a server which plans jobs neither imports torch nor creates a context.
    """
    torch = get_loaded_torch()
    if torch is not None and not torch.cuda.is_available():
        return 0
    return _measure_driver_memory()


@lru_cache(maxsize=1)
def _measure_driver_memory() -> int:
    with suppress(PackageNotFoundError):
        if version("torch").endswith("+cpu"):
            return 0
    with suppress(OSError, AttributeError):
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        device, size = ctypes.c_int(), ctypes.c_size_t()
        failed = (
            driver.cuInit(0)
            or driver.cuDeviceGet(ctypes.byref(device), 0)
            or driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        )
        return 0 if failed else size.value
    return 0


def move_to_cpu(job: Value) -> Value:
    """Return a copy of a job, nested settings included, with every `device` "cpu"; the job itself if all are."""
    if not is_dataclass(job) or isinstance(job, type):
        return job
    moved: dict[str, Any] = {}
    for field in fields(job):
        value = getattr(job, field.name)
        new = "cpu" if field.name == "device" else move_to_cpu(value)
        if new is not value and new != value:
            moved[field.name] = new
    return replace(job, **moved) if moved else job


def uses_gpu(job: Any) -> bool:
    """Return True if a job trains on a GPU of this machine."""
    return move_to_cpu(job) is not job and has_gpu()


def has_gpu() -> bool:
    """Return True if torch can use a GPU here: one with CUDA, or, once torch is imported, an Apple one."""
    torch = get_loaded_torch()
    return get_gpu_memory() > 0 or (torch is not None and torch.backends.mps.is_available())


def get_peak_gpu_share() -> float:
    """Return the peak share, 0 to 1, of GPU memory held by this process's tensors since `initialize_cuda`."""
    torch = get_loaded_torch()
    if torch is None or not torch.cuda.is_initialized():
        return 0.0
    return torch.cuda.max_memory_allocated() / torch.cuda.get_device_properties(0).total_memory


def release_gpu_memory() -> None:
    """Release GPU memory that torch's allocator holds without tensors in it."""
    torch = get_loaded_torch()
    if torch is not None and torch.cuda.is_initialized():
        with suppress(RuntimeError):  # a context that has failed raises at every call
            torch.cuda.empty_cache()
