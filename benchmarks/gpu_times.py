"""What training takes on a GPU: captured and step by step, as separate modules there, and on this CPU.

All of them train the same networks, the original and its six twins of every scheme, and have to reach the same losses.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from statistics import median
from time import perf_counter
from unittest.mock import patch

import numpy as np
import torch
from contenders import (
    ALL,
    PAPER,
    TWINS,
    Case,
    engine,
    find_stable_schemes,
    loops,
    name_excluded,
    require_equal_losses,
    set_up,
)

from normviz.core.registry import SCHEMES
from normviz.train import step_functions, twins

EVERY = (*ALL, "custom")
assert set(EVERY) == set(SCHEMES)

ALIKE = 20
"""Steps whose losses have to agree: in a thousand, rounding can grow to anything."""

HEAD = [
    "layer", "width", "schemes × networks", "steps", "captured, ms a step", "eager", "modules", "CPU",
    "eager / captured", "modules / captured", "CPU / captured", "networks a second", "losses not compared",
]  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """The sizes that are measured.

    Attributes:
        cases, steps: every case is trained for each of these numbers of steps.
        few: steps of the separate modules and of the CPU, whose steps all take the same; their set-up is in the time.
            They are measured beside the first number of steps.
        rounds: that are counted; one more goes before them.
        longest: seconds of a training after which no larger stack is tried.
    """

    cases: Sequence[Case]
    steps: Sequence[int]
    few: int
    rounds: int
    longest: float


WHOLE = Sizes(
    [Case(*layer, width=w) for w, layer in ((32, ("dense", PAPER)), (8, ("conv", PAPER)), (32, ("conv", PAPER)),
     (32, ("dense", EVERY)), (8, ("conv", EVERY)), (32, ("conv", EVERY)))],
    (100, 1000), few=20, rounds=2, longest=8.0,
)  # fmt: skip
TRIAL = Sizes(
    [Case("dense", EVERY, 16, 16), Case("conv", EVERY, 6, 8)],
    (ALIKE, ALIKE + 1), few=ALIKE, rounds=1, longest=1.0,
)  # fmt: skip
"""Every scheme for as many steps as are compared: what the CPU can show where it stands in for a GPU."""

SMALLEST = Sizes(
    [Case("dense", ("batch", "spectral", "custom"), 6, 8), Case("conv", PAPER, 6, 8)],
    (2, 3), few=2, rounds=1, longest=0.0,
)  # fmt: skip

Trainer = Callable[[], np.ndarray]


def seconds(trainer: Trainer, device: str) -> tuple[float, np.ndarray]:
    """Return the seconds from the setting to the losses, and the losses."""
    if device == "cuda":
        torch.cuda.synchronize()
    begin = perf_counter()
    losses = trainer()  # which ends on the host
    if device == "cuda":
        torch.cuda.synchronize()
    return perf_counter() - begin, losses


def stepwise(trainer: Trainer) -> Trainer:
    """Return the same training without a captured step."""

    def uncaptured() -> np.ndarray:
        with patch.object(twins, "make_graph_step", step_functions.make_eager_step):
            return trainer()

    return uncaptured


def threaded(trainer: Trainer, threads: int) -> Trainer:
    """Return the same training on `threads` threads of the CPU."""

    def on_threads() -> np.ndarray:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return trainer()
        finally:
            torch.set_num_threads(before)

    return on_threads


def per_step(
    trainers: dict[str, tuple[Trainer, int]], device: str, rounds: int, stable: np.ndarray
) -> dict[str, float]:
    """Return the median milliseconds a step of each trainer, given as (trainer, its steps).

    They are measured in turn, round by round. Exits where their losses differ in a scheme that is stable.
    """
    times: dict[str, list[float]] = {name: [] for name in trainers}
    for number in range(rounds + 1):
        losses = {}
        for name in list(trainers)[:: -1 if number % 2 else 1]:
            trainer, steps = trainers[name]
            spent, losses[name] = seconds(trainer, device)
            times[name].append(1000 * spent / steps)
        require_equal_losses(losses, "captured", stable, ALIKE)
    return {name: median(values[1:]) for name, values in times.items()}


def row(case: Case, steps: int, copies: int, found: dict[str, float], stable: np.ndarray) -> list[str]:
    """Return a line of the table; of the CPU's times it has the best."""
    captured, networks = found["captured"], len(case.schemes) * len(TWINS) * copies
    others = [found.get("eager"), found.get("modules"), min(v for name, v in found.items() if name.startswith("CPU"))]
    return [
        case.layer, str(case.width), f"{len(case.schemes)} × {len(TWINS) * copies}", str(steps), f"{captured:.3g}",
        *("–" if other is None else f"{other:.3g}" for other in others),
        *("–" if other is None else f"{other / captured:.1f}" for other in others),
        f"{networks * 1000 / (captured * steps):.0f}", name_excluded(case, stable),
    ]  # fmt: skip


def on_the_cpu(case: Case, steps: int, copies: int = 1) -> dict[str, tuple[Trainer, int]]:
    """Trainings on one thread and on all of them: small networks gain nothing from more."""
    problem = set_up(case, "cpu", steps)
    trainer = partial(engine, *problem, TWINS * copies)
    return {f"CPU, {n} threads": (threaded(trainer, n), steps) for n in sorted({1, min(torch.get_num_threads(), 8)})}


def rows(sizes: Sizes, device: str) -> Iterator[list[str]]:
    """All lines of the table; the last is that of the stack which trains most networks a second."""
    warnings.filterwarnings("ignore", message="(?s).*batching rule")
    for case in sizes.cases:
        few, found = set_up(case, device, sizes.few), {}
        stable = find_stable_schemes(*set_up(case, device, ALIKE))
        others = {"modules": (lambda few=few: loops(*few), sizes.few), **on_the_cpu(case, sizes.few)}
        for steps in sizes.steps:
            print(f"{case.layer}, width {case.width}, {len(case.schemes)} schemes, {steps} steps …", file=sys.stderr)

            captured = partial(engine, *set_up(case, device, steps))
            trainers = {"captured": (captured, steps), "eager": (stepwise(captured), steps)}
            found |= per_step(trainers | ({} if found else others), device, sizes.rounds, stable)
            yield row(case, steps, 1, found, stable)
    yield largest(sizes, device)


def largest(sizes: Sizes, device: str) -> list[str]:
    """Find the stack that trains most networks a second: double it while that brings a twentieth and fits."""
    case, steps = Case(schemes=EVERY, width=sizes.cases[0].width), sizes.steps[0]
    problem, best = set_up(case, device, steps), (0.0, 1)
    for copies in (2**k for k in count()):
        print(f"{len(EVERY)} schemes of {len(TWINS) * copies} networks …", file=sys.stderr)
        try:
            spent = min(seconds(lambda n=copies: engine(*problem, TWINS * n), device)[0] for _ in "12")
        except torch.OutOfMemoryError:
            break
        enough = copies / spent < 1.05 * best[0]
        best = max(best, (copies / spent, copies))
        if enough or spent > sizes.longest:
            break
    copies = best[1]

    captured = partial(engine, *problem, TWINS * copies)
    cpu = on_the_cpu(case, min(sizes.few, steps, max(320 // copies, 1)), copies)
    stable = find_stable_schemes(*set_up(case, device, ALIKE))
    return row(case, steps, copies, per_step({"captured": (captured, steps), **cpu}, device, 1, stable), stable)
