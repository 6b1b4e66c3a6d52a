"""Results in memory: a bounded number, of which the least recently used go first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedStore(Generic[Key, Value]):
    """Thread-safe mapping that holds at most a fixed number of values and drops the least recently used ones.

    `version` grows with every change of a value. `replaces` returns True if a new value replaces an old one of the same
    key; by default always.
    """

    def __init__(self, limit: int, replaces: Callable[[Value, Value], bool] = lambda new, old: True) -> None:
        self.limit, self.version, self._replaces = limit, 0, replaces
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """Return the value stored under a key, or None if the key is absent."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        """Store a value; drop the least recently used one if there are too many."""
        with self._lock:
            if key not in self._values or self._replaces(value, self._values[key]):
                self._values[key] = value
                self.version += 1
            self._values.move_to_end(key)
            if len(self._values) > self.limit:
                self._values.popitem(last=False)


class HashedKey:
    """Dictionary key that caches its hash, for values that are slow to hash, such as all settings of a training."""

    __slots__ = ("hashed", "on")

    def __init__(self, *on: Hashable) -> None:
        self.on, self.hashed = on, hash(on)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedKey) and self.on == other.on
