"""Fields: which elements of a tensor share a statistic.

A field holds one rule per axis of a 4-D tensor. A rule says which indices along its axis share a
statistic with index i; a field is therefore an axis-aligned box around every element, and the average
over it factors over the axes (the summation and suppression fields of Ren et al. 2017, Table 2).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import prod
from numbers import Integral
from typing import ClassVar

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.text import join_words

AXES = {"activation": ("N", "H", "W", "C"), "weight": ("kh", "kw", "Cin", "Cout")}
"""Names of the four axes, in memory order, of the two kinds of tensor that schemes act on."""


@dataclass(frozen=True)
class AxisNames:
    """Names of a tensor axis: its index in formulas, in words (singular and plural), and its length on a label."""

    letter: str
    one: str
    many: str
    length: str


AXIS_NAMES = {
    "N": AxisNames("n", "example", "examples", "batch"),
    "H": AxisNames("h", "row", "rows", "height"),
    "W": AxisNames("w", "column", "columns", "width"),
    "C": AxisNames("c", "channel", "channels", "channels"),
    "kh": AxisNames("r", "kernel row", "kernel rows", "kernel height"),
    "kw": AxisNames("s", "kernel column", "kernel columns", "kernel width"),
    "Cin": AxisNames("i", "input channel", "input channels", "input channels"),
    "Cout": AxisNames("o", "unit", "units", "units"),
}

MAX_DRAWN_ELEMENTS = 65_536
"""The largest tensor that is drawn."""

MAX_WINDOW_ELEMENTS = 2**27
"""The most numbers that the windows along an axis may hold together when laid out one by one: 1 GiB in float64."""

Shape = tuple[int, ...]
"""Sizes of the four axes; `check_shape` makes sure that there are four."""

Index = tuple[int, ...]
"""The position of an element: an index along each of the four axes."""

Box = tuple[tuple[int, int], ...]
"""A half-open range [lo, hi) of indices for each axis."""


@dataclass(frozen=True)
class Rule:
    """Rule for one axis of a tensor: which indices share a statistic (a mean or a variance) with index i.

    own: {i}; full: all; groups: i's block when the axis is cut into `parameter` equal blocks;
    window: every j with |i - j| <= `parameter`, cut at the border.

    >>> from normviz import Rule
    >>> Rule("groups", 2).compute_bounds(4).tolist()
    [[0, 2], [0, 2], [2, 4], [2, 4]]
    >>> Rule.parse("window(1)").compute_bounds(4).tolist()
    [[0, 2], [0, 3], [1, 4], [2, 4]]

    Raises:
        InvalidInput: an unknown kind, a missing, needless or too small parameter, or one that is not an integer.
    """

    kind: str
    parameter: int | None = None

    KINDS: ClassVar[tuple[str, ...]] = ("own", "full", "groups", "window")
    PARAMETRIC: ClassVar[dict[str, int]] = {"groups": 1, "window": 0}
    """The kinds that take a parameter, and the smallest one that means something."""

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise InvalidInput(f"{self.kind!r} is not a rule; own, full, groups(G) and window(R) are.")
        least = self.PARAMETRIC.get(self.kind)
        if least is None:
            fits = self.parameter is None
        else:
            fits = isinstance(self.parameter, Integral) and self.parameter >= least
        if not fits:
            raise InvalidInput(
                f"{self} is not a rule: groups takes a whole number from 1, window one from 0, own and full none."
            )

    def __str__(self) -> str:
        return self.kind if self.parameter is None else f"{self.kind}({self.parameter})"

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Parse the text of a rule: `own`, `full`, `groups(2)` or `window(1)`. Raises InvalidInput for other texts."""
        match = re.fullmatch(r"\s*([a-z]+)\s*(?:\(\s*(\d{1,6})\s*\))?\s*", text)
        if not match:
            raise InvalidInput(f"{text!r} is not a rule; own, full, groups(G) and window(R) are.")
        return cls(match[1], None if match[2] is None else int(match[2]))

    @property
    def parameter_or_zero(self) -> int:
        """The number of groups G or the window radius R; 0 for rules without a parameter."""
        return self.parameter or 0

    def count_statistics(self, n: int) -> int:
        """Return the number of different statistics along an axis of length n: 1 for full, G for groups, else n."""
        return {"full": 1, "groups": self.parameter_or_zero}.get(self.kind, n)

    def compute_bounds(self, n: int) -> np.ndarray:
        """Return for each index the range [lo, hi) of indices that share its statistic: read-only, shape (n, 2)."""
        return _compute_bounds(self, n)

    def compute_max_window_size(self, n: int) -> int:
        """Return the number of indices in the longest window along an axis of length n; 1 for other rules."""
        return min(2 * self.parameter_or_zero + 1, n) if self.kind == "window" else 1

    def check(self, n: int, axis: str) -> None:
        """Raise InvalidInput if the groups do not divide an axis of length n; the message lists the numbers that do."""
        if self.kind == "groups" and n % self.parameter_or_zero:
            fit = f"{join_words(find_divisors(n))} {'does' if n == 1 else 'do'}"
            raise InvalidInput(f"{self.parameter} groups do not divide {axis} = {n}; {fit}.")

    def simplify(self, n: int) -> "Rule":
        """Return the simplest rule with the same effect on an axis of length n; on an axis of length 1 it is `full`."""
        return _simplify_rule(self, n)


@lru_cache(maxsize=4096)
def _simplify_rule(rule: Rule, n: int) -> Rule:
    """Return `rule.simplify(n)` from a cache: a page needs it a hundred times per run, for few rules and lengths."""
    lo, hi = rule.compute_bounds(n).T
    if np.all(hi - lo == n):
        return FULL
    return OWN if np.all(hi - lo == 1) else rule


OWN, FULL = Rule("own"), Rule("full")


@dataclass(frozen=True)
class Field:
    """Field of a tensor: one rule per axis, which says which elements share a mean or variance with each element.

    >>> from normviz import Field
    >>> instance = Field.parse("H=full, W=full")
    >>> instance.compute_statistics_shape((4, 8, 8, 6))
    (4, 1, 1, 6)
    >>> instance.find_box((0, 2, 3, 5), (4, 8, 8, 6))
    ((0, 1), (0, 8), (0, 8), (5, 6))
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if len(self.rules) != 4:
            raise InvalidInput(f"a field has four rules, one for each axis; this one has {len(self.rules)}.")

    @classmethod
    def parse(cls, text: str, axes: Sequence[str] = AXES["activation"]) -> "Field":
        """Parse the text of a field: `full, full, full, own`, or `N=full,C=groups(2)` with the other axes `own`.

        >>> str(Field.parse("N=full, C=groups(2)"))
        'full,own,own,groups(2)'
        """
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not any("=" in part for part in parts):
            if len(parts) != len(axes):
                raise InvalidInput(f"a field has a rule for each of {', '.join(axes)}; {text!r} has {len(parts)}.")
            return cls(tuple(map(Rule.parse, parts)))
        named = dict.fromkeys(axes, OWN)
        for part in parts:
            axis, _, rule = part.partition("=")
            if axis.strip() not in named:
                raise InvalidInput(f"{axis.strip()!r} is not an axis; {', '.join(axes)} are, as in {axes[0]}=full.")
            named[axis.strip()] = Rule.parse(rule)
        return cls(tuple(named.values()))

    def __str__(self) -> str:
        return ",".join(map(str, self.rules))

    def to_dict(self, axes: Sequence[str] = AXES["activation"]) -> dict[str, str]:
        """Return the rule of each axis as text, by the name of the axis.

        >>> Field.parse("full, full, full, own").to_dict()
        {'N': 'full', 'H': 'full', 'W': 'full', 'C': 'own'}
        """
        return {axis: str(rule) for axis, rule in zip(axes, self.rules, strict=True)}

    def check(
        self, shape: Shape, axes: Sequence[str] = AXES["activation"], max_elements: int = MAX_WINDOW_ELEMENTS
    ) -> None:
        """Raise InvalidInput if a rule does not fit the shape, such as 4 groups of 6 channels; errors name `axes`.

        The windows along an axis may hold at most `max_elements` numbers together.
        """
        size = prod(shape)
        longest = max(max_elements // size, 1)
        for rule, n, axis in zip(self.rules, shape, axes, strict=True):
            rule.check(n, axis)
            if rule.compute_max_window_size(n) > longest:
                most = (longest - 1) // 2
                raise InvalidInput(
                    f"{rule} along {axis} = {n} is too much for {size:,} elements; full and radii up to {most} are not."
                )

    def count_window_elements(self, shape: Shape) -> int:
        """Return the most numbers that `gather_windows` makes of a tensor along any one of its axes."""
        return prod(shape) * max(rule.compute_max_window_size(n) for rule, n in zip(self.rules, shape, strict=True))

    def compute_bounds(self, shape: Shape) -> list[np.ndarray]:
        """Return for each of the four axes the range [lo, hi) of every index, as arrays of shape (n, 2)."""
        return [rule.compute_bounds(n) for rule, n in zip(self.rules, shape, strict=True)]

    def find_box(self, index: Index, shape: Shape) -> Box:
        """Return for each axis the range [lo, hi) of the elements that share a statistic with that at `index`."""
        return tuple((int(b[i, 0]), int(b[i, 1])) for b, i in zip(self.compute_bounds(shape), index, strict=True))

    def count_elements(self, index: Index, shape: Shape) -> int:
        """Return the number of elements that share a statistic with the element at `index`."""
        return prod(hi - lo for lo, hi in self.find_box(index, shape))

    def compute_sizes(self, shape: Shape) -> np.ndarray:
        """Return for every element how many elements share its statistic, as an array of the tensor's shape."""
        return reduce(np.multiply, np.ix_(*(hi - lo for lo, hi in (bounds.T for bounds in self.compute_bounds(shape)))))

    def find_smallest_size(self, shape: Shape) -> int:
        """Return the smallest number of elements that share a statistic."""
        return prod(int((hi - lo).min()) for lo, hi in (bounds.T for bounds in self.compute_bounds(shape)))

    def compute_statistics_shape(self, shape: Shape) -> Shape:
        """Return the shape of the array of statistics: 1 along full axes, G along grouped ones, n along the others."""
        return tuple(rule.count_statistics(n) for rule, n in zip(self.rules, shape, strict=True))

    def find_statistic_index(self, index: Index, shape: Shape) -> Index:
        """Return where the statistic of the element at `index` stands in the array of statistics."""
        counts = self.compute_statistics_shape(shape)
        return tuple(i * count // n for i, count, n in zip(index, counts, shape, strict=True))

    def simplify(self, shape: Shape) -> "Field":
        """Return the simplest field with the same effect on this shape: one result for all fields of equal effect."""
        return Field(tuple(rule.simplify(n) for rule, n in zip(self.rules, shape, strict=True)))

    def parameters(self) -> dict[str, int]:
        """Return the parameters by kind of rule, each from the first axis that has it: {"groups": 2} or {}."""
        return {rule.kind: rule.parameter for rule in reversed(self.rules) if rule.parameter is not None}

    def with_parameters(self, **parameters: int | None) -> "Field":
        """Return the field with another number of groups or window radius: `with_parameters(groups=3, window=1)`."""
        return Field(
            tuple(
                rule if parameters.get(rule.kind) is None else replace(rule, parameter=parameters[rule.kind])
                for rule in self.rules
            )
        )

    @property
    def with_own_windows(self) -> "Field":
        """This field with `own` for every window rule: then no two sets of elements that share a statistic overlap."""
        return Field(tuple(OWN if rule.kind == "window" else rule for rule in self.rules))

    @property
    def windowed_axes(self) -> list[tuple[int, Rule]]:
        """The axes with a window, counted from the end (-4 to -1), each with its rule."""
        return [(axis - 4, rule) for axis, rule in enumerate(self.rules) if rule.kind == "window"]

    @property
    def with_full_windows(self) -> "Field":
        """This field with `full` for every window rule: then no two sets of elements that share a statistic overlap."""
        return Field(tuple(FULL if rule.kind == "window" else rule for rule in self.rules))


CHANNEL_FIELD = Field((FULL, FULL, FULL, OWN))
"""The field of batch norm: all examples and positions of a channel."""


@lru_cache(maxsize=1024)
def _compute_bounds(rule: Rule, n: int) -> np.ndarray:
    """Return `rule.compute_bounds(n)` from a cache, as a page needs it hundreds of times per run."""
    i = np.arange(n)
    if rule.kind == "window":
        reach = min(rule.parameter_or_zero, n)  # any radius is right, and none overflows the index
        found = np.stack([np.maximum(i - reach, 0), np.minimum(i + reach + 1, n)], axis=1)
    else:
        size = n // rule.count_statistics(n)
        found = np.stack([i // size * size, i // size * size + size], axis=1)
    found.flags.writeable = False
    return found


def find_divisors(n: int) -> list[int]:
    """Return all divisors of n, ascending: the numbers of groups that n channels can be cut into."""
    return [d for d in range(1, n + 1) if n % d == 0]


def check_shape(
    shape: Sequence[int], axes: Sequence[str] = AXES["activation"], max_elements: int | None = None
) -> Shape:
    """Return the shape of a tensor with these axes as a tuple of four positive integers.

    Raises InvalidInput for other than four axes, an empty one, or more than `max_elements` elements.
    """
    try:
        shape = tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        raise InvalidInput(f"a shape is a number for each of {', '.join(axes)}; this one is {shape!r}.") from None
    if len(shape) != len(axes):
        raise InvalidInput(f"a tensor has the four axes {', '.join(axes)}; this one has {len(shape)}: {shape}.")
    for n, axis in zip(shape, axes, strict=True):
        if n < 1:
            raise InvalidInput(f"{axis} = {n}: every axis needs at least one element.")
    if max_elements is not None and prod(shape) > max_elements:
        fits = shrink_shape(shape, max_elements)
        raise InvalidInput(
            f"{' × '.join(map(str, shape))} is {prod(shape):,} elements, more than the {max_elements:,} that are "
            f"drawn; {' × '.join(map(str, fits))} fits."
        )
    return shape


def shrink_shape(shape: Shape, max_elements: int) -> Shape:
    """Cut the longest axes of a shape to one common length, the largest with at most `max_elements` elements in all."""
    length = bisect_right(range(1, max_elements + 1), max_elements, key=lambda m: prod(min(n, m) for n in shape))
    fit = [min(n, length) for n in shape]
    for axis, n in enumerate(shape):
        fit[axis] = min(n, max_elements // (prod(fit) // fit[axis]))
    return tuple(fit)
