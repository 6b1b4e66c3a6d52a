"""How options and numbers are written, in messages, in links and on pages."""

from collections.abc import Iterable
from typing import Any


def spoken(options: Iterable[object]) -> str:
    """Several options: 1, 2, 3 or 6."""
    *head, last = map(str, options)
    return f"{', '.join(head)} or {last}" if head else last


def decimal(number: Any) -> str:
    """The shortest text that reads back as this very number: 2, 0.1, 1e-05."""
    return str(number).removesuffix(".0")


def typeset(number: float) -> str:
    """A number as a page writes it, to six digits: 3, −0.5, 10⁻⁵, 2·10⁶."""
    mantissa, _, exponent = f"{number:g}".replace("-", "−").partition("e")
    if not exponent:
        return mantissa
    power = "10" + str(int(exponent.replace("−", "-"))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return {"1": power, "−1": f"−{power}"}.get(mantissa, f"{mantissa}·{power}")
