"""Averages over fields in LaTeX, from their rules.

Every rule adds its part to an average: `own` keeps its letter in the index of the statistic, `full` is summed away,
`groups` puts the group in the index and `window` sums over the neighbours, under a primed letter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from normviz.core.fields import AXIS_NAMES, Field, Rule
from normviz.core.scheme import Scheme

AXIS_SIZE_SYMBOLS = {"kh": "K_h", "kw": "K_w", "Cin": r"C_\mathrm{in}", "Cout": r"C_\mathrm{out}"}
"""The symbol for the size of an axis; for other axes it is their name."""


class AverageTerm(NamedTuple):
    """LaTeX parts of an average along one axis: index of the statistic, index of the summand, size, sum, text.

    `whole`: the letter of an index that is summed over all of its axis, which needs no sign of its own.
    """

    statistic: str
    summand: str
    size: str = ""
    sum: str = ""
    where: str = ""
    whole: str = ""

    @property
    def is_windowed(self) -> bool:
        """True if the average along the axis runs over a window around each index."""
        return self.summand.endswith("'")


Tag = tuple[str, ...]
"""The subscript that distinguishes numbers of groups or radii: nothing, the axis's letter, the field, or both."""


def _build_own_term(axis: str, rule: Rule, tag: Tag) -> AverageTerm:
    letter = AXIS_NAMES[axis].letter
    return AverageTerm(letter, letter)


def _build_full_term(axis: str, rule: Rule, tag: Tag) -> AverageTerm:
    letter, size = AXIS_NAMES[axis].letter, format_axis_size(axis)
    return AverageTerm("", letter, size, whole=letter)


def _build_group_term(axis: str, rule: Rule, tag: Tag) -> AverageTerm:
    letter, size = AXIS_NAMES[axis].letter, format_axis_size(axis)
    group, count = (symbol + format_subscript(",".join(tag)) for symbol in "gG")
    members, share = rf"\mathcal{{G}}{format_subscript(group)}", rf"\tfrac{{{size}}}{{{count}}}"
    where = (
        rf"{members} = \{{{group}{share},\dots,({group}+1){share}-1\}},\quad {group} = 0,\dots,{count}-1,"
        rf"\quad {count} = {rule.parameter}\text{{ groups of }}{share}\text{{ {AXIS_NAMES[axis].many}}}"
    )
    return AverageTerm(group, letter, f"({size}/{count})", rf"\sum_{{{letter}\in{members}}}", where)


def _build_window_term(axis: str, rule: Rule, tag: Tag) -> AverageTerm:
    letter, radius = AXIS_NAMES[axis].letter, "R" + format_subscript(",".join(tag))
    field = "".join(rf"^{{{part}}}" for part in tag if part in ("A", "B"))
    near, members = rf"|{letter}'-{letter}|\le {radius}", rf"\mathcal{{W}}{field}{format_subscript(letter)}"
    where = (
        rf"{members} = \{{{letter}' : {near},\ 0\le {letter}' < {format_axis_size(axis)}\}},"
        rf"\quad {radius} = {rule.parameter}\quad\text{{(cut at the border)}}"
    )
    return AverageTerm(letter, letter + "'", f"|{members}|", rf"\sum_{{{near}}}", where)


_TERMS: dict[str, Callable[[str, Rule, Tag], AverageTerm]] = {
    "own": _build_own_term,
    "full": _build_full_term,
    "groups": _build_group_term,
    "window": _build_window_term,
}

_TAGS: tuple[Callable[[str, str], Tag], ...] = (
    lambda letter, field: (),
    lambda letter, field: (letter,),
    lambda letter, field: (field,),
    lambda letter, field: (letter, field),
)


@dataclass(frozen=True)
class AverageFormula:
    """LaTeX parts of an average over a field, the elements that share one statistic."""

    terms: tuple[AverageTerm, ...]

    @property
    def statistic_index(self) -> str:
        """The LaTeX subscript of the statistic; empty if there is only one statistic."""
        return format_subscript("".join(term.statistic for term in self.terms))

    @property
    def summand_index(self) -> str:
        """The LaTeX subscript of the summed element."""
        return format_subscript("".join(term.summand for term in self.terms))

    @property
    def sum_signs(self) -> str:
        """The sum signs in LaTeX with a space at the end, or ""."""
        whole = ",".join(term.whole for term in self.terms if term.whole)
        signs = (rf"\sum_{{{whole}}}" if whole else "") + "".join(term.sum for term in self.terms)
        return signs and signs + " "

    @property
    def prefix(self) -> str:
        """The factor 1/n and the sum signs in LaTeX; empty if the average runs over one element."""
        sizes = [term.size for term in self.terms if term.size]
        size = sizes[0].strip("()") if len(sizes) == 1 else "".join(sizes)
        return rf"\frac{{1}}{{{size}}}{self.sum_signs}" if size else ""

    @property
    def summed_statistic_index(self) -> str:
        """The LaTeX subscript of the summand's own statistic, which differs from `statistic_index` for windows."""
        return format_subscript("".join(term.summand if term.is_windowed else term.statistic for term in self.terms))

    def format_transposed(self, summand: str) -> str:
        """Format the backward pass of the average: the sum of `summand` over all averages that contain an element."""
        fixed = AverageFormula(tuple(term._replace(size="") if term.is_windowed else term for term in self.terms))
        sizes = "".join(term.size.replace(f"_{term.statistic}|", f"_{{{term.summand}}}|") for term in self.window_terms)
        return (fixed.prefix or self.sum_signs) + (rf"\frac{{1}}{{{sizes}}}" if sizes else "") + summand

    @property
    def window_terms(self) -> tuple[AverageTerm, ...]:
        """The `AverageTerm` of each axis along which the average runs over windows."""
        return tuple(term for term in self.terms if term.is_windowed)


def build_averages(scheme: Scheme) -> dict[str, AverageFormula]:
    """Map "A" (the mean) and "B" (the mean square) to the formula of that average, if the scheme has it."""
    fields: dict[str, Field | None] = {"A": scheme.summation, "B": scheme.suppression}
    tags = _choose_tags(scheme, fields)
    return {
        name: AverageFormula(
            tuple(
                _TERMS[rule.kind](axis, rule, tags.get((axis, name), ()))
                for axis, rule in zip(scheme.axes, field.rules, strict=True)
            )
        )
        for name, field in fields.items()
        if field is not None
    }


def _choose_tags(scheme: Scheme, fields: dict[str, Field | None]) -> dict[tuple[str, str], Tag]:
    """Map (axis, "A" or "B" for the field) to a short subscript that tells groups and radii of different sizes apart.

    One symbol may stand for one radius on all axes, but a group's index belongs to one axis.
    """
    chosen: dict[tuple[str, str], Tag] = {}
    for kind in Rule.PARAMETRIC:
        meaning = {
            (axis, name): (rule.parameter, axis if kind == "groups" else None)
            for name, field in fields.items()
            if field is not None
            for axis, rule in zip(scheme.axes, field.rules, strict=True)
            if rule.kind == kind
        }
        for tag in _TAGS:
            tagged = {place: tag(AXIS_NAMES[place[0]].letter, place[1]) for place in meaning}
            if len(set(tagged.values())) == len({(tagged[place], meaning[place]) for place in meaning}):
                break
        chosen |= tagged
    return chosen


def format_axis_size(axis: str) -> str:
    """Return the LaTeX symbol of the length of an axis."""
    return AXIS_SIZE_SYMBOLS.get(axis, axis)


def format_subscript(text: str) -> str:
    """Format an index as a LaTeX subscript, empty for an empty index."""
    return text and (f"_{text}" if len(text) == 1 else f"_{{{text}}}")
