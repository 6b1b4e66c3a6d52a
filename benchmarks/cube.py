"""How long the cube takes to be drawn: normviz's component against `st.plotly_chart` with the same figure.

`make bench`, or `.venv/bin/python benchmarks/cube.py --rounds 3`. benchmarks/README.md says what is measured.
"""

import argparse
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from math import prod
from statistics import median
from time import perf_counter

import paths  # noqa: F401  (normviz and the helpers of the tests)
from browsing import browser, served
from playwright.sync_api import Browser
from visit import Visit

from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.schemes import get_scheme
from normviz.cube import figure as cube
from normviz.cube.layout import surface
from normviz.data.samples import SAMPLES

SHAPES: tuple[Shape, ...] = ((4, 4, 4, 6), (8, 8, 8, 8), (16, 8, 8, 64))
SLAB: Shape = (1, 1, 80, 76)
"""About as many faces as the largest, with a tenth of its elements: does time follow the surface?"""
KINDS = {"A": "component", "B": "st.plotly_chart", "lab": "whole lab page", "echo": "text echo"}
CASES = [(SHAPES[0], "echo"), *((shape, kind) for shape in SHAPES for kind in ("A", "B", "lab")), (SLAB, "A")]
PRESSES = 2

PARTS = ("server", "mounted", "react", "frames", "ms")

Results = dict[tuple[Shape, str], dict[str, list]]


def main() -> None:
    """Measure in rounds, each kind and size once a round, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    results: Results = defaultdict(lambda: defaultdict(list))
    with ExitStack() as stack:
        page, lab = (stack.enter_context(served(script)) for script in ("benchmarks/cube_page.py", "app.py"))
        chromium = stack.enter_context(browser())
        show("Machine", facts(chromium, rounds))
        _visit(chromium, page, lab, SHAPES[0], "A", defaultdict(list))  # the servers' imports and caches
        _visit(chromium, page, lab, SHAPES[0], "lab", defaultdict(list))
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            for shape, kind in CASES[:: 1 if number % 2 == 0 else -1]:
                _visit(chromium, page, lab, shape, kind, results[shape, kind])
    report(results)


def _visit(chromium: Browser, page: str, lab: str, shape: Shape, kind: str, found: dict[str, list]) -> None:
    """Open a page with an empty cache, open it again, press keys, and move the pointer."""
    sizes = ",".join(map(str, shape))
    modes = {"A": "component", "B": "chart", "echo": "echo"}
    url = f"{page}/?mode={modes.get(kind)}&shape={sizes}"
    if kind == "lab":
        url = f"{lab}/?colour=value&view=folded&" + "&".join(
            f"{axis}={n}" for axis, n in zip("nhwc", shape, strict=True)
        )
    with Visit(chromium, url, echo=kind == "echo") as visit:
        found["cold"].append(visit.open())
        if kind != "echo":
            found["warm"].append(visit.open())
            found["canvas"] = [visit.canvas()]
        found["press"] += [visit.press() for _ in range(PRESSES)]
        if kind in ("A", "lab"):
            found["hover"] += visit.hover()


def facts(chromium: Browser, rounds: int) -> list[list[str]]:
    """What the numbers depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("streamlit", "plotly", "playwright", "numpy"))
    return [
        ["what", "value"],
        ["processor", f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start"],
        ["browser", f"Chromium {chromium.version}, headless, WebGL in software (SwiftShader), 1280 × 900"],
        ["Python", f"{platform.python_version()}, {packages}"],
        ["repeats", f"{rounds} rounds; {PRESSES} key presses, one cold and one warm visit a round"],
    ]


def report(results: Results) -> None:
    """All tables."""
    show("From key press to drawn frame, ms: median (least–most)", list(_presses(results)))
    show("Where the time of a key press goes, ms: medians", list(_parts(results)))
    show("First cube, from the start of the navigation, ms: median (least–most)", list(_first(results)))
    show("Bytes, kB: medians", list(_bytes(results)))
    show("From a move of the pointer to the highlight, ms: median (least–most)", list(_hover(results)))
    show("Python alone, ms: medians of 9", list(_python()))


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """A markdown table; the first row is its head."""
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
    _, faces = surface("folded", shape)
    return [f"{prod(shape):,} {shape}", f"{len(faces.cells):,}"]


def _column(results: Results, shape: Shape, kind: str, name: str, key: str) -> list[float]:
    return [sample[key] for sample in results[shape, kind][name] if sample.get(key) is not None]


def _presses(results: Results) -> Iterable[list[str]]:
    names = [f"{kind}: {name}" if len(kind) == 1 else name for kind, name in KINDS.items()]
    yield ["elements", "faces", *names, "B / A", "B / A by round", "graph stays: A, B"]
    for shape in (*SHAPES, SLAB):
        times = {kind: _column(results, shape, kind, "press", "ms") for kind in KINDS}
        row = [*_size(shape), *(spread(times[kind]) for kind in KINDS)]
        if times["B"]:
            ratios = [sum(b) / sum(a) for a, b in zip(_by_round(times["A"]), _by_round(times["B"]), strict=True)]
            row.append(f"{median(times['B']) / median(times['A']):.1f}")
            row.append(f"{median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})")
            row.append(", ".join("yes" if all(_column(results, shape, k, "press", "same")) else "no" for k in "AB"))
        yield row + ["–"] * (2 + len(KINDS) + 3 - len(row))


def _by_round(times: list[float]) -> list[list[float]]:
    return [times[first : first + PRESSES] for first in range(0, len(times), PRESSES)]


def _parts(results: Results) -> Iterable[list[str]]:
    yield ["elements", "page", "until the data arrive", "until Plotly.react", "Plotly.react", "then until drawn", "all"]
    for shape in SHAPES:
        for kind in ("A", "B", "lab"):
            parts = [_column(results, shape, kind, "press", key) for key in PARTS]
            yield [_size(shape)[0], KINDS[kind], *(f"{median(part):.0f}" if part else "–" for part in parts)]


def _first(results: Results) -> Iterable[list[str]]:
    kinds = ("A", "B", "lab")
    yield ["elements", *(f"{KINDS[kind]}, {cache}" for kind in kinds for cache in ("cold", "warm")), "canvas A, lab"]
    for shape in SHAPES:
        times = [spread(_column(results, shape, kind, cache, "ms")) for kind in kinds for cache in ("cold", "warm")]
        canvases = "; ".join(results[shape, kind]["canvas"][0] for kind in ("A", "lab"))
        yield [_size(shape)[0], *times, canvases]


def _bytes(results: Results) -> Iterable[list[str]]:
    kinds = ("A", "B", "lab")
    cases = [("cold", "http", "HTTP, cold"), ("warm", "http", "HTTP, warm"), ("cold", "socket", "websocket, at first")]
    cases.append(("press", "socket", "websocket, a change"))
    yield ["elements", "page", *(words for _, _, words in cases)]
    for shape in SHAPES:
        for kind in kinds:
            sizes = [median(_column(results, shape, kind, name, key)) / 1000 for name, key, _ in cases]
            yield [_size(shape)[0], KINDS[kind], *(f"{size:,.0f}" for size in sizes)]


def _hover(results: Results) -> Iterable[list[str]]:
    yield ["elements", "page", "drawing commands sent", "next frame, drawing finished", "moves"]
    for shape in (*SHAPES, SLAB):
        for kind in ("A", "lab"):
            times = [_column(results, shape, kind, "hover", key) for key in ("drawn", "done")]
            if not times[0]:
                continue
            yield [_size(shape)[0], KINDS[kind], *map(spread, times), str(len(times[0]))]


def _python() -> Iterable[list[str]]:
    yield ["elements", "tensor and result", "figure", "figure to JSON", "data for the highlights"]
    scheme = get_scheme("batch")
    for shape in (*SHAPES, SLAB):
        x = SAMPLES["uneven"].make(shape, 0)
        result, levels = normalize(x, scheme), cube.value_levels(x)
        figure = cube.cube_figure(shape, "folded", *levels, ("", "", ""))
        steps: list[Callable] = [
            lambda shape=shape: normalize(SAMPLES["uneven"].make(shape, 0), scheme),
            lambda shape=shape, levels=levels: cube.cube_figure(shape, "folded", *levels, ("", "", "")),
            figure.to_json,
            lambda shape=shape, x=x, result=result: cube.hover_data(
                shape, "folded", scheme.field, scheme.summation, x, result.xhat
            ),
        ]
        yield [_size(shape)[0], *(f"{_timed(step):.1f}" for step in steps)]


def _timed(step: Callable) -> float:
    """Median of nine runs in ms."""
    times = []
    for _ in range(9):
        begin = perf_counter()
        step()
        times.append((perf_counter() - begin) * 1000)
    return median(times)


if __name__ == "__main__":
    main()
