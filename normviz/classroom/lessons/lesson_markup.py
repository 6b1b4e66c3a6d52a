"""The texts of lessons as Markdown and as HTML. Their only markup is **bold**; anything else is shown as it is."""

import re
from html import escape

from normviz.describe.markdown import escape_markdown


def format_lesson_markdown(text: str) -> str:
    r"""Return a lesson's text as Markdown: everything but **bold** is escaped.

    >>> format_lesson_markdown("**C** has its own [mean].")
    '**C** has its own \\[mean\\].'
    """
    return re.sub(r"\\\*\\\*(\S|\S.*?\S)\\\*\\\*", r"**\1**", escape_markdown(text))


def format_lesson_html(text: str) -> str:
    """Format a text of a lesson as HTML.

    >>> format_lesson_html("**C** < H")
    '<strong>C</strong> &lt; H'
    """
    return re.sub(r"\*\*(\S|\S.*?\S)\*\*", r"<strong>\1</strong>", escape(text))
