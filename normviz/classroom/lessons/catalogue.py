"""The lessons of the app: those that come with it, and a teacher's own."""

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from normviz.classroom.lessons.lesson import Lesson
from normviz.classroom.lessons.lesson_files import read_lesson
from normviz.core.errors import InvalidInput
from normviz.describe.interface_words import DEFAULT_LANGUAGE

LESSONS_VARIABLE = "NORMVIZ_LESSONS"
"""The environment variable with the folder of a teacher's own lessons."""

LESSONS_FOLDER = Path(__file__).with_name("texts")
"""The lessons that come with the app in English, and in it a folder for each other language that has them."""

TEMPLATE_PATH = Path(__file__).with_name("template.toml")
"""A lesson to begin one's own with."""

SHIPPED_KEYS = (
    "what-is-averaged",
    "batch-or-layer",
    "which-layer-norm",
    "group-norm",
    "training-or-inference",
    "what-cancels",
    "forward-is-not-training",
    "two-projections",
)
"""Keys of the lessons that come with the app, in the order of a course."""

MAX_OWN_LESSONS = 100


@cache
def read_shipped_lessons(language: str = DEFAULT_LANGUAGE) -> dict[str, Lesson]:
    """Read the app's own lessons by key, in this language, or in English if they are not translated."""
    translated = LESSONS_FOLDER / language
    folder = translated if translated.is_dir() else LESSONS_FOLDER
    return {key: read_lesson(folder / f"{key}.toml") for key in SHIPPED_KEYS}


def load_lessons(environment: Mapping[str, str], language: str = DEFAULT_LANGUAGE) -> dict[str, Lesson]:
    """Load all lessons by key: first the app's own, then those in the folder that NORMVIZ_LESSONS names.

    A teacher's own lessons are in one language. Raises InvalidInput if the folder cannot be read, or a file in it is no
    lesson, with a line for every mistake.
    """
    folder = environment.get(LESSONS_VARIABLE)
    if not folder:
        return read_shipped_lessons(language)
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".toml" and path.is_file())
    except OSError as error:
        raise InvalidInput(f"{LESSONS_VARIABLE} names a folder of lessons; {folder!r}: {error.strerror}.") from error
    if len(paths) > MAX_OWN_LESSONS:
        raise InvalidInput(f"{folder} contains {len(paths)} lessons; {MAX_OWN_LESSONS} are possible.")
    lessons, mistakes = dict(read_shipped_lessons(language)), []
    for path in paths:
        try:
            if path.stem in SHIPPED_KEYS:
                raise InvalidInput(f"{path}: a lesson of the app has this name; choose another one.")
            lessons[path.stem] = read_lesson(path)
        except InvalidInput as error:
            mistakes.append(str(error))
    if mistakes:
        raise InvalidInput("\n".join(mistakes))
    return lessons


@cache
def get_lessons(language: str = DEFAULT_LANGUAGE) -> dict[str, Lesson]:
    """Return all lessons by key in a language; print all mistakes and end the process if a lesson is invalid."""
    try:
        return load_lessons(os.environ, language)
    except InvalidInput as error:
        sys.exit("\n".join(f"normviz: {line}" for line in str(error).splitlines()))
