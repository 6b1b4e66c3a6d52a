"""The error for bad input of a user, with a message of one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class InvalidInput(ValueError):  # noqa: N818 - the name says what it is
    """Error for invalid input of a user, with a message of one line for pages and the command line.

    The message says what was wrong, what came, and what would be right.

    >>> from normviz import InvalidInput, get_scheme
    >>> try:
    ...     get_scheme("group", groups=0)
    ... except InvalidInput as error:
    ...     print(error)
    groups(0) is not a rule: groups takes a whole number from 1, window one from 0, own and full none.
    """


@contextmanager
def rephrase_errors(message: str) -> Iterator[None]:
    """Replace every other error raised inside the block by InvalidInput with this message.

    For parsers of files: on damaged ones NumPy and Pillow raise errors of any type.
    """
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(message) from error
