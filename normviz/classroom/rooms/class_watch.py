"""Current states of classes, and the requests that wait for the next change."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from weakref import WeakValueDictionary

from normviz.classroom.rooms.limits import MAX_WAITING, POLL_SECONDS, WAIT_SECONDS
from normviz.classroom.rooms.records import ClassState

ReadState = Callable[[str], Awaitable[ClassState]]
ReadVersions = Callable[[Collection[str]], Awaitable[Mapping[str, int]]]
"""Functions that read from the database."""


class StateReader:
    """Reader of one class's state: requests that arrive during a read of the database share the next read.

    So each sees all that was written before it arrived, and a whole class costs two looks.
    """

    def __init__(self, code: str, read_state: ReadState) -> None:
        self._code, self._read_state = code, read_state
        self._lock = asyncio.Lock()
        self._arrived, self._served = 0, 0
        self._state: ClassState | None = None

    async def read(self) -> ClassState:
        """Return the state, read from the database after this call. Raises what `read_state` raises."""
        self._arrived += 1
        ticket = self._arrived
        async with self._lock:
            if self._state is None or self._served < ticket:
                self._state, served = None, self._arrived
                self._state = await self._read_state(self._code)
                self._served = served
            return self._state


class ClassWatch:
    """Reader of the states of one server's classes, which lets requests wait for a change; for one event loop."""

    def __init__(self, read_state: ReadState, read_versions: ReadVersions) -> None:
        self._read_state, self._read_versions = read_state, read_versions
        self._readers: WeakValueDictionary[str, StateReader] = WeakValueDictionary()
        self._waiting: dict[str, dict[asyncio.Future[None], int]] = {}
        self._poller: asyncio.Task[None] | None = None

    async def read_state(self, code: str) -> ClassState:
        """Return the state of a class. Raises RefusedRequest for an unknown code."""
        reader = self._readers.get(code)
        if reader is None:
            reader = self._readers[code] = StateReader(code, self._read_state)
        return await reader.read()

    async def wait_for_change(self, code: str, version: int) -> ClassState:
        """Return the state once its version differs from `version`, or after `WAIT_SECONDS`. Raises RefusedRequest."""
        state = await self.read_state(code)
        if state.version != version or sum(map(len, self._waiting.values())) >= MAX_WAITING:
            return state
        changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(code, {})[changed] = version
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
        with suppress(TimeoutError):
            await asyncio.wait_for(changed, WAIT_SECONDS)
        self._forget(code, changed)
        return await self.read_state(code)

    def announce_change(self, code: str) -> None:
        """Wake the requests that wait for a change of this class."""
        for changed in self._waiting.pop(code, {}):
            if not changed.done():
                changed.set_result(None)

    def _forget(self, code: str, changed: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(code, {})
        waiting.pop(changed, None)
        if not waiting:
            self._waiting.pop(code, None)

    async def _poll(self) -> None:
        """Look for changes by other servers in the database, and announce them, as long as requests wait."""
        while self._waiting:
            await asyncio.sleep(POLL_SECONDS)
            with suppress(Exception):  # of the database: the requests themselves report it
                versions = await self._read_versions(list(self._waiting))
                for code, waiting in list(self._waiting.items()):
                    if any(version != versions.get(code) for version in waiting.values()):
                        self.announce_change(code)
        self._poller = None
