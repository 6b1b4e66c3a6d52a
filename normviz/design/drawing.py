"""A drawing of an order: points in rows, lines from row to row that cross seldom, nothing on top of anything else.

As Sugiyama, Tagawa & Toda 1981 have it: a line across several rows has a bend in each, which takes its place there like
a point; the rows are sorted by the means of their neighbours' places, and then moved where that is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from random import Random

ROUNDS = 12
"""How often the rows are gone through; then nothing moves any more in orders of some twenty points."""


STARTS = 16
"""From how many orders of the rows that is tried: the same ones every time."""


@dataclass(frozen=True)
class Drawing:
    """Where everything is.

    Attributes:
        width: of all.
        centres: of every point, from the left.
        bends: of every line, its place in each of the rows that it only passes.
    """

    width: float
    centres: tuple[float, ...]
    bends: tuple[tuple[float, ...], ...]


def drawn(rows: Sequence[int], lines: Sequence[tuple[int, int]], size: float, gap: float, bend: float = 0.0) -> Drawing:
    """Place points and lines.

    Args:
        rows: of every point, from 0 at the bottom.
        lines: from a point to one in a higher row, by their numbers.
        size: the width of a point; gap: what is at least between two; bend: the width of a bend.
    """
    where, bends = [*rows], []
    links: list[tuple[int, int]] = []
    for low, high in lines:
        passed = list(range(len(where), len(where) + rows[high] - rows[low] - 1))
        where += range(rows[low] + 1, rows[high])
        links += pairwise((low, *passed, high))
        bends.append(passed)
    widths = [size] * len(rows) + [bend] * (len(where) - len(rows))
    order = _sorted([[k for k, row in enumerate(where) if row == each] for each in range(max(where) + 1)], links)
    total = max(_packed(row, widths, gap) for row in order)
    centres = _placed(order, links, widths, gap, total)
    return Drawing(
        total,
        tuple(centres[: len(rows)]),
        tuple(tuple(centres[k] for k in passed) for passed in bends),
    )


def crossings(order: Sequence[Sequence[int]], links: Sequence[tuple[int, int]]) -> int:
    """How many pairs of lines between neighbouring rows cross; `order`: the points of every row from the left."""
    place = {k: (row, at) for row, points in enumerate(order) for at, k in enumerate(points)}
    between = [(place[low], place[high]) for low, high in links]
    return sum(a[0] == c[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0 for (a, b), (c, d) in combinations(between, 2))


def _sorted(order: list[list[int]], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The rows, each sorted so that few lines cross."""
    found = []
    for start in range(STARTS):
        now = [Random(start).sample(row, len(row)) for row in order]
        for number in range(ROUNDS):
            now = _by_neighbours(now, links, upwards=number % 2 == 0)
        found.append(_moved(now, links))
    return min(found, key=lambda each: crossings(each, links))


def _by_neighbours(order: list[list[int]], links: Sequence[tuple[int, int]], upwards: bool) -> list[list[int]]:
    """The rows one after the other, each sorted by the mean place of its neighbours in the row before."""
    now = [list(row) for row in order]
    for row in now[1:] if upwards else now[-2::-1]:
        place = {k: at for points in now for at, k in enumerate(points)}
        mean = {k: _mean([place[n] for n in _neighbours(k, links, upwards)], place[k]) for k in row}
        row.sort(key=mean.__getitem__)
    return now


def _moved(order: list[list[int]], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Points moved to other places of their rows for as long as fewer lines cross."""
    now, least, before = [list(row) for row in order], crossings(order, links), -1
    while before != least > 0:
        before = least
        for row in now:
            for point in sorted(row):
                here = row.index(point)
                row.remove(point)
                counts = []
                for place in range(len(row) + 1):
                    row.insert(place, point)
                    counts.append(crossings(now, links))
                    row.remove(point)
                best = min(counts)
                row.insert(counts.index(best) if best < least else here, point)
                least = min(best, least)
    return now


def _placed(
    order: list[list[int]], links: Sequence[tuple[int, int]], widths: Sequence[float], gap: float, total: float
) -> list[float]:
    """The centre of every point: near those of its neighbours, in the order of its row, and inside of the whole."""
    centres = [total / 2] * len(widths)
    for number in range(2 * ROUNDS):
        for row in order if number % 2 else order[::-1]:
            near = [(*_neighbours(k, links, True), *_neighbours(k, links, False)) for k in row]
            wanted = [_mean([centres[n] for n in each], centres[k]) for k, each in zip(row, near, strict=True)]
            for k, centre in zip(row, _apart(wanted, [widths[k] for k in row], gap, total), strict=True):
                centres[k] = centre
    return centres


def _apart(wanted: Sequence[float], widths: Sequence[float], gap: float, total: float) -> list[float]:
    """Centres as near as can be to those wanted, in this order, with a gap between them, from 0 to `total`.

    Less what lies before each, they may only rise: pooling neighbours that fall gives the least squares.
    """
    before = [0.0]
    for a, b in pairwise(widths):
        before.append(before[-1] + (a + b) / 2 + gap)
    pools: list[tuple[float, int]] = []
    for each, offset in zip(wanted, before, strict=True):
        pools.append((each - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, many), (other, more) = pools.pop(-2), pools.pop()
            pools.append(((one * many + other * more) / (many + more), many + more))
    low, high = widths[0] / 2, total - before[-1] - widths[-1] / 2
    risen = [min(max(value, low), high) for value, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(risen, before, strict=True)]


def _packed(row: Sequence[int], widths: Sequence[float], gap: float) -> float:
    """The width of a row without more room than the gaps."""
    return sum(widths[k] for k in row) + gap * (len(row) - 1)


def _neighbours(point: int, links: Sequence[tuple[int, int]], below: bool) -> list[int]:
    """The points right below or above one."""
    return [a if below else b for a, b in links if (b if below else a) == point]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
