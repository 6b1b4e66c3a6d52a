"""All comparisons of one verdict: their differences, and which of them are clear by Holm's correction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from normviz.describe.seeds import MeanDifference, find_clear_signs

Side = Literal["more", "less", "unclear"]
"""The sign of a difference where it is clear."""


@dataclass(frozen=True)
class Comparisons:
    """Differences between training results, by name, and which of them are statistically clear.

    Attributes:
        differences: by name.
        sides: the sign of each where it is clear, by Holm's correction for their number.

    Example:
        >>> loss, error = MeanDifference(-0.3, 0.1, 0.001), MeanDifference(0.01, 0.02, 0.3)
        >>> found = Comparisons.of({"loss": loss, "error": error})
        >>> found.sides
        {'loss': 'less', 'error': 'unclear'}
        >>> found.text("loss"), found.text("error", 100, " points")
        ('0.3 ± 0.1 less', 'not clearly different, 1 ± 2 points')
    """

    differences: Mapping[str, MeanDifference]
    sides: Mapping[str, Side]

    @classmethod
    def of(cls, differences: Mapping[str, MeanDifference]) -> "Comparisons":
        """Build the comparisons from these differences, with Holm's correction for their number."""
        sides: dict[int, Side] = {-1: "less", 0: "unclear", 1: "more"}
        signs = find_clear_signs([*differences.values()])
        return cls(differences, {name: sides[sign] for name, sign in zip(differences, signs, strict=True)})

    def get_sign(self, name: str) -> int:
        """Return the sign of a difference, 1 or −1; 0 if it is not clear."""
        return {"less": -1, "unclear": 0, "more": 1}[self.sides[name]]

    def text(self, name: str, scale: float = 1.0, unit: str = "") -> str:
        """Format the named difference, times `scale`: "0.3 ± 0.1 less", or "not clearly different, …"."""
        each, side = self.differences[name], self.sides[name]
        if side == "unclear":
            return f"not clearly different, {each.text(scale)}{unit}"
        return f"{each._replace(mean=abs(each.mean)).text(scale)}{unit} {side}"
