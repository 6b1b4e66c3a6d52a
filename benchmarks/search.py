"""Does Table 1 ever say what is not so? `.venv/bin/python benchmarks/search.py [--cells N] [--seed 0] [--schemes K,K]`.

Random settings: every type, optimizer, depth and layer, δ from 1e-3 to 1e3, near 1 and 1 itself, ε of 0 and more, small
batches and widths, every scheme and fields of one's own, also behind a scheme of the weights. Each cell's answers are
held against arithmetic that shares nothing with the app's (`exact.py`). An answer that contradicts it is listed with
the link that shows it, and makes the exit code 1. What cannot be told is not told, so how often that is the case is
counted too.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from urllib.parse import urlencode

import numpy as np
import paths  # noqa: F401  (normviz and the helpers of the tests)
from exact import exact_gaps

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, Scheme, get_scheme
from normviz.core.settings import get_declarations
from normviz.core.transformations import OPTIMIZERS
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.table import Cell, build_cells
from normviz.train.setting import DTYPES, Setting
from normviz.ui import custom
from normviz.ui.custom import WEIGHT_SCHEME_LABELS

EQUAL = 1e-13
"""An exact gap up to this is none; the smallest change that is drawn, of 1e-6, leaves 1e-9 at least."""

FADED = 1e-6
"""How far, relative, the app's own arithmetic of a fade may be from the exact one."""

NEAR_ONE = (1.0, 1.0001, 0.9999, 1 + 1e-6, 1 - 1e-6, 1.01, 0.99, 1.1, 0.9)
RULES = ("own", "full", "groups(2)", "window(1)", "window(2)")
AT_ONCE = 4
"""Schemes that are trained together in a setting."""


def draw_setting(rng: np.random.Generator) -> Setting:
    """Draw a small setting; three in four δ are spread from 1e-3 to 1e3, the others are 1 or near."""
    layer = str(rng.choice(["dense", "conv"]))
    return Setting(
        layer=layer,
        delta=float(10 ** rng.uniform(-3, 3) if rng.random() < 0.75 else rng.choice(NEAR_ONE)),
        eps=0.0 if rng.random() < 0.6 else float(10 ** rng.uniform(-12, 1)),
        dtype=str(rng.choice(DTYPES)),
        optimizer=str(rng.choice(OPTIMIZERS)),
        steps=int(rng.integers(1, 25)),
        batch=int(rng.choice([2, 3, 4, 8, 16, 32])),
        width=int(rng.choice([2, 4, 6, 8, 16] if layer == "dense" else [2, 4, 6])),
        depth=int(rng.choice([1, 1, 1, 2, 3, 4])),
        seed=int(rng.integers(10_000)),
        device="cpu",
    )


def draw_field(rng: np.random.Generator) -> Field:
    """Four rules."""
    return Field.parse(",".join(rng.choice(RULES, p=(0.3, 0.4, 0.1, 0.1, 0.1)) for _ in range(4)))


def draw_schemes(rng: np.random.Generator, setting: Setting, keys: Sequence[str] = ()) -> list[Scheme]:
    """Return schemes that fit a setting: those with `keys`, or half of them named, half with fields of one's own."""
    if keys:
        drawn = [get_scheme(key, groups=int(rng.choice([1, 2])), radius=int(rng.integers(1, 4))) for key in keys]
        return [scheme for scheme in drawn if fits(scheme, setting)]
    named = rng.choice([key for key in SCHEMES if key != "custom"], AT_ONCE // 2, replace=False)
    drawn = [get_scheme(str(key), radius=int(rng.integers(1, 4))) for key in named]
    for _ in range(AT_ONCE - len(drawn)):
        field = draw_field(rng)
        a = field if rng.random() < 0.75 else None
        b = field if rng.random() < 0.6 else draw_field(rng) if rng.random() < 0.5 else None
        front = str(rng.choice(list(WEIGHT_SCHEME_LABELS))) if rng.random() < 0.5 else "none"
        drawn.append(SCHEMES["custom"].with_fields(a, b).with_weight_scheme(None if front == "none" else front))
    return [scheme for scheme in drawn if fits(scheme, setting)]


def fits(scheme: Scheme, setting: Setting) -> bool:
    """Return True if the scheme's fields fit every layer."""
    try:
        setting.check([scheme])
    except InvalidInput:
        return False
    return True


def contradictions(cell: Cell, exact: float) -> Iterator[str]:
    """Yield the answers of a cell that `exact`, the gap in exact arithmetic, contradicts."""
    if cell.degenerate is not None:
        return
    if cell.unchanged:
        if (cell.forward, cell.trained, cell.invariant) != (None, None, None):
            yield "an answer where nothing was changed"
        return
    same = exact <= EQUAL
    if not cell.fades and cell.predicted != same:
        yield "predicted"
    if cell.fades and abs(cell.fade - exact) > FADED * exact + EQUAL:
        yield "fade"
    if cell.forward not in (None, same):
        yield "forward"
    if cell.trained not in (None, same and not cell.parted_by_rate):
        yield "trained"
    if not cell.agrees:
        yield "disagree"


def link(scheme: Scheme, setting: Setting, change: str, follow: bool) -> str:
    """Return the link of a cell's page."""
    found = {
        name: declared.format_for_link(vars(setting)[name]) for name, declared in get_declarations(Setting).items()
    }
    found |= {"schemes": scheme.key, "cell": f"{scheme.key}.{change}", "follow": str(int(follow))}
    found |= {name: str(scheme.parameters[kind]) for kind, name in KINDS.items() if kind in scheme.parameters}
    if scheme.key == "custom":
        found |= custom.make_custom_parameters(scheme)
    return f"/invariance?{urlencode(found)}"


KINDS = {"groups": "groups", "window": "radius"}


def main() -> int:
    """Print what was found, as tables for benchmarks/README.md; 1 where something was contradicted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schemes", default="", help="only these, by their keys with commas between; default: any")
    parser.add_argument("--smallest", action="store_true", help="some 300 cells: does it run to its end?")
    options = parser.parse_args()
    wanted, rng = 300 if options.smallest else options.cells, np.random.default_rng(options.seed)
    keys = [key for key in options.schemes.split(",") if key]
    counts: dict[str, Counter] = defaultdict(Counter)
    wrong, done, start = [], 0, perf_counter()
    while done < wanted:
        setting, follow = draw_setting(rng), bool(rng.random() < 0.8)
        for scheme, cells in searched(draw_schemes(rng, setting, keys), setting, follow):
            exact = exact_gaps(scheme, setting)
            for cell in cells:
                found = list(contradictions(cell, exact[cell.transformation]))
                count(counts[setting.dtype], cell, found)
                wrong += [(", ".join(found), link(scheme, setting, cell.transformation, follow))] if found else []
            done += len(cells)
    print_counts(counts)
    for what, where in wrong:
        print(f"{what}: {where}")
    print(f"\n{done:,} cells, seed {options.seed}, {perf_counter() - start:.0f} s; contradictions: {len(wrong)}")
    return 1 if wrong else 0


def searched(schemes: list[Scheme], setting: Setting, follow: bool) -> Iterator[tuple[Scheme, list[Cell]]]:
    """Every scheme with its cells, trained."""
    if not schemes:
        return
    results = TableResultCache()
    results.compute_missing(schemes, setting)
    for scheme in schemes:
        yield scheme, build_cells([scheme], setting, results, follow)


def count(counter: Counter, cell: Cell, found: list[str]) -> None:
    """Count a cell's answers."""
    counter["cells"] += 1
    counter["contradictions"] += bool(found)
    if cell.degenerate is not None or cell.unchanged:
        counter["meaningless"] += 1
        return
    for what, answer in (("forward", cell.forward), ("trained", cell.trained)):
        counter[f"{what} {ANSWERS[answer]}"] += 1


ANSWERS = {True: "yes", False: "no", None: "no answer"}
COLUMNS = (
    "cells", "meaningless", *(f"{what} {said}" for what in ("forward", "trained") for said in ANSWERS.values()),
    "contradictions",
)  # fmt: skip


def print_counts(counts: dict[str, Counter]) -> None:
    """Print a row per type."""
    print(f"| type | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for dtype in DTYPES:
        print(f"| {dtype} | {' | '.join(str(counts[dtype][column]) for column in COLUMNS)} |")


if __name__ == "__main__":
    sys.exit(main())
