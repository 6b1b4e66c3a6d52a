"""Messages to the browser: JSON followed by the bytes of all arrays, so that numbers are not written as text."""

import json
from math import isfinite
from typing import Any

import numpy as np

INTEGER_TYPES = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
TYPE_CODES = INTEGER_TYPES | {"float32": "f4", "float64": "f8"}
"""Number types that JavaScript has arrays for, by their NumPy names; web/data.js knows the codes."""

ALIGNMENT = 8
"""Every array starts at a multiple of this number of bytes, as the largest type requires."""


def pack_message(data: Any) -> bytes:
    """Pack data with arrays into bytes, which `unpackMessage` of web/data.js unpacks in the browser.

    The message is the length of the JSON in four bytes, the JSON padded with spaces, then the arrays. In the JSON an
    array is {"packed": type, "at": first byte after the JSON, "length": numbers, "width": row length of a matrix}.
    Arrays with the same content are stored once. Bytes become an array of bytes; NaN and Inf in lists become null.
    Raises TypeError for data of other types.
    """
    arrays: dict[bytes, int] = {}  # the first byte of each content
    end = 0

    def place(value: Any) -> Any:
        nonlocal end
        if isinstance(value, bytes):
            value = np.frombuffer(value, np.uint8)
        elif isinstance(value, np.generic):
            return value.item()
        elif not isinstance(value, np.ndarray) or value.ndim not in (1, 2):
            raise TypeError(f"{value!r:.100} can't be sent; numbers, text, lists and arrays of one or two axes can")
        array = _narrow_integers(value)
        if not _has_typed_array(array):
            return array.tolist()
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        content += b"\0" * (-len(content) % ALIGNMENT)
        if content not in arrays:
            arrays[content] = end
            end += len(content)
        found = {"packed": TYPE_CODES[array.dtype.name], "at": arrays[content], "length": array.size}
        if array.ndim == 2:
            found["width"] = array.shape[1]
        return found

    try:
        text = _encode_json(data, place)
    except ValueError:  # a number that JSON does not have
        arrays.clear()
        end = 0
        text = _encode_json(_replace_nonfinite_numbers(data), place)
    head = text.encode()
    head += b" " * (-(4 + len(head)) % ALIGNMENT)
    return b"".join([len(head).to_bytes(4, "little"), head, *arrays])


def _encode_json(data: Any, encode_array: Any) -> str:
    return json.dumps(data, default=encode_array, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _replace_nonfinite_numbers(value: Any) -> Any:
    """Return data with None for every NaN and Inf, except in arrays that are packed as bytes."""
    if isinstance(value, dict):
        return {key: _replace_nonfinite_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite_numbers(each) for each in value]
    if isinstance(value, np.ndarray) and not _has_typed_array(_narrow_integers(value)):
        return _replace_nonfinite_numbers(value.tolist())
    if isinstance(value, np.generic):
        return _replace_nonfinite_numbers(value.item())
    return None if isinstance(value, float) and not isfinite(value) else value


def _has_typed_array(array: np.ndarray) -> bool:
    """Return True if JavaScript has a typed array for this dtype; False for an empty array."""
    return array.size > 0 and array.dtype.name in TYPE_CODES


def _narrow_integers(array: np.ndarray) -> np.ndarray:
    """Convert 64-bit integers to the smallest dtype that holds them; other arrays are returned unchanged."""
    if array.dtype.kind not in "iu" or array.itemsize < 8:
        return array
    least, most = array.min(initial=0), array.max(initial=0)
    held = (name for name in INTEGER_TYPES if np.iinfo(name).min <= least and most <= np.iinfo(name).max)
    return array.astype(next(held, array.dtype))
