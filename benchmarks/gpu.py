"""The GPU in one command: is what it computes what the CPU computes, and how fast is it?

`make gpu`, or `python3 benchmarks/gpu.py`, with any Python from 3.11 that has torch 2.9 or newer, NumPy, scikit-learn,
array-api-compat and pytest. Installs nothing and asks no network. The tests of `tests/gpu` go to stderr, one Markdown
table to stdout. Exits with 1 where a test failed, and with 2 where nothing could be run.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import paths

NEEDS = {
    "torch": "torch", "numpy": "numpy", "sklearn": "scikit-learn", "array_api_compat": "array-api-compat",
    "pytest": "pytest",
}  # fmt: skip
OLDEST = (2, 9)
RESULT = Path(paths.ROOT, "benchmarks", "gpu.md")
SMALLEST_TESTS = ["-k", "first_numbers or named or gradients"]


def lacking() -> str | None:
    """Return in one line what this Python lacks, None if it has everything."""
    if sys.version_info < (3, 11):  # noqa: UP036  (for whoever runs it with another Python)
        return f"{sys.executable} is Python {platform.python_version()}: 3.11 or newer is needed."
    missing = [package for module, package in NEEDS.items() if find_spec(module) is None]
    if missing:
        return (
            f"{sys.executable} has no {', no '.join(missing)}: install it, or without a network unpack its wheel (a "
            "zip file; array-api-compat is pure Python, for any system) and name the folder in PYTHONPATH."
        )
    import torch

    found = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    return None if found >= OLDEST else f"torch {torch.__version__} is too old: 2.9 or newer is needed."


def parity(device: str, smallest: bool) -> tuple[int, str]:
    """Run the tests of `tests/gpu` in a process of their own: its exit code, and its last line."""
    only = SMALLEST_TESTS if smallest else []
    command = [sys.executable, "-m", "pytest", "tests/gpu", "--durations=5", "-rf", *only]
    # No plug-ins: those that happen to be installed may need what is not there.
    env = {**os.environ, "PARITY_DEVICE": device, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    last = ""
    with subprocess.Popen(
        command, cwd=paths.ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        for line in run.stdout or ():
            print(line, end="", file=sys.stderr, flush=True)
            last = line.strip() or last
    return run.returncode, last


def report(device: str, smallest: bool, tested: str) -> Iterator[str]:
    """Yield the lines of the report, each as soon as it is measured: machine, result of the tests, table."""
    import gpu_times  # which needs torch
    import torch

    whole = gpu_times.TRIAL if device == "cpu" else gpu_times.WHOLE
    sizes = gpu_times.SMALLEST if smallest else whole
    name = "no GPU" if device == "cpu" else f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    yield (
        f"{datetime.date.today()}, {name}, {os.cpu_count()} cores {platform.machine()}, load {os.getloadavg()[0]:.1f} "
        f"at the start; Python {platform.python_version()}, torch {torch.__version__}, NumPy {version('numpy')}; "
        f"float64, SGD, batch {sizes.cases[0].batch}, medians of {sizes.rounds} rounds."
    )
    yield f"Parity with the CPU: {tested}."
    yield ""
    head = [gpu_times.HEAD, ["---"] * len(gpu_times.HEAD)]
    for cells in chain(head, gpu_times.rows(sizes, device)):
        yield "| " + " | ".join(cells) + " |"


def main() -> None:
    """Test, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="the CPU stands in for the GPU: do test and benchmark run?")
    parser.add_argument("--smallest", action="store_true", help="as little as it can: does it run to its end?")
    parser.add_argument("--write", action="store_true", help=f"write the table to {RESULT.relative_to(paths.ROOT)} too")
    options = parser.parse_args()
    why = lacking()
    if why is None and not options.cpu:
        import torch

        if not torch.cuda.is_available():
            why = f"torch {torch.__version__} finds no CUDA device here, so nothing was run; --cpu tries it on the CPU."
    if why is not None:
        print(why, file=sys.stderr)
        raise SystemExit(2)
    device = "cpu" if options.cpu else "cuda"
    failed, tested = parity(device, options.smallest)
    lines = []
    for line in report(device, options.smallest, tested):
        print(line, flush=True)
        lines.append(line)
        if options.write:
            RESULT.write_text("\n".join(["# On a GPU", "", *lines, ""]))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
