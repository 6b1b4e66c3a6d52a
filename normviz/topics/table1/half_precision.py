"""Failures of a layer that computes its statistics in half precision, as many users' own code does."""

from functools import lru_cache

import numpy as np

from normviz.core.registry import Scheme
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.topics.table1.fade import compute_centred_squares
from normviz.topics.table1.forward import has_eps, reduce_to_first_layer
from normviz.train.setting import HALF_DTYPES, Setting

LEAST, MOST = 2.0**-24, 65_504.0
"""The smallest and the largest number of float16. bfloat16 has float32's range."""


def explain_half_precision_failures(scheme: Scheme, change: Transformation, setting: Setting) -> list[str]:
    """Return sentences on where ε vanishes or squares overflow in float16 or bfloat16; [] in other dtypes."""
    if setting.dtype not in HALF_DTYPES or not has_eps(scheme):
        return []
    usual, largest = _measure_magnitudes(scheme, change.key, reduce_to_first_layer(setting))
    eps, dtype = setting.eps, setting.dtype
    found = []
    if dtype == "float16" and 0 < eps < LEAST / 2:
        found.append(f"ε = {typeset(eps)} is 0 in float16, whose smallest number is 6·10⁻⁸.")
    elif 0 < eps < usual * MACHINE_EPSILONS[dtype] / 2:
        found.append(
            f"ε = {typeset(eps)} vanishes in {dtype}: half of the mean squares are over {format_number(usual, 2)}, and "
            "adding ε to such a number leaves it as it is."
        )
    if dtype == "float16" and largest**2 > MOST:
        found.append(f"The largest |v| is {format_number(largest)}: its square is beyond 65,504, where float16 ends.")
    advice = "PyTorch's layers, and this app, sum statistics in float32 and are spared; code of your own may not be."
    return [f"{text} {advice}" for text in found]


@lru_cache(maxsize=256)
def _measure_magnitudes(scheme: Scheme, change: str, setting: Setting) -> tuple[float, float]:
    """Return the median of E_B[v²] without the transformation, and the largest |v| with or without it."""
    v, square, _ = compute_centred_squares(scheme, setting)
    transformed, _, _ = compute_centred_squares(scheme, setting, TRANSFORMATIONS[change])
    return float(np.median(square)), float(max(np.abs(v).max(), np.abs(transformed).max()))
