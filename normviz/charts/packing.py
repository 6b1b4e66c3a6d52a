"""Data as one message to the browser: JSON, and behind it the bytes of all arrays, so that no number is spelt out."""

import json
from math import isfinite
from typing import Any

import numpy as np

INTEGER_TYPES = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
TYPE_CODES = INTEGER_TYPES | {"float32": "f4", "float64": "f8"}
"""The types of numbers that JavaScript has arrays of, by the names of NumPy; web/data.js knows these names."""

ALIGNMENT = 8
"""Every array starts at a multiple of so many bytes, as the largest type has to."""


def pack_message(data: Any) -> bytes:
    """Data for `unpacked` of web/data.js.

    The length of the JSON in four bytes, the JSON, filled up with spaces, then the arrays. In the JSON an array is
    {"packed": type, "at": first byte behind the JSON, "length": numbers, "width": of a row where there are rows}.
    Bytes are taken as an array of bytes; NaN and Inf of lists become null. Raises TypeError for what cannot be sent.
    """
    arrays: list[bytes] = []
    at = 0

    def place(value: Any) -> Any:
        nonlocal at
        if isinstance(value, bytes):
            value = np.frombuffer(value, np.uint8)
        elif isinstance(value, np.generic):
            return value.item()
        elif not isinstance(value, np.ndarray) or value.ndim not in (1, 2):
            raise TypeError(f"{value!r:.100} can't be sent; numbers, text, lists and arrays of one or two axes can")
        array = _short(value)
        if not _fits(array):
            return array.tolist()
        found = {"packed": TYPE_CODES[array.dtype.name], "at": at, "length": array.size}
        if array.ndim == 2:
            found["width"] = array.shape[1]
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        arrays.append(content + b"\0" * (-len(content) % ALIGNMENT))
        at += len(arrays[-1])
        return found

    try:
        text = _json(data, place)
    except ValueError:  # a number that JSON does not have
        arrays.clear()
        at = 0
        text = _json(_finite(data), place)
    head = text.encode()
    head += b" " * (-(4 + len(head)) % ALIGNMENT)
    return b"".join([len(head).to_bytes(4, "little"), head, *arrays])


def _json(data: Any, place: Any) -> str:
    return json.dumps(data, default=place, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    """With null for every NaN and Inf that stands in no array of numbers."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, np.ndarray) and not _fits(_short(value)):
        return _finite(value.tolist())
    if isinstance(value, np.generic):
        return _finite(value.item())
    return None if isinstance(value, float) and not isfinite(value) else value


def _fits(array: np.ndarray) -> bool:
    """Whether JavaScript has arrays of such numbers; an array of none is a list."""
    return array.size > 0 and array.dtype.name in TYPE_CODES


def _short(array: np.ndarray) -> np.ndarray:
    """Whole numbers of 64 bits, which JavaScript has no usual arrays of, in the fewest bytes that hold them."""
    if array.dtype.kind not in "iu" or array.itemsize < 8:
        return array
    least, most = array.min(initial=0), array.max(initial=0)
    held = (name for name in INTEGER_TYPES if np.iinfo(name).min <= least and most <= np.iinfo(name).max)
    return array.astype(next(held, array.dtype))
