"""How long the networks of Table 1 take to train: by the engine, JAX, `torch.func`, `torch.compile` and modules.

`.venv/bin/python benchmarks/table1.py`, twenty minutes on a quiet machine. Every contender trains the same seven
networks of every scheme (the original and its six twins) from the same numbers on the same mini-batches, and has to
reach the same losses.
"""

import argparse
import os
import platform
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from itertools import dropwhile
from statistics import median
from time import perf_counter, process_time

import paths  # noqa: F401  (normviz and the helpers of the tests)
import torch
from contenders import (
    AGREE,
    ALL,
    CONTENDERS,
    PAPER,
    TWINS,
    Case,
    find_contenders,
    find_stable_schemes,
    name_excluded,
    require_equal_losses,
    set_up,
)
from torch.overrides import TorchFunctionMode

from normviz.train import compiled, cost
from normviz.train.problem import make_problem
from normviz.train.twins import PreparedProblem

CASES = {
    "the paper's schemes": (Case(), Case("conv", width=8), Case("conv")),
    "width": tuple(Case(width=width) for width in (16, 32, 64, 128)),
    "batch": tuple(Case(batch=batch) for batch in (16, 32, 128)),
    "number of networks": (*(Case(schemes=ALL[:n]) for n in (1, 3, 6, len(ALL))), Case("conv", ALL, width=8)),
}
FEW = (*PAPER, "spectral")
SMALLEST = {"the smallest": (Case(schemes=FEW, width=6, batch=8), Case("conv", FEW, width=6, batch=8))}


AGREE_IN_FLOAT32 = 1e-3
"""Largest relative difference between the losses of two contenders in float32; measured: 1e-6."""


def compare(
    case: Case, threads: int, steps: int, rounds: int, dtype: str = "float64"
) -> tuple[dict[str, list[float]], str]:
    """Time every contender in every round, in alternating order; the first round compiles and warms up.

    Returns the milliseconds by contender and round, and the schemes whose losses are not compared. On one thread these
    are of processor time, which other processes change less. Exits where losses differ.
    """
    clock = process_time if threads == 1 else perf_counter
    problem, times = set_up(case, "cpu", steps, dtype), defaultdict(list)
    stable = find_stable_schemes(*set_up(case, "cpu", steps))
    names = find_contenders(case, dtype)
    for number in range(rounds + 1):
        losses = {}
        for name in names[:: -1 if number % 2 else 1]:
            begin = clock()
            losses[name] = CONTENDERS[name](*problem)
            times[name].append((clock() - begin) * 1000)
        require_equal_losses(losses, "engine", stable, steps, AGREE if dtype == "float64" else AGREE_IN_FLOAT32)
    return {name: times[name] for name in names}, name_excluded(case, stable)


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
COMPILERS = ("JAX", "torch.compile")


def comparison(cases: Sequence[Case], threads: int, steps: int, rounds: int, dtype: str = "float64") -> Iterable:
    """Yield a row per case: the engine's time and share of the peak, and the others' as ratios in the same round."""
    others = [name for name in CONTENDERS if name in {n for case in cases for n in find_contenders(case, dtype)}][1:]
    first = [name for name in COMPILERS if name in others]
    yield [
        *HEAD, "engine, ms", "of the peak", *(f"{name} / engine" for name in others),
        *(f"first call of {name}, s" for name in first), EXCLUDED,
    ]  # fmt: skip
    peak = measure_product(getattr(torch, dtype))
    for case in cases:
        times, excluded = compare(case, threads, steps, rounds, dtype)
        warm = {name: values[1:] for name, values in times.items()}
        ratios = (
            spread(a / b for a, b in zip(warm[name], warm["engine"], strict=True)) if name in warm else "–"
            for name in others
        )
        share = count_operations(case, steps) / (median(warm["engine"]) / 1000) / peak
        calls = (f"{times[name][0] / 1000:.1f}" if name in times else "–" for name in first)
        yield [*words(case, threads), f"{median(warm['engine']):.1f}", f"{share:.0%}", *ratios, *calls, excluded]


def count_operations(case: Case, steps: int) -> float:
    """Return the number of additions and multiplications in matrix products of all networks."""
    schemes, setting = set_up(case, "cpu", steps)
    sizes = cost.compute_tensor_sizes(setting)
    network = 2 * (2 * setting.width * sizes.patches[0] + 3 * 10 * sizes.sums[0])  # no gradient of the first inputs
    return steps * len(schemes) * len(TWINS) * network


def measure_product(dtype: torch.dtype) -> float:
    """Return the operations a second of a product of two large matrices: the peak that a share refers to."""
    x = torch.ones(1024, 1024, dtype=dtype)
    return 2 * 1024**3 / min(measure_seconds(lambda: x @ x) for _ in range(10))


def measure_copy() -> float:
    """Return the bytes a second, read and written, of a copy of 64 MiB."""
    x = torch.ones(2**23, dtype=torch.float64)
    y = torch.empty_like(x)
    return 2 * 2**26 / min(measure_seconds(lambda: y.copy_(x)) for _ in range(10))


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that a call takes, on one thread."""
    begin = process_time()
    work()
    return (process_time() - begin) / torch.get_num_threads()


def parts(cases: Sequence[Case], steps: int, rounds: int) -> Iterable:
    """Yield the shares of the time of torch alone, on one thread, and the price of the calls themselves.

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
        "--threads", type=int, nargs="+", default=[1, 2], help="with more than one, only the paper's schemes"
    )
    parser.add_argument("--paper", action="store_true", help="only the paper's schemes, in float64")
    parser.add_argument("--without", nargs="+", default=[], choices=list(CONTENDERS)[1:], help="contenders left out")
    options = parser.parse_args()
    for name in options.without:
        del CONTENDERS[name]
    if options.smallest:
        options.threads = [1]
    if len(options.threads) > 1:  # XLA counts its cores once in a process
        for count in options.threads:
            subprocess.run([sys.executable, *without_threads(sys.argv), "--threads", str(count)], check=True)
        return
    (threads,) = options.threads
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    torch.set_num_threads(threads)
    warnings.filterwarnings("ignore", message="(?s).*batching rule")  # of torch.func, about weight_norm
    groups, steps, rounds = CASES, 100, options.rounds
    if options.smallest:
        groups, steps, rounds = SMALLEST, 2, 1
    loading = measure_seconds(compiled.load_kernels)
    products = [measure_product(each) / 1e9 for each in (torch.float64, torch.float32)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "jax", "numba"))
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start; threads: {threads};"
    )
    print(f"Python {platform.python_version()}, {versions}; {steps} steps, SGD, {rounds} rounds, {threads} threads.")
    print(f"Kernels {'loaded' if compiled.get_kernels() else 'missing'} after {loading:.1f} s.")
    print(f"Peaks: products {products[0]:.0f} (float64) and {products[1]:.0f} (float32) GFLOP/s,")
    print(f"copy {measure_copy() / 1e9:.1f} GB/s.")
    for number, (title, cases) in enumerate(groups.items()):
        if number == 0 or (threads == 1 and not options.paper):
            show(title, comparison(cases, threads, steps, rounds))
        if number == 0 and threads == 1 and not options.paper:
            show(f"{title}, float32", comparison(cases, threads, steps, rounds, "float32"))
            show("where the time of torch alone goes", parts(cases, steps, rounds))


def without_threads(arguments: Sequence[str]) -> list[str]:
    """Return command-line arguments without the option --threads and its numbers."""
    if "--threads" not in arguments:
        return list(arguments)
    at = arguments.index("--threads")
    rest = arguments[at + 1 :]
    return [*arguments[:at], *dropwhile(str.isdigit, rest)]


if __name__ == "__main__":
    main()
