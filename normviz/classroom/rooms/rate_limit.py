"""Limits on how often an address may try."""

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_REMEMBERED = 50_000
"""Addresses, and pairs of address and code, that a server remembers; the oldest are forgotten first."""


class RateLimit:
    """Limit on the events of each address within a period of some seconds, which begins with its first event."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.seconds, self._clock = limit, seconds, clock
        self._periods: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def is_exhausted(self, address: str) -> bool:
        """Return True if the address has no event left in its period."""
        return self._get_period(address)[1] >= self.limit

    def count_event(self, address: str) -> None:
        """Count an event of an address; the oldest addresses are forgotten beyond `MAX_REMEMBERED`."""
        start, count = self._get_period(address)
        self._periods[address] = start, count + 1
        while len(self._periods) > MAX_REMEMBERED:
            self._periods.popitem(last=False)

    def _get_period(self, address: str) -> tuple[float, int]:
        """Return the start of an address's period in seconds, and the number of its events."""
        now = self._clock()
        start, count = self._periods.get(address, (now, 0))
        return (now, 0) if now - start >= self.seconds else (start, count)


class CodeGuard:
    """Guard against guessing codes: an address that tried too many may only use the codes that it has used before.

    A class behind one address goes on when one of its phones guesses.
    """

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._used: OrderedDict[tuple[str, str], None] = OrderedDict()

    def is_refused(self, address: str, code: str | None) -> bool:
        """Return True if an address has tried too many codes, and has not used this one."""
        return (address, code) not in self._used and self._limit.is_exhausted(address)

    def count_wrong(self, address: str) -> None:
        """Count a wrong code that an address tried, towards its limit."""
        self._limit.count_event(address)

    def remember_use(self, address: str, code: str) -> None:
        """Remember that an address has used the code of a class, so that it may use it again."""
        self._used[address, code] = None
        self._used.move_to_end((address, code))
        while len(self._used) > MAX_REMEMBERED:
            self._used.popitem(last=False)
