"""How options and numbers are written, in messages, in links and on pages."""

from collections.abc import Iterable
from math import inf
from typing import Any, SupportsFloat


def join_words(options: Iterable[object], word: str = "or") -> str:
    """Several options: 1, 2, 3 or 6."""
    *head, last = map(str, options)
    return f"{', '.join(head)} {word} {last}" if head else last


def capitalize_first(text: str) -> str:
    """The text with a capital, as it begins a sentence or stands alone."""
    return text[:1].upper() + text[1:]


def format_exact(number: Any) -> str:
    """The shortest text that reads back as this very number: 2, 0.1, 1e-05."""
    return str(number).removesuffix(".0")


def typeset(number: float, digits: int = 6) -> str:
    """A number as a page writes it, to so many digits: 3, −0.5, 10⁻⁵, −∞, NaN; components/data.js does the same."""
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
    """What was measured, as a page writes it: −1.948, 2.1·10⁻⁷; "0 to rounding" where it is no more than `least`."""
    value = float(number)
    return "0 to rounding" if 0 < abs(value) <= zero_threshold else typeset(value, digits)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
