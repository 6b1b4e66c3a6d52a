"""Schemes and results in a notebook, as HTML and LaTeX: the formula, the field in words, the first statistics.

The words and formulas are imported when a notebook first shows an object. `normviz` imports this module with the first
public name, so that schemes have these texts.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

from normviz.core.arrays import copy_to_numpy
from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first, format_number

MOST_NUMBERS = 4
"""The numbers of an array that are shown."""


def format_scheme_html(scheme: Scheme) -> str:
    """Format a scheme as HTML: its name, the elements that share a statistic, and its formula as MathML."""
    from normviz.describe.aims import describe_scope
    from normviz.describe.mathml import convert_to_mathml
    from normviz.describe.notation import build_main_formulas
    from normviz.describe.wording import format_scheme_name

    lines = [line.latex for line in build_main_formulas(scheme) if line.name != "where"]
    formulas = "".join(f'<p><math displaystyle="true">{convert_to_mathml(line)}</math></p>' for line in lines)
    name = escape(capitalize_first(format_scheme_name(scheme)))
    return f"<div><b>{name}</b>: {escape(describe_scope(scheme))}.{formulas}</div>"


def format_scheme_latex(scheme: Scheme) -> str:
    """Return the formulas of a scheme as one block of LaTeX."""
    from normviz.describe.notation import build_main_formulas

    lines = r" \\ ".join(line.latex.replace("=", "&=", 1) for line in build_main_formulas(scheme))
    return rf"$\displaystyle \begin{{aligned}} {lines} \end{{aligned}}$"


def format_result_html(arrays: Mapping[str, Any], scheme: Scheme | None = None) -> str:
    """Format named arrays as HTML: the scheme that computed them, then each array's shape and first numbers."""
    rows = "".join(
        f"<tr><th>{name}</th><td>{escape(_format_shape(array))}</td><td>{_format_first_numbers(array)}</td></tr>"
        for name, array in arrays.items()
        if array is not None
    )
    head = "<tr><th></th><th>shape</th><th>first numbers</th></tr>"
    return f"{'' if scheme is None else format_scheme_html(scheme)}<table>{head}{rows}</table>"


def _format_shape(array: Any) -> str:
    return " × ".join(map(str, array.shape))


def _format_first_numbers(array: Any) -> str:
    numbers = copy_to_numpy(array).ravel()
    shown = [format_number(float(number), 4) for number in numbers[:MOST_NUMBERS]]
    return ", ".join(shown + ["…"] * (numbers.size > MOST_NUMBERS))


Scheme._repr_html_ = format_scheme_html  # type: ignore[attr-defined]
Scheme._repr_latex_ = format_scheme_latex  # type: ignore[attr-defined]
