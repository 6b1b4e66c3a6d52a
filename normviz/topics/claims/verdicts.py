"""The appearance of verdicts on the page: sign, word and colour."""

from collections.abc import Sequence
from dataclasses import dataclass

from normviz.charts.palette import ORANGE, PURPLE, SKY, THEMES, VERMILION
from normviz.topics.experiments.reports import VERDICT_SIGNS


@dataclass(frozen=True)
class VerdictStyle:
    """A verdict on pages: sign, name, verb for one claim ("holds") and many ("hold"), colour behind black letters."""

    sign: str
    word: str
    one: str
    many: str
    colour: str

    @property
    def name(self) -> str:
        """The sign and the word of the verdict: "✓ Holds"."""
        return f"{self.sign} {self.word}"

    @property
    def chip(self) -> str:
        """The sign and the word on the verdict's colour, as Markdown."""
        return colour_text(self.name, self.colour)

    def format_count(self, count: int) -> str:
        """Format a number of claims with sign and verb: "✓ 1 holds", "✓ 3 hold"."""
        return f"{self.sign} {count} {self.one if count == 1 else self.many}"


VERDICTS = {
    "holds": VerdictStyle(VERDICT_SIGNS["holds"], "Holds", "holds", "hold", SKY),
    "holds-if": VerdictStyle(
        VERDICT_SIGNS["holds-if"], "It depends", "depends on a condition", "depend on a condition", ORANGE
    ),
    "wrong": VerdictStyle(VERDICT_SIGNS["wrong"], "Wrong", "is wrong", "are wrong", VERMILION),
    "opinion": VerdictStyle(VERDICT_SIGNS["opinion"], "Opinion", "is an opinion", "are opinions", PURPLE),
    "open": VerdictStyle(VERDICT_SIGNS["open"], "Undecided", "is undecided", "are undecided", THEMES["light"].cell),
}
"""The style of every verdict, by its key."""


def colour_text(text: str, colour: str) -> str:
    """Return Markdown that shows a text in black on a background of this colour, without line breaks."""
    whole = text.replace(" ", "\N{NO-BREAK SPACE}")
    return f':color[{whole}]{{foreground="#000" background="{colour}"}}'


def format_verdict_counts(keys: Sequence[str]) -> str:
    """Return Markdown with the count of each verdict that occurs among the keys: "✓ 3 hold ✘ 1 is wrong"."""
    return " ".join(
        colour_text(verdict.format_count(keys.count(key)), verdict.colour)
        for key, verdict in VERDICTS.items()
        if key in keys
    )
