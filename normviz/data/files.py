"""Reading of users' tensors from .npy, .npz, .csv and image files."""

import io
import re
import zipfile
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput, rephrase_errors
from normviz.core.fields import MAX_DRAWN_ELEMENTS, check_shape
from normviz.data.bounds import MAX_ARRAYS, MAX_UNPACKED_BYTES, MAX_UPLOAD_BYTES
from normviz.data.pictures import read_picture

MAX_HEADER_CHARACTERS = 100_000  # characters of a first row that may hold names
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")

PICTURE_SUFFIXES = ("png", "jpg", "jpeg")


PICTURE_CHANNELS = (1, 3, 4)
"""The numbers of channels that a picture may have."""


class ParsedFile(NamedTuple):
    """Array of a file, not yet converted to a tensor, and notes on how the file was read."""

    array: np.ndarray
    told: tuple[str, ...] = ()


def check_upload_size(name: str, content: bytes) -> None:
    """Raise InvalidInput if a file has more bytes than an upload may have."""
    if len(content) > MAX_UPLOAD_BYTES:
        raise InvalidInput(
            f"{name[:60]} is {len(content) / 2**20:.1f} MB; files up to {MAX_UPLOAD_BYTES // 2**20} MB are read."
        )


def read_file(name: str, content: bytes, max_numbers: int = MAX_DRAWN_ELEMENTS) -> ParsedFile:
    """Read a .npy, .csv or image file's array, which may hold NaN and Inf; `max_numbers` limits its size.

    A picture is one example of H × W × 3, or × 1 for grey, in 0..1. One of more than `max_numbers` numbers is
    averaged over blocks of pixels. A .csv file of more than `max_numbers` numbers is refused.

    Raises:
        InvalidInput: a file that is too large or not what its name says, or an array of objects.
    """
    check_upload_size(name, content)
    suffix = name.rsplit(".", 1)[-1].lower()
    if suffix in PICTURE_SUFFIXES:
        return ParsedFile(*read_picture(content, max_numbers))
    if suffix == "csv":
        return _read_csv(content, max_numbers)
    if suffix == "npy":
        return ParsedFile(read_npy(content))
    raise InvalidInput(f"{name} is not a .npy, .csv, .png or .jpg file.")


def convert_to_tensor(array: np.ndarray, name: str = "the array", channels_first: bool = False) -> np.ndarray:
    """Convert an array with one to four axes to (N, H, W, C); float32 stays float32, other types become float64.

    Arrays of fewer axes are given axes of length 1: (C) is one example, (N, C) a dense layer, (N, T, C) tokens along
    H. `channels_first`: three and four axes are in the order of PyTorch, as in `name_array_axes`.

    Raises:
        InvalidInput: other numbers, no or too many axes, or an empty one.
    """
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
    if not 1 <= array.ndim <= 4:
        raise InvalidInput(f"{name} has {array.ndim} axes; (C), (N, C), (N, T, C) or (N, H, W, C) are read.")
    axes = name_array_axes(array.shape, channels_first)
    array = np.moveaxis(array, axes.index("C"), -1)
    before_channels = (*array.shape[:-1], 1, 1, 1)[:3] if "N" in axes else (1, *array.shape[:-1], 1, 1)[:3]
    array = array.reshape(check_shape((*before_channels, array.shape[-1])))
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
        return array if array.dtype == np.float32 else array.astype(np.float64)


def name_array_axes(shape: Sequence[int], channels_first: bool) -> tuple[str, ...]:
    """Return the names of an array's axes, by their number: (N, C), (N, T, C), (N, H, W, C); or with C before T, H, W.

    Three axes with channels first are one picture, (C, H, W), if the first is as long as a picture has channels. A
    single axis is that of the channels.
    """
    if len(shape) == 3 and channels_first and shape[0] in PICTURE_CHANNELS:
        return "C", "H", "W"
    inner: tuple[str, ...] = {1: (), 2: (), 3: ("T",)}.get(len(shape), ("H", "W"))
    outer = () if len(shape) == 1 else ("N",)
    return (*outer, "C", *inner) if channels_first else (*outer, *inner, "C")


def is_likely_channels_first(shape: Sequence[int]) -> bool:
    """Return True if a shape looks like (N, C, H, W) or (C, H, W): equal last axes, or a picture's channel count."""
    if len(shape) == 4:
        _, a, b, c = shape
        return (b == c != a) if (a == b) != (b == c) else a in PICTURE_CHANNELS and min(b, c) > max(PICTURE_CHANNELS)
    return len(shape) == 3 and shape[0] in PICTURE_CHANNELS and shape[1] == shape[2] > max(PICTURE_CHANNELS)


def read_npy(content: bytes) -> np.ndarray:
    """Read the array of a .npy file. Raises InvalidInput for a false header, or objects, which are never unpickled."""
    stream = io.BytesIO(content)
    with rephrase_errors("this is not a .npy file that NumPy wrote; save one with numpy.save."):
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            raise InvalidInput("this file holds Python objects, which are not read; save an array of real numbers.")
        if min(shape, default=0) < 0:  # NumPy would multiply them in 64 bits, where a product may become positive
            raise ValueError("negative length")
        promised, there = prod(shape) * dtype.itemsize, len(content) - stream.tell()
        if promised > there:
            raise InvalidInput(
                f"the file is cut off: its header promises {promised:,} bytes of numbers, {there:,} are there."
            )
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


def read_npz(content: bytes, max_arrays: int = MAX_ARRAYS) -> dict[str, np.ndarray]:
    """Read the arrays of a .npz file by their names, each with `read_npy`.

    Raises InvalidInput for no .npz file, one of too many bytes or arrays, or what `read_npy` raises.
    """
    if len(content) > MAX_UNPACKED_BYTES:
        raise InvalidInput(f"the file has more than the {MAX_UNPACKED_BYTES:,} bytes of a .npz file that are read.")
    # Before zipfile makes an object of each entry in the directory. Each begins with these four bytes.
    if content.count(b"PK\x01\x02") > max_arrays:
        raise InvalidInput(f"the .npz file holds more than {max_arrays} arrays; up to so many are read.")
    with (
        rephrase_errors("this is not a .npz file that NumPy wrote; save one with numpy.savez."),
        zipfile.ZipFile(io.BytesIO(content)) as archive,
    ):
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise InvalidInput("the .npz file holds two arrays of one name.")
        if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            raise InvalidInput(f"the .npz file unpacks to more than the {MAX_UNPACKED_BYTES:,} bytes that are read.")
        # The other ways to pack, which NumPy does not use, unpack a piece to whatever size it has.
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise InvalidInput("the .npz file is packed in a way that NumPy does not use; save one with numpy.savez.")
        return {name: _read_member(archive, member) for name, member in zip(names, members, strict=True)}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Unpack and read one array of a .npz file; raise InvalidInput if it has more bytes than the directory states.

    ZipFile.read and a read to the end unpack all there is, and compare sizes and checksums afterwards.
    """
    with archive.open(member) as stream:
        return read_npy(stream.read(member.file_size))


def _read_csv(content: bytes, max_numbers: int) -> ParsedFile:
    """Read a .csv file as a two-dimensional array; numbers are separated by commas or semicolons.

    With semicolons, commas may be decimal points. Empty lines, what follows a #, and a first row of which nothing is a
    number are skipped.
    """
    with rephrase_errors("the .csv file is not a table of numbers with commas, in UTF-8."):
        texts = _find_filled_lines(content, max_numbers)
    separator = ";" if any(";" in text for text in texts.values()) else ","
    told = []
    if len(texts) > 1 and _is_header_row(texts[first := next(iter(texts))], separator):
        del texts[first]
        told.append("its first row holds names")
    if sum(text.count(separator) + 1 for text in texts.values()) > max_numbers:  # before any of them is held
        raise InvalidInput(_describe_excess(max_numbers))
    if separator == ";" and _has_decimal_commas(list(texts.values())):
        texts = {row: text.replace(",", ".") for row, text in texts.items()}
        told.append("its commas are decimal points")
    rows = {
        row: [_parse_number(cell, row, column) for column, cell in enumerate(text.split(separator), 1)]
        for row, text in texts.items()
    }
    if not rows:
        raise InvalidInput("the .csv file holds no numbers.")
    length = len(next(iter(rows.values())))
    for row, numbers in rows.items():
        if len(numbers) != length:
            raise InvalidInput(f"row {row} of the .csv file has {len(numbers)} numbers, the first one {length}.")
    return ParsedFile(np.array(list(rows.values())), tuple(told))


def _find_filled_lines(content: bytes, max_numbers: int) -> dict[int, str]:
    """Return the lines of a .csv file that are neither empty nor comments, by line number from 1.

    Raises InvalidInput for more than `max_numbers` lines besides one of names: each holds a number.
    """
    texts = {}
    for row, line in enumerate(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig"), 1):
        text = line.partition("#")[0]
        if text.strip():
            texts[row] = text
            if len(texts) > max_numbers + 1:  # one may hold names
                raise InvalidInput(_describe_excess(max_numbers))
    return texts


def _describe_excess(max_numbers: int) -> str:
    return f"the .csv file holds more than {max_numbers:,} numbers; up to so many are read."


def _is_header_row(text: str, separator: str) -> bool:
    """Return True if a row of a table is a header: it has text, and no cell is a number."""
    if len(text) > MAX_HEADER_CHARACTERS or not text.replace(separator, "").strip():
        return False
    for cell in text.split(separator):
        try:
            float(cell.replace(",", "."))
        except ValueError:
            continue
        return False
    return True


def _has_decimal_commas(texts: Sequence[str]) -> bool:
    """Return True if commas in rows with semicolons are decimal commas. Raises InvalidInput if ambiguous."""
    cells = [cell.strip() for text in texts for cell in text.split(";") if "," in cell]
    if cells and any("." in text for text in texts):
        raise InvalidInput("the .csv file has both commas and points in its numbers; write decimal points only.")
    if cells and all(map(_THOUSANDS.fullmatch, cells)):
        raise InvalidInput(f"the .csv file has {cells[0][:50]}, which may be decimals or thousands; write a point.")
    return bool(cells)


def _parse_number(cell: str, row: int, column: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        shown = repr(cell.strip()[:50])
        raise InvalidInput(f"row {row}, column {column} of the .csv file is {shown}, which is not a number.") from error
