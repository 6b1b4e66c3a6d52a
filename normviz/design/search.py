"""The other way round: of invariances that are wanted, the schemes that have them, or why there are none.

Searched are all schemes with the rules `RULES` on the axes of a layer, for what is averaged (A) and for what divides
(B), each freely, alone or with a weight scheme in front. A field that is own on every axis is no such step: an
element less its own mean is 0, and over its own size a sign. What a scheme absorbs follows from the rule of `theory`,
which asks of a field only along which axes it reaches; so one of each such pattern is asked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, AXIS, FULL, OWN, Field, Rule, Shape
from normviz.core.schemes import SCHEMES, Scheme, same_as
from normviz.core.text import sentence, spoken
from normviz.core.theory import absorbed
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.design.conditions import CONDITIONS

RULES = (OWN, FULL, Rule("groups", 2))
"""What a field may be along an axis; other numbers of groups absorb what two do."""

SHAPES: dict[str, tuple[Shape, Shape]] = {
    "dense": ((8, 1, 1, 8), (1, 1, 16, 8)),
    "conv": ((8, 4, 4, 8), (3, 3, 4, 8)),
}
"""By layer, summed inputs (N, H, W, C) and weights (kh, kw, Cin, Cout), large enough for two groups of several."""

WEIGHTS = ("none", *(key for key, row in SCHEMES.items() if row.acts_on == "weight"))
"""What may stand in front: nothing, or a scheme of the weights."""

Invariances = tuple[str, ...]
"""Keys of transformations, in the order of `TRANSFORMATIONS`."""


@dataclass(frozen=True)
class Demands:
    """What a scheme has to absorb and what it must not; all else does not matter.

    Attributes:
        layer: "dense" or "conv".
        need, without: keys of transformations.
        weights: what may stand in front: keys of `WEIGHTS`.
        conditions: keys of `CONDITIONS`.

    Raises:
        InvalidInput: an unknown layer, transformation, weight scheme or condition, or one transformation both ways.
    """

    layer: str
    need: Invariances = ()
    without: Invariances = ()
    weights: tuple[str, ...] = ("none",)
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_layer(self.layer)
        for key in (*self.need, *self.without):
            if key not in TRANSFORMATIONS:
                raise InvalidInput(f"{key!r} is not a transformation; {spoken(TRANSFORMATIONS)} would do.")
        for key in self.weights:
            if key not in WEIGHTS:
                raise InvalidInput(f"{key!r} is not a scheme of weights; any, {spoken(WEIGHTS)} would do.")
        for key in self.conditions:
            if key not in CONDITIONS:
                raise InvalidInput(f"{key!r} is not a condition; {spoken(CONDITIONS)} would do.")
        if both := set(self.need) & set(self.without):
            raise InvalidInput(f"{spoken(sorted(both), 'and')} cannot be both needed and excluded.")

    @property
    def each(self) -> tuple[tuple[str, bool], ...]:
        """Every demand: the key of a transformation, and whether it is to be absorbed."""
        return tuple((key, key in self.need) for key in TRANSFORMATIONS if key in (*self.need, *self.without))

    def met(self, invariances: Invariances) -> bool:
        """Whether these meet all demands."""
        return not self.missed(invariances)

    def missed(self, invariances: Invariances) -> tuple[str, ...]:
        """The demands that these do not meet."""
        return tuple(key for key, wanted in self.each if (key in invariances) != wanted)


@dataclass(frozen=True)
class Kind:
    """The schemes that have one set of invariances.

    Attributes:
        invariances: that set.
        schemes: how many there are.
        named: keys of the registered ones among them.
    """

    invariances: Invariances
    schemes: int
    named: tuple[str, ...]


def check_layer(layer: str) -> None:
    """Raise InvalidInput for a layer that there is not."""
    if layer not in SHAPES:
        raise InvalidInput(f"layer {layer!r} is unknown; {spoken(SHAPES)} would do.")


def axes_of(layer: str) -> tuple[int, ...]:
    """The positions of the axes on which fields differ: N and C of a dense layer, all of a convolution."""
    return tuple(axis for axis, n in enumerate(SHAPES[layer][0]) if n > 1)


def fields(layer: str, rules: Sequence[Rule] = RULES) -> list[Field | None]:
    """All fields of a layer; None in place of the one that is own on every axis."""
    axes, found = axes_of(layer), []
    for chosen in product(rules, repeat=len(axes)):
        # On an axis of length 1, averaged and kept are the same.
        given = dict(zip(axes, chosen, strict=True))
        own = all(rule == OWN for rule in chosen)
        found.append(None if own else Field(tuple(given.get(axis, FULL) for axis in range(4))))
    return found


def made(summation: Field | None, suppression: Field | None, weights: str = "none") -> Scheme:
    """The scheme with these fields, behind a scheme of the weights."""
    if summation is None and suppression is None:
        return SCHEMES[weights]
    return SCHEMES["custom"].with_fields(summation, suppression).behind(None if weights == "none" else weights)


def invariances(scheme: Scheme, layer: str) -> Invariances:
    """What a scheme absorbs on a layer, by the rule, at ε = 0; nothing without normalization."""
    if scheme.acts_on == "none":
        return ()
    return absorbed(scheme, layer, *SHAPES[layer])


@lru_cache(maxsize=4096)
def _of_pattern(a: Field | None, b: Field | None, weights: str, layer: str) -> Invariances:
    return invariances(made(a, b, weights), layer)


def _reach(field: Field | None, layer: str) -> Field | None:
    """The field with `full` along every axis along which it reaches over more than one index."""
    if field is None:
        return None
    return Field(tuple(OWN if rule == OWN else FULL for rule in field.rules))


def searched(layer: str, weights: Iterable[str] = ("none",)) -> Iterator[tuple[Scheme, Invariances]]:
    """All schemes of a layer with what they absorb."""
    every = fields(layer)
    for front in weights:
        for a in every:
            for b in every:
                yield made(a, b, front), _of_pattern(_reach(a, layer), _reach(b, layer), front, layer)


@lru_cache(maxsize=64)
def census(layer: str, weights: tuple[str, ...] = ("none",)) -> tuple[Kind, ...]:
    """The sets of invariances that there are, from the smallest; with how many schemes, and which of the named ones."""
    check_layer(layer)
    counts: Counter[Invariances] = Counter()
    patterns = Counter(_reach(field, layer) for field in fields(layer))
    for front in weights:
        for a, b in product(patterns, repeat=2):
            counts[_of_pattern(a, b, front, layer)] += patterns[a] * patterns[b]
    named: dict[Invariances, list[str]] = {}
    for key, row in SCHEMES.items():
        if _is_in(row, weights):
            named.setdefault(invariances(row, layer), []).append(key)
    order = sorted(counts, key=lambda each: (len(each), [*map([*TRANSFORMATIONS].index, each)]))
    return tuple(Kind(each, counts[each], tuple(named.get(each, ()))) for each in order)


def _is_in(row: Scheme, weights: tuple[str, ...]) -> bool:
    """Whether a registered scheme is among the ones that are counted; what leaves zeros there has no kind."""
    front = row.key if row.acts_on == "weight" else row.weight or "none"
    return row.key != "custom" and not row.whitens and front in weights


def found(demands: Demands) -> list[tuple[Scheme, Invariances]]:
    """The schemes that meet the demands, with all that they absorb; the simplest first."""
    matching = [each for each in searched(demands.layer, demands.weights) if demands.met(each[1])]
    return sorted(matching, key=lambda each: complexity(each[0], demands.layer))


def complexity(scheme: Scheme, layer: str) -> tuple[int, ...]:
    """By which schemes are ordered: what stands in front, two fields instead of one, groups, and steps in all."""
    rules = [field.rules[axis] for field in scheme.fields for axis in axes_of(layer)]
    differ = scheme.summation is not None and scheme.suppression not in (None, scheme.summation)
    groups = sum(rule.kind == "groups" for rule in rules)
    front = scheme.weight is not None or scheme.acts_on == "weight"
    return front, differ, groups, len(scheme.fields), sum(rule == FULL for rule in rules)


def name_of(scheme: Scheme, layer: str) -> str | None:
    """What a scheme is called on this layer: the name of the registered one that computes the same; None for most."""
    if scheme.key != "custom":
        return scheme.name
    same = same_as(scheme, SHAPES[layer][0])
    return same[0].name if same else None


def nearest(demands: Demands) -> list[tuple[Kind, tuple[str, ...]]]:
    """The sets of invariances that miss the fewest demands, each with those; the sets with most schemes first."""
    kinds = census(demands.layer, demands.weights)
    missed = [(kind, demands.missed(kind.invariances)) for kind in kinds]
    least = min(len(each) for _, each in missed)
    return sorted((each for each in missed if len(each[1]) == least), key=lambda each: -each[0].schemes)


def conflict(demands: Demands) -> tuple[tuple[str, bool], ...]:
    """The fewest of the demands that no scheme meets together; empty where some scheme meets all."""
    have = [set(kind.invariances) for kind in census(demands.layer, demands.weights)]
    for count in range(1, len(demands.each) + 1):
        for some in combinations(demands.each, count):
            if not any(all((key in each) == wanted for key, wanted in some) for each in have):
                return some
    return ()


def reason(demands: Demands) -> str:
    """Why no scheme meets the demands, in sentences from the fields; empty where some scheme does."""
    some = conflict(demands)
    if not some:
        return ""
    alone = replace(demands, weights=("none",))
    if "none" not in demands.weights and not conflict(replace(alone, need=_of(some, True), without=_of(some, False))):
        return f"{_in_front(some, demands)} Without a scheme of the weights in front there are some."
    wanted = [TRANSFORMATIONS[key] for key, need in some if need]
    unwanted = [TRANSFORMATIONS[key] for key, need in some if not need]
    if len(wanted) == len(unwanted) == 1:
        return _comes_with(*wanted, *unwanted)
    if unwanted:
        return (
            f"Without absorbing {_names(unwanted)}, nothing may divide the summed inputs; then only a scheme of the "
            f"weights that divides absorbs {wanted[0].name}, and it leaves no common shift for {_names(wanted[1:])}."
        )
    return _exclude(wanted, demands)


def _of(some: Iterable[tuple[str, bool]], wanted: bool) -> Invariances:
    return tuple(key for key, each in some if each == wanted)


def _in_front(some: Iterable[tuple[str, bool]], demands: Demands) -> str:
    """Demands that exclude each other behind schemes of the weights alone."""
    parts = [
        f"{word} {_names([TRANSFORMATIONS[key] for key in keys])}"
        for word, keys in (("absorbs", _of(some, True)), ("lets through", _of(some, False)))
        if keys
    ]
    front = spoken([SCHEMES[key].name for key in demands.weights])
    return f"Behind {front}, no scheme {' and '.join(parts)}."


def _comes_with(wanted: Transformation, unwanted: Transformation) -> str:
    return (
        f"Only what divides absorbs {wanted.name}, and what divides absorbs {unwanted.name} too: one factor for all is "
        "the same inside every field."
    )


def _exclude(wanted: Sequence[Transformation], demands: Demands) -> str:
    """Two demands that leave a field no axis to reach along."""
    told = [f"to absorb {each.name}, {_inside(each, demands.layer)}" for each in wanted]
    centres = any(each.factor is None for each in wanted)
    left = "average over" if centres else "divide by"
    said = f"{sentence('; '.join(told))}: on a {_words(demands.layer)} layer nothing is left to {left}."
    if any(each.weight_factor for each in wanted) and set(demands.weights) - {"none"}:
        said += (
            f" A scheme of the weights that absorbs {spoken([w.name for w in wanted if w.weight_factor], 'and')} "
            "divides each changed vector by its new length, so that no common shift is left."
        )
    return said


def _inside(each: Transformation, layer: str) -> str:
    """What a demand asks of fields."""
    varying = each.factor if each.factor is not None else each.shift[layer]
    kept = [AXIS[AXES["activation"][axis]].one for axis in axes_of(layer) if AXES["activation"][axis] in varying]
    what = "every field has to stay inside" if each.factor is not None else "the mean has to be taken inside"
    return f"{what} one {spoken(kept, 'and one')}".replace(", ", ", one ")


def _names(some: Sequence[Transformation]) -> str:
    return spoken([each.name for each in some], "and")


def _words(layer: str) -> str:
    return {"dense": "dense", "conv": "convolutional"}[layer]
