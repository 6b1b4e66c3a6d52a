"""The general form, once, for NumPy arrays and torch tensors (array API).

    v  = x - E_A[x]                    A: summation field; v = x where there is none
    x̂  = v / sqrt(ε + E_B[v²])         B: suppression field
    y  = γ x̂ + β

The four axes are counted from the end, so any number of leading axes may stand before them: a stack of networks is one
array. `normviz.core.reductions` averages over fields, and the kind of a scheme says what divides.
"""

from math import inf
from numbers import Real
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array, ArrayLike, to_floating_point
from normviz.core.errors import InvalidInput
from normviz.core.fields import check_shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.plain_path import normalize_in_few_passes
from normviz.core.reductions import centre
from normviz.core.registry import Scheme


class LayerScalars(NamedTuple):
    """Parameters of a layer that hold for all elements: ε, γ, β and the threshold τ."""

    eps: float
    gain: float = 1.0
    bias: float = 0.0
    threshold: float = 0.0


ignore_float_warnings = np.errstate(invalid="ignore", over="ignore")
"""NaN, Inf and numbers at the edge of their format are data to look at: their fields become NaN without a warning."""


@ignore_float_warnings
def normalize(
    x: ArrayLike, scheme: Scheme, eps: float | None = None, gain: Array | float = 1.0, bias: Array | float = 0.0
) -> NormalizationResult:
    """Normalize x by the scheme's fields: v = x - E_A[x], x̂ = scale · v / sqrt(ε + E_B[v²]), y = γ x̂ + β.

    Args:
        x: (..., N, H, W, C), or (..., kh, kw, Cin, Cout) for a scheme that acts on weights. A NumPy array or a torch
            tensor, on any device and with gradients, or nested lists. Integers and booleans are converted to the
            default floating type: float64 in NumPy, `torch.get_default_dtype()` in torch. Half precision (float16,
            bfloat16) is computed in float32, as in torch: mean and deviation stay float32; v, x̂ and y are rounded to
            the type of x.
        scheme: a row of `SCHEMES`, or one with fields of your own.
        eps: ε >= 0; the scheme's own where None.
        gain, bias: γ and β, numbers or arrays that broadcast against x.

    Raises:
        InvalidInput: not an array of real numbers, fewer than four axes or an empty one, a field that does not fit
            them, or a negative ε.

    >>> import numpy as np
    >>> from normviz import get_scheme, normalize
    >>> x = np.arange(4.0).reshape(2, 1, 1, 2)  # two examples of two channels
    >>> normalize(x, get_scheme("batch"), eps=0).xhat.squeeze()
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> normalize(x, get_scheme("layer"), eps=0).mean.squeeze()
    array([0.5, 2.5])

    Source: Ren et al. 2017, the general form above Table 2; spectral norm: Miyato et al. 2018, eq. 8; whitening:
    Huang et al. 2018, Section 3.
    """
    x, result = to_floating_point(x)
    shape = check_shape(x.shape[-4:], scheme.axes)
    scheme.check(shape)
    eps = resolve_eps(scheme, eps)
    plain = normalize_in_few_passes(x, scheme, eps)
    if plain is not None:
        mean, v, deviation, xhat = plain
    else:
        v, mean = (x, None) if scheme.summation is None else centre(x, scheme.summation)
        deviation, xhat = scheme.kind.normalize(scheme, v, eps)
    y = xhat if plain is not None and _is_number(gain, 1) and _is_number(bias, 0) else xhat * gain + bias
    if result != x.dtype:
        v, xhat, y = (array_namespace(x).astype(part, result) for part in (v, xhat, y))
    return NormalizationResult(mean, v, deviation, xhat, y)


def resolve_eps(scheme: Scheme, eps: float | None) -> float:
    """Return ε, the scheme's own for None and 0 if it has none; raise InvalidInput unless 0 <= ε < ∞."""
    eps = (scheme.eps or 0.0) if eps is None else eps
    if not isinstance(eps, Real) or not 0 <= eps < inf:
        raise InvalidInput(f"ε is a number from 0; this one is {eps!r}.")
    return float(eps)


def _is_number(parameter: Array | float, number: int) -> bool:
    return isinstance(parameter, float | int) and parameter == number
