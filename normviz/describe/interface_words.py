"""The words of the interface of lessons and classes, by language; a file in `languages` is a whole translation."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES_FOLDER = Path(__file__).with_name("languages")

DEFAULT_LANGUAGE = "en"

Words = Mapping[str, str]
"""Words by name; "NAME-1" is the form of NAME for the count 1."""


@cache
def read_language(language: str) -> Mapping[str, Any]:
    """Read the TOML file of a language: its name, and a table of words for each part, such as "lesson"."""
    return tomllib.loads((LANGUAGES_FOLDER / f"{language}.toml").read_bytes().decode())


LANGUAGES = {
    key: str(read_language(key)["language"])
    for key in dict.fromkeys([DEFAULT_LANGUAGE, *sorted(path.stem for path in LANGUAGES_FOLDER.glob("*.toml"))])
}
"""Names of the languages, each in itself, by their key in links: the default first."""


def get_words(part: str, language: str = DEFAULT_LANGUAGE) -> Words:
    """Map keys to words of a part of the interface, such as "lesson", in one of `LANGUAGES`."""
    words: Words = read_language(language)[part]
    return words


def fill_words(words: Words, name: str, **values: str | int) -> str:
    """Return the text `words[name]`, or "NAME-COUNT" if there is one for a value `count`, with all values filled in.

    >>> fill_words({"steps": "{count} steps", "steps-1": "one step"}, "steps", count=1)
    'one step'
    """
    return words.get(f"{name}-{values.get('count')}", words[name]).format(**values)
