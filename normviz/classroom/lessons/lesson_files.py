"""Read lessons from TOML files, and check them: every mistake is named with its file, line and reason.

A file is read as if a stranger had written it. Its size, and that of everything in it, is bounded. Its texts are shown
without markup but **bold**, and its links lead to pages of the app.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from normviz.classroom.lessons.lesson import MAX_STEPS, Lesson, LessonAnswer, LessonStep, TeacherNote
from normviz.classroom.lessons.lesson_links import describe_link_mistakes
from normviz.core.errors import InvalidInput
from normviz.core.text import join_words

MAX_BYTES = 2**16
"""The size of a lesson's file."""

LocationInFile = tuple[str | int, ...]
"""Names and indices that lead to a value of a file: ("step", 0, "text")."""


@dataclass(frozen=True)
class FieldRule:
    """Rule for the value of one key in a TOML table of a lesson's file.

    Attributes:
        kind: "text", "link", "texts", "switch", "number", "facts" (a table of texts), "table" or "tables".
        least, most: bounds: characters of a text, value of a number, number of texts or tables.
        default: the value of a name that is missing; None if it must be there.
        rules: of the names in a table.
    """

    kind: str
    least: int = 1
    most: int = 400
    default: Any = None
    rules: Mapping[str, "FieldRule"] | None = None


_ANSWER = {
    "text": FieldRule("text", most=120),
    "reason": FieldRule("text"),
    "right": FieldRule("switch", default=False),
}
_STEP = {
    "link": FieldRule("link", most=1000),
    "text": FieldRule("text"),
    "question": FieldRule("text", most=200),
    "look": FieldRule("text"),
    "reveal": FieldRule("link", most=1000, default=""),
    "facts": FieldRule("facts", 0, 40, {}),
    "answer": FieldRule("tables", 2, 5, rules=_ANSWER),
}
_NOTE = {
    "goal": FieldRule("text"),
    "plan": FieldRule("texts", 1, 12),
    "misconception": FieldRule("text"),
    "simplified": FieldRule("text"),
}
LESSON_RULES = {
    "title": FieldRule("text", most=60),
    "about": FieldRule("text", most=160),
    "minutes": FieldRule("number", 1, 90),
    "teacher": FieldRule("table", rules=_NOTE),
    "step": FieldRule("tables", 1, MAX_STEPS, rules=_STEP),
}
"""Rules for a lesson's file."""


def read_lesson(path: Path) -> Lesson:
    """Read a lesson from a file. Raises InvalidInput with a line for every mistake: file, line and reason."""
    if not re.fullmatch(r"[a-z0-9-]{1,40}\.toml", path.name, re.ASCII):
        raise InvalidInput(
            f"{path}: a lesson's file is named as group-norm.toml, in small letters, digits and hyphens."
        )
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}.") from error
    return parse_lesson(content, path.stem, str(path))


def parse_lesson(content: bytes, key: str, name: str) -> Lesson:
    """Parse the content of a lesson's file, called `name` in mistakes. Raises InvalidInput as `read_lesson` does."""
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"{name}: the file is larger than {MAX_BYTES // 1024} KiB.")
    try:
        text = content.decode()
        raw = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: the file is not UTF-8 text.") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(_format_toml_error(name, text, error)) from error
    except (RecursionError, ValueError) as error:  # tables in tables in tables; a number of thousands of digits
        raise InvalidInput(f"{name}: the file is not a lesson.") from error
    checker = LessonChecker(name, index_toml_lines(text))
    values = checker.check_table((), raw, LESSON_RULES)
    if checker.mistakes:
        raise InvalidInput("\n".join(checker.mistakes))
    return _build_lesson(key, values)


def _format_toml_error(name: str, text: str, error: tomllib.TOMLDecodeError) -> str:
    """Return the message for a text that is not TOML: file, line, reason."""
    reason, _, place = str(error).partition(" (at ")
    line = re.match(r"line (\d+)", place)
    return f"{name}:{line[1] if line else max(len(text.splitlines()), 1)}: {reason}."


class LessonChecker:
    """Checker of a lesson's values against their rules; `mistakes` are lines of file, line and reason."""

    def __init__(self, name: str, lines: Mapping[LocationInFile, int]) -> None:
        self.name, self.lines = name, lines
        self.mistakes: list[str] = []

    def add_mistake(self, location: LocationInFile, reason: str) -> Any:
        """Record a mistake in the value at a location; return None, which takes the place of the value."""
        nearest = next(location[:k] for k in range(len(location), -1, -1) if location[:k] in self.lines or not k)
        where = " ".join(str(each + 1 if isinstance(each, int) else each) for each in location)
        self.mistakes.append(f"{self.name}:{self.lines.get(nearest, 1)}: {where}{': ' if where else ''}{reason}")
        return None

    def check_table(
        self, location: LocationInFile, raw: Mapping[str, Any], rules: Mapping[str, FieldRule]
    ) -> dict[str, Any]:
        """Return the checked values of the table at `location`, defaults included, with None for invalid ones."""
        for name in raw.keys() - rules.keys():
            alike = get_close_matches(name, rules, 1)
            meant = f"did you mean {alike[0]!r}?" if alike else f"it may hold {join_words(sorted(rules))}."
            self.add_mistake((*location, name[:40]), f"this name is unknown; {meant}")
        found = {}
        for name, rule in rules.items():
            if name not in raw and rule.default is None:
                self.add_mistake(location, f"“{name}” is missing.")
            found[name] = self._check_value((*location, name), raw[name], rule) if name in raw else rule.default
        if rules is _STEP and found["answer"] and not any(answer["right"] for answer in found["answer"]):
            self.add_mistake(location, "no answer is right; write right = true below one of them.")
        return found

    def _check_value(self, location: LocationInFile, raw: Any, rule: FieldRule) -> Any:
        """Return the value `raw` if it obeys its rule; otherwise record a mistake and return None."""
        if rule.kind == "switch":
            return raw if isinstance(raw, bool) else self.add_mistake(location, "it is true or false.")
        if rule.kind == "number":
            fits = isinstance(raw, int) and not isinstance(raw, bool) and rule.least <= raw <= rule.most
            return raw if fits else self.add_mistake(
                location, f"it is a whole number from {rule.least} to {rule.most}."
            )  # fmt: skip
        if rule.kind == "table":
            if not isinstance(raw, dict):
                return self.add_mistake(location, "it is a table; write its name in brackets on a line.")
            return self.check_table(location, raw, rule.rules or {})
        if rule.kind in ("tables", "texts"):
            return self._check_list(location, raw, rule)
        if rule.kind == "facts":
            fits = isinstance(raw, dict) and len(raw) <= rule.most and all(isinstance(v, str) for v in raw.values())
            return raw if fits else self.add_mistake(
                location, f'it holds at most {rule.most} expressions, each in quotes, as "64" = "4 * 4 * 4".'
            )  # fmt: skip
        return self._check_text(location, raw, rule)

    def _check_list(self, location: LocationInFile, raw: Any, rule: FieldRule) -> list[Any] | None:
        """Return a list of texts or tables if it obeys its rule; otherwise record a mistake and return None."""
        kind, noun = (dict, f"tables, each below [[{location[-1]}]]") if rule.kind == "tables" else (str, "texts")
        if not isinstance(raw, list) or not all(isinstance(each, kind) for each in raw):
            return self.add_mistake(location, f"it is a list of {noun}.")
        if not rule.least <= len(raw) <= rule.most:
            return self.add_mistake(location, f"there are {len(raw)}; {rule.least} to {rule.most} are possible.")
        if rule.kind == "texts":
            return [self._check_text(location, each, FieldRule("text")) for each in raw]
        return [self.check_table((*location, k), each, rule.rules or {}) for k, each in enumerate(raw)]

    def _check_text(self, location: LocationInFile, raw: Any, rule: FieldRule) -> str | None:
        """Return a text or link with single spaces; if it is invalid, record a mistake and return None."""
        if not isinstance(raw, str):
            return self.add_mistake(location, "it is a text in quotes.")
        text = " ".join(raw.split())
        if not rule.least <= len(text) <= rule.most:
            return self.add_mistake(
                location, f"it has {len(text)} characters; {rule.least} to {rule.most} are possible."
            )
        if not text.isprintable():
            return self.add_mistake(location, "it contains a character that cannot be printed.")
        for mistake in describe_link_mistakes(text) if rule.kind == "link" else ():
            self.add_mistake(location, mistake)
        return text


def index_toml_lines(text: str) -> dict[LocationInFile, int]:
    """Map the location of every table and key of a TOML file to its line number, from 1.

    >>> index_toml_lines('title = "A"\\n[[step]]\\ntext = "B"')
    {('title',): 1, ('step',): 2, ('step', 0): 2, ('step', 0, 'text'): 3}
    """
    plain = re.sub(r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'', lambda found: "\n" * found[0].count("\n"), text)
    lines: dict[LocationInFile, int] = {}
    counts: dict[LocationInFile, int] = {}
    table: LocationInFile = ()
    for number, line in enumerate(plain.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)\s*([\w.\s-]+?)\s*\]", line):
            table = ()
            *parents, last = re.split(r"\s*\.\s*", header[2])
            for parent in parents:
                table += (parent,)
                table += (counts[table] - 1,) if table in counts else ()
            table += (last,)
            lines.setdefault(table, number)
            if header[1] == "[[":
                counts[table] = counts.get(table, 0) + 1
                table += (counts[table] - 1,)
                lines[table] = number
        elif name := re.match(r'\s*"?([\w-]+)"?\s*[.=]', line):
            lines.setdefault((*table, name[1]), number)
    return lines


def _build_lesson(key: str, values: Mapping[str, Any]) -> Lesson:
    steps = [
        LessonStep(
            **{name: each[name] for name in _STEP if name != "answer"},
            answers=tuple(LessonAnswer(one["text"], one["reason"], one["right"]) for one in each["answer"]),
        )
        for each in values["step"]
    ]
    note = TeacherNote(**{**values["teacher"], "plan": tuple(values["teacher"]["plan"])})
    return Lesson(key, values["title"], values["about"], values["minutes"], note, tuple(steps))
