"""The files that commands read and write."""

from pathlib import Path

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.data.files import as_tensor, read_npy
from normviz.data.output import write_npy


def read_bytes(path: Path, max_bytes: int = -1) -> bytes:
    """Return the content of a file, or its first `most` bytes; raises InvalidInput for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error


def read_tensor(path: Path, scheme: Scheme) -> np.ndarray:
    """The tensor in a .npy file: four axes, and every number finite; raises InvalidInput for any other."""
    array = read_npy(read_bytes(path))
    x = as_tensor(array, str(path))
    if array.ndim != 4:
        raise InvalidInput(f"{path} has {array.ndim} axes; {', '.join(scheme.axes)} are needed.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{path} holds {np.sum(~np.isfinite(x)):,} NaN or infinite values; finite ones are needed.")
    return x


def write_finite(path: Path, result: np.ndarray, overflow_message: str) -> None:
    """Write a .npy file completely or not at all; raises InvalidInput for numbers that overflowed."""
    if not np.isfinite(result).all():
        raise InvalidInput(f"{overflow_message} {result.dtype}.")
    write_npy(path, result)
