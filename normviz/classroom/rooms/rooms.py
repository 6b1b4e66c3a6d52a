"""The classes of one server: its store in threads, its limits, its writer and its watch."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from normviz.classroom.rooms.answer_writer import AnswerWriter
from normviz.classroom.rooms.class_watch import ClassWatch
from normviz.classroom.rooms.codes import normalize_code
from normviz.classroom.rooms.database import DATABASE_ERRORS
from normviz.classroom.rooms.limits import MAX_OPENED, MAX_WRONG, OPENED_SECONDS, SWEEP_SECONDS, WRONG_SECONDS
from normviz.classroom.rooms.rate_limit import CodeGuard, RateLimit
from normviz.classroom.rooms.records import RefusedRequest
from normviz.classroom.rooms.store import UNKNOWN_CODE, ClassStore

Value = TypeVar("Value")

STORE_THREADS = 4
"""Threads that talk to the database."""


class Rooms:
    """Classes of one server: their store in threads, the limits of each address, and the requests that wait.

    The first request opens the store, in a thread.
    """

    def __init__(self, open_store: Callable[[], ClassStore]) -> None:
        self._open_store = open_store
        self._store: ClassStore | None = None
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="classes")
        self._guard = CodeGuard(RateLimit(MAX_WRONG, WRONG_SECONDS))
        self._opened = RateLimit(MAX_OPENED, OPENED_SECONDS)
        self.writer = AnswerWriter(lambda answers: self.run(lambda store: store.record_answers(answers)))
        self.watch = ClassWatch(
            lambda code: self.run(lambda store: store.read_state(code)),
            lambda codes: self.run(lambda store: store.read_versions(codes)),
        )

    async def run(self, work: Callable[[ClassStore], Value]) -> Value:
        """Call `work` with the store in a thread, and return its result."""

        def run_in_thread() -> Value:
            with self._lock:
                if self._store is None:
                    self._store = self._open_store()
            return work(self._store)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run_in_thread)

    async def open_class(self, address: str) -> tuple[str, str]:
        """Open a class for an address, and return the class's code and secret. Raises RefusedRequest."""
        if self._opened.is_exhausted(address):
            raise RefusedRequest(429, "too-many-opened")
        code, secret = await self.run(lambda store: store.open_class())
        self._opened.count_event(address)
        self._guard.remember_use(address, code)
        return code, secret

    async def delete_old_classes(self) -> None:
        """Delete old classes now and every hour, until the task is cancelled."""
        while True:
            with suppress(*DATABASE_ERRORS):  # the next request to a class reports it
                await self.run(lambda store: store.delete_old_classes())
            await asyncio.sleep(SWEEP_SECONDS)

    def admit_code(self, address: str, text: str) -> str:
        """Return the code in `text` in plain form. Raises RefusedRequest if the address tried too many codes."""
        code = normalize_code(text)
        if self._guard.is_refused(address, code):
            raise RefusedRequest(429, "too-many-codes")
        if code is None:
            self._guard.count_wrong(address)
            raise RefusedRequest(*UNKNOWN_CODE)
        return code

    def note_outcome(self, address: str, code: str, status: int) -> None:
        """Count a wrong code of an address, or remember the code that it used, by the status of the response."""
        if status == UNKNOWN_CODE[0]:
            self._guard.count_wrong(address)
        else:
            self._guard.remember_use(address, code)
