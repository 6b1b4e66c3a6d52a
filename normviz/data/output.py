"""Files and standard output: each is written completely, or an error says why it is not."""

import codecs
import io
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from normviz.core.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

JSON_ESCAPE = "normviz-json-escape"
"""The codec error handler that writes a character as JSON does: γ becomes `\\u03b3`, so that JSON stays valid."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def format_json(value: object) -> str:
    """Return a value as indented JSON text, as commands print it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def encode_npy(array: "np.ndarray") -> bytes:
    """Encode an array as the bytes of a .npy file."""
    content = io.BytesIO()
    import numpy as np  # `normviz --version` and usage errors do not wait for it

    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def write_npy(path: Path, array: "np.ndarray") -> None:
    """Write an array to a .npy file as `write_file` does, without adding a suffix to the name."""
    write_file(path, encode_npy(array))


def write_file(path: Path, content: bytes) -> None:
    """Write bytes to a file atomically: either the whole file is there, or the folder is unchanged.

    A new file replaces the old one after its bytes have reached the disk. It keeps the old permissions, and a symbolic
    link keeps pointing to it. Devices, pipes and the target of standard output are written directly.

    Raises:
        InvalidInput: the path cannot be written, or the disk is full.
        BrokenPipeError: the path is a pipe that nobody reads any more.
    """
    try:
        old = _read_file_status(path)
        stream = None if old is None else _find_standard_stream(old)
        if stream is not None:
            _write_all_bytes(partial(os.write, stream), content)
        elif old is None or stat.S_ISREG(old.st_mode):
            _replace_file(os.path.realpath(path), old, content)
        else:
            with _open_unbuffered(path, os.O_WRONLY) as descriptor:
                _write_all_bytes(partial(os.write, descriptor), content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from error


@contextmanager
def buffer_stdout() -> Iterator[None]:
    """Collect the output of the block and write it to standard output in one piece at the end.

    SystemExit is such an end, since argparse raises it after a help text. Any other exception discards the text.
    Without standard error, error messages are dropped; `print` would send them to standard output.

    Raises:
        InvalidInput: there is text, and standard output is closed or cannot take it.
        BrokenPipeError: nobody reads standard output any more.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    text = io.StringIO()
    try:
        with redirect_stdout(text):
            yield
    except SystemExit:
        _write_stdout(text.getvalue())
        raise
    _write_stdout(text.getvalue())


def print_message(message: str) -> None:
    """Print a message on standard error as one line; do nothing if standard error cannot be written.

    Control characters, which a file name may hold, are printed as JSON writes them.
    """
    with suppress(OSError):
        print("normviz:", _CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], message), file=sys.stderr)


def _write_stdout(text: str) -> None:
    """Write text to standard output; escape characters that its encoding lacks."""
    if not text:
        return
    stream = sys.stdout
    if stream is None:
        raise InvalidInput("standard output is closed, so the result is lost; leave it open or redirect it.")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    content, buffer = text.encode(encoding, JSON_ESCAPE), getattr(stream, "buffer", None)
    try:
        if isinstance(buffer, io.RawIOBase):  # with PYTHONUNBUFFERED: `stream.write` does not notice what it lost
            _write_all_bytes(buffer.write, content.replace(b"\n", os.linesep.encode()))
        else:
            stream.write(content.decode(encoding))
            stream.flush()
    except OSError as error:
        # What is left in the buffer would fail again when Python flushes it at exit.
        with _open_unbuffered(os.devnull, os.O_WRONLY) as nowhere:
            os.dup2(nowhere, stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise InvalidInput(f"standard output cannot be written: {error.strerror or error}.") from error


def _read_file_status(path: Path) -> os.stat_result | None:
    """Return `os.stat` of a path, or None if no file is there."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _find_standard_stream(status: os.stat_result) -> int | None:
    """Return the descriptor of standard output or error, 1 or 2, if it is the file with this status; else None."""
    for descriptor in (1, 2):
        with suppress(OSError):  # a closed one
            if os.path.samestat(os.fstat(descriptor), status):
                return descriptor
    return None


def _replace_file(target: str, old: os.stat_result | None, content: bytes) -> None:
    """Write a temporary file beside the target, then rename it to the target once it is on the disk."""
    folder = os.path.dirname(target)
    # The name does not contain the target's, which may be as long as the system allows.
    temporary = os.path.join(folder, f".normviz-{secrets.token_hex(8)}")
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode)
    if old is not None:
        with _open_unbuffered(target, os.O_WRONLY):  # a file that may not be written may not be replaced
            pass
    try:
        with _open_unbuffered(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as descriptor:
            _write_all_bytes(partial(os.write, descriptor), content)
            os.fsync(descriptor)
        if old is not None:
            _copy_permissions(old, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError), _open_unbuffered(folder, os.O_RDONLY) as descriptor:  # not every system can
        os.fsync(descriptor)


def _copy_permissions(old: os.stat_result, path: str) -> None:
    """Give the file at `path` the mode of the file `old`, and its owner and group where the system allows it."""
    new = os.stat(path)
    if sys.platform != "win32" and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(path, old.st_uid, old.st_gid)
    if new.st_mode != old.st_mode:
        os.chmod(path, stat.S_IMODE(old.st_mode))


@contextmanager
def _open_unbuffered(path: str | Path, flags: int, mode: int = 0o666) -> Iterator[int]:
    """Open a file without a buffer, in binary mode on every system, and close it at the end of the block."""
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all_bytes(write: Callable[[memoryview], int | None], content: bytes) -> None:
    """Call `write` until every byte is written; a full disk writes some bytes before it fails.

    `write` returns how many bytes it has taken, None where it cannot take any now.
    """
    rest = memoryview(content)
    while rest:
        rest = rest[write(rest) or 0 :]


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return the characters that an encoding lacks, escaped as in JSON, and the position after them."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(JSON_ESCAPE, _escape_unencodable)
