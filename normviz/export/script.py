"""A Python script in cells: the text of a file, and the same cut into the cells of a notebook.

The file is in the percent format: a line "# %%" begins a cell of code, and "# %% [markdown]" a cell of text, which is a
comment. VS Code, Spyder and Jupytext open it as a notebook, too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import Template
from textwrap import wrap
from typing import Any

from normviz.export.project import format_citation, format_requirement

TEXT_MARK, CODE_MARK = "# %% [markdown]", "# %%"
"""The lines that begin a cell of text, and one of code."""

TEMPLATE_FOLDER, TEXT_SIGN = Path(__file__).parent / "scripts", ">"
"""The folder of the templates, and what begins a line of Markdown in them."""

SECTION = r"^=== (\w+)(?:: (.*))?\n((?:(?!=== ).*\n)*)"
"""A section of a template: its name, its title and its lines."""

LINE_LENGTH = 100
"""Longest line of a text."""


@dataclass(frozen=True)
class ScriptCell:
    """Cell of a script: Markdown, or Python code."""

    source: str
    is_text: bool = False


@dataclass(frozen=True)
class PageScript:
    """Script of a page's state, without the head that all scripts have.

    Attributes:
        title: the heading.
        cells: the cells in their order.
        extras: the extras of normviz that the code needs, with commas between them: "train,show".
    """

    title: str
    cells: Sequence[ScriptCell]
    extras: str = ""


def fill_script(template: str, sections: Sequence[str], values: Mapping[str, Any], extras: str = "") -> PageScript:
    """Return the script of some sections of a template, `scripts/<template>.txt`, filled in with values.

    A section begins with "=== NAME", of the first also ": TITLE". Lines that begin with ">" are Markdown, the others
    Python. $NAME stands for a value: in Python for its literal, else for the value itself.
    """
    text = (TEMPLATE_FOLDER / f"{template}.txt").read_text(encoding="utf-8")
    found = {name: (title, body) for name, title, body in re.findall(SECTION, text, re.MULTILINE)}
    lines = [line for name in sections for line in found[name][1].splitlines()]
    cells = [
        _fill_cell("\n".join(group), values, is_text)
        for is_text, group in groupby(lines, lambda line: line.startswith(TEXT_SIGN))
    ]
    title = Template(found[sections[0]][0]).substitute(values)
    return PageScript(title, [cell for cell in cells if cell.source], extras)


def _fill_cell(source: str, values: Mapping[str, Any], is_text: bool) -> ScriptCell:
    """Return the cell of some lines of a template; Markdown is wrapped, an empty line of it separates paragraphs."""
    if not is_text:
        code = Template(source.strip())
        return ScriptCell(code.substitute({name: format_literal(values[name]) for name in code.get_identifiers()}))
    words = Template(re.sub(f"^{TEXT_SIGN} ?", "", source, flags=re.MULTILINE)).substitute(values)
    paragraphs = (" ".join(part.split()) for part in words.split("\n\n"))
    return ScriptCell("\n\n".join("\n".join(wrap(each, LINE_LENGTH - 2)) for each in paragraphs), is_text=True)


class Expression(str):
    """Python expression, which `format_literal` leaves unquoted, unlike other strings."""


def format_call(function: str, *arguments: Any, **named: Any) -> Expression:
    """Return the Python expression of a call of a function with these arguments.

    >>> format_call("f", Expression("x"), name="a")
    'f(x, name="a")'
    """
    given = [*map(format_literal, arguments), *(f"{name}={format_literal(value)}" for name, value in named.items())]
    return Expression(f"{function}({', '.join(given)})")


def format_literal(value: Any) -> str:
    """Return the Python literal of plain data; strings in double quotes if they need no escapes."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        text = repr(value)
        return f'"{value}"' if text == f"'{value}'" and '"' not in value else text
    if isinstance(value, list | tuple):
        items = ", ".join(map(format_literal, value))
        if isinstance(value, list):
            return f"[{items}]"
        return f"({items},)" if len(value) == 1 else f"({items})"
    return repr(value)


def format_script(script: PageScript, link: str) -> str:
    """Return a script as the text of a file, below a head with title, link of the page, installation and citation."""
    values = {"title": script.title, "link": link, "citation": format_citation()}
    head = fill_script("head", ["head"], values | {"requirement": format_requirement(script.extras)})
    return "\n".join(_format_cell(cell) for cell in _join_texts([*head.cells, *script.cells]))


def split_cells(text: str) -> list[ScriptCell]:
    """Split the text of a script at its cell marks into cells.

    >>> split_cells("# %% [markdown]\\n# # Title\\n#\\n# Words.\\n\\n# %%\\nx = 1\\n")[0].source
    '# Title\\n\\nWords.'
    """
    return list(_iterate_cells(text.splitlines()))


def _iterate_cells(lines: Sequence[str]) -> Iterator[ScriptCell]:
    starts = [k for k, line in enumerate(lines) if line in (TEXT_MARK, CODE_MARK)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        is_text, body = lines[start] == TEXT_MARK, lines[start + 1 : end]
        source = [line.removeprefix("#").removeprefix(" ") for line in body] if is_text else body
        yield ScriptCell("\n".join(source).strip(), is_text)


def _format_cell(cell: ScriptCell) -> str:
    if not cell.is_text:
        return f"{CODE_MARK}\n{cell.source}\n"
    return "\n".join([TEXT_MARK, *(f"# {line}".rstrip() for line in cell.source.splitlines())]) + "\n"


def _join_texts(cells: Sequence[ScriptCell]) -> list[ScriptCell]:
    """Join consecutive text cells into one; code cells stay unchanged."""
    found: list[ScriptCell] = []
    for cell in cells:
        if found and cell.is_text and found[-1].is_text:
            found[-1] = ScriptCell(f"{found[-1].source}\n\n{cell.source}", is_text=True)
        else:
            found.append(cell)
    return found
