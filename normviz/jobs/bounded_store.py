"""Results that are kept: a bounded number, of which those go first that were not used for the longest time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedStore(Generic[Key, Value]):
    """A bounded mapping for any number of threads. Reading and writing a value renews it.

    Args:
        limit: the most values that are kept.
        replaces: whether a new value takes the place of an old one; by default always.
    """

    def __init__(self, limit: int, replaces: Callable[[Value, Value], bool] = lambda new, old: True) -> None:
        self.limit, self._replaces = limit, replaces
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The value of a key, which is now the last to go; None where there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and drop the one least recently used where there are too many."""
        with self._lock:
            if key not in self._values or self._replaces(value, self._values[key]):
                self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self.limit:
                self._values.popitem(last=False)


class HashedKey:
    """A key of many parts, such as all settings of a training, that is hashed once and looked up again and again."""

    __slots__ = ("hashed", "on")

    def __init__(self, *on: Hashable) -> None:
        self.on, self.hashed = on, hash(on)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedKey) and self.on == other.on
