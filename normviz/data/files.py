"""One's own tensors: reading them from .npy, .csv and image files, and writing .npy files."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

from normviz.core.errors import InvalidInput
from normviz.core.fields import check_shape

MAX_UPLOAD_BYTES = 5 * 2**20

PICTURES = ("png", "jpg", "jpeg")
"""What the names of pictures end in."""


def read_upload(name: str, content: bytes, most: int | None = None) -> np.ndarray:
    """Read a .npy, .csv or image file as an (N, H, W, C) array of float64, or of float32 where the file holds that.

    `most`: a picture of more numbers is averaged over blocks of pixels, as `shrink_image` does; a
    .csv file of more is not read on.

    Arrays of fewer axes are given axes of length 1: (C) is one example, (N, C) a dense layer, (B, T, C) tokens along
    H. A picture is one example of H × W × 3, or × 1 for grey, in 0..1. Numbers may be NaN or infinite.

    Raises:
        InvalidInput: a file that is too large or not what its name says, an object or complex array, no or too many
            axes.
    """
    if len(content) > MAX_UPLOAD_BYTES:
        raise InvalidInput(
            f"{name} is {len(content) / 2**20:.1f} MB; files up to {MAX_UPLOAD_BYTES // 2**20} MB are read."
        )
    suffix = name.rsplit(".", 1)[-1].lower()
    readers = {"npy": read_npy, "csv": lambda content: _read_csv(content, most)} | dict.fromkeys(
        PICTURES, lambda content: _read_image(content, most)
    )
    if suffix not in readers:
        raise InvalidInput(f"{name} is not a .npy, .csv, .png or .jpg file.")
    return as_tensor(readers[suffix](content), name)


def as_tensor(array: np.ndarray, name: str = "the array") -> np.ndarray:
    """An array of real numbers with one to four axes as (N, H, W, C); float32 stays, all else becomes float64.

    Raises:
        InvalidInput: other numbers, no or too many axes, or an empty one.
    """
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
    if not 1 <= array.ndim <= 4:
        raise InvalidInput(f"{name} has {array.ndim} axes; (C), (N, C), (B, T, C) or (N, H, W, C) are read.")
    before_channels = (*array.shape[:-1], 1, 1, 1)[:3]
    array = array.reshape(check_shape((*before_channels, array.shape[-1])))
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
        return array if array.dtype == np.float32 else array.astype(np.float64)


def read_npy(content: bytes) -> np.ndarray:
    """Read a .npy file without unpickling, and without trusting a header that promises more bytes than there are.

    Raises:
        InvalidInput: not a .npy file, an object array, or a file that is cut off.
    """
    stream = io.BytesIO(content)
    with _any_failure_told_as("this is not a .npy file that NumPy wrote; save one with numpy.save."):
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            raise InvalidInput("this file holds Python objects, which are not read; save an array of real numbers.")
        promised, there = prod(shape) * dtype.itemsize, len(content) - stream.tell()
        if promised > there:
            raise InvalidInput(
                f"the file is cut off: its header promises {promised:,} bytes of numbers, {there:,} are there."
            )
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write a .npy file at exactly this path; a file that is there is replaced once the new one is complete.

    Raises:
        InvalidInput: a path that cannot be written.
    """
    temporary = path.parent / f".{path.name}.{os.getpid()}"
    try:
        with open(temporary, "xb") as stream:
            np.save(stream, array, allow_pickle=False)
        os.replace(temporary, path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _read_csv(content: bytes, most: int | None) -> np.ndarray:
    """Rows of numbers separated by commas, at most so many; empty lines, and what follows a #, are skipped."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInput("the .csv file is not a table of numbers with commas, in UTF-8.") from error
    texts = ((row, line.partition("#")[0]) for row, line in enumerate(lines, 1))
    rows, count = {}, 0
    for row, text in texts:
        if not text.strip():
            continue
        count += text.count(",") + 1
        if most is not None and count > most:
            raise InvalidInput(f"the .csv file holds more than {most:,} numbers; up to so many are read.")
        rows[row] = [_number(cell, row, column) for column, cell in enumerate(text.split(","), 1)]
    if not rows:
        raise InvalidInput("the .csv file holds no numbers.")
    length = len(next(iter(rows.values())))
    for row, numbers in rows.items():
        if len(numbers) != length:
            raise InvalidInput(f"row {row} of the .csv file has {len(numbers)} numbers, the first one {length}.")
    return np.array(list(rows.values()))


def _number(cell: str, row: int, column: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        shown = repr(cell.strip()[:50])
        raise InvalidInput(f"row {row}, column {column} of the .csv file is {shown}, which is not a number.") from error


def picture_size(content: bytes) -> tuple[int, int]:
    """The rows and columns of a picture in a file, of which only the header is read."""
    with _open_image(content) as image:
        return image.height, image.width


@contextmanager
def _open_image(content: bytes) -> Iterator["Image.Image"]:
    from PIL import Image  # imported here: arrays need no Pillow

    with (
        _any_failure_told_as("the file is not a whole .png or .jpg picture."),
        Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image,
    ):
        yield image


def _read_image(content: bytes, most: int | None) -> np.ndarray:
    """A picture in 0..1; averaged before its small whole numbers become large ones, eight times as many bytes."""
    with _open_image(content) as image:
        width, height = image.size
        if width * height > 2**24:
            raise InvalidInput(f"the picture has {width} × {height} pixels; up to 16 million are read.")
        if image.mode.startswith("I"):  # grey of 16 bits, which Pillow would clip to 8
            pixels, white = np.asarray(image), 2**16 - 1
        else:
            grey = image.mode in ("1", "L", "LA")
            pixels, white = np.asarray(image.convert("L" if grey else "RGB")), 255
    pixels = pixels.reshape(1, *pixels.shape[:2], -1)
    if most is not None and max(pixels.shape[1:3]) // min(pixels.shape[1:3]) * pixels.shape[3] > most:
        raise InvalidInput(f"the picture has {width} × {height} pixels: too narrow to be averaged to {most:,} numbers.")
    return (pixels if most is None or pixels.size <= most else shrink_image(pixels, most)) / white


@contextmanager
def _any_failure_told_as(message: str) -> Iterator[None]:
    """Raise InvalidInput for whatever a parser raises: on damaged files NumPy and Pillow raise errors of any type."""
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(message) from error


def shrink_image(x: np.ndarray, limit: int) -> np.ndarray:
    """An (N, H, W, C) array averaged over blocks of k × k positions, for the smallest k that leaves at most `limit`."""
    k = 1
    while x.shape[0] * x.shape[3] * (x.shape[1] // k) * (x.shape[2] // k) > limit and k < min(x.shape[1:3]):
        k += 1
    height, width = x.shape[1] // k * k, x.shape[2] // k * k
    blocks = x[:, :height, :width].reshape(x.shape[0], height // k, k, width // k, k, x.shape[3])
    return blocks.mean(axis=(2, 4))
