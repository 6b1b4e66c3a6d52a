"""The words of lessons and classes: every language has the same ones, with the same places to fill.

The texts of Table 1 are in English in its code; tests/classroom/rooms/test_class_pages.py checks their translations.
"""

import re
from string import Formatter

import pytest

from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES, fill_words, read_language

ENGLISH = read_language(DEFAULT_LANGUAGE)
OTHERS = [language for language in LANGUAGES if language != DEFAULT_LANGUAGE]
FORM = re.compile(r"-\d+$")

EQUAL = {"lesson.name", "desk.join-code", "desk.pause", "refusal.cell-setting"}
"""Words that are the same in English and in another language."""


def list_words(file):
    """All words of a file by "part.name"."""
    parts = {part: words for part, words in file.items() if part not in ("language", "table1")}
    return {f"{part}.{name}": text for part, words in parts.items() for name, text in words.items()}


def list_places(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_every_word_with_its_places(language):
    english, words = list_words(ENGLISH), list_words(read_language(language))
    plain = {name for name in words if not FORM.search(name)}
    assert plain == {name for name in english if not FORM.search(name)}
    for name, text in words.items():
        places = list_places(english[FORM.sub("", name)])
        assert list_places(text) in ([places, places - {"count"}] if FORM.search(name) else [places]), name
    assert all(isinstance(text, str) and text.strip() for text in words.values())


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_left_in_english(language):
    english, words = list_words(ENGLISH), list_words(read_language(language))
    assert {name for name, text in words.items() if text == english.get(name)} <= EQUAL


def test_a_count_of_one_has_its_form():
    words = {"steps": "{count} steps", "steps-1": "one step"}
    assert [fill_words(words, "steps", count=count) for count in (0, 1, 2)] == ["0 steps", "one step", "2 steps"]
    assert fill_words({"of": "{number} of {count}"}, "of", number=1, count=1) == "1 of 1"
