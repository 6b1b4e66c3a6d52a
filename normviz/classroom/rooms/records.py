"""The content of a class as plain data, and the error for a refused request."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from normviz.describe.interface_words import DEFAULT_LANGUAGE, fill_words, get_words


class RefusedRequest(Exception):  # noqa: N818 - the name says what it is
    """Error for a request that the server refuses, with the HTTP status and the reason.

    `name` is that of the reason among the words for refusals, into which `values` are filled.
    """

    def __init__(self, status: int, name: str, **values: str | int) -> None:
        self.status, self.name, self.values = status, name, values
        super().__init__(self.format_reason(DEFAULT_LANGUAGE))

    def format_reason(self, language: str) -> str:
        """Return the reason in this language, in one line."""
        return fill_words(get_words("refusal", language), self.name, **self.values)


@dataclass(frozen=True)
class Question:
    """Question to a class, with its answers.

    Attributes:
        right: index of the right answer, None if there is none.
        why: reason of the right answer, "" for none.
        link: of the page that shows the answer, "" for none.
    """

    text: str
    answers: tuple[str, ...]
    right: int | None = None
    why: str = ""
    link: str = ""

    def to_data(self) -> dict:
        """Return the question as JSON types."""
        return asdict(self) | {"answers": [*self.answers]}

    def to_json(self) -> str:
        """Return the question as JSON, as the database stores it."""
        return json.dumps(self.to_data())

    @classmethod
    def from_json(cls, stored: str) -> "Question":
        """Return the question that `to_json` stored."""
        values = json.loads(stored)
        return cls(**values | {"answers": tuple(values["answers"])})


@dataclass(frozen=True)
class Pace:
    """Pace of a class: students work alone, follow the lecturer to a link, or pause.

    Attributes:
        mode: "free": everyone goes on alone; "follow": everyone sees `link`; "pause": everyone looks at the front.
        link: the step, "" for none.
    """

    mode: str = "free"
    link: str = ""


@dataclass(frozen=True)
class Answer:
    """Answer of a device to a question, as the device sent it.

    Attributes:
        code: of the class.
        device: the name that the device gives itself.
        choice: index of an answer, or its text.
        number: of the question that it answers; None for the current one.
    """

    code: str
    device: str
    choice: int | str
    number: int | None = None


@dataclass(frozen=True)
class ClassState:
    """State of a class, as its students see it.

    Attributes:
        code: of the class.
        version: rises with every change.
        number: of the question, from 1; 0 before the first.
        question: the current one, None before the first.
        closed, revealed: True once no answer is taken any more, and once the right answer is shown.
        pace: where the lecturer leads.
        counts: answers by choice, () until the answer is revealed.
    """

    code: str
    version: int
    number: int
    question: Question | None
    closed: bool
    revealed: bool
    pace: Pace
    counts: tuple[int, ...] = field(default=())

    def to_data(self) -> Mapping[str, Any]:
        """Return the state as JSON types, without the right answer until it is revealed."""
        asked = self.question
        shown = {} if asked is None else {"text": asked.text, "answers": list(asked.answers)}
        data = {
            "code": self.code,
            "version": self.version,
            "number": self.number,
            "question": shown or None,
            "closed": self.closed,
            "revealed": self.revealed,
            "pace": asdict(self.pace),
        }
        if asked is not None and self.revealed:
            data |= {"right": asked.right, "why": asked.why, "counts": list(self.counts)}
        return data
