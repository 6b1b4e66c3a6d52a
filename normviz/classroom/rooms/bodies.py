"""Checks of the bodies of requests: questions, answers, the pace, links."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from normviz.classroom.rooms import limits
from normviz.classroom.rooms.records import Answer, Pace, Question, RefusedRequest

PACE_MODES = ("follow", "pause", "free")
"""Ways to lead a class."""

ParseLink = Callable[[str], str]
"""Function that returns a link to one of the app's pages as path and query, and raises RefusedRequest for others."""

MakeQuestion = Callable[[str, str], Question]
"""Function that returns the question of a key in a language, and raises RefusedRequest for other keys."""


def parse_body(content: bytes) -> Mapping[str, Any]:
    """Return the JSON object that a request's body holds; {} for an empty body. Raises RefusedRequest."""
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise RefusedRequest(400, "body-json") from None
    if not isinstance(body, dict):
        raise RefusedRequest(400, "body-object")
    return body


def read_question(
    body: Mapping[str, Any], parse_link: ParseLink, question_makers: Mapping[str, MakeQuestion], language: str
) -> Question:
    """Return the question that a request's body holds, or that one of `question_makers` builds. Raises RefusedRequest.

    The body is {"text", "answers"} with optional "right", "why" and "link". Or it is a name of `question_makers` and a
    key, of a cell of Table 1 or of a lesson's step.
    """
    for name, make in question_makers.items():
        if name in body:
            return make(_read_text(body, name, limits.MAX_ANSWER_LENGTH), language)
    answers = body.get("answers")
    if not isinstance(answers, list) or not limits.MIN_ANSWERS <= len(answers) <= limits.MAX_ANSWERS:
        raise RefusedRequest(400, "answers-list", least=limits.MIN_ANSWERS, most=limits.MAX_ANSWERS)
    texts = tuple(_read_text({"each answer": each}, "each answer", limits.MAX_ANSWER_LENGTH) for each in answers)
    if len(set(texts)) < len(texts):
        raise RefusedRequest(400, "answers-same")
    right = body.get("right")
    if right is not None and not (_is_whole(right) and 0 <= right < len(texts)):
        raise RefusedRequest(400, "right-number", last=len(texts) - 1)
    return Question(
        _read_text(body, "text", limits.MAX_TEXT_LENGTH), texts, right,
        _read_text(body, "why", limits.MAX_TEXT_LENGTH) if body.get("why") else "",
        parse_link(_read_text(body, "link")) if body.get("link") else "",
    )  # fmt: skip


def read_answer(body: Mapping[str, Any], code: str) -> Answer:
    """Return a device's answer to the class with this code, from a request's body. Raises RefusedRequest."""
    choice, number = body.get("choice"), body.get("number")
    if not isinstance(choice, int | str) or isinstance(choice, bool):
        raise RefusedRequest(400, "choice-any")
    if number is not None and not _is_whole(number):
        raise RefusedRequest(400, "question-number")
    return Answer(code, _read_text(body, "device", limits.MAX_DEVICE_LENGTH), choice, number)


def read_pace(body: Mapping[str, Any], parse_link: ParseLink) -> Pace:
    """Return the mode "follow", "pause" or "free", and its link after `parse_link`; a link alone means "follow"."""
    mode = body.get("mode", "follow" if "link" in body else None)
    if mode not in PACE_MODES:
        raise RefusedRequest(400, "pace-mode", modes=", ".join(PACE_MODES))
    if mode == "follow" or body.get("link"):
        return Pace(mode, parse_link(_read_text(body, "link")))
    return Pace(mode)


def read_device_and_link(body: Mapping[str, Any], parse_link: ParseLink) -> tuple[str, str]:
    """Return the name of a device and the link that it sends, from a request's body. Raises RefusedRequest."""
    return _read_text(body, "device", limits.MAX_DEVICE_LENGTH), parse_link(_read_text(body, "link"))


def _read_text(body: Mapping[str, Any], name: str, max_length: int | None = None) -> str:
    """Return the text under `name` in a body, stripped. Raises RefusedRequest if it is missing or over `max_length`."""
    text = body.get(name)
    if not isinstance(text, str) or not text.strip():
        raise RefusedRequest(400, "text", field=name)
    if max_length is not None and len(text) > max_length:
        raise RefusedRequest(400, "text-length", field=name, most=max_length, length=len(text))
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise RefusedRequest(400, "text-characters", field=name)
    return text.strip()


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
