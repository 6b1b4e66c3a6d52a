"""How long the networks of Table 1 take to train: as one stack, as separate modules, and by `torch.func`.

`.venv/bin/python benchmarks/table1.py`, ten minutes on a quiet machine. Every contender trains the same seven networks
of every scheme (the original and its six twins) from the same numbers on the same mini-batches, and has to reach the
same losses.
"""

import argparse
import os
import platform
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from statistics import median
from time import perf_counter

import paths  # noqa: F401  (normviz and the helpers of the tests)
import torch
from contenders import ALL, CONTENDERS, TWINS, Case, find_stable_schemes, name_excluded, require_equal_losses, set_up
from torch.overrides import TorchFunctionMode

from normviz.train.problem import make_problem
from normviz.train.twins import PreparedProblem

CASES = {
    "the paper's schemes": (Case(), Case("conv", width=8), Case("conv")),
    "width": tuple(Case(width=width) for width in (16, 32, 64, 128)),
    "batch": tuple(Case(batch=batch) for batch in (16, 32, 128)),
    "number of networks": (*(Case(schemes=ALL[:n]) for n in (1, 3, 6, len(ALL))), Case("conv", ALL, width=8)),
}
SMALLEST = {"the smallest": (Case(schemes=ALL, width=6, batch=8), Case("conv", ALL, width=6, batch=8))}


def compare(case: Case, threads: int, steps: int, rounds: int) -> tuple[dict[str, list[float]], str]:
    """Time every contender in every round, in alternating order, after one round that does not count.

    Returns the milliseconds by contender, and the schemes whose losses are not compared. Exits where losses differ.
    """
    torch.set_num_threads(threads)
    problem, times = set_up(case, "cpu", steps), defaultdict(list)
    stable = find_stable_schemes(*problem)
    for number in range(rounds + 1):
        losses = {}
        for name in list(CONTENDERS)[:: -1 if number % 2 else 1]:
            begin = perf_counter()
            losses[name] = CONTENDERS[name](*problem)
            times[name].append((perf_counter() - begin) * 1000)
        require_equal_losses(losses, "engine", stable, steps)
    return {name: values[1:] for name, values in times.items()}, name_excluded(case, stable)


ENGINE = os.path.join("normviz", "train")


class Clock(TorchFunctionMode):
    """Adds up the seconds inside of torch by what they are for, told by the engine's function that asks for them."""

    LOSS = ("logsumexp", "gather", "exp_", "scatter_add_", "full_like", "expand")
    PARTS = ("matrix products", "normalization", "loss", "γ, β, ReLU and their gradients", "update", "mini-batches")

    def __init__(self) -> None:
        super().__init__()
        self.seconds = dict.fromkeys(self.PARTS, 0.0)

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        """Call, and book the time."""
        frame = sys._getframe(1)
        while ENGINE not in frame.f_code.co_filename:
            frame = frame.f_back
        code, begin = frame.f_code, perf_counter()
        out = func(*args, **(kwargs or {}))
        spent = perf_counter() - begin
        if func.__name__ != "__get__":  # a property, such as the shape
            self.seconds[self._part(func.__name__, code.co_filename, code.co_name)] += spent
        return out

    def _part(self, operation: str, file: str, function: str) -> str:
        products, normalization, loss, rest, update, batches = self.PARTS
        if function == "_multiply_each_scheme" or (operation == "matmul" and function == "_compute_gradients"):
            return products
        if file.endswith("gradient.py") or function in ("forward", "backward", "_apply_forms", "_round_to_dtype"):
            return normalization
        if operation in self.LOSS:
            return loss
        if function == "__call__" and file.endswith("stack.py"):
            return batches
        return rest if function == "_compute_gradients" else update


def profile(case: Case, steps: int, rounds: int) -> dict[str, float]:
    """Milliseconds of the engine's steps: all, and inside of torch by part, where the clock's own time is left out."""
    schemes, setting = set_up(case, "cpu", steps)
    found = defaultdict(list)
    for number in range(2 * (rounds + 1)):
        problem, clock = make_problem(setting, TWINS), Clock()
        with torch.inference_mode():
            data, stack = PreparedProblem.of(problem, torch.device("cpu"), torch.float64).build_stack(schemes, setting)
            begin = perf_counter()
            with clock if number % 2 else nullcontext():
                for step in range(steps):
                    stack.step(*data(step))
        spent = clock.seconds if number % 2 else {"all": perf_counter() - begin}
        for part, seconds in spent.items():
            found[part].append(seconds * 1000)
    missed = [part for part, values in found.items() if not all(values)]
    if missed:
        raise SystemExit(
            f"No time for {', '.join(missed)}: Clock tells parts by names of functions; have they changed?"
        )
    return {part: median(values[1:]) for part, values in found.items()}


def spread(values: Iterable[float]) -> str:
    """Median, least and most."""
    values = sorted(values)
    return f"{median(values):.1f} ({values[0]:.1f}–{values[-1]:.1f})"


def show(title: str, rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table, row by row; the first row is its head."""
    print(f"\n**{title}**\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if number == 0:
            print("|" + "---|" * len(row))


def words(case: Case, threads: int) -> list[str]:
    """Return a case as cells of a table."""
    count = len(case.schemes)
    return [case.layer, f"{count} × {len(TWINS)}", str(case.width), str(case.batch), str(threads)]


HEAD = ["layer", "schemes × networks", "width", "batch", "threads"]
EXCLUDED = "losses not compared"


def comparison(cases: Sequence[Case], threads: Sequence[int], steps: int, rounds: int) -> Iterable:
    """Yield a row per case and number of threads."""
    yield [
        *HEAD,
        *(f"{name}, ms" for name in CONTENDERS),
        *(f"{name} / engine" for name in list(CONTENDERS)[1:]),
        EXCLUDED,
    ]
    for case in cases:
        for count in threads:
            times, excluded = compare(case, count, steps, rounds)
            ratios = ([a / b for a, b in zip(times[n], times["engine"], strict=True)] for n in list(CONTENDERS)[1:])
            yield [*words(case, count), *(f"{median(t):.0f}" for t in times.values()), *map(spread, ratios), excluded]


def parts(cases: Sequence[Case], steps: int, rounds: int) -> Iterable:
    """Yield the shares of the engine's time inside of torch, on one thread, and the price of the calls themselves.

    The price of the calls, Python's and torch's, is the time of the same steps with next to nothing to compute.
    """
    torch.set_num_threads(1)
    yield [*HEAD, "all, ms", "of it calls: width 2, batch 2", *Clock.PARTS]
    for case in cases:
        times, calls = (profile(size, steps, rounds) for size in (case, replace(case, width=2, batch=2)))
        whole, inside = times["all"], sum(times[part] for part in Clock.PARTS)
        shares = (f"{times[part] / inside:.0%}" for part in Clock.PARTS)
        yield [*words(case, 1), f"{whole:.0f}", f"{calls['all'] / whole:.0%}", *shares]


def main() -> None:
    """Measure and print tables for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", action="store_true", help="two steps of small networks: does it run to its end?")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2], help="of the paper's schemes; the rest has one"
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="(?s).*batching rule")  # of torch.func, about weight_norm
    groups, steps, rounds, threads = CASES, 100, options.rounds, options.threads
    if options.smallest:
        groups, steps, rounds, threads = SMALLEST, 2, 1, [1]
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start;")
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}; {steps} steps, float64, SGD, {rounds} rounds."
    )
    for number, (title, cases) in enumerate(groups.items()):
        show(title, comparison(cases, threads if number == 0 else (1,), steps, rounds))
        if number == 0:
            show("where the engine's time goes", parts(cases, steps, rounds))


if __name__ == "__main__":
    main()
