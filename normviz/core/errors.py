"""The error for bad input of a user, with a message of one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class InvalidInput(ValueError):  # noqa: N818 - the name says what it is
    """Invalid input of a user, with a message of one line for pages and the command line.

    The message says what was wrong, what came, and what would be right.
    """


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
