"""Verdicts as the page writes them: each has a sign, a word and a colour, and says in words how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from normviz.charts.palette import ORANGE, PURPLE, SKY, THEMES, VERMILION
from normviz.topics.experiments.reports import SHAPES


@dataclass(frozen=True)
class Verdict:
    """What a claim is found to be.

    Attributes:
        sign: tells it apart where colours cannot.
        word: what it is called.
        one, many: what one claim, and several, are then: "holds", "hold".
        colour: behind black letters.
    """

    sign: str
    word: str
    one: str
    many: str
    colour: str

    @property
    def name(self) -> str:
        """Sign and word."""
        return f"{self.sign} {self.word}"

    @property
    def chip(self) -> str:
        """The same in its colour, as Markdown."""
        return coloured(self.name, self.colour)

    def counted(self, count: int) -> str:
        """So many of them, in words."""
        return f"{self.sign} {count} {self.one if count == 1 else self.many}"


VERDICTS = {
    "holds": Verdict(SHAPES["holds"], "Holds", "holds", "hold", SKY),
    "holds-if": Verdict(SHAPES["holds-if"], "It depends", "depends on a condition", "depend on a condition", ORANGE),
    "wrong": Verdict(SHAPES["wrong"], "Wrong", "is wrong", "are wrong", VERMILION),
    "opinion": Verdict(SHAPES["opinion"], "Opinion", "is an opinion", "are opinions", PURPLE),
    "open": Verdict(SHAPES["open"], "Undecided", "is undecided", "are undecided", THEMES["light"].cell),
}
"""By key."""


def coloured(text: str, colour: str) -> str:
    """Black letters on a colour, in one line, as Markdown."""
    whole = text.replace(" ", "\N{NO-BREAK SPACE}")
    return f':color[{whole}]{{foreground="#000" background="{colour}"}}'


def counts(keys: Sequence[str]) -> str:
    """How many there are of each verdict, of those that there are, as Markdown."""
    return " ".join(
        coloured(verdict.counted(keys.count(key)), verdict.colour) for key, verdict in VERDICTS.items() if key in keys
    )
