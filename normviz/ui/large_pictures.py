"""A lock for large pictures: they are drawn one after the other, so that small pages stay fast."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LARGE_PICTURE_ELEMENTS = 16_384
"""Number of elements from which thirty pictures drawn at once would delay all other sessions."""

_TURN = Lock()


@contextmanager
def wait_for_turn(elements: int) -> Iterator[None]:
    """Run the `with` block; a picture of more than LARGE_PICTURE_ELEMENTS `elements` first waits for other large ones.

    A waiting thread leaves the interpreter to others; thirty computing threads would block all other sessions.
    """
    if elements <= LARGE_PICTURE_ELEMENTS:
        yield
        return
    with _TURN:
        yield
