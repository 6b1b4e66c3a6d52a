"""Dask clusters of processes on this machine, for the tests and for the benchmark."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from distributed import Client

ROOT = Path(__file__).parents[1]
STARTUP = 60.0
"""Seconds within which a process is there."""

LOCAL = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
ENDS = ("--idle-timeout", "10 minutes")
"""A scheduler ends by itself, and its workers with it, where who started it was killed."""
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "jobs"))),  # normviz, and the jobs of the tests
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
}


@contextmanager
def running(folder: str | Path, program: str, *arguments: str) -> Iterator[subprocess.Popen]:
    """Run a program of Dask, with the processes that it starts, until the block ends."""
    command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments, *LOCAL]
    with Path(folder, f"{program}.log").open("a") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | ENVIRONMENT, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def scheduler(folder: str | Path, port: int = 0) -> Iterator[tuple[str, subprocess.Popen]]:
    """A scheduler's address and process."""
    told = Path(folder, "scheduler.json")
    told.unlink(missing_ok=True)
    with running(folder, "dask_scheduler", "--port", str(port), "--scheduler-file", str(told), *ENDS) as process:
        end = time.monotonic() + STARTUP
        while not told.exists() or not told.read_text().endswith("}"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(Path(folder, "dask_scheduler.log").read_text())
            time.sleep(0.02)
        yield json.loads(told.read_text())["address"], process


@contextmanager
def workers(folder: str | Path, address: str, number: int) -> Iterator[subprocess.Popen]:
    """Workers of one thread each; gives the process that watches them, and starts those anew that die."""
    with running(
        folder, "dask_worker", address, "--nworkers", str(number), "--nthreads", "1", "--local-directory", str(folder)
    ) as process:
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=STARTUP)
        yield process


@contextmanager
def cluster(number: int) -> Iterator[str]:
    """The address of a scheduler with this many workers."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address, _ = stack.enter_context(scheduler(folder))
        stack.enter_context(workers(folder, address, number))
        yield address
