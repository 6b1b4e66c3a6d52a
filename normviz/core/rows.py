"""Tables of data whose rows have a key."""

from typing import Protocol, TypeVar


class HasKey(Protocol):
    """A row of a table: an object with a key."""

    @property
    def key(self) -> str:
        """The key, unique in the table."""


Row = TypeVar("Row", bound=HasKey)


def index_by_key(*rows: Row) -> dict[str, Row]:
    """Return rows by their key, in the given order."""
    return {row.key: row for row in rows}
