"""The files that commands read and write."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.data.files import convert_to_tensor, read_npy
from normviz.data.output import write_npy


def read_bytes(path: Path, max_bytes: int = -1) -> bytes:
    """Read a file, or its first `max_bytes` bytes. Raises InvalidInput if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error


def read_tensor(path: Path, axes: Sequence[str]) -> np.ndarray:
    """Read the tensor of a .npy file. Raises InvalidInput unless it has these four axes and all numbers are finite."""
    array = read_npy(read_bytes(path))
    x = convert_to_tensor(array, str(path))
    if array.ndim != 4:
        raise InvalidInput(f"{path} has {array.ndim} axes; {', '.join(axes)} are needed.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{path} holds {np.sum(~np.isfinite(x)):,} NaN or infinite values; finite ones are needed.")
    return x


def write_finite(path: Path, result: np.ndarray, overflow_message: str) -> None:
    """Write an array to a .npy file. Raises InvalidInput with `overflow_message` if a number is not finite."""
    if not np.isfinite(result).all():
        raise InvalidInput(f"{overflow_message} {result.dtype}.")
    write_npy(path, result)
