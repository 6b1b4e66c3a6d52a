"""The sets of invariances that there are, ordered by inclusion: which lies right above which, and what that says.

The order is a lattice in the mathematical sense only where any two sets have a least one above both and a greatest one
below both (`Order.joins` and `Order.meets` ask that).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from normviz.core.scheme import Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.search import Demands, Invariances, Kind, census, found


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
        return ", ".join((self.predicted, *self.others))

    @property
    def predicted(self) -> str:
        """How many are as predicted."""
        return f"{self.agree:,} of {self.of:,} as predicted"

    @property
    def others(self) -> tuple[str, ...]:
        """How many are not as predicted, and how many have no answer, where there are such."""
        counts = {"not as predicted": self.disagree, "without an answer": self.unanswered}
        return tuple(f"{count:,} {what}" for what, count in counts.items() if count)


@dataclass(frozen=True)
class Order:
    """The sets of invariances of a layer's schemes, ordered by inclusion.

    Attributes:
        kinds: the sets, from the smallest.
        covers: (a, b) where b holds all of a, and no other set lies between them.
    """

    kinds: tuple[Kind, ...]
    covers: tuple[tuple[Invariances, Invariances], ...]

    @property
    def sets(self) -> tuple[Invariances, ...]:
        """The sets alone."""
        return tuple(kind.invariances for kind in self.kinds)

    @property
    def schemes(self) -> int:
        """How many schemes there are in all."""
        return sum(kind.schemes for kind in self.kinds)

    @property
    def largest(self) -> tuple[Kind, ...]:
        """The sets with the most invariances."""
        most = max(map(len, self.sets))
        return tuple(kind for kind in self.kinds if len(kind.invariances) == most)

    @property
    def meets(self) -> bool:
        """Whether what any two sets share is one of the sets."""
        return all(_kept(a, b) in self.sets for a, b in combinations(self.sets, 2))

    @property
    def joins(self) -> bool:
        """Whether any two sets have a least one above both."""
        return all(self._least(a, b) for a, b in combinations(self.sets, 2))

    def _least(self, a: Invariances, b: Invariances) -> bool:
        both = [each for each in self.sets if {*a, *b} <= {*each}]
        return any(all({*each} <= {*other} for other in both) for each in both)

    def nearest(self, asked: Iterable[str]) -> Kind:
        """The set that differs least from what is asked for; of several the one with most schemes."""
        return min(self.kinds, key=lambda kind: (len({*kind.invariances} ^ {*asked}), -kind.schemes))

    def follows(self, one: str, other: str) -> bool:
        """Whether some scheme absorbs the one, and all that do absorb the other."""
        having = [each for each in self.sets if one in each]
        return bool(having) and all(other in each for each in having)

    def exclusive(self) -> tuple[Invariances, ...]:
        """Invariances that no scheme has together, while any fewer of them are had: each such few."""
        never: list[Invariances] = []
        for count in range(1, len(TRANSFORMATIONS) + 1):
            for some in combinations(TRANSFORMATIONS, count):
                if not any({*some} <= {*each} for each in self.sets) and not any({*few} <= {*some} for few in never):
                    never.append(some)
        return tuple(never)


@lru_cache(maxsize=64)
def order(layer: str, fronts: tuple[str, ...] = ("none",)) -> Order:
    """The sets of invariances of all schemes of a layer, with these in front."""
    kinds = census(layer, fronts)
    sets = [kind.invariances for kind in kinds]
    inside = [(a, b) for a, b in product(sets, repeat=2) if {*a} < {*b}]
    between = {(a, c) for (a, b), (other, c) in product(inside, repeat=2) if b == other}
    return Order(kinds, tuple(pair for pair in inside if pair not in between))


def exactly(some: Sequence[str], layer: str, fronts: tuple[str, ...] = ("none",)) -> Demands:
    """To absorb these and nothing else."""
    return Demands(layer, tuple(some), tuple(key for key in TRANSFORMATIONS if key not in some), fronts)


def simplest(kind: Kind, layer: str, fronts: tuple[str, ...] = ("none",)) -> Scheme:
    """The first scheme of a set, as the search orders them."""
    return found(exactly(kind.invariances, layer, fronts))[0][0]


def _kept(a: Invariances, b: Invariances) -> Invariances:
    """What two sets share."""
    return tuple(key for key in a if key in b)
