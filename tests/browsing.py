"""A served app and a Chromium, for the tests in a browser and for the benchmarks."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",  # two pages that nobody sees beside every page
]
STARTUP = 60
"""Seconds within which a server answers."""


@contextmanager
def served(script: str) -> Iterator[str]:
    """Serve a Streamlit script until the block ends; gives the server's address. No result is kept there yet."""
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port"]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        serving(command, environment={"NORMVIZ_RESULTS": str(Path(folder) / "results.sqlite")}) as url,
    ):
        yield url


@contextmanager
def serving(
    command: Sequence[str | Path],
    folder: Path = ROOT,
    path: str = "",
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run a command that serves, in a folder, until the block ends; the port comes behind it. Gives the address.

    Args:
        path: where the command serves, as "/course/norm".
        environment: variables that the command has besides those of this process.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}{path}"
    with tempfile.TemporaryFile("w+") as log:
        variables = {**os.environ, **(environment or {})}
        process = subprocess.Popen([*command, str(port)], cwd=folder, env=variables, stdout=log, stderr=log)
        try:
            if not _answers(process, f"{url}/_stcore/health"):
                log.seek(0)
                raise RuntimeError(f"{command} has not served within {STARTUP} s:\n{log.read()}")
            yield url
        finally:
            _end(process)


def _answers(process: subprocess.Popen, url: str) -> bool:
    """Whether the address answers before the process ends and the time for its start is over."""
    end = time.monotonic() + STARTUP
    while process.poll() is None and time.monotonic() < end:
        try:
            urlopen(url, timeout=5).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """Chromium without a window, drawing WebGL in software: the one on the PATH, or that of the variable CHROMIUM."""
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM_ARGS, *flags])
        try:
            yield chromium
        finally:
            chromium.close()
