"""A Python script in cells: the text of a file, and the same cut into the cells of a notebook.

The file is in the percent format: a line "# %%" begins a cell of code, and "# %% [markdown]" a cell of text, which is a
comment. VS Code, Spyder and Jupytext open it as a notebook, too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import Template
from textwrap import dedent, wrap
from typing import Any

from normviz.export.project import format_citation, format_requirement

TEXT_MARK, CODE_MARK = "# %% [markdown]", "# %%"
"""The lines that begin a cell of text, and one of code."""

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


def make_text(words: str) -> ScriptCell:
    """Return a Markdown cell with text wrapped anew; empty lines separate its paragraphs."""
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", words.strip()))
    return ScriptCell("\n\n".join("\n".join(wrap(each, LINE_LENGTH - 2)) for each in paragraphs), is_text=True)


def make_code(source: str, **values: Any) -> ScriptCell:
    """Return a dedented code cell; each $NAME in the source is replaced by the Python literal of the argument NAME.

    >>> make_code("x = $start", start=(1, "a")).source
    'x = (1, "a")'
    """
    written = {name: format_literal(value) for name, value in values.items()}
    return ScriptCell(Template(dedent(source).strip()).substitute(written))


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
    """Return a script as the text of a file, below a head with title, link of the page, installation and citation.

    `link`: the link of the page.
    """
    head = [
        ScriptCell(f"# {script.title}", is_text=True),
        make_text(
            f"""This file computes the numbers of the page `{link}` of normviz. Run the cells from top to bottom, or all
            of it as a script.

            To cite: {format_citation()}"""
        ),
        make_code(
            """
            # Colab installs normviz here. Elsewhere, once: pip install $requirement
            import sys

            if "google.colab" in sys.modules:
                get_ipython().run_line_magic("pip", 'install --quiet $requirement')
            """,
            requirement=format_requirement(script.extras),
        ),
    ]
    return "\n".join(_format_cell(cell) for cell in _join_texts([*head, *script.cells]))


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
