"""The machine that something is measured on, in words."""

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@lru_cache(maxsize=1)
def describe_machine() -> str:
    """The processor, its cores and PyTorch's version, which times depend on: AMD EPYC, 2 cores, PyTorch 2.13.0."""
    try:
        torch = f"PyTorch {version('torch')}"
    except PackageNotFoundError:
        torch = "no PyTorch"
    return f"{find_processor_name()}, {os.cpu_count()} cores, {torch}"


def find_processor_name(cpuinfo_path: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name, as Linux describes it, or else as Python knows it."""
    if cpuinfo_path.is_file():
        for line in cpuinfo_path.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()[:80]
    return platform.processor() or platform.machine() or "unknown processor"
