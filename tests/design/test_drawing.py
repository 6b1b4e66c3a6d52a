"""Drawings of orders: points apart, lines that cross seldom, and the map as it is drawn."""

from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest

from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.design import figures
from normviz.design.drawing import crossings, drawn
from normviz.design.lattice import Trained, order
from normviz.design.search import WEIGHTS

MAPS = list(product(LAYERS, (*((key,) for key in WEIGHTS), WEIGHTS)))


def random_order(seed):
    rng = np.random.default_rng(seed)
    rows = sorted(int(row) for row in rng.integers(0, 4, 12))
    rows = [sorted({*rows}).index(row) for row in rows]
    lines = [(a, b) for a, b in combinations(range(12), 2) if rows[a] < rows[b] and rng.random() < 0.2]
    return rows, lines


@pytest.mark.parametrize("seed", range(8))
def test_points_and_bends_of_a_row_stand_apart_and_inside(seed):
    rows, lines = random_order(seed)
    drawing = drawn(rows, lines, 20, 5)
    assert [len(bends) for bends in drawing.bends] == [rows[high] - rows[low] - 1 for low, high in lines]
    for row in {*rows}:
        points = [(centre, 20) for centre, its in zip(drawing.centres, rows, strict=True) if its == row]
        bends = [
            (bend[row - rows[low] - 1], 0)
            for (low, high), bend in zip(lines, drawing.bends, strict=True)
            if rows[low] < row < rows[high]
        ]
        stand = sorted(points + bends)
        for (a, one), (b, other) in pairwise(stand):
            assert b - a >= (one + other) / 2 + 5 - 1e-9
        assert stand[0][0] >= stand[0][1] / 2 - 1e-9
        assert stand[-1][0] <= drawing.width - stand[-1][1] / 2 + 1e-9


def test_crossings_are_counted():
    assert crossings([[0, 1], [2, 3]], [(0, 2), (1, 3)]) == 0
    assert crossings([[0, 1], [3, 2]], [(0, 2), (1, 3)]) == 1
    assert crossings([[0, 1], [2, 3]], [(0, 2), (0, 3), (1, 2), (1, 3)]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_of_two_rows_the_order_is_among_the_best(seed):
    rng = np.random.default_rng(seed)
    lines = [(a, b) for a in range(4) for b in range(4, 8) if rng.random() < 0.5]
    drawing = drawn([0] * 4 + [1] * 4, lines, 10, 5)
    low, high = (sorted(some, key=lambda k: drawing.centres[k]) for some in (range(4), range(4, 8)))
    best = min(crossings([a, b], lines) for a in permutations(range(4)) for b in permutations(range(4, 8)))
    assert crossings([low, high], lines) == best


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
@pytest.mark.parametrize("done", [0, 3])
def test_cards_of_the_map_lie_apart_and_hold_their_words(layer, fronts, done):
    every = order(layer, fronts)
    trained = {each: Trained(done - 1, 1, 0, done, 81) for each in every.sets} if done else {}
    data = figures.picture(every, every.sets[-1], trained)
    cards = {each["code"]: each for each in data["cards"]}
    assert cards.keys() == {",".join(each) for each in every.sets}
    for a, b in combinations(cards.values(), 2):
        aside = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
        assert aside or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
    for (code, each), kind in zip(cards.items(), every.kinds, strict=True):
        assert each["x"] >= 0
        assert each["x"] + each["width"] <= data["width"]
        assert each["y"] >= figures.KEY_HEIGHT
        assert each["y"] + each["height"] <= data["height"]
        assert all(text["y"] <= each["height"] for text in each["texts"])
        written = [text["text"] for text in each["texts"]]
        assert f"{kind.schemes:,}" in written
        assert [mark["on"] for mark in each["marks"]] == [key in kind.invariances for key in SHOWN]
        assert ("✘ 1 disagree" in written) == each["alert"] == bool(done)
        assert (each["bar"] is None) == (done == 0)
        higher = [other for other in cards.values() if {*code.split(",")} < {*other["code"].split(",")}]
        assert all(other["y"] < each["y"] for other in higher)
    assert {(line["low"], line["high"]) for line in data["lines"]} == {
        (",".join(a), ",".join(b)) for a, b in every.covers
    }
    for line in data["lines"]:
        low, high = cards[line["low"]], cards[line["high"]]
        assert line["path"].startswith(f"M{low['x'] + low['width'] / 2:g} {low['y']:g}C")
        assert line["path"].endswith(f" {high['x'] + high['width'] / 2:g} {high['y'] + high['height']:g}")


SHOWN = [key for on in ("weights", "data") for key, each in TRANSFORMATIONS.items() if each.on == on]


def test_marks_are_told_apart():
    assert list(figures.SIGNS.values()) == ["δW", "wᵢ+τ", "δwᵢ", "δx", "x+τ", "δxₙ"]
