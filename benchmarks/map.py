"""How fast the schemes of the map are trained with their twins, and what comes out, on a dense and on a conv layer.

`.venv/bin/python benchmarks/map.py [--sample K] [--device auto|cpu|cuda] [--smallest]`. The jobs are those of the page
and of `normviz design --census --trained`, here one after the other in this process.
"""

import argparse
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import paths  # noqa: F401  (normviz)
import torch

from normviz.core.transformations import LAYERS
from normviz.design.training import TOGETHER, Twins, plan, stacked
from normviz.design.training_results import tally
from normviz.jobs.spec import finish
from normviz.networks.problem import NETWORKS
from normviz.networks.setting import DEVICES
from normviz.table1.forward import forward_gaps

HEAD = [
    "layer", "schemes", "networks", "networks in a stack", "s", "networks a second", "of it forward passes, s",
    "twins as the rule says", "otherwise", "without an answer",
]  # fmt: skip


def row(layer: str, parts: Sequence[Twins]) -> list[str]:
    """A line of the table: the jobs of a layer, run."""
    schemes = sum(len(part.rows) for part in parts)
    networks, stack = schemes * len(NETWORKS), len(NETWORKS) * min(stacked(parts[0].setting), TOGETHER, schemes)
    finish(replace(parts[0], rows=parts[0].rows[:1], absorbed=parts[0].absorbed[:1]))  # what comes with the first
    begin = perf_counter()
    found = {part: finish(part) for part in parts}
    spent = perf_counter() - begin
    begin = perf_counter()
    forward_gaps([row.scheme for row in parts[0].rows], parts[0].setting)
    forward = (perf_counter() - begin) * schemes / len(parts[0].rows)
    came = tally(parts, found)
    return [
        layer, f"{schemes:,}", f"{networks:,}", str(stack), f"{spent:.1f}", f"{networks / spent:,.0f}",
        f"{forward:.1f}", f"{came.agree:,}", str(came.disagree), str(came.unanswered),
    ]  # fmt: skip


def main() -> None:
    """Train, and print a table for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many schemes of every set; all by default")
    parser.add_argument("--device", choices=list(DEVICES), default="auto")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU; a worker of the server has one")
    parser.add_argument("--smallest", action="store_true", help="one scheme of every set: does it run to its end?")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    on = torch.cuda.get_device_name() if torch.cuda.is_available() and options.device != "cpu" else "the CPU"
    print(f"On {on}, {os.cpu_count()} cores {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start;")
    print(f"Python {platform.python_version()}, torch {torch.__version__}; float64, SGD, threads: {options.threads}.\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for layer in LAYERS:
        parts = plan(layer, ("none",), 1 if options.smallest else options.sample)
        on_device = [replace(part, setting=replace(part.setting, device=options.device)) for part in parts]
        print("| " + " | ".join(row(layer, on_device)) + " |", flush=True)


if __name__ == "__main__":
    main()
