"""Devices for training: their names, exact arithmetic, and the budget of one training."""

from functools import lru_cache

import torch

from normviz.core.errors import InvalidInput
from normviz.train import cost

PROBE_BYTES = 64 * 2**20
"""Bytes copied on a device to measure its bandwidth."""

EXACT_OPERATIONS = [
    *((torch.backends.cuda, "matmul"), (torch.backends.cudnn, "conv"), (torch.backends.cudnn, "rnn")),
    *((torch.backends.mkldnn, "matmul"), (torch.backends.mkldnn, "conv")),
]
"""The operations of libraries that may round float32 factors."""


def open_device(name: str, dtype: str = "float32") -> torch.device:
    """Return the torch device of a key of `DEVICES` for a dtype, and make torch compute float32 in full precision.

    Raises InvalidInput if the device is missing or does not have the dtype.
    """
    force_exact_arithmetic()
    return torch.device(resolve_device(name, dtype))


def force_exact_arithmetic() -> None:
    """Make torch compute float32 products and convolutions in full precision, without TF32.

    By default cuDNN rounds the factors of a convolution to ten bits (TF32), and NVIDIA's containers set the same for
    matrix products. No two networks would be twins then. Both interfaces of torch are set, the older one first: if they
    differ, torch raises an error when the older one is read.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    for backend, operation in EXACT_OPERATIONS:
        getattr(backend, operation).fp32_precision = "ieee"


def resolve_device(name: str, dtype: str) -> str:
    """Return "cpu", "cuda" or "mps" for a device name; "auto" is a GPU that has the dtype, else the CPU.

    Raises:
        InvalidInput: the device is missing or does not have the type, as MPS has no float64.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "mps" and dtype == "float64":
        raise InvalidInput("MPS has no float64; dtype float32 or device cpu would do.")
    if not there.get(name, True):
        raise InvalidInput(f"there is no {name} device here; auto or cpu would do.")
    if name != "auto":
        return name
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if dtype == "float32" and torch.backends.mps.is_available() else "cpu"


def format_device_name(device: torch.device) -> str:
    """Return the name of a device as pages show it: the GPU's model, or "CPU"."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()


def measure_budget(device: torch.device) -> cost.TrainingBudget:
    """Return the `TrainingBudget` of a device, from the memory that is free now."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return cost.compute_gpu_budget(free + unused, _measure_bandwidth(device))
    return cost.CPU_BUDGET if device.type == "cpu" else cost.MPS_BUDGET


@lru_cache(maxsize=8)
def _measure_bandwidth(device: torch.device) -> float:
    """Measure how many bytes per second a GPU copies within its memory; cached."""
    source = torch.zeros(PROBE_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    target.copy_(source)  # loads the kernel of a copy
    start.record()
    target.copy_(source)
    end.record()
    end.synchronize()
    return PROBE_BYTES / (max(start.elapsed_time(end), 1e-3) / 1000)
