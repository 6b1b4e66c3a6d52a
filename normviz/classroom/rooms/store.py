"""The store of classes: what each route reads and writes, in one transaction each."""

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from normviz.classroom.rooms.codes import generate_code, generate_secret, hash_device, hash_secret, matches_digest
from normviz.classroom.rooms.database import ANSWERS, CLASSES, SNAPSHOTS, Database
from normviz.classroom.rooms.limits import CLASS_SECONDS, MAX_CLASSES, MAX_DEVICE_SNAPSHOTS, MAX_DEVICES, MAX_SNAPSHOTS
from normviz.classroom.rooms.records import Answer, ClassState, Pace, Question, RefusedRequest

UNKNOWN_CODE = 404, "unknown-code"
WRONG_SECRET = 403, "wrong-secret"
NO_QUESTION = 409, "no-question"
"""Statuses of refusals, and the names of their words."""


class ClassStore:
    """Store of classes in a database, for any number of threads, processes and servers.

    Methods raise RefusedRequest for an unknown code and for a wrong secret, besides their own reasons.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def open_class(self) -> tuple[str, str]:
        """Open a class, and return its code and secret; delete classes that are too old."""
        code, secret = generate_code(), generate_secret()
        with self._database.begin_write() as db:
            self._delete_old(db)
            if db.execute(select(func.count()).select_from(CLASSES)).scalar_one() >= MAX_CLASSES:
                raise RefusedRequest(429, "too-many-classes")
            db.execute(
                insert(CLASSES).values(
                    code=code, secret=hash_secret(secret), opened=self._clock(), version=1, number=0, closed=True,
                    revealed=False, pace=json.dumps(asdict(Pace())),
                )
            )  # fmt: skip
        return code, secret

    def delete_old_classes(self) -> None:
        """Delete all classes that are too old."""
        with self._database.begin_write() as db:
            self._delete_old(db)

    def ask_question(self, code: str, secret: str, question: Question) -> int:
        """Ask a class a new question, and return the question's number; delete the answers to the previous one."""
        with self._database.begin_write() as db:
            number = self._lock_class(db, code, secret).number + 1
            db.execute(delete(ANSWERS).where(ANSWERS.c.code == code))
            _update_class(db, code, question=question.to_json(), number=number, closed=False, revealed=False)
        return number

    def close_question(self, code: str, secret: str) -> None:
        """Close the current question to further answers."""
        self._change_question(code, secret, closed=True)

    def reveal_answer(self, code: str, secret: str) -> None:
        """Close the current question, and show the right answer and the counts."""
        self._change_question(code, secret, closed=True, revealed=True)

    def set_pace(self, code: str, secret: str, pace: Pace) -> None:
        """Set the class's pace: students follow the lecturer to a link, pause, or work alone."""
        with self._database.begin_write() as db:
            self._lock_class(db, code, secret)
            _update_class(db, code, pace=json.dumps(asdict(pace)))

    def end_class(self, code: str, secret: str) -> None:
        """Delete the class with everything in it."""
        with self._database.begin_write() as db:
            self._lock_class(db, code, secret)
            db.execute(delete(CLASSES).where(CLASSES.c.code == code))

    def read_state(self, code: str) -> ClassState:
        """Return the state of a class, as its students see it."""
        with self._database.begin_read() as db:
            row = self._find_class(db, code)
            question = Question.from_json(row.question) if row.question else None
            counts = tuple(_count_answers(db, code, question)) if question and row.revealed else ()
        return ClassState(
            row.code, row.version, row.number, question, row.closed, row.revealed, Pace(**json.loads(row.pace)), counts
        )

    def read_results(self, code: str, secret: str) -> Mapping[str, Any]:
        """Return a dict of what the lecturer sees of a class: counts by choice, question, pace, links."""
        with self._database.begin_read() as db:
            row = self._find_class(db, code, secret)
            question = Question.from_json(row.question) if row.question else None
            counts = _count_answers(db, code, question) if question else []
            links = db.execute(
                select(SNAPSHOTS.c.id, SNAPSHOTS.c.link).where(SNAPSHOTS.c.code == code).order_by(SNAPSHOTS.c.id)
            )
            return {
                "counts": counts,
                "closed": row.closed,
                "revealed": row.revealed,
                "number": row.number,
                "question": asdict(question) if question else None,
                "pace": json.loads(row.pace),
                "snapshots": [{"id": each.id, "link": each.link} for each in links],
            }

    def read_versions(self, codes: Collection[str]) -> dict[str, int]:
        """Return the version of each of these classes that is still open, by code."""
        with self._database.begin_read() as db:
            rows = db.execute(
                select(CLASSES.c.code, CLASSES.c.version, CLASSES.c.opened).where(CLASSES.c.code.in_(codes))
            )
            return {row.code: row.version for row in rows if not self._is_over(row)}

    def record_answers(self, answers: Sequence[Answer]) -> list[int | RefusedRequest]:
        """Record answers in one transaction; return for each the index of its choice, or the error that refuses it.

        A later answer of a device replaces an earlier one.
        """
        codes = sorted({answer.code for answer in answers})
        named = [(answer.code, hash_device(answer.code, answer.device)) for answer in answers]
        with self._database.begin_write() as db:
            # Locked in one order: servers that share a database never wait for each other in a circle.
            found = select(CLASSES).where(CLASSES.c.code.in_(codes)).order_by(CLASSES.c.code).with_for_update()
            rows = db.execute(found)
            classes = {row.code: row for row in rows if not self._is_over(row)}
            questions = {code: Question.from_json(row.question) for code, row in classes.items() if row.question}
            keys = tuple_(ANSWERS.c.code, ANSWERS.c.device)
            present = {tuple(row) for row in db.execute(select(*keys).where(keys.in_(sorted(set(named)))))}
            counted = select(ANSWERS.c.code, func.count()).where(ANSWERS.c.code.in_(codes)).group_by(ANSWERS.c.code)
            devices = Counter({row[0]: row[1] for row in db.execute(counted)})
            outcomes: list[int | RefusedRequest] = []
            chosen: dict[tuple[str, str], int] = {}
            for answer, key in zip(answers, named, strict=True):
                try:
                    choice = _check_answer(answer, classes.get(answer.code), questions.get(answer.code))
                    if key not in present and devices[answer.code] >= MAX_DEVICES:
                        raise RefusedRequest(429, "too-many-devices", most=MAX_DEVICES)
                except RefusedRequest as refused:
                    outcomes.append(refused)
                    continue
                devices[answer.code] += key not in present
                present.add(key)
                chosen[key] = choice
                outcomes.append(choice)
            if chosen:
                values = [
                    {"code": code, "device": device, "choice": chosen[code, device]} for code, device in sorted(chosen)
                ]
                db.execute(self._build_upsert(), values)
        return outcomes

    def add_snapshot(self, code: str, device: str, link: str) -> None:
        """Store a link that a student sends, once. Raises RefusedRequest if the class or the device sent too many."""
        name = hash_device(code, device)
        with self._database.begin_write() as db:
            self._lock_class(db, code)
            stored = db.execute(select(SNAPSHOTS.c.device, SNAPSHOTS.c.link).where(SNAPSHOTS.c.code == code)).all()
            if (name, link) in [tuple(row) for row in stored]:
                return
            if len(stored) >= MAX_SNAPSHOTS or [row.device for row in stored].count(name) >= MAX_DEVICE_SNAPSHOTS:
                raise RefusedRequest(429, "too-many-links", most=MAX_SNAPSHOTS, most_of_device=MAX_DEVICE_SNAPSHOTS)
            db.execute(insert(SNAPSHOTS).values(code=code, device=name, link=link))

    def _change_question(self, code: str, secret: str, **values: bool) -> None:
        with self._database.begin_write() as db:
            if not self._lock_class(db, code, secret).question:
                raise RefusedRequest(*NO_QUESTION)
            _update_class(db, code, **values)

    def _lock_class(self, db: Connection, code: str, secret: str | None = None) -> Row:
        """Return the row of a class, locked until the transaction ends; check a secret that is given."""
        return self._find_class(db, code, secret, locks=True)

    def _find_class(self, db: Connection, code: str, secret: str | None = None, locks: bool = False) -> Row:
        """Return the row of a class, locked against other transactions if `locks`; check a secret that is given."""
        query = select(CLASSES).where(CLASSES.c.code == code)
        row = db.execute(query.with_for_update() if locks else query).one_or_none()
        if row is None or self._is_over(row):
            raise RefusedRequest(*UNKNOWN_CODE)
        if secret is not None and not matches_digest(secret, row.secret):
            raise RefusedRequest(*WRONG_SECRET)
        return row

    def _delete_old(self, db: Connection) -> None:
        db.execute(delete(CLASSES).where(CLASSES.c.opened < self._clock() - CLASS_SECONDS))

    def _is_over(self, row: Row) -> bool:
        return row.opened < self._clock() - CLASS_SECONDS

    def _build_upsert(self) -> Any:
        dialect = sqlite if self._database.is_sqlite else postgresql
        upsert = dialect.insert(ANSWERS)
        return upsert.on_conflict_do_update(
            index_elements=[ANSWERS.c.code, ANSWERS.c.device], set_={"choice": upsert.excluded.choice}
        )


def _update_class(db: Connection, code: str, **values: Any) -> None:
    """Set values of a class's row, and raise its version."""
    db.execute(update(CLASSES).where(CLASSES.c.code == code).values(version=CLASSES.c.version + 1, **values))


def _count_answers(db: Connection, code: str, question: Question) -> list[int]:
    query = select(ANSWERS.c.choice, func.count()).where(ANSWERS.c.code == code).group_by(ANSWERS.c.choice)
    found = {row[0]: row[1] for row in db.execute(query)}
    return [found.get(choice, 0) for choice in range(len(question.answers))]


def _check_answer(answer: Answer, row: Row | None, question: Question | None) -> int:
    """Return the index of an answer's choice, given its class's row and question. Raises RefusedRequest."""
    if row is None:
        raise RefusedRequest(*UNKNOWN_CODE)
    if question is None:
        raise RefusedRequest(*NO_QUESTION)
    if answer.number not in (None, row.number):
        raise RefusedRequest(409, "other-question")
    if row.closed:
        raise RefusedRequest(409, "question-closed")
    choice = question.answers.index(answer.choice) if answer.choice in question.answers else answer.choice
    if not isinstance(choice, int) or not 0 <= choice < len(question.answers):
        raise RefusedRequest(400, "choice-number", last=len(question.answers) - 1)
    return choice
