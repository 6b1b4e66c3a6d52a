"""Sentences about fields and statistics, derived from a scheme's rules."""

from collections.abc import Sequence
from math import prod

from normviz.core.fields import AXIS, Field, Index, Shape
from normviz.core.schemes import Scheme


def field_words(field: Field, index: Index, shape: Shape, axes: Sequence[str]) -> str:
    """The box of an element: "96 elements: all h, w, c of example 2"."""
    full, rest = [], []
    for rule, (lo, hi), n, name in zip(field.rules, field.box(index, shape), shape, axes, strict=True):
        axis = AXIS[name]
        if hi - lo == n and rule.kind != "own":
            full.append(axis.letter)
        else:
            rest.append(f"{axis.one} {lo}" if hi - lo == 1 else f"{axis.many} {lo} to {hi - 1}")
    where = (["all " + ", ".join(full)] if full else []) + ([", ".join(rest)] if rest else [])
    return f"{plural(field.size(index, shape), 'element')}: {' of '.join(where)}"


def shared_words(scheme: Scheme) -> str:
    """What the elements of a field share: "a mean and a variance"."""
    if scheme.spectral:
        return "the largest singular value"
    if not scheme.fields:
        return "nothing"
    parts = ["a mean"] * (scheme.summation is not None)
    if scheme.suppression is not None:
        parts.append("a variance" if scheme.summation else "a mean square")
    return " and ".join(parts)


def count_words(scheme: Scheme, shape: Shape) -> str:
    """How many statistics there are and of how many elements: "4 statistics, each of 96 elements"."""
    if scheme.field is None:
        return "no statistics"
    sizes = scheme.field.sizes(shape)
    least, most = int(sizes.min()), int(sizes.max())
    count = prod(scheme.field.statistics_shape(shape))
    of = plural(most, "element") if least == most else f"{least} to {most} elements"
    return f"{plural(count, 'statistic')}, {'each ' if count > 1 else ''}of {of}"


def shape_words(shape: Sequence[int]) -> str:
    """4 × 4 × 4 × 6."""
    return " × ".join(map(str, shape))


def axis_words(scheme: Scheme, axes: Sequence[int], shape: Shape) -> str:
    """The title of a picture's axis, with what the scheme does along it: "N averaged", "H·W kept"."""
    parts = [(scheme.axes[axis], _done(scheme, axis, shape[axis])) for axis in axes]
    if len({done for _, done in parts}) == 1:
        return f"{'·'.join(name for name, _ in parts)} {parts[0][1]}".strip()
    return ", ".join(f"{name} {done}" for name, done in parts)


def alt_words(scheme: Scheme, shape: Shape, focus: Index, view: str, colour: str) -> str:
    """The picture in a sentence, for those who do not see it."""
    named = ", ".join(f"{name} = {n}" for name, n in zip(scheme.axes, shape, strict=True))
    text = f"A tensor with {named}, drawn as cells in 3-D, {view}, coloured by {colour}. "
    if scheme.field is None:
        return text + "No normalization: no elements share a statistic."
    words = field_words(scheme.field, focus, shape, scheme.axes)
    return text + f"{sentence(scheme.name)}: lit is the field of the chosen element, {words}."


def plural(number: int, noun: str) -> str:
    """1 element, 96 elements, 4,096 elements."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    """The text with a capital, as it begins a sentence or stands alone."""
    return text[:1].upper() + text[1:]


def gap_text(gap: float) -> str:
    """A gap in a few characters: 0, 2e−16, 0.39, 12, ∞; nothing where there is none."""
    if gap != gap:
        return ""
    if gap == float("inf"):
        return "∞"
    if gap == 0:
        return "0"
    if 1e-2 <= gap < 1e4:
        return f"{gap:.2g}" if gap < 100 else f"{gap:.0f}"
    mantissa, exponent = f"{gap:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def decimals(value: float, digits: int = 3) -> str:
    """A number to some decimals, −0.250; a power of ten where they would say nothing: 2e−16."""
    if value == 0:
        return "0"
    if abs(value) >= 10.0**-digits / 2:
        return f"{value:,.{digits}f}".replace("-", "−")
    return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")


def signed(value: float, digits: int = 4) -> str:
    """A number to some significant digits, with a minus sign of its width."""
    return f"{value:.{digits}g}".replace("-", "−")


def _done(scheme: Scheme, axis: int, n: int) -> str:
    """What the scheme does along an axis, in a word or two."""
    if scheme.field is None:
        return ""
    rule = scheme.field.rules[axis]
    return {
        "own": "kept",
        "full": "averaged",
        "groups": f"in {rule.parameter} groups",
        "window": f"within ±{rule.parameter}",
    }[rule.kind if n > 1 or rule.kind != "window" else "own"]
