"""normviz: see and test normalization in deep learning.

    import normviz
    result = normviz.normalize(x, "group", groups=3, layout="NCHW")  # mean, v, deviation, xhat and y, as NCHW
    normviz.backward(x, dy, "batch", layout="NCHW")                   # the gradient of x
    normviz.predict("batch", "dataset-rescaling", layer="conv")       # an entry of Table 1, from theory
    normviz.show(x, "group", groups=3, layout="NCHW")                 # the cube, in a notebook
    normviz.detect(x, y, layout="NCHW")                               # which normalization computes y from x
    normviz.inspect(model, batch)                                     # the normalizations of a PyTorch model
    normviz.record(model, batch, "layers.npz")                        # the same for the app, with their inputs

One general form covers most schemes (Ren et al. 2017, arXiv 1611.04520): v = x - E_A[x], x̂ = v / sqrt(ε + E_B[v²]),
y = γ x̂ + β. A and B are fields: the elements that share a mean or a divisor. Four stand outside it: spectral norm,
whitening, dynamic tanh and dynamic erf. Without a layout, arrays are (N, H, W, C).

Schemes, by the axes that they average (`SCHEMES`; usual names such as "BatchNorm2d", "gn" and "LayerNorm" work too):

    batch, ghost-batch, mean-only-batch    N, H, W: one statistic per channel
    layer                                  H, W, C: one per example, with all positions (T too)
    layer-channels, rms, scale, pixel      C: one per position; layer-channels is the layer norm of transformers
    instance, layer-spatial                H, W: one per example and channel; also filter-response
    group, query-key                       groups of channels, with H, W or per position
    divisive                               a window around each element
    whitening, spectral                    matrices in place of a variance
    dynamic-tanh, dynamic-erf, none        no statistics
    weight, weight-standardization         weights; layer-weight normalizes both; custom is your own

Changes of Table 1 (`TRANSFORMATIONS`): weight-matrix-rescaling, weight-matrix-recentering, weight-vector-rescaling (one
unit's weights), dataset-rescaling, dataset-recentering and case-rescaling (one example).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from normviz.core.errors import InvalidInput
    from normviz.core.fields import Field, Rule
    from normviz.core.registry import SCHEMES, get_scheme
    from normviz.core.scheme import Scheme
    from normviz.core.transformations import TRANSFORMATIONS
    from normviz.inspection.activations import record
    from normviz.inspection.inspector import inspect
    from normviz.library.calls import backward, custom, normalize, predict, statistics
    from normviz.library.detection import detect
    from normviz.library.pictures import show

__version__ = "0.2.0"

__all__ = [
    "SCHEMES",
    "TRANSFORMATIONS",
    "Field",
    "InvalidInput",
    "Rule",
    "Scheme",
    "__version__",
    "backward",
    "custom",
    "detect",
    "get_scheme",
    "inspect",
    "normalize",
    "predict",
    "record",
    "show",
    "statistics",
]

_MODULES = {
    "InvalidInput": "core.errors",
    "Field": "core.fields",
    "Rule": "core.fields",
    "SCHEMES": "core.registry",
    "get_scheme": "core.registry",
    "Scheme": "core.scheme",
    "TRANSFORMATIONS": "core.transformations",
    "show": "library.pictures",
    "detect": "library.detection",
    "inspect": "inspection.inspector",
    "record": "inspection.activations",
} | dict.fromkeys(("backward", "custom", "normalize", "predict", "statistics"), "library.calls")
"""The module of each public name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'normviz' has no attribute {name!r}")
    value = getattr(import_module(f"normviz.{_MODULES[name]}"), name)
    import_module("normviz.library.notebook")  # gives schemes their text in a notebook
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
