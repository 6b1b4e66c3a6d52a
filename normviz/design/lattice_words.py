"""The sets of invariances in words: how many there are, what none of them has, and what one of them is."""

from collections.abc import Mapping, Sequence
from typing import Any

from normviz.core.fields import AXES
from normviz.core.schemes import SCHEMES
from normviz.core.text import spoken, typeset
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import plural
from normviz.design.lattice import Order, Trained, simplest
from normviz.design.reasons import reason
from normviz.design.search import RULES, Demands, Invariances, Kind, Names, axes_of
from normviz.design.wording import LAYER_WORDS, printed

SIGNS = {
    key: each.plain.partition(" = ")[2].partition(" for")[0].replace(" ", "") for key, each in TRANSFORMATIONS.items()
}
"""Of every transformation, what takes the place of what: δwᵢ for wᵢ′ = δwᵢ."""


def absorbed(some: Sequence[str], word: str = "and") -> str:
    """The transformations of a set."""
    return spoken([TRANSFORMATIONS[key].name for key in some] or ["nothing"], word)


def labels(names: Names) -> list[str]:
    """Return the short names of the counted schemes, with "=" between those whose x̂ is the same on the layer."""
    return [" = ".join(SCHEMES[key].label for key in keys) for keys in names.counted]


def labelled(names: Names) -> str:
    """Return all short names: "Layer = Layer (channels), Group; not counted: Divisive"."""
    others = ", ".join(SCHEMES[key].label for key in names.uncounted)
    return "; ".join(filter(None, [", ".join(labels(names)), others and f"not counted: {others}"]))


def where(layer: str, fronts: Sequence[str]) -> str:
    """Which schemes a map is of."""
    behind = [SCHEMES[key].name for key in fronts if key != "none"]
    alone = ", alone or" if "none" in fronts and behind else ""
    return f"on a {LAYER_WORDS[layer]} layer{f'{alone} behind {spoken(behind)}' if behind else ''}"


def none(some: Sequence[str], layer: str, fronts: Sequence[str]) -> str:
    """That a set is not among those of a map, in a sentence."""
    what = f"none ignores exactly {absorbed(some)}" if some else "each ignores some change"
    return f"Of the schemes {where(layer, fronts)}, {what}."


def headline(order: Order, layer: str, fronts: Sequence[str]) -> str:
    """Return how many sets and schemes there are, and how many changes one scheme ignores at most."""
    most, every = len(order.largest[0].invariances), len(TRANSFORMATIONS)
    end = "" if most == every else f" None ignores all {every}."
    best = [label for kind in order.largest for label in labels(kind.names)]
    known = f" ({', '.join(best)})" if best else ""
    return (
        f"**{plural(order.schemes, 'scheme')}** {where(layer, fronts)} have only **{len(order.kinds)}** of the "
        f"{2**every} possible sets of invariances. One scheme ignores at most **{most}** of {every} changes{known}."
        f"{end}"
    )


def count_of(layer: str) -> str:
    """Return which schemes are counted, in sentences."""
    axes = spoken([AXES["activation"][axis] for axis in axes_of(layer)], "and")
    return (
        f"The count contains every choice along {axes}: keep the axis, average over it, or average over "
        f"{RULES[-1].number} groups of it. The mean and the divisor choose separately. Schemes with windows and "
        "pointwise schemes have a set, but are not counted. Whitening is left out."
    )


def shape_of(order: Order) -> str:
    """What the order is, in mathematical terms: what two sets share is always one of them."""
    above, kind = (
        ("and any two lie below one", "a lattice")
        if order.joins
        else ("but some two lie below none", "a meet-semilattice, and no lattice")
    )
    return f"What two of these sets share is again one of them, {above}: in mathematical terms, {kind}."


def limits(order: Order, layer: str, fronts: tuple[str, ...]) -> list[str]:
    """What leaves so few sets: what all have, what comes with what, and what excludes each other, each a sentence."""
    always = [key for key in TRANSFORMATIONS if all(key in each for each in order.sets)]
    said = [f"**All** of these schemes ignore {absorbed(always)}."] if always else []
    for key in TRANSFORMATIONS:
        sources = [other for other in TRANSFORMATIONS if other != key and order.follows(other, key)]
        if sources and key not in always:
            said.append(
                f"**Not alone:** a scheme that ignores {absorbed(sources, 'or')} also ignores {absorbed([key])}."
            )
    for some in order.exclusive():
        word = "Never together" if len(some) > 1 else "Never"
        said.append(f"**{word}:** {absorbed(some)}. {reason(Demands(layer, some, weights=fronts))}")
    return said


def told(kind: Kind, order: Order, layer: str, fronts: tuple[str, ...], trained: Trained | None = None) -> list[str]:
    """One set: what it absorbs and what not, its schemes, the simplest of them, and what one more would cost."""
    left = [key for key in TRANSFORMATIONS if key not in kind.invariances]
    share = f"{typeset(100 * kind.schemes / order.schemes, 2)}%"
    return [
        f"**Ignored:** {absorbed(kind.invariances)}.",
        f"**Not ignored:** {absorbed(left)}.",
        f"**{plural(kind.schemes, 'scheme')}** of {order.schemes:,}, {share}.",
        *named(kind),
        f"**The simplest:** {printed(simplest(kind, layer, fronts), layer)}.",
        *([f"**Trained:** {trained.words}."] if trained else []),
        *(f"**One more,** {more(kind.invariances, key, order)}" for key in left),
    ]


def named(kind: Kind) -> list[str]:
    """Say which schemes of a set have a name, which names coincide, and which schemes of this set are not counted."""
    each = [[SCHEMES[key].name for key in keys] for keys in kind.names.counted]
    count = f"{len(each)} of {kind.schemes:,}: {spoken([names[0] for names in each], 'and')}" if each else None
    others = [SCHEMES[key].name for key in kind.names.uncounted]
    return [
        f"**With a name of their own:** {count or f'none of {kind.schemes:,}'}.",
        *(f"**Same x̂ on this layer:** {spoken(names, 'and')}." for names in each if len(names) > 1),
        *([f"**Same set, but not counted:** {spoken(others, 'and')}."] if others else []),
    ]


def more(some: Invariances, key: str, order: Order) -> str:
    """How many schemes absorb one more, and what they all absorb with it; or what of the set excludes it."""
    need = {*some, key}
    having = [kind for kind in order.kinds if need <= {*kind.invariances}]
    if having:
        extra = [each for each in TRANSFORMATIONS if all(each in kind.invariances for kind in having)]
        also = (
            f", which all ignore {absorbed([each for each in extra if each not in need])} too"
            if {*extra} > need
            else ""
        )
        return f"{absorbed([key])}: {plural(sum(kind.schemes for kind in having), 'scheme')}{also}."
    excluding = next(each for each in order.exclusive() if {*each} <= need)
    others = [each for each in excluding if each != key]
    why = f"; it excludes {absorbed(others)}" if others else " of these ignores it"
    return f"{absorbed([key])}: no scheme{why}."


def columns(order: Order, trained: Mapping[Invariances, Trained]) -> dict[str, list[str]]:
    """The map in words, in columns: a row for each set, those with the most invariances first."""
    kinds = order.kinds[::-1]
    found = {SIGNS[key]: ["✔" if key in kind.invariances else "–" for kind in kinds] for key in TRANSFORMATIONS} | {
        "Schemes": [f"{kind.schemes:,}" for kind in kinds],
        "With a name": [labelled(kind.names) for kind in kinds],
    }
    if trained:
        found["Trained"] = [trained[each.invariances].words if each.invariances in trained else "" for each in kinds]
    return found


def numbers(order: Order, trained: Mapping[Invariances, Trained]) -> dict[str, list[Any]]:
    """The same as a file has it, with the keys that links and the command line take."""
    found: dict[str, list[Any]] = {key: [int(key in each) for each in order.sets] for key in TRANSFORMATIONS}
    found["schemes"] = [kind.schemes for kind in order.kinds]
    found["named"] = [" ".join("=".join(keys) for keys in kind.names.counted) for kind in order.kinds]
    found["not counted"] = [" ".join(kind.names.uncounted) for kind in order.kinds]
    for name in Trained._fields if trained else ():
        found[name] = [getattr(trained.get(each), name, None) for each in order.sets]
    return found
