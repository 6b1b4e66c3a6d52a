"""A class on one server: how long a page takes to answer 1, 30 and 60 students. See benchmarks/README.md.

`--fresh`: how long visitors wait who open a page at once on a server just started, beside two busy processes.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import numpy as np
import paths
from browsing import served
from visitors import PAGES, Visit, Visitor, all_at_once, busy_processes, visit, visitor
from watched import Server

EVERY = 3.0
"""Seconds from one change of a student to the next."""

JOB = "layer=conv&depth=2&steps=1000&batch=64"
"""A training that takes a while."""


async def student(one: Visitor, seconds: float, random: Random) -> list[Visit]:
    """Change a widget of the page every three seconds, each when the change before is answered."""
    await one.stay(random.random() * EVERY)
    visits, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        visits.append(await one.change(random))
        await one.stay(max(EVERY - visits[-1].seconds, 0))
    return visits


async def trainer(url: str, seeds: Random) -> None:
    """Open Table 1 as a visitor for whom one thing after another is trained, for ever."""
    while True:
        async with visitor(url, "invariance", f"{JOB}&seed={seeds.randrange(10_000)}") as one:
            await one.ask()
            while one.again:
                await one.stay(1.0)


async def used(url: str, page: str, students: int, seconds: float) -> tuple[list[Visit], float, float]:
    """Return the answers to a class that uses a page, the server's ms per change, and its MB per session."""
    server = Server(url)
    before = server.held()
    async with AsyncExitStack() as stack:
        ones = [await stack.enter_async_context(visitor(url, page)) for _ in range(students)]
        for one in ones:
            await one.ask()
        start = server.worked()
        found = await asyncio.gather(*(student(one, seconds, Random(k)) for k, one in enumerate(ones)))
        visits = [one for each in found for one in each]
        return visits, 1000 * (server.worked() - start) / len(visits), (server.held() - before) / students / 2**20


async def beside(url: str, job: bool, work: Coroutine) -> tuple[list[Visit], float, float]:
    """Do some work, and have something trained all the while where there is to be a job."""
    other = asyncio.create_task(trainer(url, Random(0))) if job else None
    try:
        return await work
    finally:
        if other:
            other.cancel()


def row(page: str, args: argparse.Namespace) -> list[str]:
    """One page, on a server of its own that is warm: a row of the table."""
    cells, alone = [f"/{page}"], 1.0
    with served(str(args.folder / "app.py")) as url:
        asyncio.run(visit(url, page))
        asyncio.run(visit(url, page))
        work = taken = 0.0
        for students in args.students:
            visits, work, taken = asyncio.run(beside(url, args.job, used(url, page, students, args.seconds)))
            wrong = [error for one in visits for error in one.errors]
            if wrong:
                print(f"/{page}, {students} students: {len(wrong)} errors, such as {wrong[0]}", file=sys.stderr)
            median, most = np.percentile([1000 * one.seconds for one in visits], (50, 95))
            alone = median if students == args.students[0] else alone
            cells += [f"{median:.0f}", f"{most:.0f}"] + [f"{most / alone:.1f}"] * (students != args.students[0])

        async def opened() -> list[Visit]:
            return await asyncio.gather(*(visit(url, page) for _ in range(args.at_once)))

        once = [one.seconds for one in asyncio.run(opened())]
        cells += [f"{np.median(once):.1f}", f"{max(once):.1f}", f"{work:.0f}", f"{max(taken, 0):.1f}"]
    return cells


def fresh_row(page: str, args: argparse.Namespace) -> list[str]:
    """Return a row on visitors who open a page at once on a server just started, beside two busy processes."""
    with busy_processes(2), served(str(args.folder / "app.py")) as url:
        visits = all_at_once(url, [page] * args.at_once)
        server = Server(url)
        cells = [f"{server.worked():.1f}", f"{server.peak() / 2**20:.0f}"]
    wrong = [error for one in visits for error in one.errors]
    if wrong:
        print(f"/{page}: {len(wrong)} errors, such as {wrong[0]}", file=sys.stderr)
    seconds = [one.seconds for one in visits]
    return [f"/{page}", f"{np.median(seconds):.1f}", f"{max(seconds):.1f}", str(len(wrong)), *cells]


FRESH = ["page", "median, s", "slowest, s", "errors", "processor of the server, s", "its peak, MB"]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", nargs="+", default=PAGES, help="their addresses; the tensor lab's is empty")
    parser.add_argument("--students", nargs="+", type=int, default=[1, 30, 60])
    parser.add_argument("--seconds", type=float, default=15.0, help="for which each class uses a page")
    parser.add_argument("--at-once", type=int, default=100, help="who open one view at the same moment")
    parser.add_argument("--job", action="store_true", help="train for another visitor of Table 1 all the while")
    parser.add_argument(
        "--fresh", action="store_true", help="a server just started, beside two busy processes, instead"
    )
    parser.add_argument("--folder", type=Path, default=paths.ROOT, help="of the app; another one for a comparison")
    parser.add_argument("--smallest", action="store_true", help="one page, two students, one change")
    args = parser.parse_args(argv)
    if args.smallest:
        args.pages, args.students, args.seconds, args.at_once = [""], [1, 2], 0.1, 2
    if args.fresh:
        print(
            f"**{args.at_once} at once, on a server just started**\n\n| {' | '.join(FRESH)} |\n|{'---|' * len(FRESH)}"
        )
        for page in args.pages:
            print(f"| {' | '.join(fresh_row(page, args))} |", flush=True)
        return
    head = ["page"]
    for students in args.students:
        who = f"{students} student{'s' * (students > 1)}"
        head += [f"{who}: median, ms", f"{who}: p95, ms"]
        head += [f"{who}: p95 / median of {args.students[0]}"] * (students != args.students[0])
    head += [f"{args.at_once} at once: median, s", f"{args.at_once} at once: slowest, s"]
    head += ["processor a change, ms", "memory a session, MB"]
    print(f"**{'With' if args.job else 'Without'} a training**\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for page in args.pages:
        print(f"| {' | '.join(row(page, args))} |", flush=True)


if __name__ == "__main__":
    main()
