"""Notes for teachers on the pages of the app; a lesson has a note of its own."""

import tomllib
from functools import cache
from pathlib import Path

from normviz.classroom.lessons.lesson import TeacherNote
from normviz.describe.interface_words import DEFAULT_LANGUAGE

NOTES_FOLDER = Path(__file__).with_name("notes_on_pages")
"""A file for each language."""


@cache
def read_page_notes(language: str = DEFAULT_LANGUAGE) -> dict[str, TeacherNote]:
    """Read the notes on the pages in a language, by the names of their scripts."""
    raw = tomllib.loads((NOTES_FOLDER / f"{language}.toml").read_text("utf-8"))
    return {page: TeacherNote(**{**note, "plan": tuple(note["plan"])}) for page, note in raw.items()}
