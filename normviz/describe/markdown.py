"""Markdown that shows a text as it is: one from a link, a file name or a file may hold markup."""

import re

WORD_JOINER = "\u2060"
"""A character without width, at which no line breaks."""

_SPACE = re.compile(r"[^\S\u00a0\u202f]+")
"""White space at which a line may break."""

_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that turn the direction of writing, and surrogates."""

_FOUND_LATE = re.compile(r"(?<=:)(?=\S)|(?<=@)(?=\S)|(?<=www)(?=\.)|(?<=[<>~=-])(?=[=>-])", re.IGNORECASE)
"""The places to break bare addresses, names such as :smile: and arrows such as ->. Streamlit finds these after it has
removed the backslashes."""

_MARKUP = re.compile(r"[\\`*_\[\]<>$~&|]|:(?=\S)|^[#+=-]")
_LIST_NUMBER = re.compile(r"^(\d+)([.)])(?!\S)")


def escape_markdown(text: object) -> str:
    r"""Return a text as one line, escaped so that Markdown shows it as it is.

    Markup gets a backslash; a word joiner breaks markup that backslashes do not stop. Unprintable characters become
    U+FFFD, and white space one space.

    >>> escape_markdown("![](http://host/t.png)") == rf"!\[\](http\:{WORD_JOINER}//host/t.png)"
    True
    >>> escape_markdown("4 groups do not divide C = 6.")
    '4 groups do not divide C = 6.'
    """
    line = replace_invisible_characters(_SPACE.sub(" ", str(text)).strip())
    line = _MARKUP.sub(r"\\\g<0>", _FOUND_LATE.sub(WORD_JOINER, line))
    return _LIST_NUMBER.sub(r"\1\\\2", line)


def replace_invisible_characters(text: str) -> str:
    """Replace control characters, marks of the direction of writing and surrogates by U+FFFD."""
    return _INVISIBLE.sub("\ufffd", text)
