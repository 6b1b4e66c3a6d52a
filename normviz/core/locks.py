"""A lock around cached functions, so that concurrent calls compute a result once."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

CallParameters = ParamSpec("CallParameters")
Result = TypeVar("Result")


def serialize_calls(function: Callable[CallParameters, Result]) -> Callable[CallParameters, Result]:
    """Decorate a function so that only one thread at a time runs it; the others wait.

    For cached functions: without the lock, all threads that call before the first result is cached compute it again.
    """
    turn = RLock()

    @wraps(function)
    def in_turn(*args: CallParameters.args, **kwargs: CallParameters.kwargs) -> Result:
        with turn:
            return function(*args, **kwargs)

    return in_turn
