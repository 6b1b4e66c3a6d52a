"""A lesson: steps through the pages, each with a question to answer before the page shows the answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

MAX_STEPS = 8
LESSON_PARAM = "lesson"
"""Name in a link for the place in a lesson; a page's other values are beside it."""


@dataclass(frozen=True)
class LessonAnswer:
    """One of the answers to choose from, and the reason why it is right or wrong, shown once it is chosen."""

    text: str
    reason: str
    is_right: bool


@dataclass(frozen=True)
class LessonStep:
    """One step of a lesson.

    Attributes:
        link: of the page's state beside the question, such as "/compare?schemes=batch,layer".
        text: one or two sentences.
        question: what to predict.
        answers: two to five, at least one of them right.
        look: what to look at once an answer is chosen.
        reveal: the link that opens then; "" to stay.
        facts: (stated number or words, expression) of what these texts state; tests compute the expressions.
    """

    link: str
    text: str
    question: str
    answers: tuple[LessonAnswer, ...]
    look: str
    reveal: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class TeacherNote:
    """Note for a teacher to read before a lesson.

    Attributes:
        goal: what students can do afterwards.
        plan: the minutes, line by line.
        misconception: the belief that the lesson corrects.
        simplified: what the lesson leaves out.
    """

    goal: str
    plan: tuple[str, ...]
    misconception: str
    simplified: str


@dataclass(frozen=True)
class Lesson:
    """A lesson, as one file describes it: its key is the name of the file without ".toml"; `about` is a line on it."""

    key: str
    title: str
    about: str
    minutes: int
    note: TeacherNote
    steps: tuple[LessonStep, ...]


class LessonPlace(NamedTuple):
    """Position of a visitor in a lesson, in links "KEY.STEP" or "KEY.STEP.ANSWER"; STEP and ANSWER count from 1.

    Attributes:
        key: of the lesson.
        step: index of the step, from 0.
        answer: index of the chosen answer, from 0; None before.
    """

    key: str
    step: int = 0
    answer: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the text "KEY.STEP" or "KEY.STEP.ANSWER"; return None for any other text.

        >>> LessonPlace.parse("group.3.1")
        LessonPlace(key='group', step=2, answer=0)
        """
        found = re.fullmatch(r"([a-z0-9-]{1,40})\.([1-9])(?:\.([1-9]))?", text, re.ASCII)
        return found and cls(found[1], int(found[2]) - 1, int(found[3]) - 1 if found[3] else None)

    def format_for_link(self) -> str:
        """Return the place as text for a link, "KEY.STEP" or "KEY.STEP.ANSWER"."""
        return ".".join([self.key, str(self.step + 1), *([] if self.answer is None else [str(self.answer + 1)])])
