"""The parts of a step's picture: figures that turn and play, and texts, each as plain data by theme."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from latex2mathml.converter import convert

from normviz.charts.packing import pack_message
from normviz.charts.palette import THEMES
from normviz.classroom.lessons.lesson_markup import format_lesson_html
from normviz.web.plot_message import DrawnFigure, build_plot_message


@dataclass(frozen=True)
class StepPart:
    """A figure or text of a lesson's step on the static site, by theme.

    Attributes:
        component: what draws it in the browser: "plot", "twins", or "words" for HTML.
        name: of its element; a part with the same name in the next picture replaces it, and a cube keeps its camera.
        contents: packed data, or HTML, by theme.
    """

    component: str
    name: str
    contents: Mapping[str, bytes | str]


def make_plot_part(name: str, draw: Callable[[str], DrawnFigure]) -> StepPart:
    """Return a figure of a lesson's step as a `StepPart`; `draw(theme)` returns it as a `DrawnFigure`."""
    contents = {}
    for theme in THEMES:
        drawn = draw(theme)
        message = build_plot_message(drawn.figure, name, drawn.alt, drawn.height, drawn.cube)
        contents[theme] = pack_message(message)
    return StepPart("plot", name, contents)


def make_text_part(name: str, html: str | Callable[[str], str]) -> StepPart:
    """Return a text of a lesson's step as a `StepPart`; `html` is one for all themes, or a function of the theme."""
    return StepPart("words", name, {theme: html if isinstance(html, str) else html(theme) for theme in THEMES})


def format_words_html(text: str) -> str:
    """Format a text of a page as HTML: paragraphs, headings after "#", lists after "-", and **bold**.

    >>> format_words_html("### v < x\\n- **one**\\n- two")
    '<h3>v &lt; x</h3><ul><li><strong>one</strong></li><li>two</li></ul>'
    """
    found = ""
    for line in filter(None, map(str.strip, text.split("\n"))):
        mark, words = re.fullmatch(r"(#+ |- )?(.*)", line).groups("")  # type: ignore[union-attr] # any line matches
        before, after = {"": ("<p>", "</p>"), "- ": ("<ul><li>", "</li></ul>")}.get(mark, ("<h3>", "</h3>"))
        found += f"{before}{format_lesson_html(words)}{after}"
    return found.replace("</ul><ul>", "")


def format_table_html(columns: Mapping[str, Sequence[Any]]) -> str:
    """Format a dict of columns by title as an HTML table; the cells of the first column are the rows' headings."""
    head = "".join(f'<th scope="col">{format_lesson_html(name)}</th>' if name else "<td></td>" for name in columns)
    rows = ""
    for first, *others in zip(*columns.values(), strict=True):
        cells = "".join(f"<td>{format_lesson_html(str(each))}</td>" for each in others)
        rows += f'<tr><th scope="row">{format_lesson_html(str(first))}</th>{cells}</tr>'
    return wrap_table(f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>")


def wrap_table(content: str) -> str:
    """Return the HTML of a table in a frame that scrolls on narrow screens, also by keyboard."""
    return f'<div class="table" tabindex="0"><table>{content}</table></div>'


BAR = "<mover>", '<mo accent="true">&#x02015;</mo></mover>'
"""Markup that latex2mathml writes around a mean. Without a font for mathematics, browsers draw its bar too short."""

WIDE_BAR = '<mrow class="bar">', "</mrow>"
"""The same with a border that is as wide as the mean."""


def format_formulas_html(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of LaTeX formulas as MathML, which browsers draw without a script."""
    lines = ("".join(f"<span>{convert(latex, display='block')}</span>" for latex in row) for row in rows if row)
    html = "".join(f'<p class="formulas">{line}</p>' for line in lines)
    return html.replace(BAR[0], WIDE_BAR[0]).replace(BAR[1], WIDE_BAR[1])
