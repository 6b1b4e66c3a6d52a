"""What a formula with places for numbers says of an element: in the way of web/wording.js."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from normviz.core.text import typeset
from normviz.describe.live import ElementNumbers

PLACE = re.compile(r'<mn data-number="(\w+)"( data-bracketed)?></mn>')


def said(markup: str, number: Callable[[str], float]) -> str:
    """The text of MathML with these numbers, as a browser has it."""

    def put(found: re.Match) -> str:
        text = typeset(number(found[1]), 4)
        return f"({text})" if found[2] and text.startswith("−") else text

    return re.sub(r"<[^>]*>", "", PLACE.sub(put, markup))


def look_up(numbers: ElementNumbers, index: Sequence[int], shape: Sequence[int]) -> float:
    """The number of the element at `index` of a tensor of this shape."""
    at = tuple(i * count // n for i, count, n in zip(index, numbers.shape, shape, strict=True))
    return float(numbers.values.reshape(numbers.shape)[at])


def field_words(field: dict[str, Any], words: dict[str, str], index: Sequence[int], shape: Sequence[int]) -> str:
    """The words for the box of an element, from what is sent of its field."""
    whole, rest, count = [], [], 1
    for said, bounds, i, n in zip(field["ranges"], field["bounds"], index, shape, strict=True):
        if said is None:
            continue
        everything, one, several = said
        lo, hi = map(int, bounds[i])
        count *= hi - lo
        if hi - lo == n and everything:
            whole.append(everything)
        else:
            rest.append((one if hi - lo == 1 else several).format(lo=lo, last=hi - 1))
    parts = [words["all"].format(", ".join(whole))] * bool(whole) + [", ".join(rest)] * bool(rest)
    where = words["of"].format(*parts) if len(parts) == 2 else parts[0]
    return words["one" if count == 1 else "several"].format(f"{count:,}", where)
