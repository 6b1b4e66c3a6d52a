"""`normviz lessons`: list or check lessons, print a template, make a handout, or write files that need no server."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from normviz.classroom.lessons.catalogue import TEMPLATE_PATH, load_lessons
from normviz.classroom.lessons.handout import build_handout
from normviz.classroom.lessons.lesson import Lesson
from normviz.classroom.lessons.lesson_files import read_lesson
from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.data.output import format_json, print_message, write_file
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `lessons`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true")
    group.add_argument("--check", nargs="+", type=Path, metavar="FILE", help="check your own; a line for every mistake")
    group.add_argument("--template", action="store_true", help="print a lesson to begin your own with")
    group.add_argument("--handout", nargs=2, metavar=("KEY", "OUT.html"), help="write a page to print")
    group.add_argument("--site", type=Path, metavar="FOLDER", help="write all lessons as files that need no server")
    parser.add_argument("--lang", choices=LANGUAGES, default=DEFAULT_LANGUAGE, help="language of the lessons")


def run(arguments: argparse.Namespace) -> int:
    """List, check or write lessons as the options say; return the exit code, 2 if a checked file has mistakes.

    Raises InvalidInput if a lesson in `NORMVIZ_LESSONS` is broken, or no lesson has the key of the handout.
    """
    if arguments.check:
        return check_files(arguments.check)
    if arguments.template:
        print(TEMPLATE_PATH.read_text(), end="")
        return 0
    lessons = load_lessons(os.environ, arguments.lang)
    if arguments.handout:
        key, path = arguments.handout
        if key not in lessons:
            raise InvalidInput(f"no lesson is called {key!r}; there are {join_words(lessons, 'and')}.")
        write_file(Path(path), build_handout(lessons[key], arguments.lang).encode())
    elif arguments.site:
        write_site(lessons.values(), arguments.site, arguments.lang)
    elif arguments.json:
        print(format_json(list(map(build_lesson_record, lessons.values()))))
    else:
        for lesson in lessons.values():
            print(f"{lesson.key:24}{lesson.minutes:3} min {len(lesson.steps):3} steps  {lesson.title}")
    return 0


def write_site(lessons: Iterable[Lesson], folder: Path, language: str) -> None:
    """Write a web site of the lessons, with its interface in a language, into a folder; it needs no server.

    A line on stderr names each link that has no picture. Raises InvalidInput if the folder or a file cannot be written.
    """
    from normviz.classroom.site.site import PICTURE_FOLDER, build_site  # the other options do not wait for it
    from normviz.classroom.site.step_pictures import draw_step_picture

    def draw(link: str) -> list[Any]:
        try:
            if parts := draw_step_picture(link):
                return parts
            reason = "this page has none without a server."
        except InvalidInput as error:
            reason = str(error)
        print_message(f"{link} has no picture: {reason}")
        return []

    try:
        folder.joinpath(PICTURE_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}.") from error
    for path, content in build_site(lessons, draw, language):
        write_file(folder / path, content)


def check_files(paths: Iterable[Path]) -> int:
    """Check files of lessons, print a line for every mistake on stderr, and return 2 if there are any."""
    code = 0
    for path in paths:
        try:
            lesson = read_lesson(path)
            print(f"{path}: a lesson of {len(lesson.steps)} steps, no mistakes")
        except InvalidInput as error:
            code = 2
            for line in str(error).splitlines():
                print_message(line)
    return code


def build_lesson_record(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain data, as `normviz lessons --json` prints it."""
    steps = [
        {
            "link": step.link,
            "text": step.text,
            "question": step.question,
            "answers": [{"text": each.text, "right": each.is_right, "reason": each.reason} for each in step.answers],
        }
        for step in lesson.steps
    ]
    return {"key": lesson.key, "title": lesson.title, "steps": steps}
