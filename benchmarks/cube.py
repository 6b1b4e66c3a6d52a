"""How long the cube takes to be drawn: normviz's component against `st.plotly_chart` with the same figure.

`.venv/bin/python benchmarks/cube.py`, a quarter of an hour on a quiet machine; benchmarks/README.md says what is
measured.
"""

import argparse
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from statistics import median
from time import perf_counter

import paths  # noqa: F401  (normviz and the helpers of the tests)
from browsing import browser, served
from meshes import face_count
from playwright.sync_api import Browser
from visit import POINTS, Visit

from normviz.charts import cube
from normviz.charts.cube_layout import compute_layout
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import get_scheme
from normviz.data.samples import SAMPLES
from normviz.topics.lab.stages import MAX_ANIMATED_ELEMENTS

KINDS = {"A": "component", "B": "st.plotly_chart", "lab": "whole lab page", "echo": "text echo"}
PARTS = ("server", "mounted", "react", "frames", "ms")


@dataclass(frozen=True)
class Plan:
    """The measurements and their repetitions."""

    shapes: tuple[Shape, ...] = ((4, 4, 4, 6), (8, 8, 8, 8), (16, 8, 8, 64))
    slab: tuple[Shape, ...] = ((1, 1, 80, 76),)
    """About as many faces as the largest, with a tenth of its elements: does time follow the surface?"""
    rounds: int = 7
    presses: int = 2
    moves: int = len(POINTS)
    warm: bool = True
    """Whether a page is opened again with a filled cache, and each server before the first round."""
    seconds: float = 12
    """For how long the cube is watched as it collapses."""
    runs: int = 9
    """Of what Python does alone."""

    @property
    def visits(self) -> list[tuple[Shape, str]]:
        """The shape and the kind of the pages that are visited in a round."""
        every = [(shape, kind) for shape in self.shapes for kind in ("A", "B", "lab")]
        return [(self.shapes[0], "echo"), *every, *((shape, "A") for shape in self.slab)]


SMALLEST = Plan(Plan.shapes[:1], slab=(), rounds=1, presses=1, moves=1, warm=False, seconds=5, runs=1)

Results = dict[tuple[Shape, str], dict[str, list]]


def main() -> None:
    """Measure in rounds, each kind and size once a round, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=Plan.rounds)
    parser.add_argument("--smallest", action="store_true", help="one shape once: does it run to its end?")
    options = parser.parse_args()
    plan = SMALLEST if options.smallest else Plan(rounds=options.rounds)
    results: Results = defaultdict(lambda: defaultdict(list))
    with ExitStack() as stack:
        servers = [stack.enter_context(served(script)) for script in ("benchmarks/cube_page.py", "app.py")]
        chromium = stack.enter_context(browser())
        show("Machine", facts(chromium, plan))
        for kind in ("A", "lab") if plan.warm else ():
            _visit(chromium, _address(*servers, plan.shapes[0], kind), plan.shapes[0], kind, plan, defaultdict(list))
        for number in range(plan.rounds):
            print(f"round {number + 1} of {plan.rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            for shape, kind in plan.visits[:: 1 if number % 2 == 0 else -1]:
                _visit(chromium, _address(*servers, shape, kind), shape, kind, plan, results[shape, kind])
    report(results, plan)


def _address(page: str, lab: str, shape: Shape, kind: str) -> str:
    """Return the link that shows a shape: on the page with the cube alone, or in the lab."""
    if kind == "lab":
        sizes = "&".join(f"{axis}={n}" for axis, n in zip("nhwc", shape, strict=True))
        return f"{lab}/?colour=value&view=folded&{sizes}"
    mode = {"A": "component", "B": "chart", "echo": "echo"}[kind]
    return f"{page}/?mode={mode}&shape={','.join(map(str, shape))}"


def _visit(chromium: Browser, url: str, shape: Shape, kind: str, plan: Plan, found: dict[str, list]) -> None:
    """Open a page with an empty cache, open it again, press keys, move the pointer, and watch."""
    with Visit(chromium, url, echo=kind == "echo") as visit:
        found["cold"].append(visit.open())
        if kind != "echo":
            found["warm"] += [visit.open()] if plan.warm else []
            found["canvas"] = [visit.canvas()]
        found["press"] += [visit.press() for _ in range(plan.presses)]
        if kind in ("A", "lab"):
            found["hover"] += visit.hover(plan.moves)
        if kind == "lab" and prod(shape) <= MAX_ANIMATED_ELEMENTS:
            found["play"].append({"frames": visit.play(plan.seconds)})


def facts(chromium: Browser, plan: Plan) -> list[list[str]]:
    """Return a table of what the numbers depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("streamlit", "plotly", "playwright", "numpy"))
    visits = "one cold and one warm visit" if plan.warm else "one cold visit"
    return [
        ["what", "value"],
        ["processor", f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start"],
        ["browser", f"Chromium {chromium.version}, headless, WebGL in software (SwiftShader), 1280 × 900"],
        ["Python", f"{platform.python_version()}, {packages}"],
        ["repeats", f"{plan.rounds} rounds; {plan.presses} key presses, {visits} a round"],
    ]


def report(results: Results, plan: Plan) -> None:
    """Print all tables."""
    show("From key press to drawn frame, ms: median (least–most)", list(_presses(results, plan)))
    show("Where the time of a key press goes, ms: medians", list(_parts(results, plan)))
    show("First cube, from the start of the navigation, ms: median (least–most)", list(_first(results, plan)))
    show("Bytes, kB: medians", list(_bytes(results, plan)))
    show("From a move of the pointer to the highlight, ms: median (least–most)", list(_hover(results, plan)))
    show("Frames a second while the cube collapses: median (least–most)", list(_play(results, plan)))
    show(f"Python alone, ms: medians of {plan.runs}", list(_python(plan)))


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table; the first row is its head."""
    print(f"\n**{title}**\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))
    sys.stdout.flush()


def spread(values: Iterable[float]) -> str:
    """Median, least and most."""
    values = list(values)
    return f"{median(values):.0f} ({min(values):.0f}–{max(values):.0f})" if values else "–"


def _size(shape: Shape) -> list[str]:
    return [f"{prod(shape):,} {shape}", f"{face_count(compute_layout('folded', shape)):,}"]


def _column(results: Results, shape: Shape, kind: str, name: str, key: str) -> list[float]:
    return [sample[key] for sample in results[shape, kind][name] if sample.get(key) is not None]


def _presses(results: Results, plan: Plan) -> Iterable[list[str]]:
    names = [f"{kind}: {name}" if len(kind) == 1 else name for kind, name in KINDS.items()]
    yield ["elements", "faces", *names, "B / A", "B / A by round", "graph stays: A, B"]
    for shape in (*plan.shapes, *plan.slab):
        times = {kind: _column(results, shape, kind, "press", "ms") for kind in KINDS}
        row = [*_size(shape), *(spread(times[kind]) for kind in KINDS)]
        if times["B"]:
            ratios = [
                sum(b) / sum(a) for a, b in zip(_by_round(times["A"], plan), _by_round(times["B"], plan), strict=True)
            ]
            row.append(f"{median(times['B']) / median(times['A']):.1f}")
            row.append(f"{median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})")
            row.append(", ".join("yes" if all(_column(results, shape, k, "press", "same")) else "no" for k in "AB"))
        yield row + ["–"] * (2 + len(KINDS) + 3 - len(row))


def _by_round(times: list[float], plan: Plan) -> list[list[float]]:
    return [times[first : first + plan.presses] for first in range(0, len(times), plan.presses)]


def _parts(results: Results, plan: Plan) -> Iterable[list[str]]:
    yield ["elements", "page", "until the data arrive", "until Plotly.react", "Plotly.react", "then until drawn", "all"]
    for shape in plan.shapes:
        for kind in ("A", "B", "lab"):
            parts = [_column(results, shape, kind, "press", key) for key in PARTS]
            yield [_size(shape)[0], KINDS[kind], *(f"{median(part):.0f}" if part else "–" for part in parts)]


def _first(results: Results, plan: Plan) -> Iterable[list[str]]:
    kinds = ("A", "B", "lab")
    yield ["elements", *(f"{KINDS[kind]}, {cache}" for kind in kinds for cache in ("cold", "warm")), "canvas A, lab"]
    for shape in plan.shapes:
        times = [spread(_column(results, shape, kind, cache, "ms")) for kind in kinds for cache in ("cold", "warm")]
        canvases = "; ".join(results[shape, kind]["canvas"][0] for kind in ("A", "lab"))
        yield [_size(shape)[0], *times, canvases]


def _bytes(results: Results, plan: Plan) -> Iterable[list[str]]:
    kinds = ("A", "B", "lab")
    cases = [("cold", "http", "HTTP, cold"), ("warm", "http", "HTTP, warm"), ("cold", "socket", "websocket, at first")]
    cases.append(("press", "socket", "websocket, a change"))
    yield ["elements", "page", *(words for _, _, words in cases)]
    for shape in plan.shapes:
        for kind in kinds:
            sizes = [_column(results, shape, kind, name, key) for name, key, _ in cases]
            yield [_size(shape)[0], KINDS[kind], *(f"{median(size) / 1000:,.0f}" if size else "–" for size in sizes)]


def _hover(results: Results, plan: Plan) -> Iterable[list[str]]:
    yield ["elements", "page", "drawing commands sent", "next frame, drawing finished", "moves"]
    for shape in (*plan.shapes, *plan.slab):
        for kind in ("A", "lab"):
            times = [_column(results, shape, kind, "hover", key) for key in ("drawn", "done")]
            if not times[0]:
                continue
            yield [_size(shape)[0], KINDS[kind], *map(spread, times), str(len(times[0]))]


def _play(results: Results, plan: Plan) -> Iterable[list[str]]:
    yield ["elements", "frames a second"]
    for shape in plan.shapes:
        frames = _column(results, shape, "lab", "play", "frames")
        if frames:
            yield [_size(shape)[0], spread(frames)]


def _python(plan: Plan) -> Iterable[list[str]]:
    yield ["elements", "tensor and result", "figure", "figure as bytes", "data for the highlights"]
    scheme = get_scheme("batch")
    for shape in (*plan.shapes, *plan.slab):
        x = SAMPLES["uneven"].make(shape, 0)
        result, levels = normalize(x, scheme), cube.compute_value_levels(x)
        figure = cube.draw_cube(compute_layout("folded", shape), *levels)
        steps: list[Callable] = [
            lambda shape=shape: normalize(SAMPLES["uneven"].make(shape, 0), scheme),
            lambda shape=shape, levels=levels: cube.draw_cube(compute_layout("folded", shape), *levels),
            figure.to_message,
            lambda shape=shape, x=x, result=result: cube.build_hover_data(
                compute_layout("folded", shape), [(scheme.field, scheme.summation)], x, [result.xhat]
            ),
        ]
        yield [_size(shape)[0], *(f"{_timed(step, plan.runs):.1f}" for step in steps)]


def _timed(step: Callable, runs: int) -> float:
    """Median of some runs in ms."""
    times = []
    for _ in range(runs):
        begin = perf_counter()
        step()
        times.append((perf_counter() - begin) * 1000)
    return median(times)


if __name__ == "__main__":
    main()
