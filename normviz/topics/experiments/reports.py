"""What an experiment reports: a headline, figures, a table, and a verdict on its claim."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from normviz.charts.curves import Curve, CurvePanel
from normviz.describe.seeds import estimate_band

Word = Literal["holds", "holds-if", "wrong", "opinion", "open"]
WORDS: dict[Word, str] = {
    "holds": "Holds here",
    "holds-if": "Holds under a condition",
    "wrong": "Does not hold here",
    "opinion": "No number decides it",
    "open": "Not yet known",
}
"""What an experiment may say of its claim, and how that is written."""

SHAPES: dict[Word, str] = {"holds": "✔", "holds-if": "◐", "wrong": "✘", "opinion": "◇", "open": "…"}
"""A sign for each of them."""


@dataclass(frozen=True)
class Verdict:
    """What an experiment says of its claim.

    Attributes:
        word: a key of WORDS.
        says: why, in a sentence with numbers.
        condition: what that depends on, in a sentence.
        why: an explanation, in place of that of the experiment.
    """

    word: Word
    says: str
    condition: str = ""
    why: str = ""


def joined(words: Iterable[Word]) -> Word:
    """One word for several: theirs where they agree; not known where one of them is not; else it depends."""
    found = set(words)
    if "open" in found:
        return "open"
    return found.pop() if len(found) == 1 else "holds-if"


@dataclass(frozen=True)
class HeatMap:
    """Numbers by rows and columns, as a map of colours in which each is written; NaN: nothing is known there.

    `ends`: the numbers at the two ends of the colours; `good`: whether "low" or "high" numbers are.
    """

    title: str
    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    x: str = ""
    y: str = ""
    ends: tuple[float, float] = (0.0, 1.0)
    good: Literal["low", "high"] = "low"
    written: Callable[[float], str] = "{:.2g}".format


@dataclass(frozen=True)
class FigureSpec:
    """One figure of a report.

    Attributes:
        key: of its element on the page.
        panels: of curves, which stand beside each other; or one map.
        alt: the figure in words.
        caption: what to know to read it.
        columns: so many panels stand beside each other.
    """

    key: str
    panels: Sequence[CurvePanel] | HeatMap
    alt: str
    caption: str = ""
    columns: int = 2


@dataclass(frozen=True)
class Report:
    """What is to be seen in the results so far.

    Attributes:
        headline: what came out, in a sentence with numbers.
        figures: in the order in which they stand.
        verdict: on the claim.
        table: all numbers, in columns of one length.
        verdicts: by id, on claims of which the experiment decides less than all that it is about.
    """

    headline: str
    figures: Sequence[FigureSpec]
    verdict: Verdict
    table: Mapping[str, Sequence[Any]]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    def verdict_on(self, claim: str) -> Verdict:
        """The verdict on one of the experiment's claims."""
        return self.verdicts.get(claim, self.verdict)


def draw_band(
    name: str,
    x: np.ndarray,
    values: np.ndarray,
    look: int,
    scale: Callable[[np.ndarray], np.ndarray] = np.asarray,
    points: bool = False,
    apart: bool = False,
) -> Curve:
    """Return the curve of means over the seeds, with a band of 95% intervals.

    Args:
        name: of the curve.
        x: a number for each of the values.
        values: (…, seeds).
        look: the colour of the curve.
        scale: applied to the means and to the ends of the intervals, such as `to_percent`.
        points: True to mark each value.
        apart: True to draw nothing between the values.
    """
    mean, low, high = map(scale, estimate_band(values))
    return Curve(name, x, mean, look, low, high, points, apart)


def tabulate(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows that have the same names; without rows, no columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def percent(share: float) -> str:
    """Return a share in per cent: 3.2%, 100.0%."""
    return f"{100 * float(share):.1f}%".replace("-", "−")
