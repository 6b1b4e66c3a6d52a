"""Search for the schemes that meet demands on invariances and conditions.

The search covers all pairs of a summation field A and a suppression field B with `SEARCHED_RULES` on the axes of a
layer, alone or with a weight scheme in front. A field that is own on every axis counts as no step: an
element minus its own mean is 0, and divided by its own size a sign. The invariances of a scheme depend only on the axes
along which its fields reach, and its conditions also on groups of examples. So one scheme of each such pattern is
evaluated, and the others are built only on access.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, product
from typing import NamedTuple, overload

import numpy as np

from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.locks import serialize_calls
from normviz.core.registry import NAMED_SCHEMES, SCHEMES, Scheme, find_named_schemes, make_custom_scheme
from normviz.core.theory import explain_degeneracy, find_invariances
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.conditions import CONDITION_SHAPES, find_met_conditions
from normviz.topics.design.demands import (
    DEMANDABLE,
    SHAPES,
    WEIGHT_KEYS,
    Demand,
    Demands,
    Invariances,
    adapt_scheme_to_demands,
    check_layer,
    get_normalized_shape,
)

SEARCHED_RULES = (OWN, FULL, Rule("groups", 2))
"""Rules of a field along an axis; other numbers of groups have the invariances of two."""


@dataclass(frozen=True)
class NamedSchemes:
    """Keys of registered schemes: those that the search counts, and others, which `SEARCHED_RULES` do not cover.

    Counted schemes with the same x̂ on the layer are one tuple.
    """

    counted: tuple[tuple[str, ...], ...] = ()
    uncounted: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all schemes, those that the search does not count last."""
        return *chain(*self.counted), *self.uncounted


@dataclass(frozen=True)
class SchemesByInvariances:
    """All schemes with one set of invariances: the set, their number, and the registered ones among them."""

    invariances: Invariances
    schemes: int
    names: NamedSchemes


@dataclass(frozen=True)
class NearMiss:
    """Schemes that meet all demands but those of the keys `missed`: their number, and the registered ones."""

    missed: tuple[str, ...]
    schemes: int
    names: NamedSchemes


def find_varying_axes(layer: str) -> tuple[int, ...]:
    """Return the positions in (N, H, W, C) of the axes longer than 1: N and C if dense, all if convolutional."""
    return tuple(axis for axis, n in enumerate(SHAPES[layer][0]) if n > 1)


def list_fields(layer: str) -> list[Field | None]:
    """List all fields (choices of averaged elements) that the search tries on a layer; None averages nothing."""
    axes, found = find_varying_axes(layer), []
    for chosen in product(SEARCHED_RULES, repeat=len(axes)):
        # On an axis of length 1, averaging changes nothing.
        given = dict(zip(axes, chosen, strict=True))
        own = all(rule == OWN for rule in chosen)
        found.append(None if own else Field(tuple(given.get(axis, FULL) for axis in range(4))))
    return found


def build_scheme_from_fields(summation: Field | None, suppression: Field | None, weight_key: str = "none") -> Scheme:
    """Build the scheme with these fields of its mean and its divisor, and with this weight scheme in front."""
    if summation is None and suppression is None:
        return SCHEMES[weight_key]
    return make_custom_scheme(summation, suppression, weight=None if weight_key == "none" else weight_key)


def get_weight_scheme_key(scheme: Scheme) -> str:
    """Return the key of a scheme's weight scheme, "none" without one; for a scheme on weights, its own key."""
    return "none" if scheme.weight_part is None else scheme.weight_part.key


def split_scheme(scheme: Scheme) -> tuple[Field | None, Field | None, str | None]:
    """Return the summation and the suppression field on activations, and the key of the scheme on weights, or None."""
    front, behind = scheme.weight_part, scheme.activation_part
    fields = (None, None) if behind is None else (behind.summation, behind.suppression)
    return *fields, None if front is None else front.key


def compute_invariances(scheme: Scheme, layer: str) -> Invariances:
    """Return the transformations to which a scheme is invariant on a layer at ε = 0, as predicted by `core.theory`."""
    return () if scheme.is_baseline else find_invariances(scheme, layer, *SHAPES[layer])


def find_properties(scheme: Scheme, layer: str) -> tuple[str, ...]:
    """Return the keys of `DEMANDABLE` that a scheme has on a layer: its invariances and met conditions."""
    return *compute_invariances(scheme, layer), *find_met_conditions(scheme, layer)


class _SchemeIndex(NamedTuple):
    """Properties of all schemes of a layer, as arrays over (weight scheme, summation field, suppression field).

    Attributes:
        fields: the fields, F of them with P patterns.
        pattern: number of each field's pattern, (F,).
        schemes: number of schemes with each pair of patterns, (P, P).
        has: True if a scheme has a property of `DEMANDABLE`, (weight schemes, P, P, properties).
        order: all schemes, the simplest first, as flat positions in (weight schemes, F, F).
    """

    fields: list[Field | None]
    pattern: np.ndarray
    schemes: np.ndarray
    has: np.ndarray
    order: np.ndarray


@serialize_calls
@lru_cache(maxsize=2)  # one a layer
def _build_scheme_index(layer: str) -> _SchemeIndex:
    check_layer(layer)
    every = list_fields(layer)
    patterns = list(dict.fromkeys(map(_generalize_field, every)))
    number = np.array([patterns.index(_generalize_field(field)) for field in every])
    pairs = list(product(WEIGHT_KEYS, patterns, patterns))
    absorbs = {
        reach: compute_invariances(build_scheme_from_fields(*reach[1:], reach[0]), layer)
        for reach in map(_generalize_scheme, pairs)
    }
    rows = [
        {*absorbs[_generalize_scheme(pair)], *find_met_conditions(build_scheme_from_fields(*pair[1:], pair[0]), layer)}
        for pair in pairs
    ]
    counts = np.bincount(number)
    has = np.array([[key in row for key in DEMANDABLE] for row in rows])
    has = has.reshape(len(WEIGHT_KEYS), len(patterns), len(patterns), -1)
    return _SchemeIndex(every, number, np.outer(counts, counts), has, _sort_by_simplicity(every, layer))


def _generalize_field(field: Field | None) -> Field | None:
    """Return a field with the rule `full` along every averaged axis except N; None for None."""
    if field is None:
        return None
    first, *rest = field.rules
    return Field((first, *(rule if rule == OWN else FULL for rule in rest)))


def _generalize_scheme(scheme: tuple[str, Field | None, Field | None]) -> tuple[str, Field | None, Field | None]:
    """Return a weight scheme's key and two fields, with `full` on averaged axes: these alone decide invariances."""
    weight_key, *both = scheme
    a, b = (None if f is None else Field(tuple(rule if rule == OWN else FULL for rule in f.rules)) for f in both)
    return weight_key, a, b


def _sort_by_simplicity(fields: Sequence[Field | None], layer: str) -> np.ndarray:
    """Return flat indices of all triples (weight scheme, mean's field, divisor's field), the simplest schemes first."""
    axes = find_varying_axes(layer)
    rules = [[] if field is None else [field.rules[axis] for axis in axes] for field in fields]
    there = np.array([field is not None for field in fields], int)
    groups, whole = (
        np.array([sum(each.kind == kind for each in some) for some in rules]) for kind in ("groups", "full")
    )
    differ = np.outer(there, there) * (1 - np.eye(len(fields), dtype=int))
    pairs = [differ, *(np.add.outer(each, each) for each in (groups, there, whole))]
    has_weights = np.array([key != "none" for key in WEIGHT_KEYS], int)
    keys = [np.broadcast_to(has_weights[:, None, None], (len(has_weights), *differ.shape))]
    keys += [np.broadcast_to(pair, keys[0].shape) for pair in pairs]
    return np.lexsort([key.ravel() for key in keys[::-1]])


def _evaluate_demands(demands: Demands) -> tuple[list[int], np.ndarray]:
    """Return the indices in `WEIGHT_KEYS` of the allowed weight schemes, and which demands each scheme meets.

    The second is Boolean, (allowed, P, P, demands), for P patterns of fields."""
    allowed = [position for position, key in enumerate(WEIGHT_KEYS) if key in demands.weights]
    places = [DEMANDABLE.index(key) for key, _ in demands.all_demands]
    return allowed, _build_scheme_index(demands.layer).has[allowed][..., places] == [
        wanted for _, wanted in demands.all_demands
    ]


def _read_invariances(row: Sequence[bool] | np.ndarray) -> Invariances:
    """Return the transformations that `row`, a Boolean for each property in `DEMANDABLE`, marks as True."""
    return tuple(key for key, there in zip(DEMANDABLE, row, strict=True) if there and key in TRANSFORMATIONS)


class FoundSchemes(Sequence[tuple[Scheme, Invariances]]):
    """Sequence of (scheme, its invariances) that meet demands, the simplest first; each is built on access."""

    def __init__(self, demands: Demands, positions: np.ndarray) -> None:
        self._demands, self._positions = demands, positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, at: int) -> tuple[Scheme, Invariances]: ...

    @overload
    def __getitem__(self, at: slice) -> "FoundSchemes": ...

    def __getitem__(self, at: int | slice) -> "tuple[Scheme, Invariances] | FoundSchemes":
        if isinstance(at, slice):
            return FoundSchemes(self._demands, self._positions[at])
        index = _build_scheme_index(self._demands.layer)
        count = len(index.fields)
        weight_scheme, a, b = np.unravel_index(self._positions[at], (len(WEIGHT_KEYS), count, count))
        row = index.has[weight_scheme, index.pattern[a], index.pattern[b]]
        return adapt_scheme_to_demands(
            build_scheme_from_fields(index.fields[a], index.fields[b], WEIGHT_KEYS[weight_scheme]), self._demands
        ), _read_invariances(row)


def find_schemes(demands: Demands) -> FoundSchemes:
    """Return the schemes that meet the demands, each with its invariances; the simplest comes first."""
    allowed, answers = _evaluate_demands(demands)
    index = _build_scheme_index(demands.layer)
    chosen = np.zeros(index.has.shape[:3], bool)
    chosen[allowed] = answers.all(-1)
    each = chosen[:, index.pattern[:, None], index.pattern[None, :]]
    return FoundSchemes(demands, index.order[each.ravel()[index.order]])


@lru_cache(maxsize=64)
def take_census(layer: str, weight_keys: tuple[str, ...] = ("none",)) -> tuple[SchemesByInvariances, ...]:
    """Count the schemes of each occurring set of invariances, with these weight schemes, smallest set first."""
    index = _build_scheme_index(layer)
    counts: Counter[Invariances] = Counter()
    for weight_key in weight_keys:
        rows = index.has[WEIGHT_KEYS.index(weight_key)].reshape(-1, len(DEMANDABLE))
        for row, schemes in zip(rows, index.schemes.ravel(), strict=True):
            counts[_read_invariances(row)] += int(schemes)
    known: dict[Invariances, list[Scheme]] = {}
    for scheme in list_registered_schemes(layer, weight_keys):
        known.setdefault(compute_invariances(scheme, layer), []).append(scheme)
    order = sorted(counts, key=lambda each: (len(each), [*map([*TRANSFORMATIONS].index, each)]))
    return tuple(
        SchemesByInvariances(each, counts[each], group_scheme_names(known.get(each, ()), layer)) for each in order
    )


def group_scheme_names(schemes: Iterable[Scheme], layer: str) -> NamedSchemes:
    """Group keys of registered schemes by equal x̂, and list those of forms that the search does not try."""
    counted: dict[object, list[str]] = {}
    uncounted = []
    for scheme in schemes:
        shape = get_normalized_shape(scheme, layer)
        rules = [rule for field in scheme.fields for rule in field.simplify(shape).rules]
        # A scheme of weights alone has no step behind it.
        if scheme.key in WEIGHT_KEYS or (scheme.is_general_form and {*rules} <= {*SEARCHED_RULES}):
            counted.setdefault(scheme.compute_canonical_key(shape), []).append(scheme.key)
        else:
            uncounted.append(scheme.key)
    return NamedSchemes(tuple(map(tuple, counted.values())), tuple(uncounted))


def list_registered_schemes(layer: str, weight_keys: tuple[str, ...]) -> list[Scheme]:
    """Return the registered schemes with these weight schemes whose x̂ on a layer is not always 0, 1 or −1."""
    return [
        row for row in NAMED_SCHEMES.values() if get_weight_scheme_key(row) in weight_keys and _is_countable(row, layer)
    ]


def _is_countable(scheme: Scheme, layer: str) -> bool:
    """Return True if a scheme is counted: its x̂ is not always 0, 1 or −1, and it decomposes no matrix."""
    shape = CONDITION_SHAPES[layer]
    return scheme.activation_part is None or (
        not scheme.kind.decomposes and explain_degeneracy(scheme, shape, 0.0) is None
    )


def is_answer(scheme: Scheme, demands: Demands) -> bool:
    """Return True if a scheme meets the demands, also a scheme whose rules the search does not try."""
    stands = get_weight_scheme_key(scheme) in demands.weights and _is_countable(scheme, demands.layer)
    return stands and demands.are_met_by(find_properties(scheme, demands.layer))


@lru_cache(maxsize=64)
def find_registered_answers(demands: Demands) -> tuple[Scheme, ...]:
    """Return the registered schemes that meet the demands."""
    return tuple(row for row in list_registered_schemes(demands.layer, demands.weights) if is_answer(row, demands))


def find_scheme_name(scheme: Scheme, layer: str) -> str | None:
    """Return the name of a scheme, or of the registered scheme that computes the same on this layer; else None."""
    return next((row.name for row in find_named_schemes(scheme, SHAPES[layer][0])), None)


def find_nearest_schemes(demands: Demands) -> list[NearMiss]:
    """Return the schemes that miss the fewest demands, as a group for each set of missed demands."""
    allowed, answers = _evaluate_demands(demands)
    schemes = np.tile(_build_scheme_index(demands.layer).schemes.ravel(), len(allowed))
    misses = ~answers.reshape(len(schemes), -1)
    least = misses.sum(1).min()
    counts: Counter[tuple[str, ...]] = Counter()
    for row, count in zip(misses, schemes, strict=True):
        if row.sum() == least:
            counts[tuple(key for (key, _), missed in zip(demands.all_demands, row, strict=True) if missed)] += int(
                count
            )
    missing = [
        (row, demands.find_missed(find_properties(row, demands.layer)))
        for row in list_registered_schemes(demands.layer, demands.weights)
    ]
    return [
        NearMiss(missed, count, group_scheme_names((row for row, misses in missing if misses == missed), demands.layer))
        for missed, count in counts.most_common()
    ]


def find_conflict(demands: Demands) -> tuple[Demand, ...]:
    """Return a smallest set of demands that no scheme meets together; () if a scheme meets all."""
    _, answers = _evaluate_demands(demands)
    rows = np.unique(answers.reshape(int(np.prod(answers.shape[:3])), -1), axis=0)
    for count in range(1, len(demands.all_demands) + 1):
        for some in combinations(range(len(demands.all_demands)), count):
            if not rows[:, some].all(1).any():
                return tuple(demands.all_demands[position] for position in some)
    return ()


def evaluate_demand(layer: str, weight_key: str, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
    """Return which pairs of P choices of averaged axes meet a demand, (P, P), and which choices average, (P,)."""
    index = _build_scheme_index(layer)
    key, wanted = demand
    divides = np.ones(len(index.schemes), bool)
    divides[index.pattern[index.fields.index(None)]] = False
    return index.has[WEIGHT_KEYS.index(weight_key), ..., DEMANDABLE.index(key)] == wanted, divides


def make_probe_scheme(layer: str, weight_key: str) -> Scheme:
    """Make the scheme that centres and divides over each example's channels, with this weight scheme in front."""
    over = list_fields(layer)[SEARCHED_RULES.index(FULL)]
    return build_scheme_from_fields(over, over, weight_key)
