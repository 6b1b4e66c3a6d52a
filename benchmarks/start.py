"""How soon commands, the server and a visitor's first run are there, and what a server at rest holds of the memory.

    .venv/bin/python benchmarks/start.py [--rounds 5] [--idle 12] [--smallest]

Linux only: memory is read from /proc.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from contextlib import suppress
from statistics import median

import paths  # noqa: F401 - where the tests' helpers are
from browsing import ROOT, served
from visitors import Session
from watched import Server

COMMANDS = ("--version", "--help", "schemes", "design --need dataset-rescaling", "experiment", "table1 --steps 20")
EXPERIMENT = "show=batch-size&batch_size_steps=20&batch_size_equal=steps&batch_size_seeds=2&batch_size_schemes=layer"
LOOK_SECONDS = 0.5
"""Seconds between two looks of a page at its run, as in the app."""


def measure_command(words: str) -> float:
    """Return the seconds of a command."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "normviz", *words.split()], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


async def wait_for(session: Session, text: str) -> float:
    """Return the seconds until an element has this text; the page runs again at intervals."""
    begin = time.perf_counter()
    while True:
        with suppress(TimeoutError):
            await session.until(text, patience=LOOK_SECONDS)
            return time.perf_counter() - begin
        await session.rerun()


async def run_table(url: str) -> float:
    """Return the seconds from opening Table 1 to its trained cells."""
    async with Session(url, "invariance") as session:
        return await wait_for(session, "Trained on")


async def run_experiment(url: str) -> float:
    """Return the seconds from a click on Run to the first curve."""
    async with Session(url, "experiments", EXPERIMENT) as session:
        await session.until("")
        await session.click("start run")
        return await wait_for(session, "curves")


def measure_server(idle: float, run) -> tuple[float, float, float]:
    """Return the seconds until a server is ready, those of a first run after `idle` seconds, and the MB at rest."""
    begin = time.perf_counter()
    with served(str(ROOT / "app.py")) as url:
        ready = time.perf_counter() - begin
        time.sleep(idle)
        memory = Server(url).share() / 2**20
        return ready, asyncio.run(run(url)), memory


def main() -> None:
    """Print two tables for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle", type=float, default=12.0, help="seconds of the server before its first visitor")
    parser.add_argument("--smallest", action="store_true", help="one round of each, without an idle server")
    options = parser.parse_args()
    rounds, idle = (1, 0.0) if options.smallest else (options.rounds, options.idle)
    print("**Commands**\n\n| `normviz` with | median, ms |\n|---|---|")
    for words in COMMANDS:
        print(f"| `{words}` | {1000 * median(measure_command(words) for _ in range(rounds)):.0f} |", flush=True)
    print("\n**First runs**\n")
    print("| first run | server idle before, s | server ready, s | run, s | memory before, MB |\n|" + "---|" * 5)
    for name, run in (("Table 1 opened and trained", run_table), ("experiment, first curve", run_experiment)):
        for seconds in sorted({0.0, idle}):
            ready, ran, memory = map(median, zip(*(measure_server(seconds, run) for _ in range(rounds)), strict=True))
            print(f"| {name} | {seconds:g} | {ready:.1f} | {ran:.2f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
