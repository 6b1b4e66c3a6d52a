"""What a link for hours of training does to the server, and what a training takes against what was said before.

    .venv/bin/python benchmarks/bounds.py [--rounds 3] [--smallest]

Linux only: memory and time are read from /proc.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import paths  # noqa: F401  (normviz and the helpers of the tests)
from browsing import ROOT, served
from visitors import Session, visit
from watched import Server

from normviz.core.registry import SCHEMES
from normviz.train import cost
from normviz.train.setting import Setting

LINK = f"schemes={','.join(SCHEMES)}&layer=conv&width=128&depth=4&batch=256&steps=1000"
SETTINGS = {
    "dense, 32 units": {},
    "dense, 128 units, 4 layers, batches of 256, Adam": {"width": 128, "depth": 4, "batch": 256, "optimizer": "adam"},
    "conv, 8 channels": {"layer": "conv"},
    "conv, 32 channels, 2 layers": {"layer": "conv", "width": 32, "depth": 2, "batch": 64},
    "conv, 128 channels, 3 layers, batches of 256": {"layer": "conv", "width": 128, "depth": 3, "batch": 256},
    "conv, 128 channels, 4 layers, batches of 256": {"layer": "conv", "width": 128, "depth": 4, "batch": 256},
    "… in float32": {"layer": "conv", "width": 128, "depth": 4, "batch": 256, "dtype": "float32"},
}
ROWS = ("batch", "layer", "divisive")
TRAINING = """
import sys, time
from normviz.core.registry import SCHEMES
from normviz.jobs.executors import limit_to_one_core
from normviz.jobs.spec import run_to_end
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.topics.table1.training import TableTrainingJob

def resident(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))

limit_to_one_core()
run_to_end(TableTrainingJob.of([SCHEMES["batch"]], Setting(steps=2), [0]))
start = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
job = TableTrainingJob.of([SCHEMES[key] for key in {rows}], Setting(**{setting}), range(len(NETWORKS)))
steps, began = [], time.process_time()
for step in job.steps():
    if step.share > len(steps) / job.setting.steps:
        steps.append(time.process_time() - began)
print(resident("VmHWM") - start, (steps[-1] - steps[0]) / (len(steps) - 1))
"""


async def others(url: str, seconds: float) -> float:
    """Return the seconds of the slowest view of another session, which looks at one after the other for `seconds`."""
    taken, end = [], time.monotonic() + seconds
    while not taken or time.monotonic() < end:
        taken.append((await visit(url, "", f"seed={len(taken)}")).seconds)
    return max(taken)


async def follow(url: str, seconds: float) -> dict[str, float]:
    """Measure a visitor of the link, from the first grid to Cancel."""
    found: dict[str, float] = {}
    async with Session(url, "invariance", LINK) as session:
        found["first grid, s"] = await session.until("grid")
        await session.until("")
        found["another session's slowest view before it trains, s"] = await others(url, 2.0)
        await session.click("anyway")
        await session.until("-cancel")
        found["another session's slowest view while it trains, s"] = await others(url, seconds)
        await session.click("cancel")
        found["from Cancel to the answer, s"] = await session.until("was stopped")
    return found


def link(rounds: int, seconds: float) -> None:
    """Measure the link on a fresh server, several times."""
    runs = []
    for _ in range(rounds):
        with served("app.py") as url:
            server = Server(url)
            start = server.peak()
            runs.append(asyncio.run(follow(url, seconds)))
            runs[-1] |= {
                "largest process before, MB": start / 2**20,
                "the same at its largest, MB": server.peak() / 2**20,
            }
    print("**A link for hours of training**\n\n| what | median | least | most |\n|---|---|---|---|")
    for what in runs[0]:
        values = [run[what] for run in runs]
        print(f"| {what} | {median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")


def model(rows: tuple[str, ...], settings: dict[str, dict], steps: int) -> None:
    """Compare what trainings take, each in a process of its own, with the model."""
    print("\n**What was said and what it takes**\n")
    print(
        "| setting | schemes | memory said, MB | taken, MB | a step said, ms | taken, ms | taken / said: memory, time |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, values in settings.items():
        setting = Setting(**values, steps=steps)
        most = cost.find_max_schemes(setting, 10)
        some = rows[-min(most, len(rows)) :]
        script = TRAINING.replace("{rows}", repr(some)).replace("{setting}", repr(values | {"steps": steps}))
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
        taken, step = map(float, done.stdout.split())
        said, said_step = (
            cost.estimate_memory(setting, len(some), 10),
            cost.estimate_training_seconds(setting, len(some), 10) / steps,
        )
        megabytes = f"{said / 2**20:.0f} | {taken / 2**20:.0f}"
        ratios = f"{taken / said:.2f}, {step / said_step:.2f}"
        print(
            f"| {name} | {len(some)} | {megabytes} | {1e3 * said_step:.1f} | {1e3 * step:.1f} | {ratios} |", flush=True
        )


def main() -> None:
    """Print the tables for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smallest", action="store_true", help="one visit, one setting: does it run to its end?")
    options = parser.parse_args()
    link(*((1, 1.0) if options.smallest else (options.rounds, 15.0)))
    model(ROWS, dict(list(SETTINGS.items())[: 1 if options.smallest else None]), 3)


if __name__ == "__main__":
    main()
