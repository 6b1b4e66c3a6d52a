"""Any text, as Markdown that shows it as it is; tests/browser/test_escaping.py has Streamlit's page read it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from normviz.describe.markdown import WORD_JOINER, escape_markdown

PIECES = [
    "http://",
    "www.",
    "a@b.co",
    ":red[",
    ":material/x:",
    ":smile:",
    "$",
    "\\",
    "`",
    "<b>",
    "&amp;",
    "->",
    "--",
    "![](x)",
    "\n",
    "1. ",
]
TEXTS = st.text(max_size=30) | st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)


def unescaped(markdown):
    """What is shown of escaped text."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown.replace(WORD_JOINER, ""))


@given(text=TEXTS)
@example(text="\\\\[a]")
def test_what_is_shown_is_the_text(text):
    shown = unescaped(escape_markdown(text))
    assert len(escape_markdown(text).splitlines()) <= 1
    assert shown.isprintable() or not text.isprintable()
    if text.isprintable() and WORD_JOINER not in text:
        assert shown == re.sub(r"[^\S\u00a0\u202f]+", " ", text).strip()


@given(text=TEXTS)
def test_no_markup_is_left(text):
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", escape_markdown(text))  # what no backslash stands before
    assert not re.search(r"[\\`*_\[\]<>$~&|]", bare)
    assert not re.search(
        r"https?://|www\.|@[^\s\u2060]*\.|:[\w+-]+:|(^|\s)(<-|->|--|>=|<=|~=|<->)(\s|$)",
        escape_markdown(text),
        re.IGNORECASE,
    )
    assert not re.match(r"[#+=-]|\d+[.)](\s|$)", escape_markdown(text))


@pytest.mark.parametrize("text", ["4 groups do not divide C = 6; use 1, 2, 3 or 6.", "x.npy: 3 × 4", "10⁻⁵ (ε)", ""])
def test_plain_text_stays_as_it_is(text):
    assert escape_markdown(text) == text


@pytest.mark.parametrize("unseen", ["\u202e", "\x00", "\ud800", "\u2066", "\x7f"])
def test_what_is_not_seen_is_replaced(unseen):
    assert escape_markdown(f"a{unseen}b") == "a\ufffdb"
