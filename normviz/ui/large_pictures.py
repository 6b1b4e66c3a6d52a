"""Large pictures of all sessions are made in turn: what one takes is taken once, and small pages go on beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LARGE_PICTURE_ELEMENTS = 16_384
"""Elements beyond which a picture takes so long that thirty at once would keep all other sessions waiting."""

_TURN = Lock()


@contextmanager
def wait_for_turn(elements: int) -> Iterator[None]:
    """Wait for one's turn, where a picture has that many elements.

    A thread that waits leaves the interpreter to others: thirty that compute at once would let no other session in.
    """
    if elements <= LARGE_PICTURE_ELEMENTS:
        yield
        return
    with _TURN:
        yield
