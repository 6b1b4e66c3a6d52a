"""What links, files and clicks cost, over every page: `.venv/bin/python benchmarks/links.py [--links 1000] [--seed 0]`.

Random links, valid and hostile, and walks over random widgets, each run of a page measured: seconds of the processor,
so that other work on the machine does not count, and what it holds at most beyond what was there. Then the worst links
again, in as many sessions as a class has, all kept open; and what the caches hold when all is over. It ends with 1
where a page raised, or showed nothing.
"""

import argparse
import logging
import random
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import paths  # noqa: F401  (normviz and the helpers of the tests)
import wandering
from streamlit.runtime.caching import get_data_cache_stats_provider
from wandering import Run

CLASS = 30
"""Sessions that are open at once."""

SLOW = 2.0
"""Seconds that no run may take."""


def worst(runs: Sequence[Run], of: str, count: int) -> list[Run]:
    """Return the runs that take most of something."""
    return sorted(runs, key=lambda run: getattr(run, of), reverse=True)[:count]


def table(runs: Sequence[Run]) -> None:
    """Print a row per page; `what` is the slowest run."""
    print("| page | runs | faults | median, s | slowest, s | over 2 s | most held, MB | what |")
    print("|---|---|---|---|---|---|---|---|")
    for page in wandering.STATES:
        mine = sorted((run for run in runs if run.page == page), key=lambda run: run.seconds)
        if mine:
            middle, last = mine[len(mine) // 2], mine[-1]
            faults, slow = sum(bool(run.fault) for run in mine), sum(run.seconds > SLOW for run in mine)
            held = max(0.0, *(run.megabytes for run in mine))
            what = last.what[:160].replace("|", "¦").replace("\n", "␤")
            print(
                f"| {page} | {len(mine)} | {faults} | {middle.seconds:.2f} | {last.seconds:.2f} | {slow} | {held:.0f} "
                f"| `{what}` |"
            )


def main() -> None:
    """Print the tables for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=1000, help="so many links over all pages")
    parser.add_argument("--walks", type=int, default=3, help="so many walks of 20 clicks on every page")
    parser.add_argument("--pages", nargs="+", choices=wandering.STATES, default=list(wandering.STATES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smallest", action="store_true", help="a link and a click a page: does it run to its end?")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    count, walks, steps, sessions = options.links, options.walks, 20, CLASS
    if options.smallest:
        count, walks, steps, sessions = len(options.pages), 1, 1, 2
    rng = random.Random(options.seed)
    for page in options.pages:  # what is imported or read once, PyTorch as well, is no link's
        wandering.opened(page, {"show": "formula", "torch": "1"} if page == "gradients" else {})

    pages = [options.pages[number % len(options.pages)] for number in range(count)]
    links = [(page, wandering.link_of(page, rng)) for page in pages]
    runs = [wandering.opened(page, link)[1] for page, link in links]
    print(f"**{count} links, seed {options.seed}**\n")
    table(runs)

    clicked = [run for page in options.pages for _ in range(walks) for run in wandering.clicks(page, rng, steps)]
    print(f"\n**{walks} walks of {steps} clicks on every page**\n")
    table(clicked)

    before = wandering.kilobytes("VmRSS")
    heavy = [links[runs.index(run)] for run in worst(runs, "megabytes", 3)]
    kept = [wandering.opened(*heavy[number % len(heavy)])[0] for number in range(sessions)]
    held = wandering.kilobytes("VmRSS")
    print("\n**Memory**\n\n| what | MB |\n|---|---|")
    print(f"| the process after all links and clicks | {before / 1024:.0f} |")
    print(f"| … with the {len(heavy)} heaviest links open in {len(kept)} sessions | {held / 1024:.0f} |")
    sizes: Counter[str] = Counter()
    for stat in chain.from_iterable(get_data_cache_stats_provider().get_stats().values()):
        sizes[stat.cache_name] += stat.byte_length
    for name, size in sizes.most_common():
        print(f"| cache {name} | {size / 2**20:.1f} |")

    faults = [run for run in (*runs, *clicked) if run.fault]
    for run in faults:
        print(f"{run.page} {run.what}: {run.fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
