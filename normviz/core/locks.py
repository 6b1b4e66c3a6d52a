"""What many threads ask for at the same moment is computed once."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

CallParameters = ParamSpec("CallParameters")
Result = TypeVar("Result")


def serialize_calls(function: Callable[CallParameters, Result]) -> Callable[CallParameters, Result]:
    """The function, for one thread at a time.

    For what has a cache: a cache alone lets everybody compute who comes before the first is done, each slower and with
    memory of its own.
    """
    turn = RLock()

    @wraps(function)
    def in_turn(*args: CallParameters.args, **kwargs: CallParameters.kwargs) -> Result:
        with turn:
            return function(*args, **kwargs)

    return in_turn
