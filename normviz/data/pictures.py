"""Read .png and .jpg pictures as arrays, at a bounded cost whatever the file holds.

Pillow is given only the segments that hold pixels. Profiles, texts, tags and previews have parsers of their own, and a
file may hold any number of them.
"""

import io
import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from normviz.core.errors import InvalidInput, rephrase_errors
from normviz.data.bounds import MAX_DECODED_BYTES, MAX_PIXELS, MAX_SCANNED_PIXELS, MAX_SEGMENTS

if TYPE_CHECKING:
    from PIL import Image

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_SINGLE = (0, 3)  # the colour types with one number for a pixel: grey and palette

_JPEG = b"\xff\xd8"
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")  # FF 00 is data, FF FF is padding, FF D0 to D7 restart the data
_JPEG_FRAMES = (0xC0, 0xC1, 0xC2)  # baseline, extended and progressive, each with Huffman codes
_JPEG_OTHER_FRAMES = {*range(0xC3, 0xD0)} - {0xC4, 0xC8, 0xCC}  # lossless, hierarchical, arithmetic codes
_JPEG_KEPT = {*_JPEG_FRAMES, 0xC4, 0xDB, 0xDD, 0xE0, 0xEE}  # tables, restart interval, JFIF, Adobe's colour transform
_JPEG_END, _JPEG_SCAN, _JPEG_TEMPORARY = 0xD9, 0xDA, 0x01


_DECODER = ThreadPoolExecutor(1, "pictures")
"""Decodes the pictures of all sessions, one at a time. A lock would leave each thread with freed memory of its own."""


def read_picture(content: bytes, max_numbers: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a picture as an array (1, H, W, C) in 0..1, with notes on how it was read.

    C is 1 for grey and 3 for colour; transparency is left out. A picture of more than `max_numbers` numbers is
    averaged over blocks of pixels, and .jpg is scaled down while it is decoded. Only one thread at a time reads.

    Raises:
        InvalidInput: a file that is damaged or of another kind, or one beyond the bounds of `normviz.data.bounds`.
    """
    return _DECODER.submit(_decode_picture, content, max_numbers).result()


def _decode_picture(content: bytes, max_numbers: int) -> tuple[np.ndarray, tuple[str, ...]]:
    from PIL import Image  # imported here: arrays need no Pillow

    with rephrase_errors("the file is not a whole .png or .jpg picture."):
        is_jpeg = content.startswith(_JPEG)
        pixels = _strip_jpeg(content) if is_jpeg else _strip_png(content)
        with Image.open(io.BytesIO(pixels), formats=("JPEG" if is_jpeg else "PNG",)) as image:
            return _reduce_picture(image, max_numbers)


def _reduce_picture(image: "Image.Image", max_numbers: int) -> tuple[np.ndarray, tuple[str, ...]]:
    width, height = image.size
    mode = image.mode if image.mode.startswith("I") else "L" if image.mode in ("1", "L", "LA") else "RGB"
    channels, white = 3 if mode == "RGB" else 1, 2**16 - 1 if mode.startswith("I") else 255
    if max(height, width) // min(height, width) * channels > max_numbers:
        raise InvalidInput(
            f"the picture has {width} × {height} pixels: too narrow to be averaged to {max_numbers:,} numbers."
        )
    k = _choose_block_size(image, channels, max_numbers)
    # This leaves blocks of 4 × 4, so that sizes stay near the limit.
    scale = max(s for s in (1, 2, 4, 8) if 4 * s <= max(k, 4))
    image.draft(None, (width // scale, height // scale))  # which .png leaves as it is
    small = _average_blocks(image, mode, _choose_block_size(image, channels, max_numbers))[np.newaxis] / white
    notes = () if k == 1 else (f"{height} × {width} pixels averaged to {small.shape[1]} × {small.shape[2]}",)
    return small, notes


def _choose_block_size(image: "Image.Image", channels: int, max_numbers: int) -> int:
    """Return the smallest k for which averages of k × k pixels are at most `max_numbers` numbers."""
    k = 1
    while image.height // k * (image.width // k) * channels > max_numbers:
        k += 1
    return k


def _average_blocks(image: "Image.Image", mode: str, k: int) -> np.ndarray:
    """Return the averages of blocks of k × k pixels, (H // k, W // k, C); pixels beyond the last block are dropped.

    One row of blocks after another, so that the whole picture exists only once, and in Pillow's bytes.
    """
    columns, rows = image.width // k, image.height // k
    averages = []
    for row in range(rows):
        strip = np.asarray(image.crop((0, row * k, columns * k, row * k + k)).convert(mode))
        averages.append(strip.sum(axis=0, dtype=np.uint32).reshape(columns, k, -1).sum(axis=1) / k**2)
    return np.array(averages)


def _check_picture_size(width: int, height: int, decoded: float) -> None:
    """Raise InvalidInput for a picture with more than `MAX_PIXELS` pixels or `MAX_DECODED_BYTES` decoded bytes."""
    if width * height > MAX_PIXELS:
        raise InvalidInput(f"the picture has {width} × {height} pixels; up to {MAX_PIXELS // 10**6} million are read.")
    if decoded > MAX_DECODED_BYTES:
        raise InvalidInput(
            f"the picture takes {decoded / 1e6:.0f} MB to decode; up to {MAX_DECODED_BYTES / 1e6:.0f} MB are used: "
            "make it smaller, or save it as an ordinary .jpg file."
        )


def _strip_png(content: bytes) -> bytes:
    """Return the bytes of a .png file with only its header, palette and pixels, the pixels in one chunk."""
    kept: dict[bytes, list[bytes]] = {b"IHDR": [], b"PLTE": [], b"IDAT": [], b"IEND": []}
    at = len(_PNG)
    for _ in range(MAX_SEGMENTS):
        length, kind = struct.unpack_from(">I4s", content, at)
        if kind in kept:
            (checksum,) = struct.unpack_from(">I", content, at + 8 + length)
            if zlib.crc32(content[at + 4 : at + 8 + length]) != checksum:
                raise ValueError(f"damaged {kind!r}")
            kept[kind].append(content[at + 8 : at + 8 + length])
        if kind == b"IEND":
            break
        at += 12 + length
    else:
        raise InvalidInput(f"the .png file has more than {MAX_SEGMENTS:,} chunks; save the picture anew.")
    (header,) = kept[b"IHDR"]
    width, height, bits, colour = struct.unpack_from(">IIBB", header)
    stored = (-(-bits // 8) if colour in _PNG_SINGLE else 4) * width * height  # in Pillow
    _check_picture_size(width, height, stored)
    return _PNG + b"".join(_build_png_chunk(kind, b"".join(data)) for kind, data in kept.items() if data)


def _build_png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


def _strip_jpeg(content: bytes) -> bytes:
    """Return the bytes of a .jpg file with only its tables, frame and scans, after checking the cost of decoding.

    Each scan goes over all pixels of its channels, even if it is empty. A picture with more than one scan is held as
    coefficients of two bytes until its end.
    """
    kept, at = [_JPEG], len(_JPEG)
    frame: tuple[int, bytes] | None = None
    scans: list[int] = []  # the number of channels in each
    for _ in range(MAX_SEGMENTS):
        marker = _JPEG_MARKER.search(content, at)
        if marker is None or content[marker.end() - 1] == _JPEG_END:
            break
        start, at, kind = marker.start(), marker.end(), content[marker.end() - 1]
        if kind == _JPEG_TEMPORARY:  # it alone has no length
            continue
        if kind in _JPEG_OTHER_FRAMES:
            raise InvalidInput("the .jpg file is of a rare kind; save it as a baseline or progressive one.")
        (length,) = struct.unpack_from(">H", content, at)
        body, at = content[at + 2 : at + length], at + length
        if kind in _JPEG_FRAMES:
            if frame is not None:
                raise ValueError("two frames")
            frame = kind, body
        if kind == _JPEG_SCAN:
            scans.append(body[0])
            end = _JPEG_MARKER.search(content, at)
            at = len(content) if end is None else end.start()
        if kind in _JPEG_KEPT or kind == _JPEG_SCAN:
            kept.append(content[start:at])
    else:
        raise InvalidInput(f"the .jpg file has more than {MAX_SEGMENTS:,} segments; save the picture anew.")
    if frame is None:
        raise ValueError("no frame")
    _check_jpeg_cost(*frame, scans)
    return b"".join((*kept, bytes([0xFF, _JPEG_END]) if marker else b""))


def _check_jpeg_cost(marker: int, frame_header: bytes, scans: list[int]) -> None:
    """Raise InvalidInput for a .jpg file with too much to decode; `scans`: the number of channels of each scan."""
    height, width, channels = struct.unpack_from(">xHHB", frame_header)
    factors = [divmod(frame_header[6 + 3 * k + 1], 16) for k in range(channels)]
    if not all(1 <= factor <= 4 for pair in factors for factor in pair):
        raise ValueError("sampling factors")
    across, down = map(max, zip(*factors, strict=True))
    padded = -(-width // (8 * across)) * 8 * across * -(-height // (8 * down)) * 8 * down
    coefficients = padded * sum(h * v for h, v in factors) / (across * down)
    is_in_one_scan = marker != 0xC2 and scans == [channels]
    _check_picture_size(width, height, 0 if is_in_one_scan else 2 * coefficients)
    if padded * sum(scans) > MAX_SCANNED_PIXELS:
        raise InvalidInput(
            f"the .jpg file goes over its {width} × {height} pixels in {len(scans):,} scans; "
            f"save it with {max(MAX_SCANNED_PIXELS // (padded * channels), 1)} or fewer, or make it smaller."
        )
