"""Conversion of inputs to floating-point arrays."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_cupy_array, is_jax_array, is_torch_array, to_device

from normviz.core.errors import InvalidInput

Array = Any
"""An array of floating point of any library with the array API: NumPy, torch, …"""

ArrayLike = Any
"""An `Array`, or input that `to_floating_point` converts: integers, booleans, nested lists, half precision."""

SHORT_TYPES = ("float16", "bfloat16", "float8")
"""Prefixes of the dtype names with too few digits for statistics."""


def to_floating_point(x: ArrayLike) -> tuple[Array, Any]:
    """Return x in the type in which its statistics are computed, and the type to which results are converted.

    float32 and float64 stay as they are. Half precision is computed in float32 and returned in its own type. All
    other real numbers become the library's default: float64 in NumPy, `torch.get_default_dtype()` in torch. Nested
    lists become NumPy arrays.

    Raises:
        InvalidInput: not an array, or one of complex numbers, strings or Python objects.
    """
    x = x if is_array_api_obj(x) else _convert_lists(x)
    name = get_type_name(x.dtype)
    if name in ("float64", "float32"):
        return x, x.dtype
    xp = array_namespace(x)
    if name.startswith(SHORT_TYPES):
        return xp.astype(x, xp.float32), x.dtype
    if not xp.isdtype(x.dtype, ("bool", "integral", "real floating")):
        raise InvalidInput(f"the array holds {x.dtype} values; real numbers are needed.")
    default = xp.__array_namespace_info__().default_dtypes()["real floating"]
    return xp.astype(x, default), default


def get_type_name(dtype: object) -> str:
    """Return the name of a dtype without its library: "float32" for NumPy's and for torch's."""
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def get_device(x: Array) -> Any:
    """Return the device of an array; None, the default device, for an array that JAX traces."""
    return None if is_jax_array(x) else x.device


def _convert_lists(x: object) -> np.ndarray:
    try:
        return np.asarray(x)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InvalidInput(
            f"this {type(x).__name__} is not a tensor; arrays, or nested lists of numbers with equal lengths, are."
        ) from error


def copy_to_numpy(x: ArrayLike) -> np.ndarray:
    """Return an array of any library in floating point in NumPy, without its gradient."""
    array, _ = to_floating_point(x)
    if is_torch_array(array):
        array = array.detach()
    return np.asarray(to_device(array, "cpu") if is_torch_array(array) or is_cupy_array(array) else array)
