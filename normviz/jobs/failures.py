"""Words for the errors of jobs: the message, and the line that raised it."""

import re
from traceback import clear_frames, format_tb

from normviz.core.errors import InvalidInput
from normviz.jobs.limits import LimitExceeded

_FRAME = re.compile(r'File ".*?([^"/\\]+[/\\]normviz[/\\])?(normviz[/\\][^"]+)", line (\d+), in (\S+)')


class JobsFailed(RuntimeError):  # noqa: N818 - the name says what it is
    """Error for jobs of a command of which one failed; its message is the reason."""


class RemoteTraceback(Exception):  # noqa: N818 - the name says what it is
    """Traceback of another process as text, attached as the `__cause__` of the error that is raised here."""


def locate_error(error: BaseException) -> str:
    """Return the innermost line of this package in an error's traceback: "file, line, in function"; "" if none.

    The traceback of an error from another process is the text of its cause.
    """
    for text in (str(error.__cause__), "".join(format_tb(error.__traceback__))):
        if found := _FRAME.findall(text):
            *_, file, line, function = found[-1]
            return f"{file}, line {line}, in {function}"
    return ""


def clear_error_frames(error: BaseException | None) -> None:
    """Clear the local variables in the traceback frames of an error and its contexts, to free their memory.

    They hold the tensors of the job, which may fill a GPU.
    """
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__


def describe_error(error: BaseException) -> str:
    """Describe an error in one line, with its place in the code unless the message is meant for users."""
    if isinstance(error, InvalidInput | LimitExceeded):
        return str(error)
    place, kind = locate_error(error), type(error).__name__
    return (str(error) or kind) + (f" ({kind} in {place})" if place else "")
