"""Where an error of a job came from."""

import re
from traceback import clear_frames, format_tb

from normviz.core.errors import InvalidInput
from normviz.jobs.limits import LimitExceeded

_FRAME = re.compile(r'File ".*?([^"/\\]+[/\\]normviz[/\\])?(normviz[/\\][^"]+)", line (\d+), in (\S+)')


class RemoteTraceback(Exception):  # noqa: N818 - the name says what it is
    """The traceback that an error had in another process, as text: the cause of the error here."""


def locate_error(error: BaseException) -> str:
    """The innermost line of this package that an error came through, as `file, line, in function`; empty if none.

    An error of another process has left its traceback there, and brings it along as the text of its cause.
    """
    for text in (str(error.__cause__), "".join(format_tb(error.__traceback__))):
        if found := _FRAME.findall(text):
            *_, file, line, function = found[-1]
            return f"{file}, line {line}, in {function}"
    return ""


def clear_error_frames(error: BaseException | None) -> None:
    """Empty the frames that an error and those before it came through.

    They hold the tensors of the job: of a GPU that was full, all of them.
    """
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__


def describe_error(error: BaseException) -> str:
    """An error in a line: what it says, and where it came from, unless it is one that says what would be right."""
    if isinstance(error, InvalidInput | LimitExceeded):
        return str(error)
    place, kind = locate_error(error), type(error).__name__
    return (str(error) or kind) + (f" ({kind} in {place})" if place else "")
