"""The question of a step of a lesson, and the link to the step."""

from normviz.classroom.lessons.catalogue import get_lessons
from normviz.classroom.lessons.lesson import LessonPlace, LessonStep
from normviz.classroom.lessons.lesson_links import make_step_link
from normviz.classroom.rooms.records import Question, RefusedRequest
from normviz.describe.interface_words import DEFAULT_LANGUAGE


def make_lesson_question(key: str, language: str = DEFAULT_LANGUAGE) -> Question:
    """Return the question of a step of a lesson, such as "batch-or-layer.2", with a link to the step and its answer.

    Raises RefusedRequest if there is no such step.
    """
    place = LessonPlace.parse(key)
    lesson = place and get_lessons(language).get(place.key)
    if place is None or lesson is None or place.step >= len(lesson.steps):
        raise RefusedRequest(400, "lesson-key")
    step = lesson.steps[place.step]
    right = next(k for k, answer in enumerate(step.answers) if answer.is_right)
    has_one = sum(answer.is_right for answer in step.answers) == 1
    return Question(
        _remove_bold(f"{lesson.title}\n{step.text} {step.question}"),
        tuple(_remove_bold(answer.text) for answer in step.answers),
        right if has_one else None,
        _remove_bold(step.answers[right].reason),
        make_step_link(step, place._replace(answer=right)),
    )


def list_lesson_steps(language: str = DEFAULT_LANGUAGE) -> list[dict]:
    """Return the lessons as JSON types: titles and steps, each with its key, question, answer and link."""
    return [
        {
            "title": _remove_bold(lesson.title),
            "steps": [_make_step(step, LessonPlace(lesson.key, k), language) for k, step in enumerate(lesson.steps)],
        }
        for lesson in get_lessons(language).values()
    ]


def _make_step(step: LessonStep, place: LessonPlace, language: str) -> dict:
    key = place.format_for_link()
    own = {"key": key, "question": _remove_bold(step.question), "link": make_step_link(step, place)}
    return make_lesson_question(key, language).to_data() | own


def _remove_bold(text: str) -> str:
    return text.replace("**", "")
