"""Train all schemes of a dense and of a convolutional layer with their twins: how fast, and with which answers.

`.venv/bin/python benchmarks/map.py [--sample K] [--device auto|cpu|cuda] [--smallest]`. The jobs are those of
`normviz design --census --trained`, here one after the other in this process.
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
from normviz.jobs.spec import run_to_end
from normviz.topics.design.training import TwinTraining, compute_stack_size, list_training_jobs
from normviz.topics.design.training_results import list_invariance_checks
from normviz.train.problem import NETWORKS
from normviz.train.setting import DEVICES

HEAD = [
    "layer", "schemes", "networks", "networks in a stack", "s", "networks a second", "answers as predicted",
    "not as predicted", "without an answer",
]  # fmt: skip


def measure_layer(layer: str, jobs: Sequence[TwinTraining]) -> list[str]:
    """Run the jobs of a layer, and return a row of the table."""
    rows = [len(job.rows) for job in jobs]
    networks, stack = sum(rows) * len(NETWORKS), min(compute_stack_size(jobs[0].setting), max(rows)) * len(NETWORKS)
    run_to_end(
        replace(jobs[0], rows=jobs[0].rows[:1], absorbed=jobs[0].absorbed[:1])
    )  # imports torch, reads the digits
    begin = perf_counter()
    answers = list_invariance_checks({job: run_to_end(job) for job in jobs})
    spent = perf_counter() - begin
    wrong = sum(not each.agrees for each in answers)
    missing = sum(each.agrees and bool(each.why) for each in answers)
    return [
        layer, f"{sum(rows):,}", f"{networks:,}", f"{stack:,}", f"{spent:.1f}", f"{networks / spent:,.0f}",
        f"{len(answers) - wrong - missing:,}", str(wrong), str(missing),
    ]  # fmt: skip


def main() -> None:
    """Print a table for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="schemes of each set of invariances; all by default")
    parser.add_argument("--device", choices=list(DEVICES), default="auto")
    parser.add_argument("--threads", type=int, default=1, help="on the CPU; a worker has one")
    parser.add_argument("--smallest", action="store_true", help="one scheme of each set: does it run to its end?")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    on = torch.cuda.get_device_name() if torch.cuda.is_available() and options.device != "cpu" else "the CPU"
    print(f"On {on}, {os.cpu_count()} cores {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start;")
    print(f"Python {platform.python_version()}, torch {torch.__version__}; float64, SGD, threads: {options.threads}.\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for layer in LAYERS:
        jobs = list_training_jobs(layer, sample=1 if options.smallest else options.sample, device=options.device)
        print("| " + " | ".join(measure_layer(layer, jobs)) + " |", flush=True)


if __name__ == "__main__":
    main()
