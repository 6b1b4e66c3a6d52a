"""Formats of options and numbers, in messages, in links and on pages."""

from collections.abc import Iterable
from math import inf
from typing import Any, SupportsFloat


def join_words(options: Iterable[object], word: str = "or") -> str:
    """Join options with commas and a last word: "1, 2, 3 or 6"."""
    *head, last = map(str, options)
    return f"{', '.join(head)} {word} {last}" if head else last


def capitalize_first(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def format_exact(number: Any) -> str:
    """Return the shortest text that reads back as exactly this number: "2", "0.1", "1e-05"."""
    return str(number).removesuffix(".0")


def typeset(number: float, digits: int = 6) -> str:
    """Format a number for a page with some significant digits: 3, −0.5, 10⁻⁵, −∞, NaN."""
    if number != number:
        return "NaN"
    if abs(number) == inf:
        return "∞" if number > 0 else "−∞"
    mantissa, _, exponent = f"{number + 0.0:.{digits}g}".replace("-", "−").partition("e")  # + 0.0 makes −0 plain 0
    if not exponent:
        return mantissa
    if 0 < int(exponent.replace("−", "-")) < 4:  # 100, not 10², where it is rounded to fewer digits
        return f"{float(f'{number:.{digits}g}'):.0f}".replace("-", "−")
    power = "10" + str(int(exponent.replace("−", "-"))).translate(_RAISED)
    return {"1": power, "−1": f"−{power}"}.get(mantissa, f"{mantissa}·{power}")


def format_number(number: SupportsFloat, digits: int = 4, zero_threshold: float = 0.0) -> str:
    """Format a measured number for a page: −1.948, 2.1·10⁻⁷; "0 to rounding" if it is at most `zero_threshold`."""
    value = float(number)
    return "0 to rounding" if 0 < abs(value) <= zero_threshold else typeset(value, digits)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
