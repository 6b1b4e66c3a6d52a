"""One's own tensors: reading them from .npy, .npz, .csv and image files."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

from normviz.core.errors import InvalidInput
from normviz.core.fields import check_shape

MAX_UPLOAD_BYTES = 5 * 2**20
MAX_HEAD = 100_000  # characters of a first row that may hold names
MAX_UNPACKED_BYTES = 2**24  # of all arrays in a .npz file, before any of them is unpacked
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")

PICTURES = ("png", "jpg", "jpeg")
"""What the names of pictures end in."""


PLANES = (1, 3, 4)
"""How many channels a picture has."""


class File(NamedTuple):
    """What a file holds: its array as it is, and what was done to read it, in words."""

    array: np.ndarray
    told: tuple[str, ...] = ()


def read_upload(name: str, content: bytes, most: int | None = None, channels_first: bool = False) -> np.ndarray:
    """A .npy, .csv or image file as an (N, H, W, C) array, by `read_file` and `as_tensor`; raises what they do."""
    return as_tensor(read_file(name, content, most).array, name, channels_first)


def read_file(name: str, content: bytes, most: int | None = None) -> File:
    """Read a .npy, .csv or image file as the array that it holds.

    `most`: a picture of more numbers is averaged over blocks of pixels, as `shrink_image` does; a .csv file of more is
    not read on. A picture is one example of H × W × 3, or × 1 for grey, in 0..1. Numbers may be NaN or infinite.

    Raises:
        InvalidInput: a file that is too large or not what its name says, or an array of objects.
    """
    if len(content) > MAX_UPLOAD_BYTES:
        raise InvalidInput(
            f"{name} is {len(content) / 2**20:.1f} MB; files up to {MAX_UPLOAD_BYTES // 2**20} MB are read."
        )
    suffix = name.rsplit(".", 1)[-1].lower()
    if suffix in PICTURES:
        return _read_image(content, most)
    if suffix == "csv":
        return _read_csv(content, most)
    if suffix == "npy":
        return File(read_npy(content))
    raise InvalidInput(f"{name} is not a .npy, .csv, .png or .jpg file.")


def as_tensor(array: np.ndarray, name: str = "the array", channels_first: bool = False) -> np.ndarray:
    """An array of real numbers with one to four axes as (N, H, W, C); float32 stays, all else becomes float64.

    Arrays of fewer axes are given axes of length 1: (C) is one example, (N, C) a dense layer, (N, T, C) tokens along
    H. `channels_first`: three and four axes are in the order of PyTorch, as `axes_of` says.

    Raises:
        InvalidInput: other numbers, no or too many axes, or an empty one.
    """
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
    if not 1 <= array.ndim <= 4:
        raise InvalidInput(f"{name} has {array.ndim} axes; (C), (N, C), (N, T, C) or (N, H, W, C) are read.")
    axes = axes_of(array.shape, channels_first)
    array = np.moveaxis(array, axes.index("C"), -1)
    before_channels = (*array.shape[:-1], 1, 1, 1)[:3] if "N" in axes else (1, *array.shape[:-1], 1, 1)[:3]
    array = array.reshape(check_shape((*before_channels, array.shape[-1])))
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
        return array if array.dtype == np.float32 else array.astype(np.float64)


def axes_of(shape: Sequence[int], channels_first: bool) -> tuple[str, ...]:
    """What the axes of an array are: channels last, (N, T, C) and (N, H, W, C), or first: (N, C, T) and (N, C, H, W).

    Three axes of which the first is as long as a picture has channels are then one picture, (C, H, W). A single axis is
    that of the channels.
    """
    if len(shape) == 3 and channels_first and shape[0] in PLANES:
        return "C", "H", "W"
    inner: tuple[str, ...] = {1: (), 2: (), 3: ("T",)}.get(len(shape), ("H", "W"))
    outer = () if len(shape) == 1 else ("N",)
    return (*outer, "C", *inner) if channels_first else (*outer, *inner, "C")


def looks_channels_first(shape: Sequence[int]) -> bool:
    """Whether a shape suggests channels first: two last axes alike, as of squares, or as many channels as a picture."""
    if len(shape) == 4:
        _, a, b, c = shape
        return (b == c != a) if (a == b) != (b == c) else a in PLANES and min(b, c) > max(PLANES)
    return len(shape) == 3 and shape[0] in PLANES and shape[1] == shape[2] > max(PLANES)


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


def read_npz(content: bytes) -> dict[str, np.ndarray]:
    """Read a .npz file by `read_npy`, without unpacking more than a bound, whatever its directory promises.

    Raises:
        InvalidInput: not a .npz file, one that is too large, packed or unpacked, or what `read_npy` raises.
    """
    if len(content) > MAX_UNPACKED_BYTES:
        raise InvalidInput(f"the file is {len(content):,} bytes; .npz files up to {MAX_UNPACKED_BYTES:,} are read.")
    with (
        _any_failure_told_as("this is not a .npz file that NumPy wrote; save one with numpy.savez."),
        zipfile.ZipFile(io.BytesIO(content)) as packed,
    ):
        parts = packed.infolist()
        names = [part.filename.removesuffix(".npy") for part in parts]
        if len(set(names)) < len(names):
            raise InvalidInput("the .npz file holds two arrays of one name.")
        if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
            raise InvalidInput(f"the .npz file unpacks to more than the {MAX_UNPACKED_BYTES:,} bytes that are read.")
        # The other ways to pack, which NumPy does not use, unpack a piece to whatever size it has.
        if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
            raise InvalidInput("the .npz file is packed in a way that NumPy does not use; save one with numpy.savez.")
        return {name: read_npy(packed.read(part)) for name, part in zip(names, parts, strict=True)}


def _read_csv(content: bytes, most: int | None) -> File:
    """Rows of numbers with commas between them, at most so many, or with semicolons, and then perhaps decimal commas.

    Empty lines, what follows a #, and a first row of which nothing is a number are skipped.
    """
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInput("the .csv file is not a table of numbers with commas, in UTF-8.") from error

    def texts(head: bool) -> Iterator[tuple[int, str]]:
        found = ((row, line.partition("#")[0]) for row, line in enumerate(lines, 1))
        return islice(((row, text) for row, text in found if text.strip()), int(head), None)

    separator = ";" if any(";" in text for _, text in texts(False)) else ","
    start = [text for _, text in islice(texts(False), 2)]
    head = len(start) == 2 and _is_head(start[0], separator)
    count = 0
    for _, text in texts(head):  # before any of them is held
        count += text.count(separator) + 1
        if most is not None and count > most:
            raise InvalidInput(f"the .csv file holds more than {most:,} numbers; up to so many are read.")
    commas = separator == ";" and _decimal_commas([text for _, text in texts(head)])
    rows = {
        row: [
            _number(cell, row, column)
            for column, cell in enumerate((text.replace(",", ".") if commas else text).split(separator), 1)
        ]
        for row, text in texts(head)
    }
    if not rows:
        raise InvalidInput("the .csv file holds no numbers.")
    length = len(next(iter(rows.values())))
    for row, numbers in rows.items():
        if len(numbers) != length:
            raise InvalidInput(f"row {row} of the .csv file has {len(numbers)} numbers, the first one {length}.")
    told = [(head, "its first row holds names"), (commas, "its commas are decimal points")]
    return File(np.array(list(rows.values())), tuple(words for so, words in told if so))


def _is_head(text: str, separator: str) -> bool:
    """Whether a row holds names: something, and no number."""
    if len(text) > MAX_HEAD or not text.replace(separator, "").strip():
        return False
    for cell in text.split(separator):
        try:
            float(cell.replace(",", "."))
        except ValueError:
            continue
        return False
    return True


def _decimal_commas(texts: Sequence[str]) -> bool:
    """Whether the commas in rows with semicolons are decimal ones; raises InvalidInput where nobody can tell."""
    cells = [cell.strip() for text in texts for cell in text.split(";") if "," in cell]
    if cells and any("." in text for text in texts):
        raise InvalidInput("the .csv file has both commas and points in its numbers; write decimal points only.")
    if cells and all(map(_THOUSANDS.fullmatch, cells)):
        raise InvalidInput(f"the .csv file has {cells[0][:50]}, which may be decimals or thousands; write a point.")
    return bool(cells)


def _number(cell: str, row: int, column: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        shown = repr(cell.strip()[:50])
        raise InvalidInput(f"row {row}, column {column} of the .csv file is {shown}, which is not a number.") from error


@contextmanager
def _open_image(content: bytes) -> Iterator["Image.Image"]:
    from PIL import Image  # imported here: arrays need no Pillow

    with (
        _any_failure_told_as("the file is not a whole .png or .jpg picture."),
        Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image,
    ):
        yield image


def _read_image(content: bytes, most: int | None) -> File:
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
    if most is None or pixels.size <= most:
        return File(pixels / white)
    small = shrink_image(pixels, most)
    return File(small / white, (f"{height} × {width} pixels averaged to {small.shape[1]} × {small.shape[2]}",))


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
