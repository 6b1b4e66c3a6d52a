"""Description of the machine, for measured times."""

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@lru_cache(maxsize=1)
def describe_machine() -> str:
    """Return the processor, its number of cores and PyTorch's version: "AMD EPYC, 2 cores, PyTorch 2.13.0"."""
    try:
        torch = f"PyTorch {version('torch')}"
    except PackageNotFoundError:
        torch = "no PyTorch"
    return f"{find_processor_name()}, {os.cpu_count()} cores, {torch}"


def find_processor_name(cpuinfo_path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name from Linux's cpuinfo, or else from Python's `platform`."""
    if cpuinfo_path.is_file():
        for line in cpuinfo_path.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()[:80]
    return platform.processor() or platform.machine() or "unknown processor"
