"""The report of an experiment: a headline, figures, a table, and a verdict on its claim."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.core.text import capitalize_first, join_words
from normviz.describe.seeds import estimate_band

VerdictKey = Literal["holds", "holds-if", "wrong", "opinion", "open"]
VERDICT_TEXTS: dict[VerdictKey, str] = {
    "holds": "Holds here",
    "holds-if": "Holds under a condition",
    "wrong": "Does not hold here",
    "opinion": "Is not decided by numbers",
    "open": "Is not decided here",
}
"""Texts of the possible verdicts, as words behind "The claim"."""

VERDICT_SIGNS: dict[VerdictKey, str] = {"holds": "✔", "holds-if": "◐", "wrong": "✘", "opinion": "◇", "open": "…"}


@dataclass(frozen=True)
class Verdict:
    """The verdict of an experiment on a claim.

    Attributes:
        word: a key of `VERDICT_TEXTS`.
        says: the reason, in a sentence with numbers.
        condition: the conditions of the numbers, in a sentence.
        why: an explanation that replaces the experiment's.
        extent: where a claim holds that holds under a condition, as words behind "Holds": "for batches of 2".
    """

    word: VerdictKey
    says: str
    condition: str = ""
    why: str = ""
    extent: str = ""

    @property
    def text(self) -> str:
        """The verdict in words, to follow "The claim"; "holds-if" with its extent: "Holds for batches of 2"."""
        return f"Holds {self.extent}" if self.word == "holds-if" and self.extent else VERDICT_TEXTS[self.word]


def describe_extent(signs: Mapping[Any, int], preposition: str = "for", noun: str = "") -> str:
    """Return in words where a claim holds, to follow "Holds": "for batches of 2. For 4, this is not clear".

    `signs`: by name, 1 where the claim holds, 0 where this is unclear, −1 where it does not hold. `noun`: the words
    between the preposition and the first names.

    Example:
        >>> describe_extent({2: 1, 4: 0, 8: -1}, noun="batches of ")
        'for batches of 2. For 4, this is not clear. For 8, it does not hold'
    """
    ends = {1: "", 0: ", this is not clear", -1: ", it does not hold"}
    groups = {sign: [name for name, each in signs.items() if each == sign] for sign in ends}
    parts = [f"{preposition} {join_words(names, 'and')}{ends[sign]}" for sign, names in groups.items() if names]
    return ". ".join([parts[0].replace(" ", f" {noun}", 1), *map(capitalize_first, parts[1:])]) if parts else ""


def combine_verdict_keys(words: Iterable[VerdictKey]) -> VerdictKey:
    """Combine the keys of verdicts: "open" if one is open, the common key if all agree, else "holds-if"."""
    found = set(words)
    if "open" in found:
        return "open"
    return found.pop() if len(found) == 1 else "holds-if"


def judge_signs(signs: Sequence[int]) -> VerdictKey:
    """Return "holds" if all signs of differences are 1, "holds-if" if some are, "wrong" if one is −1, else "open"."""
    return "holds" if min(signs) > 0 else "holds-if" if max(signs) > 0 else "wrong" if min(signs) < 0 else "open"


NOT_TRAINED = Verdict("open", "Not all networks are trained yet.")
"""The verdict before the last network is trained."""


def describe_start(names: Iterable[str]) -> str:
    """Return the headline before the first result: "Training of batch norm has begun." or "Nothing is trained yet."."""
    begun = [*names]
    return f"Training of {join_words(begun, 'and')} has begun." if begun else "Nothing is trained yet."


@dataclass(frozen=True)
class HeatMap:
    """A heat map's numbers (rows, columns) and labels; NaN leaves a cell empty.

    `ends`: the numbers at both ends of the colour scale; `marked`: labels of outlined cells by (row, column);
    `border`: the number of cells to the left of a thick line, in each row.
    """

    title: str
    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    x: str = ""
    y: str = ""
    ends: tuple[float, float] = (0.0, 1.0)
    written: Callable[[float], str] = "{:.2g}".format
    marked: Mapping[tuple[int, int], str] = field(default_factory=dict)
    border: Sequence[int] = ()


@dataclass(frozen=True)
class FigureSpec:
    """Specification of one figure of a report: panels of curves, `columns` in a row, or one heat map.

    `alt` is the figure in words, `caption` the explanation below it.
    """

    key: str
    panels: Sequence[CurvePanel] | HeatMap
    alt: str
    caption: str = ""
    columns: int = 2

    @property
    def curve_panels(self) -> Sequence[CurvePanel]:
        """The panels of curves; none for a heat map."""
        return () if isinstance(self.panels, HeatMap) else self.panels


@dataclass(frozen=True)
class Report:
    """The report of an experiment on the results so far, with all numbers in a table of columns.

    `verdicts`: by id, verdicts on claims that cover only a part of the experiment.
    """

    headline: str
    figures: Sequence[FigureSpec]
    verdict: Verdict
    table: Mapping[str, Sequence[Any]]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    def get_verdict(self, claim: str) -> Verdict:
        """Return the verdict on the claim with this id, by default the one on the whole experiment."""
        return self.verdicts.get(claim, self.verdict)


def make_band_curve(
    name: str,
    x: np.ndarray,
    values: np.ndarray,
    style: int,
    transform: Callable[[np.ndarray], np.ndarray] = np.asarray,
    has_markers: bool = False,
    is_scatter: bool = False,
) -> Curve:
    """Return a curve of the means over the seeds of `values`, (…, seeds), with a band of 95% intervals.

    `transform` is applied to the means and to the ends of the intervals, as `clip_to_percent`. The other arguments are
    those of `Curve`.
    """
    mean, low, high = map(transform, estimate_band(values))
    return Curve(name, x, mean, style, low, high, has_markers, is_scatter)


def make_network_points(place: int, count: int, values: np.ndarray, style: int, mean: float) -> list[Curve]:
    """Return the curves of a category's networks: a point for each of the `values`, (seeds,), and a line at the `mean`.

    Points are in the middle of the category, equal ones beside each other. The category is at `place` of `count`.
    """
    values = np.sort(values)
    _, first, index, counts = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    shifts = min(0.05 * count, 0.9 / len(values)) * (np.arange(len(values)) - first[index] - (counts[index] - 1) / 2)
    return [
        Curve("", place + np.array([-0.38, 0.38]), np.full(2, mean), -1),
        Curve("", place + shifts, values, style, is_scatter=True),
    ]


def tabulate(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Convert rows, dicts with the same keys, to a dict of columns; {} without rows."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def start_table(seeds: Sequence[int], name: str, values: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns `name` (`values`) and "seed" of a table with a row for every pair of value and seed."""
    return {name: [value for value in values for _ in seeds], "seed": [*seeds] * len(values)}


def format_percent(share: float) -> str:
    """Format a share as a percentage with one decimal: 0.032 gives "3.2%"."""
    return f"{100 * float(share):.1f}%".replace("-", "−")
