"""How long the lab takes to answer a visitor while an experiment runs for another one, against an idle server."""

import argparse
import asyncio
from collections.abc import Sequence
from random import Random

import numpy as np
import paths  # noqa: F401 - where the tests' helpers are
from browsing import ROOT, served
from visitors import Session, Visitor, visitor

EXPERIMENT = "show=batch-size&batch_size_steps=2000&batch_size_seeds=16&batch_size_seed={}"
"""One that takes longer than what is measured beside it."""


async def answers(one: Visitor, changes: int, random: Random) -> list[float]:
    """Milliseconds of a visitor's changes, a tenth of a second apart."""
    times = []
    for _ in range(changes):
        times.append(1000 * (await one.change(random)).seconds)
        await asyncio.sleep(0.1)
    return times


async def at_work(url: str, seed: int, one: Visitor, changes: int, random: Random) -> list[float]:
    """Measure the same while an experiment runs for another visitor."""
    async with Session(url, "experiments", EXPERIMENT.format(seed)) as other:
        await other.until("")
        await other.click("start run")
        await other.until("to go", "once it runs")  # what the page says as soon as a job is at work
        times = await answers(one, changes, random)
        await other.click("cancel run")
        await other.until("start run")
    return times


async def measured(url: str, rounds: int, changes: int) -> dict[str, list[float]]:
    """Both, in turn, so that what else the machine does falls on both."""
    found: dict[str, list[float]] = {"idle": [], "with an experiment": []}
    async with visitor(url) as one:
        await one.ask()
        await answers(one, changes, Random(0))  # warm
        for k in range(rounds):
            found["idle"] += await answers(one, changes, Random(k))
            found["with an experiment"] += await at_work(url, k, one, changes, Random(k))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--changes", type=int, default=40, help="of the visitor in a round, each way")
    parser.add_argument("--smallest", action="store_true", help="one round of two changes")
    args = parser.parse_args(argv)
    rounds, changes = (1, 2) if args.smallest else (args.rounds, args.changes)
    with served(str(ROOT / "app.py")) as url:
        found = asyncio.run(measured(url, rounds, changes))
    p95 = {name: float(np.percentile(times, 95)) for name, times in found.items()}
    print("| the lab answers | median, ms | p95, ms | p95 / idle |\n|---|---|---|---|")
    for name, times in found.items():
        print(f"| {name} | {np.median(times):.0f} | {p95[name]:.0f} | {p95[name] / p95['idle']:.2f} |")


if __name__ == "__main__":
    main()
