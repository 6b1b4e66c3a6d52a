"""The one error that a user can cause: bad input, told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class InvalidInput(ValueError):  # noqa: N818 - the name says what it is
    """What was wrong, what came, and what would be right; pages and the command line show it as it is."""


@contextmanager
def rephrase_errors(message: str) -> Iterator[None]:
    """Raise InvalidInput with this message for any other error inside.

    For parsers of files: on damaged ones NumPy and Pillow raise errors of any type.
    """
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(message) from error
