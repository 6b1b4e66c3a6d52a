"""The sets of invariances that there are, ordered by inclusion."""

from typing import NamedTuple


class Trained(NamedTuple):
    """What training says of the schemes that have one set of invariances, in numbers of schemes.

    Attributes:
        agree: whose six twins all part and stay together as the rule says.
        disagree: with a twin that does not.
        unanswered: where rounding or degeneracy leaves no answer for some twin, and no other disagrees.
        done: trained so far: the sum of these three.
        of: to be trained; fewer than there are where only a sample is.
    """

    agree: int
    disagree: int
    unanswered: int
    done: int
    of: int

    @property
    def words(self) -> str:
        """How many are as predicted, and how many are not."""
        said = [f"{self.agree:,} of {self.of:,} as predicted"]
        said += [f"{self.disagree:,} not as predicted"] * bool(self.disagree)
        said += [f"{self.unanswered:,} without an answer"] * bool(self.unanswered)
        return ", ".join(said)
