"""Recording answers that arrive together in one transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from normviz.classroom.rooms.records import Answer, RefusedRequest

MAX_BATCH = 500
"""Answers in one transaction."""

RecordAnswers = Callable[[Sequence[Answer]], Awaitable[Sequence[int | RefusedRequest]]]
"""Function that records answers and returns for each the index of its choice, or why it is refused."""


class AnswerWriter:
    """Writer of answers, for one event loop: answers that arrive during a transaction are recorded in the next one.

    `record` records answers, all or none.
    """

    def __init__(self, record: RecordAnswers) -> None:
        self._record = record
        self._waiting: list[tuple[Answer, asyncio.Future[int]]] = []
        self._task: asyncio.Task[None] | None = None

    async def record_answer(self, answer: Answer) -> int:
        """Record an answer and return the index of its choice, once it is on disk. Raises RefusedRequest."""
        recorded: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((answer, recorded))
        if self._task is None:
            self._task = asyncio.create_task(self._record_waiting())
        return await recorded

    async def _record_waiting(self) -> None:
        """Record all waiting answers in batches, until none is left."""
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            try:
                outcomes: Sequence[int | Exception] = await self._record([answer for answer, _ in batch])
            except Exception as error:  # of the database: no answer of the batch is recorded
                outcomes = [error] * len(batch)
            for (_, recorded), outcome in zip(batch, outcomes, strict=True):
                if recorded.done():  # its request was cancelled
                    continue
                if isinstance(outcome, Exception):
                    recorded.set_exception(outcome)
                else:
                    recorded.set_result(outcome)
        self._task = None
